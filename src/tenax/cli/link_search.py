"""Finds the pages that link to a URL outside the crawl, and the limits that kept it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tenax.config import Sites
from tenax.crawl.limit_check import FEED_LIMITS, LINK_LIMITS, feed_limit, link_limit
from tenax.database import Database
from tenax.database.page_codec import find_links
from tenax.database.rows import url_origin
from tenax.discovery.pending_guesses import is_pending_guess
from tenax.discovery.sitemaps.read import sitemaps_in_robots
from tenax.model import GUESS_LIMITS, Value, limit_setting
from tenax.urls.admit import Rules, is_seed_host
from tenax.urls.normalize import normalize, normalize_options

MAX_SHOWN = 10


class LinkingPage(Value, frozen=True):
    """A stored page, sitemap or feed that links to the URL."""

    url: str
    is_nofollow: bool = False
    url_list_kind: str = ""
    is_url_list: bool = False
    """It links to the URL as a feed or a sitemap."""


class CutOff(Value, frozen=True):
    """A limit that kept a URL out."""

    limit: str
    """The setting, such as `crawl.max_depth`."""
    via: str
    """The page, sitemap or feed where it was cut off."""
    links: int = 0
    """How many were cut off there, when it is unknown whether this URL is among them."""


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
    """The smallest depth they give it; None when no link is followed."""
    cut_off: tuple[CutOff, ...] = ()
    possible_cut_offs: tuple[CutOff, ...] = ()
    """Documents that were not read to the end: the URL may be in the unread part."""
    unfollowed_reason: UnfollowedReason = ""
    """Why links to it are not followed, when no rule refuses the URL and no limit cut it off."""
    pages_without_links: int = 0
    """Documents with links that were neither followed nor stored."""

    @property
    def is_url_list(self) -> bool:
        """Whether it is linked only as a sitemap or a feed: rules for pages do not apply."""
        return bool(self.pages) and all(page.is_url_list for page in self.pages)


class _CutPage(NamedTuple):
    """A document with links that a limit cut off."""

    record_id: int
    url: str
    cut_counts: dict[str, int]
    has_stored_links: bool


class _FollowedLink(NamedTuple):
    """A link without nofollow."""

    depth: int
    """Of the URL by this link."""
    record_id: int
    via: str
    is_url_list: bool


async def search_links(database: Database, rules: Rules, sites: Sites, url: str) -> LinkSearch:
    """Search all stored links for a URL that was never admitted; `sites` as in the last run. Reads all links."""
    cut = [
        _CutPage(page.record_id, page.url, page.cut_off_counts, page.packed is not None)
        async for page in database.cut_offs.pages()
    ]
    pages: list[LinkingPage] = []
    followed: list[_FollowedLink] = []
    async for one in database.links.read_all(with_url_lists=True):
        for link in find_links(url, one.origin, one.packed):
            pages.append(LinkingPage(one.url, link.is_nofollow, one.url_list, link.is_url_list))
            if not link.is_nofollow:
                followed.append(_FollowedLink(one.depth + 1, one.record_id, one.url, link.is_url_list))
    followed.sort()
    limits = _link_limits(rules, url, followed, {page.record_id: page.cut_counts for page in cut})
    if await _is_named_by_robots(database, url):
        robots = f"{url_origin(url)}/robots.txt"
        pages.append(LinkingPage(robots, is_url_list=True))
        if not limits and any("max_sitemaps" in page.cut_counts for page in cut):
            limits = (CutOff(limit_setting("max_sitemaps"), robots),)
    if not limits:
        limits = await _guess_limits(database, url, cut)
    pages.sort(key=lambda page: (page.is_nofollow, page.is_url_list))
    unfollowed = await _shared_unfollowed_reason(database, rules, sites, url, pages) if not limits else ""
    return LinkSearch(
        tuple(pages[:MAX_SHOWN]),
        len(pages),
        next((one.depth for one in followed if not one.is_url_list), None),
        limits[:MAX_SHOWN],
        tuple(
            CutOff(limit_setting(name), page.url, links)
            for page in cut
            for name, links in page.cut_counts.items()
            if (name not in LINK_LIMITS or name in FEED_LIMITS) and limit_setting(name)
        )[:MAX_SHOWN],
        unfollowed,
        sum(not page.has_stored_links for page in cut),
    )


async def _shared_unfollowed_reason(
    database: Database, rules: Rules, sites: Sites, url: str, pages: Sequence[LinkingPage]
) -> UnfollowedReason:
    """The first page's reason if no page's link is followed, else empty."""
    reasons = [await _unfollowed_reason(database, rules, sites, url, page) for page in pages[:MAX_SHOWN]]
    return reasons[0] if reasons and all(reasons) else ""


async def _unfollowed_reason(
    database: Database, rules: Rules, sites: Sites, url: str, page: LinkingPage
) -> UnfollowedReason:
    if page.is_nofollow:
        return "nofollow"
    site = sites.for_origin(url_origin(page.url))
    if page.is_url_list:
        is_sitemap = page.url_list_kind == "sitemap" or page.url.endswith("/robots.txt")
        target = normalize(url, None, normalize_options(rules.urls))
        if not site.discovery.has_source("sitemaps" if is_sitemap else "feeds"):
            return "sources"
        return "" if target is None or is_seed_host(rules, target) else "host"
    if not page.url_list_kind and not site.discovery.has_source("links"):
        return "sources"
    if site.duplicates.follow or (history := await database.url_history(page.url)) is None or history.page is None:
        return ""
    return "duplicate" if history.page.duplicate_of is not None else ""


async def _guess_limits(database: Database, url: str, cut_pages: Sequence[_CutPage]) -> tuple[CutOff, ...]:
    """The limits that keep this URL from being guessed, if it is the next guess of a list or an archive."""
    origin = url_origin(url)
    found = [
        (page.url, name)
        for page in cut_pages
        if url_origin(page.url) == origin
        for name in GUESS_LIMITS.intersection(page.cut_counts)
    ]
    host = await database.host(origin) if found else None
    if host is None or not is_pending_guess(host.guess_state, url):
        return ()
    return tuple(CutOff(limit_setting(name), via) for via, name in sorted(found))


async def _is_named_by_robots(database: Database, url: str) -> bool:
    """Whether the robots.txt of its host lists it as a sitemap."""
    host = await database.host(url_origin(url))
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
