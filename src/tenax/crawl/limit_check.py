"""Whether limits keep out what the rules allow, and how much: the end of a crawl is `limited` then, not `complete`."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from typing import TypeVar

from tenax.config import Config, DiscoveryConfig, Sites
from tenax.crawl.discovery_candidates import pending
from tenax.database import CutPage, Ledger
from tenax.database.links import unpack_links
from tenax.database.rows import origin_of
from tenax.fetch.headers import robot_names
from tenax.hosts.robots import matcher
from tenax.model import (
    CLOSED,
    LINKS_NOT_KEPT,
    OF_GUESSES,
    Budget,
    HostRecord,
    RobotsVerdict,
    Source,
    limits_in,
    setting_of,
)
from tenax.urls.admit import Rules, budgets_at, catalogue_offer, cut_links

T = TypeVar("T")

PAGES_AT_ONCE = 200
"""Pages whose links are looked at together, so that they are looked up and written together."""
OF_FEEDS = ("feeds_too_deep", "max_feeds")
FROM_LINKS = frozenset(
    {"depth", "max_links_per_page", "facets_per_path", "hosts_per_domain", "max_sitemap_urls", *OF_FEEDS}
)
"""Limits whose victims stand among the links that are kept; for those of the others the document is fetched again."""
OF_ROBOTS = "max_sitemaps"
STAYING = frozenset({OF_ROBOTS, "links_read", "sitemap_read"}) | OF_GUESSES
"""What may be cut off besides: the sitemaps of a robots.txt or an index, guesses, and what no run reads."""


async def reckon(ledger: Ledger, rules: Rules, config: Config) -> bool:
    """Whether limits keep anything out that the rules allow; afterwards the counts are of that alone.

    A link that one page lost to a limit may have been found on another page, or be closed by a robots.txt;
    a guess may have been made after another visit.
    """
    is_limited = False
    await _recount_guesses(ledger, rules, Sites(config))
    robots, sites = _StoredRobots(ledger, config), Sites(config)
    async for pages in in_parts(ledger.cut_offs.pages(), PAGES_AT_ONCE):
        wanted = {
            page.record_id: _wanted(rules, page, sites.of_origin(page.origin).discovery)
            for page in pages
            if is_kept(page)
        }
        urls = list({url for found in wanted.values() for url in found})
        states = await ledger.links.states(urls)
        marks = {url: "" if await robots.allow(url) else CLOSED for url in urls if url not in states}
        left = {
            page.record_id: _left(
                page, (limit + marks[url] for url, limit in wanted[page.record_id].items() if url in marks)
            )
            for page in pages
            if page.record_id in wanted
        }
        await ledger.cut_offs.put({page.record_id: left[page.record_id] for page in pages if _differs(page, left)})
        is_limited = is_limited or any(
            setting_of(name) for page in pages for name in left.get(page.record_id, page.cut)
        )
    return is_limited


class _StoredRobots:
    """What each robots.txt says, as it was last seen. One that was never asked for, or gave no answer, closes nothing:
    what it says is not known."""

    def __init__(self, ledger: Ledger, config: Config) -> None:
        self._ledger = ledger
        self._sites = Sites(config)
        self._hosts: dict[str, HostRecord | None] = {}

    async def allow(self, url: str) -> bool:
        origin = origin_of(url)
        if origin not in self._hosts:
            self._hosts[origin] = await self._ledger.host(origin)
        host = self._hosts[origin]
        if host is None or host.robots is None or host.robots.verdict is RobotsVerdict.UNREACHABLE:
            return True
        return matcher(host.robots, robot_names(self._sites.of_origin(origin).fetch)).allows(url)


async def _recount_guesses(ledger: Ledger, rules: Rules, sites: Sites) -> None:
    """The guesses that a host still owes are counted with the first of its pages that speaks for any."""
    pages = [page async for page in ledger.cut_offs.pages() if not OF_GUESSES.isdisjoint(page.cut)]
    now = (await ledger.status()).now if pages else 0.0
    first: dict[str, CutPage] = {}
    left: dict[int, Counter[str]] = {}
    for page in pages:
        first.setdefault(page.origin, page)
        left[page.record_id] = Counter({name: count for name, count in page.cut.items() if name not in OF_GUESSES})
    for origin, page in first.items():
        host = await ledger.host(origin)
        owed = pending(host.finds, origin, now, rules, sites.of_origin(origin)) if host is not None else ()
        known = await ledger.links.states([one.offer.url for one in owed])
        left[page.record_id].update(one.limit for one in owed if one.offer.url not in known)
    await ledger.cut_offs.put({page.record_id: left[page.record_id] for page in pages if _differs(page, left)})


def _left(page: CutPage, limits: Iterable[str]) -> Counter[str]:
    """What is still cut off; some of it cannot be looked up in the links."""
    return Counter({name: page.cut[name] for name in STAYING if name in page.cut}) + Counter(limits)


def _differs(page: CutPage, left: dict[int, Counter[str]]) -> bool:
    return page.record_id in left and left[page.record_id] != page.cut


def is_kept(page: CutPage) -> bool:
    """Whether all that was cut off of it stands among the links that are kept."""
    return page.packed is not None and (FROM_LINKS | STAYING).issuperset(limits_in(page.cut))


def _wanted(rules: Rules, page: CutPage, discovery: DiscoveryConfig) -> dict[str, str]:
    """What the page leads to and the rules allow, and the limit that keeps each out if it is not in the crawl."""
    if OF_GUESSES.issuperset(page.cut):
        return {}
    found = unpack_links(page.origin, page.packed or b"")
    wanted: dict[str, str] = {}
    if page.catalogue or discovery.finds_by("links"):
        links = [(link.url, link.is_nofollow) for link in found if not link.is_url_list]
        for url, limit in cut_links(rules, page.url, page.depth, links).items():
            if by := limit or limit_of(rules, url, page.cut):
                wanted[url] = by
    if by := list_limit_of(page.cut):
        lists = [link.url for link in found if link.is_url_list and not link.is_nofollow]
        offers = (catalogue_offer(rules, url, page.url, 0, Source.FEED, None, Budget(by, "", 0)) for url in lists)
        wanted |= {offer.url: by for offer in offers if offer is not None}
    return wanted


def list_limit_of(cut: Iterable[str]) -> str:
    """Which of the limits that a document was cut off by keeps the feeds out that it names; empty for none."""
    names = limits_in(cut)
    return next((name for name in OF_FEEDS if name in names), "")


def limit_of(rules: Rules, url: str, cut: Iterable[str]) -> str:
    """Which of the limits that a document was cut off by keeps this one of its links out; empty for none of them."""
    names = [name for name in sorted(limits_in(cut)) if name not in ("depth", LINKS_NOT_KEPT, *OF_FEEDS, *OF_GUESSES)]
    budgets = [budget.name for budget in budgets_at(rules, url) if budget.name in names]
    others = [name for name in names if name not in ("facets_per_path", "hosts_per_domain")]
    others.sort(key=lambda name: name in STAYING)
    return next(iter([*budgets, *others, *names]), "")


async def in_parts(found: AsyncIterable[T], size: int) -> AsyncIterator[Sequence[T]]:
    part: list[T] = []
    async for one in found:
        part.append(one)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part
