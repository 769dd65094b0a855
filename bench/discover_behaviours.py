"""How each host of the discovery site goes about it: its addresses, lists, archives, sitemaps, feeds and traps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PastEnd(StrEnum):
    """What a list answers when it is asked for a page after its last one."""

    GONE = "404"
    EMPTY = "200, with nothing in it"
    FIRST = "a redirect to its first page"


class Sitemaps(StrEnum):
    """What a host has for crawlers, and what is wrong with it."""

    NONE = "none"
    NESTED = "an index in robots.txt, which names itself, and below it an index of gzipped ones"
    BROKEN = "one at /sitemap.xml, ill-formed in the middle"
    TEXT = "lines of text, in robots.txt beside a page of HTML that is called a sitemap"
    HOSTILE = "an index at /sitemap.xml that also names one too large, one with an entity bomb and one that is gone"
    RSS = "a feed, in robots.txt"


class FeedForm(StrEnum):
    RSS = "application/rss+xml"
    ATOM = "application/atom+xml"
    RDF = "application/rdf+xml"
    JSON = "application/feed+json"


class Trap(StrEnum):
    """Places without an end."""

    CALENDAR = "calendar"
    """A month after the other, before and after."""
    SAME_NEXT = "same_next"
    """A next page that shows the same."""
    JUNK_NEXT = "junk_next"
    """A next page that has a new text each time and leads nowhere."""
    FACETS = "facets"
    """The same few things in thousands of selections and orders."""


@dataclass(frozen=True)
class Manner:
    """Of the four sections the first two have as many pages as they need; the others have one, whatever is asked."""

    sections: tuple[str, str, str, str]
    permalink: str
    """With `{section}`, `{year}`, `{month}` and `{slug}`."""
    pager: str = ""
    """What follows the address of a section from its second page on: `{n}` its number, `{offset}` the items before."""
    linked_numbers: int = 1
    """Pages of a section that have links to them; further ones are there for those who ask."""
    names_next: bool = False
    """In the head of the page; no link shows it."""
    past_end: PastEnd = PastEnd.GONE
    archives: tuple[str, ...] = ()
    """Addresses of archives, the finest last, with `{year}` and `{month}`; the others list what is one step finer."""
    shows_archive: bool = False
    """The home links to the archive of this month, and nothing to those before."""
    sitemaps: Sitemaps = Sitemaps.NONE
    feed: str = ""
    """With `{section}` where each section has its own."""
    feed_form: FeedForm = FeedForm.RSS
    announces_feed: bool = False
    trap: Trap | None = None


MANNERS = (
    Manner(
        sections=("news", "sport", "culture", "opinion"),
        permalink="/{section}/{slug}/",
        pager="page/{n}/",
        linked_numbers=3,
        sitemaps=Sitemaps.NESTED,
        feed="/{section}/feed.xml",
        announces_feed=True,
    ),
    Manner(
        sections=("city", "county", "courts", "letters"),
        permalink="/{year}/{month}/{slug}/",
        pager="?page={n}",
        past_end=PastEnd.FIRST,
        archives=("/{year}/", "/{year}/{month}/"),
        sitemaps=Sitemaps.BROKEN,
        feed="/feed",
        feed_form=FeedForm.ATOM,
    ),
    Manner(
        sections=("garden", "kitchen", "workshop", "gifts"),
        permalink="/{section}/{slug}.html",
        pager="?offset={offset}",
        linked_numbers=3,
        past_end=PastEnd.EMPTY,
        sitemaps=Sitemaps.TEXT,
        feed="/index.rdf",
        feed_form=FeedForm.RDF,
        announces_feed=True,
        trap=Trap.FACETS,
    ),
    Manner(
        sections=("news", "essays", "books", "films"),
        permalink="/{section}/{slug}",
        pager="?p={n}",
        names_next=True,
        archives=("/news/{year}/{month}/",),
        sitemaps=Sitemaps.HOSTILE,
        feed="/feed.json",
        feed_form=FeedForm.JSON,
        announces_feed=True,
        trap=Trap.SAME_NEXT,
    ),
    Manner(
        sections=("travel", "diary", "recipes", "letters"),
        permalink="/blog/{slug}/",
        archives=("/blog/{year}/{month}/",),
        shows_archive=True,
        sitemaps=Sitemaps.RSS,
        feed="/rss.xml",
        trap=Trap.CALENDAR,
    ),
    Manner(
        sections=("history", "nature", "people", "places"),
        permalink="/wiki/{slug}",
        pager="?page={n}",
        linked_numbers=3,
        past_end=PastEnd.EMPTY,
        archives=("/archive/", "/archive/{year}/"),
        trap=Trap.JUNK_NEXT,
    ),
)
