"""The sitemaps of a site, found and read one after the other, nested ones too."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import NamedTuple

from tenax.config import Config
from tenax.crawl.discovery_candidates import SITEMAP_PATHS
from tenax.discovery.sitemaps.read import Sitemap, SitemapLimits, read_sitemap, sitemaps_in_robots
from tenax.model import Deferred, Failed, Fetched, Outcome, RobotsCopy, RobotsVerdict, Value
from tenax.trace.fetch_many import UrlFetcher
from tenax.urls.normalize import WebUrl, normalize, normalize_options

MAX_INDEX_DEPTH = 5
"""Indexes within indexes. The protocol knows none."""


class SitemapResult(Value, frozen=True):
    """A sitemap that was asked for, and what was in it."""

    url: str
    via: str
    """What named it: a robots.txt, an index; empty for a person and for the usual place."""
    outcome: Outcome
    sitemap: Sitemap | None = None
    """None: nothing came."""


class ListedUrl(Value, frozen=True):
    """An entry of a sitemap, its URLs absolute and in the spelling of a crawl; and where it stands."""

    url: str
    sitemap: str
    lastmod: float | None = None
    changefreq: str = ""
    priority: float | None = None
    alternates: tuple[str, ...] = ()
    title: str = ""
    published: float | None = None


class _PendingSitemap(NamedTuple):
    url: WebUrl
    via: str
    depth: int


class SitemapWalk:
    """Iterates over the sitemaps behind a URL, each once: those of the site for its root, else that one.

    `on_next` hears of each before it is asked for, with the number of those that were, and of those that are known.
    """

    def __init__(
        self, url: WebUrl, fetcher: UrlFetcher, config: Config, on_next: Callable[[str, int, int], None] | None = None
    ) -> None:
        self.unread_count = 0
        """Sitemaps that were named and not asked for: too many of them, or nested too deeply."""
        self._url = url
        self._fetcher = fetcher
        self._spelling = normalize_options(config.urls)
        self._sitemaps_left = config.discovery.max_sitemaps
        self._limits = SitemapLimits(config.discovery.max_sitemap_urls, config.discovery.max_sitemap_bytes)
        self._on_next = on_next
        self._pending: deque[_PendingSitemap] = deque()
        self._known: set[str] = set()
        self._read_count = 0

    async def __aiter__(self) -> AsyncIterator[SitemapResult]:
        if self._url.path != "/" or self._url.query:
            self._add_pending([self._url.url], self._url.url, "", 0)
        else:
            robots = f"{self._url.origin}/robots.txt"
            copy = await self._fetcher.fetch_robots(self._url)
            if not isinstance(copy, RobotsCopy):
                yield SitemapResult(robots, "", copy)
                return
            is_readable = copy.verdict is not RobotsVerdict.UNREACHABLE
            self._add_pending(sitemaps_in_robots(copy.text) if is_readable else (), self._url.url, robots, 0)
            async for found in self._fetch_pending():
                yield found
            for path in SITEMAP_PATHS if self._read_count == 0 else ():
                self._add_pending([path], self._url.url, "", 0)
                async for found in self._fetch_pending():
                    yield found
                if self._read_count or _is_host_unreachable(found.outcome):
                    break
        async for found in self._fetch_pending():
            yield found

    async def _fetch_pending(self) -> AsyncIterator[SitemapResult]:
        while self._pending:
            wanted = self._pending.popleft()
            if self._on_next is not None:
                self._on_next(wanted.url.url, len(self._known) - len(self._pending), len(self._known))
            yield await self._fetch_sitemap(wanted)

    async def _fetch_sitemap(self, pending: _PendingSitemap) -> SitemapResult:
        brought = await self._fetcher.fetch(pending.url)
        self._known.add(brought.url)
        if not isinstance(brought.outcome, Fetched):
            return SitemapResult(brought.url, pending.via, brought.outcome)
        sitemap = read_sitemap(brought.body, brought.content_type, self._limits)
        self._read_count += sitemap.form != "none"
        if sitemap.form == "index":
            self._add_pending((entry.url for entry in sitemap.entries), brought.url, brought.url, pending.depth + 1)
        return SitemapResult(brought.url, pending.via, brought.outcome, sitemap)

    def _add_pending(self, urls: Iterable[str], base: str, via: str, depth: int) -> None:
        """An index may name itself, or one that names it: each is wanted once."""
        for found in (normalize(url, base, self._spelling) for url in urls):
            if found is None or found.url in self._known:
                continue
            if self._sitemaps_left <= 0 or depth > MAX_INDEX_DEPTH:
                self.unread_count += 1
                continue
            self._sitemaps_left -= 1
            self._known.add(found.url)
            self._pending.append(_PendingSitemap(found, via, depth))


def _is_host_unreachable(outcome: Outcome) -> bool:
    """The host could not be asked: the next place there would fare no better."""
    return isinstance(outcome, Deferred) or (isinstance(outcome, Failed) and outcome.is_site_wide)
