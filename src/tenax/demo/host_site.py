"""The content of one host: its name, articles and paths, and text that is generated from the themes in `words/`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache
from importlib import resources
from random import Random
from typing import TypeAlias

import msgspec

from tenax.demo import Site
from tenax.model import Value

THEMES = ("courier", "museum", "shop", "weather", "library", "council")

Slots: TypeAlias = Mapping[str, Sequence[str]]

_SLOT = re.compile(r"\{(\^?)(\w+)\}")


class Heading(Value, frozen=True):
    """A section or a tag: its path segment and its title."""

    path: str
    title: str


class Labels(Value, frozen=True):
    """Labels of navigation and frame, in the language of the theme."""

    home: str
    latest: str
    about: str
    contact: str
    join: str
    tags: str
    privacy: str
    related: str
    neighbours: str
    curiosities: str
    previous: str
    next: str
    page: str
    by: str
    read: str


class Theme(Value, frozen=True):
    """One kind of website: language, charset, templates and phrases.

    In a template, `{slot}` is replaced by one of that slot's phrases, `{^slot}` by one with a capital letter.
    """

    language: str
    charset: str
    declared_in: str
    """Where the charset is declared: `header`, `meta` or `nothing`."""
    schema: str
    """The schema.org type of its articles."""
    colour: str
    joiner: str
    """The separator between two sentences."""
    names: tuple[str, ...]
    towns: tuple[str, ...]
    tagline: str
    authors: tuple[str, ...]
    date: str
    months: tuple[str, ...]
    slugs: tuple[str, ...]
    titles: tuple[str, ...]
    leads: tuple[str, ...]
    sentences: tuple[str, ...]
    closings: tuple[str, ...]
    slots: dict[str, tuple[str, ...]]
    labels: Labels
    sections: tuple[Heading, ...]
    tags: tuple[Heading, ...]


@lru_cache
def load_theme(host_index: int) -> Theme:
    """The theme of this host. Themes repeat if there are more hosts than themes."""
    name = THEMES[host_index % len(THEMES)]
    file = resources.files("tenax.demo") / "words" / f"{name}.toml"
    return msgspec.toml.decode(file.read_bytes(), type=Theme)


def fill_template(theme: Theme, templates: Sequence[str], rng: Random, slots: Slots | None = None) -> str:
    """One of these templates with its slots filled."""
    phrases = theme.slots if slots is None else slots

    def fill(match: re.Match[str]) -> str:
        phrase = rng.choice(phrases[match[2]])
        return phrase[0].upper() + phrase[1:] if match[1] else phrase

    return _SLOT.sub(fill, rng.choice(templates))


def write_paragraph(theme: Theme, rng: Random) -> str:
    """Three to five different sentences."""
    chosen = rng.sample(theme.sentences, rng.randint(3, 5))
    return theme.joiner.join(fill_template(theme, (sentence,), rng) for sentence in chosen)


def write_article(theme: Theme, lead: str, rng: Random) -> list[str]:
    """Several paragraphs, the first of which begins with `lead`. Each slot has few phrases, and repetitions are far
    apart, so the text is readable."""
    cast = {slot: rng.sample(phrases, min(4, len(phrases))) for slot, phrases in theme.slots.items()}
    unused: list[str] = []
    texts = []
    for _ in range(rng.randint(5, 8)):
        if len(unused) < 5:
            unused = rng.sample(theme.sentences, len(theme.sentences)) + unused
        count = rng.randint(3, 5)
        unused, chosen = unused[:-count], unused[-count:]
        texts.append(theme.joiner.join(fill_template(theme, (sentence,), rng, cast) for sentence in chosen))
    texts[0] = lead + theme.joiner + texts[0]
    return [*texts, fill_template(theme, theme.closings, rng, cast)]


def format_date(theme: Theme, iso_date: str) -> str:
    """A date in the format of the theme."""
    year, month, day = iso_date.split("-")
    return theme.date.format(year=int(year), month=theme.months[int(month) - 1], day=int(day))


ARTICLES_PER_LISTING = 15
ARTICLES_PER_TAG = 30
NEWEST_DATE = date(2025, 6, 27)
"""The date of the newest article. It is fixed, because pages must not change from day to day."""
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
    """This page adds to the number of pages where articles and listings do not reach it exactly."""

    def page_rng(self, path: str) -> Random:
        """A random generator that is the same for a page every time."""
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
    """The newest articles with this tag. The sections list all others."""
    return tuple(article for article in host.articles if tag in article.tags)[:ARTICLES_PER_TAG]


def listing_count(articles: int) -> int:
    """The number of listing pages for this many articles, at least one."""
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
