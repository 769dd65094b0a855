"""A site on six hosts with two fifths of its pages unlinked: pages, lists, and the source of each page.

The site is determined by the number of pages, the seed and the date of the newest page: archives are guessed backwards
from today. Each host has its own behaviour (`discover_behaviours`). An unlinked page has exactly one other source: a
sitemap, a feed, an unlinked archive, or an unlinked page of a list. `discover_answers` has the answer for each URL.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import partial

from bench.discover_behaviours import HOST_BEHAVIOURS, HostBehaviour, Sitemaps
from bench.site import WORDS

ITEMS_A_PAGE = 10
"""Items per page of a list."""
PAGED_SECTIONS = 2
"""The first sections of a host with pagers."""
MONTHS = 36
"""Months of archives. The current month has no page of its own: some home pages link to it."""
LINKED_A_MONTH = 8
"""Linked pages that an archive also lists."""
CHILDREN = 6
"""Linked pages are a tree below the home page."""
SISTERS = 3
"""Links of a page besides those to its children."""
PAGES_A_DEAD_ENTRY = 500


class Source(StrEnum):
    """The source of a page; linked pages often have other sources too."""

    LINKS = "links"
    SITEMAPS = "sitemaps"
    FEEDS = "feeds"
    ARCHIVES = "archives"
    PAGINATION = "pagination"


SHARES: Mapping[Source, float] = {
    Source.SITEMAPS: 0.2,
    Source.ARCHIVES: 0.085,
    Source.PAGINATION: 0.085,
    Source.FEEDS: 0.03,
}
"""Share of all pages with only this source; the others are linked."""

_TAKES_PART: Mapping[Source, Callable[[HostBehaviour], bool]] = {
    Source.LINKS: lambda behaviour: True,
    Source.SITEMAPS: lambda behaviour: behaviour.sitemaps is not Sitemaps.NONE,
    Source.FEEDS: lambda behaviour: bool(behaviour.feed),
    Source.ARCHIVES: lambda behaviour: bool(behaviour.archives),
    Source.PAGINATION: lambda behaviour: bool(behaviour.pager),
}
_NAME_THE_DEAD = (Sitemaps.NESTED, Sitemaps.BROKEN, Sitemaps.TEXT, Sitemaps.HOSTILE)


@dataclass(frozen=True)
class Article:
    """A real page."""

    number: int
    """Index among the pages of this host with the same source."""
    source: Source
    section: str
    day: date
    title: str
    path: str


@dataclass(frozen=True)
class Listing:
    """A list page: home, section front, later page of a section, or archive."""

    title: str
    articles: tuple[Article, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    """URLs and texts of a pager or an index."""
    head_next: str | None = None
    """The target of `<link rel=next>`."""


@dataclass(frozen=True)
class Host:
    index: int
    behaviour: HostBehaviour
    articles: Mapping[Source, tuple[Article, ...]]
    pages: Mapping[str, Article | Listing]
    """Content by path, with or without a query."""
    dead: tuple[str, ...]
    """Dead paths in a sitemap."""

    @property
    def linked(self) -> tuple[Article, ...]:
        return self.articles[Source.LINKS]

    def related(self, article: Article, dice: random.Random) -> list[Article]:
        """Only linked pages: an unlinked page never leads to another."""
        first = CHILDREN * article.number + 1
        below = self.linked[first : first + CHILDREN] if article.source is Source.LINKS else ()
        others = (dice.choice(self.linked) for _ in range(SISTERS))
        return [one for one in dict.fromkeys((*below, *others)) if one is not article]


@dataclass(frozen=True)
class Site:
    seed: int
    today: date
    hosts: tuple[Host, ...]

    def sources(self) -> dict[tuple[int, str], Source]:
        """Ground truth: the source of every real page, by host and path."""
        return {
            (host.index, one.path): source for host in self.hosts for source, of in host.articles.items() for one in of
        }


def build(pages: int, seed: int, today: date) -> Site:
    counts = {source: round(pages * share) for source, share in SHARES.items()}
    counts[Source.LINKS] = pages - sum(counts.values())
    of_hosts = {source: _split(count, _TAKES_PART[source]) for source, count in counts.items()}
    dead = _split(
        max(pages // PAGES_A_DEAD_ENTRY, len(HOST_BEHAVIOURS)), lambda behaviour: behaviour.sitemaps in _NAME_THE_DEAD
    )
    hosts = []
    for index, behaviour in enumerate(HOST_BEHAVIOURS):
        make = partial(_article, behaviour, f"{seed} {index}", today)
        articles = {
            source: tuple(make(source, number) for number in range(of[index])) for source, of in of_hosts.items()
        }
        gone = tuple(
            make(Source.SITEMAPS, of_hosts[Source.SITEMAPS][index] + number).path for number in range(dead[index])
        )
        hosts.append(Host(index, behaviour, articles, _pages(behaviour, articles, today), gone))
    return Site(seed, today, tuple(hosts))


def months_back(today: date, count: int) -> list[date]:
    """First days of months, current month first."""
    last = today.year * 12 + today.month - 1
    return [date(month // 12, month % 12 + 1, 1) for month in range(last, last - count, -1)]


def _split(count: int, takes_part: Callable[[HostBehaviour], bool]) -> list[int]:
    """The count per host: equal for all that take part, within one."""
    chosen = [index for index, behaviour in enumerate(HOST_BEHAVIOURS) if takes_part(behaviour)]
    shares = [0] * len(HOST_BEHAVIOURS)
    for position, index in enumerate(chosen):
        shares[index] = count // len(chosen) + (position < count % len(chosen))
    return shares


def _article(behaviour: HostBehaviour, seed: str, today: date, source: Source, number: int) -> Article:
    dice = random.Random(f"{seed} {source} {number}")
    months = months_back(today, MONTHS)
    month = months[1 + number % (MONTHS - 1)] if source is Source.ARCHIVES else dice.choice(months)
    day = month.replace(day=dice.randint(1, 28 if month != months[0] else today.day))
    sections = behaviour.sections[:PAGED_SECTIONS] if source is Source.PAGINATION else behaviour.sections
    words = dice.choices(WORDS, k=6)
    section = sections[number % len(sections)]
    path = behaviour.permalink.format(section=section, year=day.year, month=f"{day.month:02}", slug="-".join(words))
    return Article(number, source, section, day, " ".join(words).capitalize(), path)


def _pages(
    behaviour: HostBehaviour, articles: Mapping[Source, tuple[Article, ...]], today: date
) -> dict[str, Article | Listing]:
    pages: dict[str, Article | Listing] = {one.path: one for of in articles.values() for one in of}
    shown = (
        behaviour.archives[-1].format(year=today.year, month=f"{today.month:02}") if behaviour.shows_archive else None
    )
    links = [(f"/{section}/", section.capitalize()) for section in behaviour.sections]
    links += [(shown, "This month")] if shown else []
    pages["/"] = Listing("Front page", articles[Source.LINKS][: CHILDREN + 1], tuple(links))
    for position, section in enumerate(behaviour.sections):
        linked = [one for one in articles[Source.LINKS] if one.section == section]
        deep = [one for one in articles[Source.PAGINATION] if one.section == section]
        if behaviour.pager and position < PAGED_SECTIONS:
            pages.update(_series(behaviour, section, linked, deep))
        else:
            pages[f"/{section}/"] = Listing(section.capitalize(), tuple(linked[:ITEMS_A_PAGE]))
    pages.update(_archives(behaviour, articles, today))
    return pages


def page_address(behaviour: HostBehaviour, section: str, number: int) -> str:
    """The URL of page n of a section; n starts at 1."""
    further = behaviour.pager.format(n=number, offset=(number - 1) * ITEMS_A_PAGE) if number > 1 else ""
    return f"/{section}/{further}"


def _series(
    behaviour: HostBehaviour, section: str, linked: Sequence[Article], deep: Sequence[Article]
) -> Iterator[tuple[str, Listing]]:
    """The list pages of a section: linked ones have linked articles, later ones the others."""
    shown = behaviour.linked_numbers * ITEMS_A_PAGE
    items = [*linked[:shown], *deep]
    last = -(-len(items) // ITEMS_A_PAGE)
    pager = tuple((page_address(behaviour, section, n), str(n)) for n in range(2, behaviour.linked_numbers + 1))
    for number in range(1, last + 1):
        part = items[(number - 1) * ITEMS_A_PAGE : number * ITEMS_A_PAGE]
        following = page_address(behaviour, section, number + 1) if behaviour.names_next and number < last else None
        title = section.capitalize() + (f", page {number}" if number > 1 else "")
        yield page_address(behaviour, section, number), Listing(title, tuple(part), pager, following)


def _archives(
    behaviour: HostBehaviour, articles: Mapping[Source, tuple[Article, ...]], today: date
) -> Iterator[tuple[str, Listing]]:
    """The finest archives list pages; coarser ones list finer ones."""
    if not behaviour.archives:
        return
    linked, hidden = _by_month(articles[Source.LINKS]), _by_month(articles[Source.ARCHIVES])
    listed: dict[str, list[Article]] = {}
    finer: dict[str, dict[str, None]] = {}
    for month in months_back(today, MONTHS):
        coarsest, finest = (_archive(behaviour.archives[position], month) for position in (0, -1))
        listed.setdefault(finest, []).extend(hidden.get(month, []) + linked.get(month, [])[:LINKED_A_MONTH])
        finer.setdefault(coarsest, {})[finest] = None
    for address, part in listed.items():
        yield address, Listing(_words(address), tuple(part))
    for address, below in finer.items() if len(behaviour.archives) > 1 else ():
        yield address, Listing(_words(address), links=tuple((one, _words(one)) for one in below))


def _by_month(articles: Sequence[Article]) -> dict[date, list[Article]]:
    months: dict[date, list[Article]] = {}
    for one in articles:
        months.setdefault(one.day.replace(day=1), []).append(one)
    return months


def _archive(pattern: str, month: date) -> str:
    return pattern.format(year=month.year, month=f"{month.month:02}")


def _words(address: str) -> str:
    return f"Archive {address.strip('/').replace('/', ' ')}"
