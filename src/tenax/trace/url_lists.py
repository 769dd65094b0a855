"""Fetches feeds and the sitemaps of a site one after another, by the rules of a crawl. Stores nothing.

Host records are kept until the end. So robots.txt is fetched once per host, within the rate limit like every document.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

import msgspec

from tenax.clock import Clock, SteadyClock
from tenax.config import Config, Sites
from tenax.crawl.discovery_candidates import SITEMAP_PATHS
from tenax.crawl.wiring import build_transports
from tenax.discovery.sitemaps.read import Sitemap, SitemapLimits, read_sitemap, sitemaps_in_robots
from tenax.fetch.answer import FetchResult, VisitEnd
from tenax.fetch.headers import robot_names
from tenax.fetch.pipeline import Pipeline
from tenax.fetch.preflight import next_policy_step
from tenax.fetch.retry import update_host
from tenax.model import (
    Deferred,
    Failed,
    Fetched,
    HostRecord,
    Outcome,
    Redirected,
    Refused,
    RobotsCopy,
    RobotsVerdict,
    Task,
    Value,
    new_task,
)
from tenax.trace.visit import MAX_REQUESTS, MAX_WAIT_SECONDS
from tenax.urls.normalize import WebUrl, normalize, normalize_options


class FetchedDocument(Value, frozen=True):
    """The result of one fetch."""

    url: str
    """The URL after redirects."""
    outcome: Outcome
    """Never `Redirected`, because redirects were followed. `body` is the document only if this is `Fetched`."""
    body: bytes = b""
    content_type: str | None = None


@asynccontextmanager
async def open_url_fetcher(
    url: WebUrl, config: Config, clock: Clock | None = None, on_wait: Callable[[float], None] | None = None
) -> AsyncIterator[UrlFetcher]:
    """A fetcher for a typed URL. Only the host of this URL may have a private address.

    `on_wait` gets the seconds of each wait for the rate limit.
    """
    clock, sites = clock or SteadyClock(), Sites(config)
    transports = build_transports(config, sites, clock, (url.origin,))
    try:
        pipeline = Pipeline(transports, clock, sites, normalize_options(config.urls))
        yield UrlFetcher(pipeline, config, sites, clock, on_wait)
    finally:
        await transports.close()


class UrlFetcher:
    """Fetches sitemaps, feeds and pages within the rate limits of their hosts."""

    def __init__(
        self,
        pipeline: Pipeline,
        config: Config,
        sites: Sites,
        clock: Clock,
        on_wait: Callable[[float], None] | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._spelling = normalize_options(config.urls)
        self._sites = sites
        self._clock = clock
        self._on_wait = on_wait
        self._hosts: dict[str, HostRecord] = {}

    async def fetch_robots(self, url: WebUrl) -> RobotsCopy | Outcome:
        """The robots.txt of the host, or the outcome if it could not be requested."""
        robots = self._host_record(url).robots
        if robots is None:
            outcome = (await self._send_request(url, self._new_task(url))).outcome
            robots = self._host_record(url).robots
        return robots or outcome

    async def fetch(self, url: WebUrl) -> FetchedDocument:
        """The document, after redirects."""
        task = self._new_task(url)
        while True:
            answer = await self._request_until_answered(url, task)
            to = answer.redirect_target
            target = normalize(to.url, None, self._spelling) if to is not None else None
            if not isinstance(answer.outcome, Redirected) or to is None or target is None:
                break
            # Redirects end this loop: the pipeline fails on loops and after too many redirects.
            url, task = target, msgspec.structs.replace(self._new_task(target), chain=to.chain)
        response = answer.response
        if response is None:
            return FetchedDocument(url.url, answer.outcome)
        return FetchedDocument(url.url, answer.outcome, response.body, response.headers.content_type)

    # -- requests -------------------------------------------------------------------------------------------

    async def _request_until_answered(self, url: WebUrl, task: Task) -> FetchResult:
        """Send requests until there is a response for the document. robots.txt may come first."""
        for _ in range(MAX_REQUESTS):
            answer = await self._send_request(url, task)
            if not isinstance(answer.outcome, Deferred) or self._is_host_unavailable(url):
                break
        return answer

    async def _send_request(self, url: WebUrl, task: Task) -> FetchResult:
        """Send one request within the rate limit, after robots.txt or a probe if needed."""
        now = self._clock.now()
        host = self._host_record(url)
        if not isinstance(
            next_policy_step(task, host, now, robot_names(self._sites.for_origin(url.origin).fetch)), Refused
        ):
            if self._is_host_unavailable(url) and host.next_at > now:
                why = host.backoff_reason or "rate limit: the next request to the host is too far away to wait for"
                return FetchResult(Deferred(host.next_at, why), now)
            if (wait := host.next_at - now) > 0:
                if self._on_wait is not None:
                    self._on_wait(wait)
                await asyncio.sleep(wait)
        answer = await self._pipeline.fetch(task, host)
        self._update_host(url, answer)
        return answer

    def _is_host_unavailable(self, url: WebUrl) -> bool:
        """Whether not to wait: the host backs off, its next request is far in the future, or robots.txt is
        unreachable."""
        host, now = self._host_record(url), self._clock.now()
        robots = host.robots
        if robots is not None and robots.verdict is RobotsVerdict.UNREACHABLE and robots.expires_at > now:
            return True
        return host.next_at - now > MAX_WAIT_SECONDS or (bool(host.backoff_reason) and host.next_at > now)

    def _update_host(self, url: WebUrl, answer: FetchResult) -> None:
        site, now = self._sites.for_origin(url.origin), self._clock.now()
        host = self._host_record(url)
        available = self._pipeline.available_transports
        host = update_host(
            host, VisitEnd(answer, answer.outcome, site, now=now, jitter=random.random(), available=available)
        )
        if isinstance(answer.outcome, Deferred):  # another crawl may use the host's rate limit
            host = msgspec.structs.replace(host, next_at=max(host.next_at, answer.outcome.until))
        self._hosts[url.origin] = host

    def _host_record(self, url: WebUrl) -> HostRecord:
        return self._hosts.setdefault(url.origin, HostRecord(origin=url.origin, domain=url.host))

    def _new_task(self, url: WebUrl) -> Task:
        task = new_task(url.url, url.origin, self._clock.now())
        return msgspec.structs.replace(task, is_unconditional=True, is_url_list=True)


MAX_INDEX_DEPTH = 5
"""Maximum depth of indexes in indexes. The protocol allows none."""


class SitemapResult(Value, frozen=True):
    """A sitemap that was requested, and its content."""

    url: str
    via: str
    """The robots.txt or index that lists it; empty for a typed URL and for the well-known paths."""
    outcome: Outcome
    sitemap: Sitemap | None = None
    """None: the sitemap was not fetched."""


class ListedUrl(Value, frozen=True):
    """An entry of a sitemap with normalized absolute URLs, and the sitemap that it is in."""

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
    """Iterates over sitemaps, each once.

    For a root URL these are all sitemaps of the site, otherwise the one at the URL and those that it lists. `on_next`
    is called before each request, with the URL, its number and the count of known sitemaps.
    """

    def __init__(
        self, url: WebUrl, fetcher: UrlFetcher, config: Config, on_next: Callable[[str, int, int], None] | None = None
    ) -> None:
        self.unread_count = 0
        """Listed sitemaps that were not requested, because there are too many or they are nested too deeply."""
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
        """Add each sitemap once, because indexes may list themselves or each other."""
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
    """Whether requests for other paths of this host would fail as well."""
    return isinstance(outcome, Deferred) or (isinstance(outcome, Failed) and outcome.is_site_wide)
