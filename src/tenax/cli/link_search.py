"""Who leads to a URL that is not in the crawl, and what kept it out there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tenax.config import Sites
from tenax.crawl.limit_check import FROM_LINKS, OF_FEEDS, limit_of, list_limit_of
from tenax.database import Ledger
from tenax.database.links import links_to
from tenax.database.rows import origin_of
from tenax.discovery.pending_guesses import is_owed
from tenax.discovery.sitemaps.read import sitemaps_in_robots
from tenax.model import OF_GUESSES, Value, setting_of
from tenax.urls.admit import Rules, is_of_seeds
from tenax.urls.normalize import normalize, spelling_of

MOST_SHOWN = 10


class LinkingPage(Value, frozen=True):
    """A stored page, sitemap or feed that leads there."""

    url: str
    is_nofollow: bool = False
    catalogue: str = ""
    is_url_list: bool = False
    """It names it as a feed or a sitemap."""


class CutOff(Value, frozen=True):
    """A limit that kept a URL out."""

    limit: str
    """The setting, such as `crawl.max_depth`."""
    via: str
    """The page, sitemap or feed where it was cut off."""
    links: int = 0
    """How many were cut off there, where it is not known whether this one is among them."""


Unfollowed = Literal["", "nofollow", "sources", "host", "duplicate"]
"""`nofollow`: the link says so. `sources`: links, feeds or sitemaps are not in `discovery.sources`. `host`: a URL list
on a host that the seeds do not name. `duplicate`: the page is one, and `duplicates.follow` is off."""


class LinkSearch(Value, frozen=True):
    """What is known of the links to one URL."""

    pages: tuple[LinkingPage, ...] = ()
    """Some of those that lead there."""
    count: int = 0
    """How many do."""
    depth: int | None = None
    """The least depth that they give it; None when none of them does."""
    cut_off: tuple[CutOff, ...] = ()
    maybe: tuple[CutOff, ...] = ()
    """Documents that were not read to their end: it may stand in the rest of one of them."""
    unfollowed: Unfollowed = ""
    """Why what leads there is not followed, where no rule refuses the URL and no limit cut it off."""
    pages_without_links: int = 0
    """Documents with links that were not followed and are not kept."""

    @property
    def is_url_list(self) -> bool:
        """Whether it is only named as a sitemap or a feed: no rule for pages is asked about it."""
        return bool(self.pages) and all(page.is_url_list for page in self.pages)


class _Cut(NamedTuple):
    """A document that something was cut off of."""

    record_id: int
    url: str
    cut: dict[str, int]
    is_kept: bool
    """Whether its links are."""


class _Found(NamedTuple):
    """A link that is to be followed."""

    depth: int
    """That it gives the URL."""
    record_id: int
    via: str
    is_url_list: bool


async def search_links(ledger: Ledger, rules: Rules, sites: Sites, url: str) -> LinkSearch:
    """Look through all links that are kept. For a URL that was never admitted; `sites` as in the last run."""
    cut = [_Cut(page.record_id, page.url, page.cut, page.packed is not None) async for page in ledger.cut_offs.pages()]
    pages: list[LinkingPage] = []
    followed: list[_Found] = []
    async for one in ledger.links.all(with_lists=True):
        for link in links_to(url, one.origin, one.packed):
            pages.append(LinkingPage(one.url, link.is_nofollow, one.catalogue, link.is_url_list))
            if not link.is_nofollow:
                followed.append(_Found(one.depth + 1, one.record_id, one.url, link.is_url_list))
    followed.sort()
    limits = _limits(rules, url, followed, {page.record_id: page.cut for page in cut})
    if await _is_named_by_robots(ledger, url):
        robots = f"{origin_of(url)}/robots.txt"
        pages.append(LinkingPage(robots, is_url_list=True))
        if not limits and any("max_sitemaps" in page.cut for page in cut):
            limits = (CutOff(setting_of("max_sitemaps"), robots),)
    if not limits:
        limits = await _guess_limits(ledger, url, cut)
    pages.sort(key=lambda page: (page.is_nofollow, page.is_url_list))
    unfollowed = await _unfollowed(ledger, rules, sites, url, pages) if not limits else ""
    return LinkSearch(
        tuple(pages[:MOST_SHOWN]),
        len(pages),
        next((one.depth for one in followed if not one.is_url_list), None),
        limits[:MOST_SHOWN],
        tuple(
            CutOff(setting_of(name), page.url, links)
            for page in cut
            for name, links in page.cut.items()
            if (name not in FROM_LINKS or name in OF_FEEDS) and setting_of(name)
        )[:MOST_SHOWN],
        unfollowed,
        sum(not page.is_kept for page in cut),
    )


async def _unfollowed(ledger: Ledger, rules: Rules, sites: Sites, url: str, pages: Sequence[LinkingPage]) -> Unfollowed:
    """The reason that holds for all that lead there; none when one of them is followed."""
    reasons = [await _why_unfollowed(ledger, rules, sites, url, page) for page in pages[:MOST_SHOWN]]
    return reasons[0] if reasons and all(reasons) else ""


async def _why_unfollowed(ledger: Ledger, rules: Rules, sites: Sites, url: str, page: LinkingPage) -> Unfollowed:
    if page.is_nofollow:
        return "nofollow"
    site = sites.of_origin(origin_of(page.url))
    if page.is_url_list:
        is_sitemap = page.catalogue == "sitemap" or page.url.endswith("/robots.txt")
        target = normalize(url, None, spelling_of(rules.urls))
        if not site.discovery.finds_by("sitemaps" if is_sitemap else "feeds"):
            return "sources"
        return "" if target is None or is_of_seeds(rules, target) else "host"
    if not page.catalogue and not site.discovery.finds_by("links"):
        return "sources"
    if site.duplicates.follow or (life := await ledger.life(page.url)) is None or life.page is None:
        return ""
    return "duplicate" if life.page.duplicate_of is not None else ""


async def _guess_limits(ledger: Ledger, url: str, cut: Sequence[_Cut]) -> tuple[CutOff, ...]:
    """What keeps this URL from being guessed, where it is the next one to guess of a list or an archive."""
    origin = origin_of(url)
    found = [
        (page.url, name) for page in cut if origin_of(page.url) == origin for name in OF_GUESSES.intersection(page.cut)
    ]
    host = await ledger.host(origin) if found else None
    if host is None or not is_owed(host.finds, url):
        return ()
    return tuple(CutOff(setting_of(name), via) for via, name in sorted(found))


async def _is_named_by_robots(ledger: Ledger, url: str) -> bool:
    """Whether the robots.txt of its host names it as a sitemap."""
    host = await ledger.host(origin_of(url))
    return host is not None and host.robots is not None and url in sitemaps_in_robots(host.robots.text)


def _limits(rules: Rules, url: str, followed: list[_Found], cut: dict[int, dict[str, int]]) -> tuple[CutOff, ...]:
    found = []
    for one in followed:
        names = cut.get(one.record_id, {})
        if one.is_url_list:
            name = list_limit_of(names) or ("max_sitemaps" if "max_sitemaps" in names else "")
        else:
            name = "depth" if one.depth > rules.max_depth else limit_of(rules, url, names)
        if name:
            found.append(CutOff(setting_of(name), one.via))
    return tuple(found)
