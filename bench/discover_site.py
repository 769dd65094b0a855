"""A site on six hosts that shows two fifths of its pages by no link: its pages, its lists, and the way to each page.

Everything follows from the number of pages, the seed and the day on which the newest page was written: archives are
guessed from the present backwards. Each host has manners of its own (`discover_manners`). A page that is not linked is
named in exactly one other place: a sitemap, a feed, an archive that nothing links to, or a page of a list beyond those
that are linked. What is answered at each address is said by `discover_answers`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import partial

from bench.discover_behaviours import MANNERS, Manner, Sitemaps
from bench.site import WORDS

ITEMS_A_PAGE = 10
"""Of a list that has several pages."""
PAGED_SECTIONS = 2
"""The first ones of a host, where it has pagers."""
MONTHS = 36
"""How far archives go back. The present month has nothing that only its archive shows: some homes link to it."""
LINKED_A_MONTH = 8
"""Pages that an archive shows besides those that only it shows."""
CHILDREN = 6
"""Linked pages form a tree below their home."""
SISTERS = 3
"""Links of a page to others, besides those to its children."""
PAGES_A_DEAD_ENTRY = 500


class Way(StrEnum):
    """What leads to a page; to those that are linked, links lead, and often more."""

    LINKS = "links"
    SITEMAPS = "sitemaps"
    FEEDS = "feeds"
    ARCHIVES = "archives"
    PAGINATION = "pagination"


SHARES: Mapping[Way, float] = {Way.SITEMAPS: 0.2, Way.ARCHIVES: 0.085, Way.PAGINATION: 0.085, Way.FEEDS: 0.03}
"""Of all pages, those to which only this leads; the rest is linked."""

_TAKES_PART: Mapping[Way, Callable[[Manner], bool]] = {
    Way.LINKS: lambda manner: True,
    Way.SITEMAPS: lambda manner: manner.sitemaps is not Sitemaps.NONE,
    Way.FEEDS: lambda manner: bool(manner.feed),
    Way.ARCHIVES: lambda manner: bool(manner.archives),
    Way.PAGINATION: lambda manner: bool(manner.pager),
}
_NAME_THE_DEAD = (Sitemaps.NESTED, Sitemaps.BROKEN, Sitemaps.TEXT, Sitemaps.HOSTILE)


@dataclass(frozen=True)
class Article:
    """A real page: what there is to find."""

    number: int
    """Among those of its host that are found the same way."""
    way: Way
    section: str
    day: date
    title: str
    path: str


@dataclass(frozen=True)
class Listing:
    """A page that leads to others: a home, the front of a section, a further page of it, or an archive."""

    title: str
    articles: tuple[Article, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    """Addresses and words: of a pager, or of what an index leads to."""
    head_next: str | None = None
    """What `<link rel=next>` names."""


@dataclass(frozen=True)
class Host:
    index: int
    manner: Manner
    articles: Mapping[Way, tuple[Article, ...]]
    pages: Mapping[str, Article | Listing]
    """What stands at a path, or at a path with a query."""
    dead: tuple[str, ...]
    """Paths that a sitemap names though nothing is there any more."""

    @property
    def linked(self) -> tuple[Article, ...]:
        return self.articles[Way.LINKS]

    def related(self, article: Article, dice: random.Random) -> list[Article]:
        """Linked pages only: from a hidden page, no other hidden one is reached."""
        first = CHILDREN * article.number + 1
        below = self.linked[first : first + CHILDREN] if article.way is Way.LINKS else ()
        others = (dice.choice(self.linked) for _ in range(SISTERS))
        return [one for one in dict.fromkeys((*below, *others)) if one is not article]


@dataclass(frozen=True)
class Site:
    seed: int
    today: date
    hosts: tuple[Host, ...]

    def ways(self) -> dict[tuple[int, str], Way]:
        """The truth: every real page, by host and path, and what leads to it."""
        return {(host.index, one.path): way for host in self.hosts for way, of in host.articles.items() for one in of}


def build(pages: int, seed: int, today: date) -> Site:
    counts = {way: round(pages * share) for way, share in SHARES.items()}
    counts[Way.LINKS] = pages - sum(counts.values())
    of_hosts = {way: _split(count, _TAKES_PART[way]) for way, count in counts.items()}
    dead = _split(max(pages // PAGES_A_DEAD_ENTRY, len(MANNERS)), lambda manner: manner.sitemaps in _NAME_THE_DEAD)
    hosts = []
    for index, manner in enumerate(MANNERS):
        make = partial(_article, manner, f"{seed} {index}", today)
        articles = {way: tuple(make(way, number) for number in range(of[index])) for way, of in of_hosts.items()}
        gone = tuple(make(Way.SITEMAPS, of_hosts[Way.SITEMAPS][index] + number).path for number in range(dead[index]))
        hosts.append(Host(index, manner, articles, _pages(manner, articles, today), gone))
    return Site(seed, today, tuple(hosts))


def months_back(today: date, count: int) -> list[date]:
    """First days of months, this one first."""
    last = today.year * 12 + today.month - 1
    return [date(month // 12, month % 12 + 1, 1) for month in range(last, last - count, -1)]


def _split(count: int, takes_part: Callable[[Manner], bool]) -> list[int]:
    """A share for each host: the same for all that take part, within one."""
    chosen = [index for index, manner in enumerate(MANNERS) if takes_part(manner)]
    shares = [0] * len(MANNERS)
    for place, index in enumerate(chosen):
        shares[index] = count // len(chosen) + (place < count % len(chosen))
    return shares


def _article(manner: Manner, seed: str, today: date, way: Way, number: int) -> Article:
    dice = random.Random(f"{seed} {way} {number}")
    months = months_back(today, MONTHS)
    month = months[1 + number % (MONTHS - 1)] if way is Way.ARCHIVES else dice.choice(months)
    day = month.replace(day=dice.randint(1, 28 if month != months[0] else today.day))
    sections = manner.sections[:PAGED_SECTIONS] if way is Way.PAGINATION else manner.sections
    words = dice.choices(WORDS, k=6)
    section = sections[number % len(sections)]
    path = manner.permalink.format(section=section, year=day.year, month=f"{day.month:02}", slug="-".join(words))
    return Article(number, way, section, day, " ".join(words).capitalize(), path)


def _pages(manner: Manner, articles: Mapping[Way, tuple[Article, ...]], today: date) -> dict[str, Article | Listing]:
    pages: dict[str, Article | Listing] = {one.path: one for of in articles.values() for one in of}
    shown = manner.archives[-1].format(year=today.year, month=f"{today.month:02}") if manner.shows_archive else None
    links = [(f"/{section}/", section.capitalize()) for section in manner.sections]
    links += [(shown, "This month")] if shown else []
    pages["/"] = Listing("Front page", articles[Way.LINKS][: CHILDREN + 1], tuple(links))
    for place, section in enumerate(manner.sections):
        linked = [one for one in articles[Way.LINKS] if one.section == section]
        deep = [one for one in articles[Way.PAGINATION] if one.section == section]
        if manner.pager and place < PAGED_SECTIONS:
            pages.update(_series(manner, section, linked, deep))
        else:
            pages[f"/{section}/"] = Listing(section.capitalize(), tuple(linked[:ITEMS_A_PAGE]))
    pages.update(_archives(manner, articles, today))
    return pages


def page_address(manner: Manner, section: str, number: int) -> str:
    """Of a page of a section, from 1 on."""
    further = manner.pager.format(n=number, offset=(number - 1) * ITEMS_A_PAGE) if number > 1 else ""
    return f"/{section}/{further}"


def _series(
    manner: Manner, section: str, linked: Sequence[Article], deep: Sequence[Article]
) -> Iterator[tuple[str, Listing]]:
    """The pages of a section: linked ones filled with linked articles, those after them with the others."""
    shown = manner.linked_numbers * ITEMS_A_PAGE
    items = [*linked[:shown], *deep]
    last = -(-len(items) // ITEMS_A_PAGE)
    pager = tuple((page_address(manner, section, n), str(n)) for n in range(2, manner.linked_numbers + 1))
    for number in range(1, last + 1):
        part = items[(number - 1) * ITEMS_A_PAGE : number * ITEMS_A_PAGE]
        following = page_address(manner, section, number + 1) if manner.names_next and number < last else None
        title = section.capitalize() + (f", page {number}" if number > 1 else "")
        yield page_address(manner, section, number), Listing(title, tuple(part), pager, following)


def _archives(
    manner: Manner, articles: Mapping[Way, tuple[Article, ...]], today: date
) -> Iterator[tuple[str, Listing]]:
    """The finest list pages of their time; coarser ones, where there are any, list those."""
    if not manner.archives:
        return
    linked, hidden = _by_month(articles[Way.LINKS]), _by_month(articles[Way.ARCHIVES])
    listed: dict[str, list[Article]] = {}
    finer: dict[str, dict[str, None]] = {}
    for month in months_back(today, MONTHS):
        coarsest, finest = (_archive(manner.archives[place], month) for place in (0, -1))
        listed.setdefault(finest, []).extend(hidden.get(month, []) + linked.get(month, [])[:LINKED_A_MONTH])
        finer.setdefault(coarsest, {})[finest] = None
    for address, part in listed.items():
        yield address, Listing(_words(address), tuple(part))
    for address, below in finer.items() if len(manner.archives) > 1 else ():
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
