"""Finds and reads the sitemaps of a site one after another, indexes included."""

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
"""Of indexes within indexes. The protocol allows none."""


class SitemapResult(Value, frozen=True):
    """A requested sitemap and its content."""

    url: str
    via: str
    """What lists it: a robots.txt or an index; empty for a typed URL and for the well-known paths."""
    outcome: Outcome
    sitemap: Sitemap | None = None
    """None: it was not fetched."""


class ListedUrl(Value, frozen=True):
    """An entry of a sitemap with normalised absolute URLs, and the sitemap it is in."""

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
    """Iterates over sitemaps, each once: all of the site for a root URL, else the one at the URL and those it lists.

    `on_next` is called before each request, with the URL, its number and the count of known sitemaps.
    """

    def __init__(
        self, url: WebUrl, fetcher: UrlFetcher, config: Config, on_next: Callable[[str, int, int], None] | None = None
    ) -> None:
        self.unread_count = 0
        """Listed sitemaps that were not requested: too many, or nested too deeply."""
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
            pending = self._pending.popleft()
            if self._on_next is not None:
                self._on_next(pending.url.url, len(self._known) - len(self._pending), len(self._known))
            yield await self._fetch_sitemap(pending)

    async def _fetch_sitemap(self, pending: _PendingSitemap) -> SitemapResult:
        document = await self._fetcher.fetch(pending.url)
        self._known.add(document.url)
        if not isinstance(document.outcome, Fetched):
            return SitemapResult(document.url, pending.via, document.outcome)
        sitemap = read_sitemap(document.body, document.content_type, self._limits)
        self._read_count += sitemap.form != "none"
        if sitemap.form == "index":
            self._add_pending((entry.url for entry in sitemap.entries), document.url, document.url, pending.depth + 1)
        return SitemapResult(document.url, pending.via, document.outcome, sitemap)

    def _add_pending(self, urls: Iterable[str], base: str, via: str, depth: int) -> None:
        """Add each sitemap once: indexes may list themselves or each other."""
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
    """Whether other paths of this host would fail as well."""
    return isinstance(outcome, Deferred) or (isinstance(outcome, Failed) and outcome.is_site_wide)
