"""URLs that limits cut off: counts them, and finds the pages that link to one and the limits that cut it off."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from typing import Literal, NamedTuple, TypeVar

from tenax.config import Config, DiscoveryConfig, Sites
from tenax.crawl.discovery_candidates import withheld_guesses
from tenax.database import CutOffPage, Records, Reports
from tenax.database.page_codec import find_links, unpack_links
from tenax.database.rows import url_origin
from tenax.discovery.pending_guesses import is_pending_guess
from tenax.discovery.sitemaps.read import sitemaps_in_robots
from tenax.fetch.headers import robot_names
from tenax.hosts.robots import robots_rules
from tenax.model import (
    GUESS_LIMITS,
    LINKS_NOT_KEPT,
    ROBOTS_CLOSED_SUFFIX,
    Budget,
    HostRecord,
    RobotsVerdict,
    Source,
    Value,
    limit_names,
    limit_setting,
)
from tenax.urls import FoundOn
from tenax.urls.admit import Rules, is_seed_host, links_with_limits, url_budgets, url_list_candidate
from tenax.urls.normalize import normalize, normalize_options

T = TypeVar("T")

PAGE_BATCH_SIZE = 200
"""Number of pages whose links are looked up and written together."""
FEED_LIMITS = ("feeds_too_deep", "max_feeds")
LINK_LIMITS = frozenset(
    {"depth", "max_links_per_page", "facets_per_path", "hosts_per_domain", "max_sitemap_urls", *FEED_LIMITS}
)
"""Limits whose cut-off URLs are among the stored links. For other limits the document is fetched again."""
SITEMAP_LIMIT = "max_sitemaps"
NON_LINK_LIMITS = frozenset({SITEMAP_LIMIT, "links_read", "sitemap_read"}) | GUESS_LIMITS
"""Other cut-offs: the sitemaps of a robots.txt or an index, guesses, and what no run reads."""


async def recount_cut_offs(records: Records, rules: Rules, config: Config) -> bool:
    """Whether limits cut off anything that the rules allow. Afterwards the stored counts include only that.

    A link that was cut off on one page may have been found on another, or robots.txt may disallow it. A guess may have
    been made after another visit.
    """
    is_limited = False
    await _recount_guesses(records, rules, Sites(config))
    robots, sites = _StoredRobots(records, config), Sites(config)
    async for pages in iterate_batches(records.cut_offs.pages(), PAGE_BATCH_SIZE):
        wanted = {
            page.record_id: _cut_off_urls(rules, page, sites.for_origin(page.origin).discovery)
            for page in pages
            if has_stored_links(page)
        }
        urls = list({url for found in wanted.values() for url in found})
        states = await records.links.states(urls)
        marks = {url: "" if await robots.is_allowed(url) else ROBOTS_CLOSED_SUFFIX for url in urls if url not in states}
        left = {
            page.record_id: _remaining_cut_offs(
                page, (limit + marks[url] for url, limit in wanted[page.record_id].items() if url in marks)
            )
            for page in pages
            if page.record_id in wanted
        }
        await records.cut_offs.replace(
            {page.record_id: left[page.record_id] for page in pages if _has_changed(page, left)}
        )
        is_limited = is_limited or any(
            limit_setting(name) for page in pages for name in left.get(page.record_id, page.cut_off_counts)
        )
    return is_limited


class _StoredRobots:
    """The rules of robots.txt files as last fetched.

    A robots.txt that was never fetched, or did not respond, disallows nothing, because its rules are unknown.
    """

    def __init__(self, reports: Reports, config: Config) -> None:
        self._reports = reports
        self._sites = Sites(config)
        self._hosts: dict[str, HostRecord | None] = {}

    async def is_allowed(self, url: str) -> bool:
        origin = url_origin(url)
        if origin not in self._hosts:
            self._hosts[origin] = await self._reports.host(origin)
        host = self._hosts[origin]
        if host is None or host.robots is None or host.robots.verdict is RobotsVerdict.UNREACHABLE:
            return True
        return robots_rules(host.robots, robot_names(self._sites.for_origin(origin).fetch)).can_fetch(url)


async def _recount_guesses(records: Records, rules: Rules, sites: Sites) -> None:
    """Count the pending guesses of a host once, at the first of its pages that has any."""
    pages = [page async for page in records.cut_offs.pages() if not GUESS_LIMITS.isdisjoint(page.cut_off_counts)]
    now = (await records.status()).now if pages else 0.0
    first: dict[str, CutOffPage] = {}
    left: dict[int, Counter[str]] = {}
    for page in pages:
        first.setdefault(page.origin, page)
        left[page.record_id] = Counter(
            {name: count for name, count in page.cut_off_counts.items() if name not in GUESS_LIMITS}
        )
    for origin, page in first.items():
        host = await records.host(origin)
        pending = (
            withheld_guesses(host.guess_state, origin, now, rules, sites.for_origin(origin)) if host is not None else ()
        )
        known = await records.links.states([one.candidate.url for one in pending])
        left[page.record_id].update(one.limit for one in pending if one.candidate.url not in known)
    await records.cut_offs.replace({page.record_id: left[page.record_id] for page in pages if _has_changed(page, left)})


def _remaining_cut_offs(page: CutOffPage, limits: Iterable[str]) -> Counter[str]:
    """The remaining counts. Some limits cannot be looked up in the links."""
    return Counter(
        {name: page.cut_off_counts[name] for name in NON_LINK_LIMITS if name in page.cut_off_counts}
    ) + Counter(limits)


def _has_changed(page: CutOffPage, remaining: dict[int, Counter[str]]) -> bool:
    return page.record_id in remaining and remaining[page.record_id] != page.cut_off_counts


def has_stored_links(page: CutOffPage) -> bool:
    """Whether all cut-off URLs of the page are among its stored links."""
    return page.packed is not None and (LINK_LIMITS | NON_LINK_LIMITS).issuperset(limit_names(page.cut_off_counts))


def _cut_off_urls(rules: Rules, page: CutOffPage, discovery: DiscoveryConfig) -> dict[str, str]:
    """The URLs on the page that the rules allow, with the limit that cuts each off if it is not in the crawl."""
    if GUESS_LIMITS.issuperset(page.cut_off_counts):
        return {}
    found = unpack_links(page.origin, page.packed or b"")
    wanted: dict[str, str] = {}
    if page.url_list or "links" in discovery.sources:
        links = [(link.url, link.is_nofollow) for link in found if not link.is_url_list]
        for url, limit in links_with_limits(rules, page.url, page.depth, links).items():
            if by := limit or link_limit(rules, url, page.cut_off_counts):
                wanted[url] = by
    if by := feed_limit(page.cut_off_counts):
        lists = [link.url for link in found if link.is_url_list and not link.is_nofollow]
        candidates = (
            url_list_candidate(rules, url, FoundOn(page.url, 0, Source.FEED), Budget(by, "", 0)) for url in lists
        )
        wanted |= {candidate.url: by for candidate in candidates if candidate is not None}
    return wanted


def feed_limit(cut: Iterable[str]) -> str:
    """The limit that cuts off the feeds named by a document with these cut-offs; empty: none."""
    names = limit_names(cut)
    return next((name for name in FEED_LIMITS if name in names), "")


def link_limit(rules: Rules, url: str, cut: Iterable[str]) -> str:
    """The limit that cuts off this link of a document with these cut-offs; empty: none."""
    names = [
        name for name in sorted(limit_names(cut)) if name not in ("depth", LINKS_NOT_KEPT, *FEED_LIMITS, *GUESS_LIMITS)
    ]
    budgets = [budget.name for budget in url_budgets(rules, url) if budget.name in names]
    others = [name for name in names if name not in ("facets_per_path", "hosts_per_domain")]
    others.sort(key=lambda name: name in NON_LINK_LIMITS)
    return next(iter([*budgets, *others, *names]), "")


async def iterate_batches(items: AsyncIterable[T], size: int) -> AsyncIterator[Sequence[T]]:
    part: list[T] = []
    async for one in items:
        part.append(one)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part


MAX_SHOWN = 10


class LinkingPage(Value, frozen=True):
    """A stored page, sitemap or feed that links to the URL."""

    url: str
    is_nofollow: bool = False
    url_list_kind: str = ""
    is_url_list: bool = False
    """Whether it names the URL as a feed or a sitemap."""


class CutOff(Value, frozen=True):
    """A limit that cut off a URL."""

    limit: str
    """The setting, such as `crawl.max_depth`."""
    via: str
    """The page, sitemap or feed where the URL was cut off."""
    links: int = 0
    """How many URLs were cut off there, if it is unknown whether this URL is among them."""


UnfollowedReason = Literal["", "nofollow", "sources", "host", "duplicate"]
"""`nofollow`: the link says so. `sources`: links, feeds or sitemaps are not in `discovery.sources`. `host`: a URL list
on a host that the seeds do not name. `duplicate`: the page is a duplicate, and `duplicates.follow` is off."""


class LinkSearch(Value, frozen=True):
    """The stored links to one URL."""

    pages: tuple[LinkingPage, ...] = ()
    """Some of the pages that link to it."""
    count: int = 0
    """How many pages link to it."""
    depth: int | None = None
    """The smallest depth that these pages give the URL; None if no link is followed."""
    cut_off: tuple[CutOff, ...] = ()
    possible_cut_offs: tuple[CutOff, ...] = ()
    """Documents that were not read to the end. The URL may be in the unread part."""
    unfollowed_reason: UnfollowedReason = ""
    """Why links to the URL are not followed, if no rule refuses it and no limit cut it off."""
    pages_without_links: int = 0
    """Documents with links that were neither followed nor stored."""

    @property
    def is_url_list(self) -> bool:
        """Whether the URL is linked only as a sitemap or a feed. Rules for pages do not apply then."""
        return bool(self.pages) and all(page.is_url_list for page in self.pages)


class _CutPage(NamedTuple):
    """A document with links that a limit cut off."""

    record_id: int
    url: str
    cut_counts: dict[str, int]
    has_stored_links: bool


class _FollowedLink(NamedTuple):
    """A link that is not marked nofollow."""

    depth: int
    """The depth of the URL by this link."""
    record_id: int
    via: str
    is_url_list: bool


async def search_links(records: Records, rules: Rules, sites: Sites, url: str) -> LinkSearch:
    """Search all stored links for a URL that was never admitted. `sites` are those of the last run. Reads all links."""
    cut = [
        _CutPage(page.record_id, page.url, page.cut_off_counts, page.packed is not None)
        async for page in records.cut_offs.pages()
    ]
    pages: list[LinkingPage] = []
    followed: list[_FollowedLink] = []
    async for one in records.links.read_all(with_url_lists=True):
        for link in find_links(url, one.origin, one.packed):
            pages.append(LinkingPage(one.url, link.is_nofollow, one.url_list, link.is_url_list))
            if not link.is_nofollow:
                followed.append(_FollowedLink(one.depth + 1, one.record_id, one.url, link.is_url_list))
    followed.sort()
    limits = _link_limits(rules, url, followed, {page.record_id: page.cut_counts for page in cut})
    if await _is_named_by_robots(records, url):
        robots = f"{url_origin(url)}/robots.txt"
        pages.append(LinkingPage(robots, is_url_list=True))
        if not limits and any("max_sitemaps" in page.cut_counts for page in cut):
            limits = (CutOff(limit_setting("max_sitemaps"), robots),)
    if not limits:
        limits = await _guess_limits(records, url, cut)
    pages.sort(key=lambda page: (page.is_nofollow, page.is_url_list))
    unfollowed = await _shared_unfollowed_reason(records, rules, sites, url, pages) if not limits else ""
    return LinkSearch(
        tuple(pages[:MAX_SHOWN]),
        len(pages),
        next((one.depth for one in followed if not one.is_url_list), None),
        cut_off=limits[:MAX_SHOWN],
        possible_cut_offs=tuple(
            CutOff(limit_setting(name), page.url, links)
            for page in cut
            for name, links in page.cut_counts.items()
            if (name not in LINK_LIMITS or name in FEED_LIMITS) and limit_setting(name)
        )[:MAX_SHOWN],
        unfollowed_reason=unfollowed,
        pages_without_links=sum(not page.has_stored_links for page in cut),
    )


async def _shared_unfollowed_reason(
    reports: Reports, rules: Rules, sites: Sites, url: str, pages: Sequence[LinkingPage]
) -> UnfollowedReason:
    """The reason of the first page if no page's link is followed, else empty."""
    reasons = [await _unfollowed_reason(reports, rules, sites, url, page) for page in pages[:MAX_SHOWN]]
    return reasons[0] if reasons and all(reasons) else ""


