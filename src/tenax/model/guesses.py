"""What guessing has learned about a host: which lists continue, where its archives are, and what guesses have cost.

It is part of the host record, which is written with nearly every visit. So its size is limited, and it takes almost
nothing for a host without guesses.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from tenax.model.content import Value

RuleState: TypeAlias = Literal["tried", "valid", "invalid"]
"""`tried`: requested, without a result yet. `valid`: the last result was good. `invalid`: the last result was bad."""


GuessVerdict: TypeAlias = Literal["", "asked", "news", "no_signs", "own_site", "never"]
"""Whether guesses are made on a host, and why: `asked` and `news` mean yes; empty: not decided yet."""


class ListRule(Value, frozen=True):
    """How the pages of one list are numbered, and whether the next page is worth a guess."""

    last_known: int
    """The highest number known to be a page of this list."""
    step: int = 1
    state: RuleState = "tried"
    why: str = ""
    """Why the list ended."""
    at: float = 0.0
    """When the state was last set."""
    guessed_number: int | None = None
    """The guessed number without a result yet."""
    is_unnumbered: bool = False
    """Nothing showed that there are further pages. Their numbering is a guess too."""
    guesses: int = 0
    empty_pages: int = 0
    """Guessed pages in a row without new URLs."""
    content_hash: str = ""
    """Prefix of the content hash of page `last_known`, to compare it with the next page."""
    fingerprint: bytes = b""
    link_fingerprint: bytes = b""
    """Fingerprint of the links of page `last_known`; see `tenax.discovery.paged_urls.link_fingerprint`."""
    links: int = 0
    """Number of links on page `last_known`, except those to pages of the list."""
    empty_at: int = 0
    """Number of a linked page that has nothing new compared with an earlier one; 0: none."""


class ArchiveRule(Value, frozen=True):
    """What is known about one archive path or date pattern of a host."""

    state: RuleState = "tried"
    why: str = ""
    at: float = 0.0
    earliest_period: int | None = None
    """The earliest period that is known or was requested: a year, or year * 12 + month - 1."""
    guessed_period: int | None = None
    """The guessed period without a result yet; 0 for a path without a date."""
    worked: int = 0
    missed: int = 0
    """Results in a row that were not an archive, or had no new URLs."""


class GuessStats(Value, frozen=True):
    """How a style of guessing has worked on the lists of a host: on how many lists at least once, on how many never."""

    worked: int = 0
    failed: int = 0
    unanswered: int = 0
    """Lists on which the style was tried and has no result yet."""
    at: float = 0.0
    """When the style was last tried or got a result."""


class PendingGuess(Value, frozen=True, array_like=True):
    """A guess to make later. It is encoded in few bytes, because there may be many."""

    last_known: int = 0
    """The last known number of a list; unused for an archive."""
    step: int = 1
    is_unnumbered: bool = False
    depth: int = 0
    """Depth of the list."""
    relative_url: str = ""
    """Path and query of a list that shows no numbers. Other lists may show the numbering before the guess is made."""


class FacetRule(Value, frozen=True):
    """What is known about the facets of one path: URLs with the same path and different queries."""

    visited: int = 0
    useful_ratio: float = 1.0
    """Share of the recent facets that led to something new, or had a text of their own."""
    combined: int = 0
    """How many of the visited facets link to narrower versions of their own query, in several ways."""
    content_hash: str = ""
    """Prefix of the content hash of the last facet, to compare it with the next one."""
    fingerprint: bytes = b""


class SeriesRule(Value, frozen=True):
    """Pages that link to each other by number, such as the months of a calendar, and whether they repeat their
    content."""

    same_pages: int = 0
    """Pages in a row that repeated the page before, and linked only to other pages of the series."""
    content_hash: str = ""
    """Prefix of the content hash of the last page, to compare it with the next one."""
    fingerprint: bytes = b""
    identical: int = 0
    """How many of the last pages in a row had identical text."""
    shape: str = ""
    """Prefix of the hash of a short page's text without numbers."""


class SiteSigns(Value, frozen=True):
    """Signs of what kind of site a host is, and whether it has sitemaps and feeds."""

    articles: int = 0
    dated_articles: int = 0
    """Number of articles with a publication date."""
    dated_paths: dict[str, int] = {}
    """Number of pages below a date, by pattern: `/blog/{yyyy}/{mm}/` for /blog/2025/12/a-story."""
    newest: int = 0
    """The latest month in which a page was published: year * 12 + month - 1."""
    has_home: bool = False
    """The home page of the host was read."""
    has_feed: bool = False
    """A page names a feed, or one was read."""
    has_sitemap: bool = False
    """A sitemap with entries was read."""
    no_sitemap: bool = False
    """There is no /sitemap.xml."""
    feeds_tried: bool = False
    """The first common feed path was proposed as a candidate."""
    sitemaps_tried: bool = False


class GuessState(Value, frozen=True):
    """Everything that guessing stores about one host."""

    verdict: GuessVerdict = ""
    """The verdict of the last visit."""
    signs: SiteSigns = SiteSigns()

    requests: int = 0
    """Visits, guesses included."""
    guesses_made: int = 0
    guesses_succeeded: int = 0
    """Guesses that led to something new."""
    archives_made: int = 0
    """How many of the guesses were archives; the others were list pages."""
    archives_succeeded: int = 0
    archives_at: float = 0.0
    """When archives were last tried because they were due, or when the host was first visited."""
    archive_hash: str = ""
    """Prefix of the content hash of the last guessed archive page, because a site may return the same page for every
    URL."""
    lists: dict[str, ListRule] = {}
    """Rules by path and query, with `{n}` for the number. The least recently used rule comes first."""
    archives: dict[str, ArchiveRule] = {}
    """Rules by path, with `{yyyy}`, `{mm}` or `{m}` in it. The least recently used rule comes first."""
    styles: dict[str, GuessStats] = {}
    """Results by style, such as `beyond ?page={n}`. `linked` counts the lists that show their numbering."""
    sections: dict[str, int] = {}
    """First path segments of lists, and how often each was seen."""
    pending: dict[str, PendingGuess] = {}
    """Patterns of lists and archives to guess when the budget allows, the next one first."""
    full_list: int = 0
    """The smallest number of links on the first page of a list that continues, except those to its further pages; 0:
    none seen."""
    facets: dict[str, FacetRule] = {}
    """Rules by path. The least recently visited path comes first."""
    series: dict[str, SeriesRule] = {}
    """Rules by path and query, with `{n}` for every number. The least recently visited series comes first."""
