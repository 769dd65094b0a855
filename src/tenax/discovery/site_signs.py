"""Whether a host is a news site or a blog, judged by its pages: only there are guesses worth their requests.

On other sites an archive or next page that nothing links to rarely exists, and each guess is a 404 in the site's log.
"""

from __future__ import annotations

import re

import msgspec

from tenax.discovery.numbering_styles import has_numbered_lists
from tenax.model import GuessState, GuessVerdict, SiteSigns, Value

MIN_DATED_PAGES = 3
"""Pages of one kind with a date; fewer may be coincidence."""
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
    """An ISO date."""
    has_feed: bool = False
    """It links to a feed, or is one."""
    is_sitemap: bool = False
    """It is a sitemap with entries, not a page."""


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
    """The reasons to consider the host a news site or a blog; each of the first two kinds is sufficient alone."""
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

    A host without a rate limit is the user's own site: no guesses unless requested. A host once judged a news site
    stays one.
    """
    if setting == "never":
        return "never"
    if setting == "always":
        return "asked"
    if rate_per_second == 0:
        return "own_site"
    return "news" if guess_state.verdict == "news" or is_news_site(guess_state) else "no_signs"


def count_section(guess_state: GuessState, relative_url: str) -> GuessState:
    """Count the section of a list, its first path segment."""
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
