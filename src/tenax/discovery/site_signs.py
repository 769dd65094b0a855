"""Whether a host is a news site or a blog, by what its pages show: only there are guesses worth their requests.

Elsewhere an archive or a next page that nobody links to is rarely there, and each guess is a 404 in somebody's log.
"""

from __future__ import annotations

import re

import msgspec

from tenax.discovery.pagination import shows_numbers
from tenax.model import Finds, GuessVerdict, SiteSigns, Value

ENOUGH = 3
"""Pages with a date, of one kind, that are no accident."""
ENOUGH_ARTICLES = 5
SIGNS_NEEDED = 2
MOST_DATED_PATHS = 3
ON: frozenset[GuessVerdict] = frozenset({"asked", "news"})

NEWS_SECTIONS = frozenset(
    {"news", "blog", "blogs", "stories", "story", "articles", "article", "posts", "post", "press", "magazine"}
    | {"journal", "latest", "updates", "nachrichten", "aktuelles", "aktuell", "artikel", "presse", "actualites"}
    | {"actualite", "actus", "noticias", "noticia", "notizie", "novosti", "nieuws", "nyheter", "nyheder", "uutiset"}
    | {"haberler", "wiadomosci", "aktualnosci"}
)

_DATED_PATH = re.compile(
    r"(?P<before>(?:/[A-Za-z%_-]{1,40}){0,3})/(?P<year>(?:199|20\d)\d)(?:/(?P<month>0[1-9]|1[0-2]))?(?:/\d\d)?/[^/?]{3,}"
)


class PageSigns(Value, frozen=True):
    """What one page of a host shows."""

    place: str
    """Its path and query."""
    is_article: bool = False
    published: str | None = None
    """An ISO date."""
    has_feed: bool = False
    """It names a feed, or is one."""
    is_sitemap: bool = False
    """It is no page, but a sitemap that names something."""


def with_page(signs: SiteSigns, page: PageSigns) -> SiteSigns:
    """The signs of a host after one more of its pages was read."""
    month = _month(page.published) if page.published else 0
    dated = _DATED_PATH.match(page.place)
    paths = signs.dated_paths
    if dated is not None:
        pattern = f"{dated['before']}/{{yyyy}}/" + ("{mm}/" if dated["month"] else "")
        month = month or 12 * int(dated["year"]) + int(dated["month"] or 1) - 1
        if paths.get(pattern, 0) < ENOUGH and (pattern in paths or len(paths) < MOST_DATED_PATHS):
            paths = {**paths, pattern: paths.get(pattern, 0) + 1}
    return msgspec.structs.replace(
        signs,
        articles=signs.articles + page.is_article,
        dated_articles=signs.dated_articles + (page.is_article and bool(page.published)),
        dated_paths=paths,
        newest=max(signs.newest, month),
        has_home=signs.has_home or page.place == "/",
        has_feed=signs.has_feed or page.has_feed,
        has_sitemap=signs.has_sitemap or page.is_sitemap,
    )


def news_signs(finds: Finds) -> tuple[str, ...]:
    """What says that the host is a news site or a blog, in words; the first two kinds say it by themselves."""
    signs = finds.signs
    found = []
    if signs.dated_articles >= ENOUGH:
        found.append("articles with dates")
    if any(count >= ENOUGH for count in signs.dated_paths.values()):
        found.append("dates in the paths of pages")
    if signs.has_feed:
        found.append("a feed")
    if signs.articles >= ENOUGH_ARTICLES and 2 * signs.articles >= finds.requests:
        found.append("mostly articles")
    if any(section.lower() in NEWS_SECTIONS for section in finds.sections):
        found.append("a section for news")
    if shows_numbers(finds):
        found.append("lists with page numbers")
    return tuple(found)


def is_news(finds: Finds) -> bool:
    signs = finds.signs
    is_dated = signs.dated_articles >= ENOUGH or any(count >= ENOUGH for count in signs.dated_paths.values())
    return is_dated or len(news_signs(finds)) >= SIGNS_NEEDED


def verdict_of(finds: Finds, setting: str, rate_per_second: float) -> GuessVerdict:
    """Whether guesses are made on this host, and why.

    A host without a rate limit is somebody's own site, unless they asked for guesses. What was once found to be a news
    site stays one.
    """
    if setting == "never":
        return "never"
    if setting == "always":
        return "asked"
    if rate_per_second == 0:
        return "own_site"
    return "news" if finds.verdict == "news" or is_news(finds) else "no_signs"


def _month(day: str) -> int:
    year, month = day[:4], day[5:7]
    is_date = year.isdecimal() and month.isdecimal() and 1 <= int(month) <= 12
    return 12 * int(year) + int(month) - 1 if is_date else 0
