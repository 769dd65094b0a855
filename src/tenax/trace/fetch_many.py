"""Fetches several documents one after another by the rules of a crawl; stores nothing.

Host records live until the end: robots.txt is fetched once per host, within the rate limit like every document.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from tenax.clock import Clock, SteadyClock
from tenax.config import Config, Sites
from tenax.crawl.wiring import build_transports
from tenax.fetch.answer import FetchResult
from tenax.fetch.headers import robot_names
from tenax.fetch.host_update import update_host
from tenax.fetch.pipeline import Pipeline
from tenax.fetch.preflight import next_policy_step
from tenax.model import (
    Deferred,
    HostRecord,
    Outcome,
    Priority,
    Redirected,
    Refused,
    RobotsCopy,
    RobotsVerdict,
    Source,
    Task,
    Value,
)
from tenax.trace.visit import MAX_REQUESTS, MAX_WAIT_SECONDS
from tenax.urls.normalize import WebUrl, normalize, normalize_options


class FetchedDocument(Value, frozen=True):
    """The result of one fetch."""

    url: str
    """After redirects."""
    outcome: Outcome
    """The document came only with `Fetched`; never `Redirected`."""
    body: bytes = b""
    content_type: str | None = None


@asynccontextmanager
async def open_url_fetcher(
    url: WebUrl, config: Config, clock: Clock | None = None, on_wait: Callable[[float], None] | None = None
) -> AsyncIterator[UrlFetcher]:
    """A fetcher for a typed URL: only its host may have a private address.

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
        """The robots.txt of the host, or the outcome when it could not be requested."""
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
            # Ends by the chain: the pipeline fails on loops and after too many redirects.
            url, task = target, msgspec.structs.replace(self._new_task(target), chain=to.chain)
        response = answer.response
        if response is None:
            return FetchedDocument(url.url, answer.outcome)
        return FetchedDocument(url.url, answer.outcome, response.body, response.content_type)

    # -- requests -------------------------------------------------------------------------------------------

    async def _request_until_answered(self, url: WebUrl, task: Task) -> FetchResult:
        """Send requests until the document is answered; robots.txt may come first."""
        for _ in range(MAX_REQUESTS):
            answer = await self._send_request(url, task)
            if not isinstance(answer.outcome, Deferred) or self._is_host_unavailable(url):
                break
        return answer

    async def _send_request(self, url: WebUrl, task: Task) -> FetchResult:
        """One request, robots.txt or a probe first if needed, within the rate limit."""
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
        """Whether not to wait: the host is backing off, its next request is far away, or robots.txt is unreachable."""
        host, now = self._host_record(url), self._clock.now()
        robots = host.robots
        if robots is not None and robots.verdict is RobotsVerdict.UNREACHABLE and robots.expires_at > now:
            return True
        return host.next_at - now > MAX_WAIT_SECONDS or (bool(host.backoff_reason) and host.next_at > now)

    def _update_host(self, url: WebUrl, answer: FetchResult) -> None:
        site, now = self._sites.for_origin(url.origin), self._clock.now()
        host = self._host_record(url)
        host = update_host(
            host, answer, answer.outcome, now, site, random.random(), self._pipeline.available_transports
        )
        if isinstance(answer.outcome, Deferred):  # another crawl may use the host's rate limit
            host = msgspec.structs.replace(host, next_at=max(host.next_at, answer.outcome.until))
        self._hosts[url.origin] = host

    def _host_record(self, url: WebUrl) -> HostRecord:
        return self._hosts.setdefault(url.origin, HostRecord(origin=url.origin, domain=url.host))

    def _new_task(self, url: WebUrl) -> Task:
        now = self._clock.now()
        return Task(
            url.url,
            url.origin,
            0,
            Priority.HIGH,
            Source.SEED,
            None,
            now,
            now,
            is_unconditional=True,
            is_url_list=True,
        )
