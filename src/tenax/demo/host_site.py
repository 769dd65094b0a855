"""The content of one host: its name, its articles and the paths of its pages."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache
from random import Random

from tenax.demo import Site
from tenax.demo.prose import Theme, fill_template, load_theme
from tenax.model import Value

ARTICLES_PER_LISTING = 15
ARTICLES_PER_TAG = 30
NEWEST_DATE = date(2025, 6, 27)
"""Date of the newest article; fixed, because pages must not change from day to day."""
FIXED_PATHS = ("/", "/about", "/contact", "/join", "/tags/")


class Article(Value, frozen=True):
    """One article without its text, which is generated on request."""

    path: str
    title: str
    lead: str
    author: str
    day: str
    section: int
    tags: tuple[int, ...]


class HostSite(Value, frozen=True):
    """One host of the site, without the text of its pages."""

    index: int
    seed: int
    theme: Theme
    name: str
    tagline: str
    articles: tuple[Article, ...]
    """Newest first."""
    has_privacy_page: bool
    """Fills up the number of pages where articles and listings do not reach it exactly."""

    def page_rng(self, path: str) -> Random:
        """A random generator that is the same for one page every time."""
        return Random(f"{self.seed}/{self.index}{path}")


@lru_cache(maxsize=512)
def build_host_site(site: Site, index: int) -> HostSite:
    theme = load_theme(index)
    rng = Random(f"{site.seed}/{index}")
    town = theme.towns[(site.seed + index + index // 6) % len(theme.towns)]
    articles, left_over = _article_count(site.pages_per_host, theme)
    return HostSite(
        index=index,
        seed=site.seed,
        theme=theme,
        name=rng.choice(theme.names).format(town=town),
        tagline=theme.tagline.format(town=town),
        articles=tuple(_make_article(theme, number, rng) for number in range(articles)),
        has_privacy_page=left_over > 0,
    )


def section_articles(host: HostSite, section: int) -> tuple[Article, ...]:
    return host.articles[section :: len(host.theme.sections)]


def tag_articles(host: HostSite, tag: int) -> tuple[Article, ...]:
    """The newest articles with this tag; the sections list all others."""
    return tuple(article for article in host.articles if tag in article.tags)[:ARTICLES_PER_TAG]


def listing_count(articles: int) -> int:
    """The number of listing pages for this many articles; at least one."""
    return max(1, -(-articles // ARTICLES_PER_LISTING))


def listing_path(theme: Theme, section: int, number: int) -> str:
    head = f"/{theme.sections[section].path}/"
    return head if number == 1 else f"{head}page/{number}"


def listing_paths(host: HostSite, section: int) -> list[str]:
    count = listing_count(len(section_articles(host, section)))
    return [listing_path(host.theme, section, number) for number in range(1, count + 1)]


def tag_path(theme: Theme, tag: int) -> str:
    return f"/tags/{theme.tags[tag].path}"


@lru_cache(maxsize=512)
def page_paths(site: Site, index: int) -> frozenset[str]:
    """The paths of all well-behaved pages of this host."""
    host = build_host_site(site, index)
    theme = host.theme
    paths = {*FIXED_PATHS, *(article.path for article in host.articles)}
    paths.update(tag_path(theme, tag) for tag in range(len(theme.tags)))
    for section in range(len(theme.sections)):
        paths.update(listing_paths(host, section))
    if host.has_privacy_page:
        paths.add("/privacy")
    return frozenset(paths)


def _article_count(pages: int, theme: Theme) -> tuple[int, int]:
    """How many articles fit in `pages` together with their listings, and how many pages are left over."""
    room = pages - len(FIXED_PATHS) - len(theme.tags)
    count = room
    while (used := count + _listing_total(count, len(theme.sections))) > room:
        count -= 1
    return count, room - used


def _listing_total(articles: int, sections: int) -> int:
    return sum(listing_count(len(range(section, articles, sections))) for section in range(sections))


def _make_article(theme: Theme, number: int, rng: Random) -> Article:
    section = number % len(theme.sections)
    first, second = rng.sample(theme.slugs, 2)
    return Article(
        path=f"/{theme.sections[section].path}/{first}-{second}-{number + 1}",
        title=fill_template(theme, theme.titles, rng),
        lead=fill_template(theme, theme.leads, rng),
        author=rng.choice(theme.authors),
        day=(NEWEST_DATE - timedelta(days=2 * number + rng.randint(0, 1))).isoformat(),
        section=section,
        tags=tuple(sorted({number % len(theme.tags), (number * 5 + 2) // 7 % len(theme.tags)})),
    )
