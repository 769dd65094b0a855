"""How many guesses a host gets, and whether it is a news site or a blog, because only there guesses find enough pages.

Archives and list pages have separate budgets. Only misses count: guesses that led to nothing new, or have no result
yet. Every host gets a few guesses, enough for the likely archives and for one page of each list. A larger site gets
more, and successes add to the budget. Patterns that worked continue, whatever the number of misses.

On other sites an archive or next page that nothing links to rarely exists, and each guess is a 404 in the site's log.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from tenax.discovery.paged_urls import has_numbered_lists
from tenax.model import GuessState, GuessVerdict, SiteSigns, Value

MAX_GUESS_RATIO = 0.25
"""Maximum share of guesses in a host's requests, however successful. Otherwise a site that generates pages would take
all requests."""
REQUESTS_PER_GUESS = 8
"""A small host gets one guess for this many requests."""
REQUESTS_PER_ARCHIVE = 80
"""The same for archives if a sitemap was read, because few archives list more than a sitemap does."""
SUCCESSES_PER_EXTRA_MISS = 4
DEFAULT_MIN_GUESSES = 7
"""The default of `discovery.min_guesses`. If the setting is larger, small hosts get the difference too."""


class GuessBudget(Value, frozen=True):
    """How many guesses of each kind may be made now."""

    archives: int = 0
    """Guesses with patterns that have not worked here."""
    lists: int = 0
    max_archives: int = 0
    """The same, with patterns that worked, which end by themselves."""
    max_lists: int = 0
    has_ratio_budget: bool = False
    """Whether `ratio`, and not only the minimum, leaves room for archives. Then unlikely patterns may be tried."""

    @property
    def is_empty(self) -> bool:
        return not self.max_archives and not self.max_lists


def remaining_guess_budget(guess_state: GuessState, ratio: float, min_guesses: int, waiting: int = 0) -> GuessBudget:
    """How many guesses the host may still make.

    Misses may be `ratio` of a host's requests, half of them for each kind, or `min_guesses` of each kind if that is
    more. A small host gets fewer than `min_guesses`: one, and one more for every 8 requests (for archives, for every 80
    if a sitemap was read). `waiting` tasks count as requests, because guesses come after them.
    """
    requests = guess_state.requests + waiting
    made, succeeded = guess_state.archives_made, guess_state.archives_succeeded
    archive_counts = _GuessCounts(made, succeeded, max(0, made - succeeded - _working_pattern_misses(guess_state)))
    per_archive = REQUESTS_PER_ARCHIVE if guess_state.signs.has_sitemap else REQUESTS_PER_GUESS
    archives, max_archives = _remaining_guesses(archive_counts, requests, ratio / 2, min_guesses, per_archive)
    made, succeeded = guess_state.guesses_made - made, guess_state.guesses_succeeded - succeeded
    list_counts = _GuessCounts(made, succeeded, made - succeeded)
    lists, max_lists = _remaining_guesses(list_counts, requests, ratio / 2, min_guesses, REQUESTS_PER_GUESS)
    has_ratio_budget = archive_counts.missed < int(ratio / 2 * requests)
    return GuessBudget(archives, lists, max_archives, max_lists, has_ratio_budget)


def count_guess(guess_state: GuessState, is_archive: bool) -> GuessState:
    """Count one more guess."""
    return msgspec.structs.replace(
        guess_state, guesses_made=guess_state.guesses_made + 1, archives_made=guess_state.archives_made + is_archive
    )


def count_success(guess_state: GuessState, is_archive: bool) -> GuessState:
    """Count one guess that led to something new."""
    return msgspec.structs.replace(
        guess_state,
        guesses_succeeded=guess_state.guesses_succeeded + 1,
        archives_succeeded=guess_state.archives_succeeded + is_archive,
    )


def _working_pattern_misses(guess_state: GuessState) -> int:
    """Misses of date patterns that have worked: guesses without a response, or beyond the earliest period.

    They do not use up the budget of untried patterns. Otherwise it would depend on the order of responses whether those
    are tried.
    """
    working = (rule for rule in guess_state.archives.values() if rule.worked)
    return sum(rule.missed + (rule.guessed_period is not None) for rule in working)


class _GuessCounts(NamedTuple):
    """The guesses of one kind so far."""

    made: int
    succeeded: int
    missed: int


def _remaining_guesses(
    counts: _GuessCounts, requests: int, ratio: float, min_guesses: int, per_guess: int
) -> tuple[int, int]:
    minimum = min(min_guesses, 1 + requests // per_guess + max(0, min_guesses - DEFAULT_MIN_GUESSES))
    allowed = max(minimum, int(ratio * requests)) + counts.succeeded // SUCCESSES_PER_EXTRA_MISS
    hard_limit = max(0, min_guesses + int(MAX_GUESS_RATIO * requests) - counts.made)
    return max(0, min(allowed - counts.missed, hard_limit)), hard_limit


MIN_DATED_PAGES = 3
"""This many pages of one kind must have a date; fewer may be a coincidence."""
MIN_ARTICLES = 5
MIN_SIGNS = 2
MAX_DATED_PATHS = 3
MAX_SECTIONS = 16
GUESSING_VERDICTS: frozenset[GuessVerdict] = frozenset({"asked", "news"})

NEWS_SECTIONS = frozenset(
    {"news", "blog", "blogs", "stories", "story", "articles", "article", "posts", "post", "press", "magazine"}
    | {"journal", "latest", "updates", "nachrichten", "aktuelles", "aktuell", "artikel", "presse", "actualites"}
    | {"actualite", "actus", "noticias", "noticia", "notizie", "novosti", "nieuws", "nyheter", "nyheder", "uutiset"}
    | {"haberler", "wiadomosci", "aktualnosci"}
)

_SECTION = re.compile(r"/([A-Za-z%][A-Za-z%0-9_-]{1,40})(?=/|$)")
_DATED_PATH = re.compile(
    r"(?P<before>(?:/[A-Za-z%_-]{1,40}){0,3})/(?P<year>(?:199|20\d)\d)(?:/(?P<month>0[1-9]|1[0-2]))?(?:/\d\d)?/[^/?]{3,}"
)


class PageSigns(Value, frozen=True):
    """Signs found on one page of a host."""

    relative_url: str
    """Its path and query."""
    is_article: bool = False
    published: str | None = None
    """A date in ISO 8601."""
    has_feed: bool = False
    """Whether the page links to a feed, or is one."""
    is_sitemap: bool = False
    """Whether the URL is a sitemap with entries, not a page."""


def add_page_signs(signs: SiteSigns, page: PageSigns) -> SiteSigns:
    """The signs of a host after one more page was read."""
    month = _parse_month(page.published) if page.published else 0
    dated = _DATED_PATH.match(page.relative_url)
    paths = signs.dated_paths
    if dated is not None:
        pattern = f"{dated['before']}/{{yyyy}}/" + ("{mm}/" if dated["month"] else "")
        month = month or 12 * int(dated["year"]) + int(dated["month"] or 1) - 1
        if paths.get(pattern, 0) < MIN_DATED_PAGES and (pattern in paths or len(paths) < MAX_DATED_PATHS):
            paths = {**paths, pattern: paths.get(pattern, 0) + 1}
    return msgspec.structs.replace(
        signs,
        articles=signs.articles + page.is_article,
        dated_articles=signs.dated_articles + (page.is_article and bool(page.published)),
        dated_paths=paths,
        newest=max(signs.newest, month),
        has_home=signs.has_home or page.relative_url == "/",
        has_feed=signs.has_feed or page.has_feed,
        has_sitemap=signs.has_sitemap or page.is_sitemap,
    )


def news_signs(guess_state: GuessState) -> tuple[str, ...]:
    """The reasons to consider the host a news site or a blog. Each of the first two kinds is sufficient alone."""
    signs = guess_state.signs
    found = []
    if signs.dated_articles >= MIN_DATED_PAGES:
        found.append("articles with dates")
    if any(count >= MIN_DATED_PAGES for count in signs.dated_paths.values()):
        found.append("dates in the paths of pages")
    if signs.has_feed:
        found.append("a feed")
    if signs.articles >= MIN_ARTICLES and 2 * signs.articles >= guess_state.requests:
        found.append("mostly articles")
    if any(section.lower() in NEWS_SECTIONS for section in guess_state.sections):
        found.append("a section for news")
    if has_numbered_lists(guess_state):
        found.append("lists with page numbers")
    return tuple(found)


def is_news_site(guess_state: GuessState) -> bool:
    signs = guess_state.signs
    is_dated = signs.dated_articles >= MIN_DATED_PAGES or any(
        count >= MIN_DATED_PAGES for count in signs.dated_paths.values()
    )
    return is_dated or len(news_signs(guess_state)) >= MIN_SIGNS


def guess_verdict(guess_state: GuessState, setting: str, rate_per_second: float) -> GuessVerdict:
    """Whether guesses are made on this host, and why.

    A host without a rate limit is the user's own site, so nothing is guessed unless it is requested. A host that was
    once judged a news site remains one.
    """
    if setting == "never":
        return "never"
    if setting == "always":
        return "asked"
    if rate_per_second == 0:
        return "own_site"
    return "news" if guess_state.verdict == "news" or is_news_site(guess_state) else "no_signs"


def count_section(guess_state: GuessState, relative_url: str) -> GuessState:
    """Count the section of a list, which is its first path segment."""
    found = _SECTION.match(relative_url.partition("?")[0])
    if found is None:
        return guess_state
    counts = dict(guess_state.sections)
    counts[found[1]] = counts.get(found[1], 0) + 1
    if len(counts) > MAX_SECTIONS:
        del counts[min(counts, key=lambda name: (counts[name], name == found[1], name))]
    return msgspec.structs.replace(guess_state, sections=counts)


def _parse_month(day: str) -> int:
    year, month = day[:4], day[5:7]
    is_date = year.isdecimal() and month.isdecimal() and 1 <= int(month) <= 12
    return 12 * int(year) + int(month) - 1 if is_date else 0
