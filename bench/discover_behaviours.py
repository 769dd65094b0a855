"""The behaviour of each host of the discovery site: URLs, lists, archives, sitemaps, feeds and traps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PastEnd(StrEnum):
    """Answer for a list page after the last one."""

    GONE = "404"
    EMPTY = "200, with nothing in it"
    FIRST = "a redirect to its first page"


class Sitemaps(StrEnum):
    """The sitemaps of a host, and their defects."""

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
    """Infinite URL spaces."""

    CALENDAR = "calendar"
    """Calendar: months without end in both directions."""
    SAME_NEXT = "same_next"
    """A next page with the same content."""
    JUNK_NEXT = "junk_next"
    """A next page with new text each time, without links to pages."""
    FACETS = "facets"
    """The same few items in thousands of filter combinations and sort orders."""


@dataclass(frozen=True)
class HostBehaviour:
    """The first two of the four sections have all their list pages; the others always show one."""

    sections: tuple[str, str, str, str]
    permalink: str
    """With `{section}`, `{year}`, `{month}` and `{slug}`."""
    pager: str = ""
    """Suffix of a section's URL from page 2 on: `{n}` is the page number, `{offset}` the items before it."""
    linked_numbers: int = 1
    """List pages of a section that are linked; later ones exist without links."""
    names_next: bool = False
    """Only in the head of the page."""
    past_end: PastEnd = PastEnd.GONE
    archives: tuple[str, ...] = ()
    """URLs of archives with `{year}` and `{month}`, finest last; each lists the next finer one."""
    shows_archive: bool = False
    """The home page links to the archive of the current month only."""
    sitemaps: Sitemaps = Sitemaps.NONE
    feed: str = ""
    """With `{section}` when each section has its own."""
    feed_form: FeedForm = FeedForm.RSS
    announces_feed: bool = False
    trap: Trap | None = None


HOST_BEHAVIOURS = (
    HostBehaviour(
        sections=("news", "sport", "culture", "opinion"),
        permalink="/{section}/{slug}/",
        pager="page/{n}/",
        linked_numbers=3,
        sitemaps=Sitemaps.NESTED,
        feed="/{section}/feed.xml",
        announces_feed=True,
    ),
    HostBehaviour(
        sections=("city", "county", "courts", "letters"),
        permalink="/{year}/{month}/{slug}/",
        pager="?page={n}",
        past_end=PastEnd.FIRST,
        archives=("/{year}/", "/{year}/{month}/"),
        sitemaps=Sitemaps.BROKEN,
        feed="/feed",
        feed_form=FeedForm.ATOM,
    ),
    HostBehaviour(
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
    HostBehaviour(
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
    HostBehaviour(
        sections=("travel", "diary", "recipes", "letters"),
        permalink="/blog/{slug}/",
        archives=("/blog/{year}/{month}/",),
        shows_archive=True,
        sitemaps=Sitemaps.RSS,
        feed="/rss.xml",
        trap=Trap.CALENDAR,
    ),
    HostBehaviour(
        sections=("history", "nature", "people", "places"),
        permalink="/wiki/{slug}",
        pager="?page={n}",
        linked_numbers=3,
        past_end=PastEnd.EMPTY,
        archives=("/archive/", "/archive/{year}/"),
        trap=Trap.JUNK_NEXT,
    ),
)
