"""What one host consists of: its name, its articles, and the path of every page."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache
from random import Random

from tenax.demo import Site
from tenax.demo.prose import Theme, say, theme_of
from tenax.model import Value

PER_LISTING = 15
PER_TAG = 30
NEWEST = date(2025, 6, 27)
"""The day of the newest article. Fixed: a page must be the same tomorrow."""
STANDING_PAGES = ("/", "/about", "/contact", "/join", "/tags/")


class Article(Value, frozen=True):
    """One article, without its text: that is written when it is asked for."""

    path: str
    title: str
    lead: str
    author: str
    day: str
    section: int
    tags: tuple[int, ...]


class Place(Value, frozen=True):
    """One host of the site, complete but for the prose."""

    index: int
    seed: int
    theme: Theme
    name: str
    tagline: str
    articles: tuple[Article, ...]
    """Newest first."""
    has_privacy: bool
    """An odd page out, so that the number of pages comes out exactly."""

    def dice(self, path: str) -> Random:
        """Chance that is always the same for one page."""
        return Random(f"{self.seed}/{self.index}{path}")


@lru_cache(maxsize=512)
def place_of(site: Site, index: int) -> Place:
    theme = theme_of(index)
    dice = Random(f"{site.seed}/{index}")
    town = theme.towns[(site.seed + index + index // 6) % len(theme.towns)]
    articles, left_over = _article_count(site.pages_per_host, theme)
    return Place(
        index=index,
        seed=site.seed,
        theme=theme,
        name=dice.choice(theme.names).format(town=town),
        tagline=theme.tagline.format(town=town),
        articles=tuple(_article(theme, number, dice) for number in range(articles)),
        has_privacy=left_over > 0,
    )


def section_articles(place: Place, section: int) -> tuple[Article, ...]:
    return place.articles[section :: len(place.theme.sections)]


def tag_articles(place: Place, tag: int) -> tuple[Article, ...]:
    """The newest articles with this tag; the sections list the rest."""
    return tuple(article for article in place.articles if tag in article.tags)[:PER_TAG]


def listing_count(articles: int) -> int:
    """How many listing pages hold this many articles; an empty section still has its page."""
    return max(1, -(-articles // PER_LISTING))


def listing_path(theme: Theme, section: int, number: int) -> str:
    head = f"/{theme.sections[section].path}/"
    return head if number == 1 else f"{head}page/{number}"


def listing_paths(place: Place, section: int) -> list[str]:
    count = listing_count(len(section_articles(place, section)))
    return [listing_path(place.theme, section, number) for number in range(1, count + 1)]


def tag_path(theme: Theme, tag: int) -> str:
    return f"/tags/{theme.tags[tag].path}"


@lru_cache(maxsize=512)
def pages_of(site: Site, index: int) -> frozenset[str]:
    """The paths of all well-behaved pages of this host."""
    place = place_of(site, index)
    theme = place.theme
    paths = {*STANDING_PAGES, *(article.path for article in place.articles)}
    paths.update(tag_path(theme, tag) for tag in range(len(theme.tags)))
    for section in range(len(theme.sections)):
        paths.update(listing_paths(place, section))
    if place.has_privacy:
        paths.add("/privacy")
    return frozenset(paths)


def _article_count(pages: int, theme: Theme) -> tuple[int, int]:
    """The most articles that fit in `pages` with the pages that list them, and how many pages are left over."""
    room = pages - len(STANDING_PAGES) - len(theme.tags)
    count = room
    while (used := count + _listings(count, len(theme.sections))) > room:
        count -= 1
    return count, room - used


def _listings(articles: int, sections: int) -> int:
    return sum(listing_count(len(range(section, articles, sections))) for section in range(sections))


def _article(theme: Theme, number: int, dice: Random) -> Article:
    section = number % len(theme.sections)
    first, second = dice.sample(theme.slugs, 2)
    return Article(
        path=f"/{theme.sections[section].path}/{first}-{second}-{number + 1}",
        title=say(theme, theme.titles, dice),
        lead=say(theme, theme.leads, dice),
        author=dice.choice(theme.authors),
        day=(NEWEST - timedelta(days=2 * number + dice.randint(0, 1))).isoformat(),
        section=section,
        tags=tuple(sorted({number % len(theme.tags), (number * 5 + 2) // 7 % len(theme.tags)})),
    )