async def _unfollowed_reason(
    reports: Reports, rules: Rules, sites: Sites, url: str, page: LinkingPage
) -> UnfollowedReason:
    if page.is_nofollow:
        return "nofollow"
    site = sites.for_origin(url_origin(page.url))
    if page.is_url_list:
        is_sitemap = page.url_list_kind == "sitemap" or page.url.endswith("/robots.txt")
        target = normalize(url, None, normalize_options(rules.urls))
        if ("sitemaps" if is_sitemap else "feeds") not in site.discovery.sources:
            return "sources"
        return "" if target is None or is_seed_host(rules, target) else "host"
    if not page.url_list_kind and "links" not in site.discovery.sources:
        return "sources"
    if site.duplicates.follow or (history := await reports.url_history(page.url)) is None or history.page is None:
        return ""
    return "duplicate" if history.page.duplicate_of is not None else ""


async def _guess_limits(reports: Reports, url: str, cut_pages: Sequence[_CutPage]) -> tuple[CutOff, ...]:
    """The limits that prevent a guess of this URL, if it is the next guess of a list or an archive."""
    origin = url_origin(url)
    found = [
        (page.url, name)
        for page in cut_pages
        if url_origin(page.url) == origin
        for name in GUESS_LIMITS.intersection(page.cut_counts)
    ]
    host = await reports.host(origin) if found else None
    if host is None or not is_pending_guess(host.guess_state, url):
        return ()
    return tuple(CutOff(limit_setting(name), via) for via, name in sorted(found))


async def _is_named_by_robots(reports: Reports, url: str) -> bool:
    """Whether the robots.txt of its host lists the URL as a sitemap."""
    host = await reports.host(url_origin(url))
    return host is not None and host.robots is not None and url in sitemaps_in_robots(host.robots.text)


def _link_limits(
    rules: Rules, url: str, followed: list[_FollowedLink], cut_counts: dict[int, dict[str, int]]
) -> tuple[CutOff, ...]:
    found = []
    for one in followed:
        names = cut_counts.get(one.record_id, {})
        if one.is_url_list:
            name = feed_limit(names) or ("max_sitemaps" if "max_sitemaps" in names else "")
        else:
            name = "depth" if one.depth > rules.max_depth else link_limit(rules, url, names)
        if name:
            found.append(CutOff(limit_setting(name), one.via))
    return tuple(found)
