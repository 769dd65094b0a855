"""What was learned of a host by guessing: which lists go on, where it keeps what is older, and what that has cost.

Kept in the host's record, which is written with nearly every visit: so it is bounded, and next to nothing for a host
where nothing was guessed.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from tenax.model.value import Value

RuleState: TypeAlias = Literal["tried", "valid", "invalid"]
"""Asked and not answered yet; the last answer was good; the last answer was not."""


GuessVerdict: TypeAlias = Literal["", "asked", "news", "no_signs", "own_site", "never"]
"""Whether a host is guessed at, and why: `asked` and `news` say yes; empty when nobody has judged it yet."""


class ListRule(Value, frozen=True):
    """How the pages of one list are numbered, and whether guessing its next page still pays."""

    last_known: int
    """The highest number that is surely a page of this list."""
    step: int = 1
    state: RuleState = "tried"
    why: str = ""
    """What spoke against going on, in words."""
    at: float = 0.0
    """When the state was last set."""
    guessed_number: int | None = None
    """The number that was guessed and has no answer yet."""
    is_unnumbered: bool = False
    """There was no sign of further pages; how they would be numbered is a guess as well."""
    guesses: int = 0
    empty_pages: int = 0
    """Guessed pages in a row that led to nothing new."""
    content_hash: str = ""
    """Beginning of the hash of the page `last_known`, for comparison with the next."""
    fingerprint: bytes = b""
    link_fingerprint: bytes = b""
    """Of the links of the page `last_known`, as `tenax.discovery.page_numbers.trace_of` makes it."""
    links: int = 0
    """How many links the page `last_known` has, those to pages of its list left out."""
    empty_at: int = 0
    """The number of a page that was linked and showed nothing that an earlier one had not; 0: there is none."""


class ArchiveRule(Value, frozen=True):
    """How one archive path or date pattern of a host turned out."""

    state: RuleState = "tried"
    why: str = ""
    at: float = 0.0
    earliest_period: int | None = None
    """The earliest period that is known or was asked for: a year, or a year times twelve plus the month from zero."""
    guessed_period: int | None = None
    """The period that was guessed and has no answer yet; 0 for a path without one."""
    worked: int = 0
    missed: int = 0
    """Answers in a row that were no archive or led to nothing new."""


class GuessStats(Value, frozen=True):
    """How a way of guessing fared on the lists of a host: on how many it worked at least once, on how many never."""

    worked: int = 0
    failed: int = 0
    unanswered: int = 0
    """Lists where it was tried and has no answer yet."""
    at: float = 0.0
    """When it was last tried or answered."""


class PendingGuess(Value, frozen=True, array_like=True):
    """A guess to be made, in few bytes: there may be many."""

    last_known: int = 0
    """The last number known of a list; nothing for an archive."""
    step: int = 1
    is_unnumbered: bool = False
    depth: int = 0
    """Of the list."""
    relative_url: str = ""
    """Path and query of a list that shows no numbers: how it is numbered may be seen on others, before it is asked."""


class FacetRule(Value, frozen=True):
    """How selections of one path turned out: the same path with different queries."""

    visited: int = 0
    useful_ratio: float = 1.0
    """The share of the last ones that led to something new, or had a text of their own."""
    combined: int = 0
    """How many of the seen led to the same selection narrowed further, in several ways."""
    content_hash: str = ""
    """Beginning of the hash of the last one, for comparison with the next."""
    fingerprint: bytes = b""


class SeriesRule(Value, frozen=True):
    """Pages that lead to one another by number, such as the months of a calendar: whether they show the same again."""

    same_pages: int = 0
    """Pages in a row that showed what the one before showed, and led to nothing but others of the series."""
    content_hash: str = ""
    """Beginning of the hash of the last one, for comparison with the next."""
    fingerprint: bytes = b""
    identical: int = 0
    """Those of the same at the end of the row whose text was the very same."""
    shape: str = ""
    """Beginning of the hash of its text without numbers, of short pages."""


class SiteSigns(Value, frozen=True):
    """What the pages of a host say about the kind of site it is, and where it names its sitemaps and feeds."""

    articles: int = 0
    dated_articles: int = 0
    """Articles that say when they were published."""
    dated_paths: dict[str, int] = {}
    """How many pages lie below a date, by its pattern: `/blog/{yyyy}/{mm}/` of /blog/2025/12/a-story."""
    newest: int = 0
    """The latest month in which a page was published: a year times twelve plus the month from zero."""
    has_home: bool = False
    """Its home page was read."""
    has_feed: bool = False
    """A page names a feed, or one was read."""
    has_sitemap: bool = False
    """One was read that names something."""
    no_sitemap: bool = False
    """Nothing is at /sitemap.xml."""
    feeds_tried: bool = False
    """The first usual place of a feed was offered to the crawl."""
    sitemaps_tried: bool = False


class GuessState(Value, frozen=True):
    """All that is kept of guessing on one host."""

    verdict: GuessVerdict = ""
    """Of the last visit."""
    signs: SiteSigns = SiteSigns()

    requests: int = 0
    """Visits seen, guesses among them."""
    guesses_made: int = 0
    guesses_succeeded: int = 0
    """Guesses that led to something new."""
    archives_made: int = 0
    """Those of all guesses that were archives; the others were pages of lists."""
    archives_succeeded: int = 0
    archives_at: float = 0.0
    """When archives were last looked for because it was time, or the host was first visited."""
    archive_hash: str = ""
    """Beginning of the hash of the last archive page that was guessed: a site may say the same to everything."""
    lists: dict[str, ListRule] = {}
    """By path and query with `{n}` for the number; the least recently touched first."""
    archives: dict[str, ArchiveRule] = {}
    """By path, with `{yyyy}`, `{mm}` or `{m}` in it; the least recently touched first."""
    styles: dict[str, GuessStats] = {}
    """By the way of guessing, such as `beyond ?page={n}`; `linked` counts the lists that show how they are numbered."""
    sections: dict[str, int] = {}
    """First path segments of lists, and how many were seen."""
    pending: dict[str, PendingGuess] = {}
    """Patterns of lists and archives that are to be guessed from, once the share allows it; the next one first."""
    full_list: int = 0
    """The fewest links on the first page of a list that goes on, those to its further pages left out; 0: none seen."""
    facets: dict[str, FacetRule] = {}
    """By path; the least recently visited first."""
    series: dict[str, SeriesRule] = {}
    """By path and query with `{n}` for every number; the least recently visited first."""
