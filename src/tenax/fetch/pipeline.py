"""The steps of one visit, which crawls, the page-fetcher and traces share: fetch, update the host, plan the task.

    preflight (refusal, policy, stored copy) → network

Each step of `Pipeline.fetch` may end the fetch with an outcome, which is a value. Nothing waits here: if the host's
robots.txt must be fetched first, or the host probed after an outage, that is done (`host_checks`), and the task goes
back until the host's next request.

The caller decides the outcome of the visit between fetching and `Visitor.finish`: a crawl extracts the page there. It
also updates the host itself, because the record has its guesses.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import msgspec

from tenax.clock import Clock
from tenax.config import FetchConfig, SiteConfig, Sites
from tenax.fetch import REDIRECT_STATUSES, Request, Response
from tenax.fetch.answer import (
    FetchResult,
    RedirectTarget,
    SameUrl,
    Stop,
    VisitEnd,
    fetch_record,
    next_hop,
    response_outcome,
)
from tenax.fetch.body_budget import MemoryReservation
from tenax.fetch.failures import add_setting_advice, body_limit_setting
from tenax.fetch.headers import SiteHeaders, conditional_headers, robot_names
from tenax.fetch.host_checks import HostChecks
from tenax.fetch.preflight import FetchRobots, ProbeHost, cached_outcome, next_policy_step, request_refusal
from tenax.fetch.retry import plan_task, update_host
from tenax.fetch.transports import FOLLOWUP_PACE, Transports, request_pace
from tenax.hosts import Hosts
from tenax.hosts.rules import attribute_failure
from tenax.hosts.throttle import pace_seconds, shared_limits
from tenax.logs import logger
from tenax.model import (
    CanonicalCopy,
    Deferred,
    Failed,
    FailureKind,
    Hop,
    HostRecord,
    Outcome,
    Plan,
    Redirected,
    Refused,
    StoredCopy,
    Task,
    TransportKind,
    Unchanged,
)
from tenax.runtime.resources import is_out_of_files
from tenax.urls.normalize import NormalizeOptions, normalize

log = logger(__name__)


class Pipeline:
    """Fetches tasks. Used by many visits at the same time."""

    def __init__(self, transports: Transports, clock: Clock, sites: Sites, options: NormalizeOptions) -> None:
        self._transports = transports
        self._clock = clock
        self._sites = sites
        self._normalize_options = options
        self._site_headers = SiteHeaders(sites.for_host(""))
        self._host_checks = HostChecks(transports, clock, sites, self._site_headers, options)

    @property
    def available_transports(self) -> frozenset[TransportKind]:
        """The installed transports."""
        return self._transports.available

    @property
    def max_concurrent_visits(self) -> int:
        """The number of visits for which there are file descriptors."""
        return self._transports.max_concurrent_visits

    def defer_for_file_limit(self) -> Deferred:
        """Defer a visit that found no file descriptor left, and allow fewer visits."""
        return self._transports.defer_for_file_limit()

    async def share_backoff(self, host: HostRecord, site: SiteConfig) -> None:
        """Share the host's backoff with every crawl on this machine."""
        limits = shared_limits(host, site.politeness)
        if limits is not None:
            await self._transports.share_backoff(
                host.origin, *limits, shares_rate_limit=site.politeness.share_rate_limit
            )

    async def fetch(
        self,
        task: Task,
        host: HostRecord,
        stored_copy: StoredCopy | None = None,
        send_by: float = math.inf,
        canonical: CanonicalCopy | None = None,
        reservation: MemoryReservation | None = None,
    ) -> FetchResult:
        """Do the next step of the task: fetch robots.txt, probe the host, or fetch the page itself.

        No request is sent at `send_by` or later. `reservation` counts the memory of the body, and is closed by the
        caller; None: not counted.
        """
        now = self._clock.now()
        site = self._sites.for_origin(host.origin)
        refused = request_refusal(task, stored_copy, site.cache, self._normalize_options, now)
        if refused is not None:
            return FetchResult(refused, now)
        match next_policy_step(task, host, now, robot_names(site.fetch)):
            case FetchRobots():
                return await self._host_checks.fetch_robots(host, site, send_by, reservation)
            case ProbeHost():
                return await self._host_checks.probe(host, site, send_by, reservation)
            case Deferred() | Refused() as outcome:
                return FetchResult(outcome, now)
        served = cached_outcome(task, stored_copy, site.cache, now, canonical)
        if served is not None:
            return FetchResult(served, now)
        return await self._fetch_page(task, host, stored_copy, site=site, send_by=send_by, reservation=reservation)

    # -- the page -------------------------------------------------------------------------------------------

    async def _fetch_page(
        self,
        task: Task,
        host: HostRecord,
        stored_copy: StoredCopy | None,
        site: SiteConfig,
        send_by: float,
        reservation: MemoryReservation | None,
    ) -> FetchResult:
        """Fetch the page. A redirect to another spelling of the same URL is followed here; any other redirect ends the
        visit."""
        transport = self._transports.choose(host, task.transport)
        url, own = task.url, tuple[Hop, ...]()
        while True:
            request = self._page_request(url, task, stored_copy, site=site, send_by=send_by, reservation=reservation)
            # The second spelling needs no permit of its own, because the host itself asked for it.
            pace = FOLLOWUP_PACE if own else request_pace(host, site)
            answer = await self._transports.get(transport, request, pace)
            if isinstance(answer, Failed):
                advised = add_setting_advice(answer, host.origin, body_limit_setting(task))
                answer = attribute_failure(advised, host, _fallbacks_tried(task, site.fetch))
            if not isinstance(answer, Response):
                sent = len(own) + (not isinstance(answer, Deferred))
                return FetchResult(answer, self._clock.now(), sent, transport, chain=(*task.chain, *own))
            outcome = self._page_outcome(answer, request, stored_copy, site)
            if isinstance(outcome, Failed):
                outcome = attribute_failure(outcome, host, _fallbacks_tried(task, site.fetch))
            if outcome is not None:
                return _build_result(
                    outcome, answer, site.fetch, len(own) + 1, (*task.chain, *own), stored_copy=stored_copy
                )
            own = (*own, Hop(url, answer.status))
            location = answer.headers.get("Location") if answer.status in REDIRECT_STATUSES else answer.url
            fetch = site.fetch
            hop = next_hop(
                own,
                task.chain,
                location,
                max_redirects=fetch.max_redirects,
                options=self._normalize_options,
                https_domains=fetch.https_domains,
            )
            match hop:
                case SameUrl(exact_url=exact_url):
                    url = exact_url
                case Stop(why=why, to=to):
                    words = f"{why}, HTTP {answer.status}" + (f" to {to}" if to else "")
                    failed = Failed(words, FailureKind.REDIRECT, status=answer.status)
                    return _build_result(failed, answer, fetch, len(own), (*task.chain, *own))
                case RedirectTarget(url=to, chain=chain):
                    return _build_result(
                        Redirected(answer.status, to), answer, fetch, len(own), chain, redirect_target=hop
                    )

    def _page_outcome(
        self, answer: Response, request: Request, stored_copy: StoredCopy | None, site: SiteConfig
    ) -> Outcome | None:
        """How the visit ends with this response; None for a redirect."""
        if (
            answer.transport is TransportKind.BROWSER
            and answer.status not in REDIRECT_STATUSES
            and not self._is_same_url(answer.url, request.url)
        ):
            return None  # the browser navigated, so the content belongs to another URL, with its own rules
        outcome = response_outcome(answer, site.fetch.max_retry_after_seconds)
        if isinstance(outcome, Unchanged) and (
            stored_copy is None or not _has_stored_content(stored_copy) or not request.headers
        ):
            return Failed("HTTP 304 without a stored copy", FailureKind.NOT_MODIFIED, status=304)
        return outcome

    def _is_same_url(self, one: str, other: str) -> bool:
        spelled = [normalize(url, None, self._normalize_options) for url in (one, other)]
        return one == other or (spelled[0] is not None and spelled[0] == spelled[1])

    def _page_request(
        self,
        url: str,
        task: Task,
        stored_copy: StoredCopy | None,
        site: SiteConfig,
        send_by: float,
        reservation: MemoryReservation | None,
    ) -> Request:
        fetch = site.fetch
        return Request(
            url,
            # One byte more than is read, so that the reader can see that the body was cut.
            site.discovery.max_sitemap_bytes + 1 if task.is_url_list else fetch.max_body_bytes,
            fetch.total_timeout_seconds,
            headers=conditional_headers(stored_copy) if stored_copy is not None and not task.is_unconditional else (),
            headers_timeout_seconds=fetch.headers_timeout_seconds,
            body_timeout_seconds=fetch.body_timeout_seconds,
            verify_tls=fetch.verify_tls,
            default_headers=self._site_headers.get(site),
            connect_timeout_seconds=fetch.connect_timeout_seconds,
            profile=fetch.profile,
            settle_seconds=site.browser.settle_seconds,
            max_subrequests=site.browser.max_requests_per_page,
            may_truncate=task.is_url_list,
            send_by=send_by,
            reservation=reservation,
        )


def _fallbacks_tried(task: Task, fetch: FetchConfig) -> int:
    """How many transports have failed for this URL in this round, before the one that it waits for."""
    return fetch.fallbacks.index(task.transport) + 1 if task.transport in fetch.fallbacks else 0


def _build_result(
    outcome: Outcome,
    response: Response,
    fetch: FetchConfig,
    requests: int,
    chain: tuple[Hop, ...],
    *,
    stored_copy: StoredCopy | None = None,
    redirect_target: RedirectTarget | None = None,
) -> FetchResult:
    saved_bytes = stored_copy.body_bytes if stored_copy is not None and isinstance(outcome, Unchanged) else 0
    record = fetch_record(response, fetch, saved_bytes)
    return FetchResult(
        outcome, response.answered_at, requests, response.transport,
        response=response, record=record, redirect_target=redirect_target, chain=chain,
    )  # fmt: skip


def _has_stored_content(stored_copy: StoredCopy) -> bool:
    """Whether there is content that a 304 can refer to."""
    return stored_copy.kind is not None or bool(stored_copy.url_list)


HostRule = Callable[[HostRecord, VisitEnd], HostRecord]
"""Computes the record of a host after a visit. `retry.update_host` is one."""


class VisitResult(NamedTuple):
    """What a visit did to its host and to its task."""

    end: VisitEnd
    """`now` is the time of the plan."""
    host_before: HostRecord
    """The record of the host that the visit updated."""
    host_after: HostRecord
    host: HostRecord
    """The latest record of the host. Another visit may have updated it since then."""
    plan: Plan


class Visitor:
    """Visits hosts whose records are in `hosts`; used by many visits at once."""

    def __init__(self, pipeline: Pipeline, hosts: Hosts, sites: Sites, clock: Clock) -> None:
        self.pipeline = pipeline
        self.hosts = hosts
        self.sites = sites
        self.clock = clock

    def site(self, origin: str) -> SiteConfig:
        return self.sites.for_origin(origin)

    async def finish(
        self, task: Task, known: HostRecord, answer: FetchResult, outcome: Outcome, rule: HostRule = update_host
    ) -> VisitResult:
        """End the visit with this outcome: update the host by the rule, share its backoff, and plan the task.

        The latest record of the host is updated, not `known`, with which the visit began.
        """
        end = self.visit_end(task, answer, outcome)
        before = self.hosts.get(task.origin) or known
        for attempt in count():
            after = rule(before, end)
            newer = await self.hosts.store(before, after, attempt)
            if newer is None:
                break
            before = newer
        return await self.plan(task, end, before, after)

    def visit_end(self, task: Task, answer: FetchResult, outcome: Outcome) -> VisitEnd:
        """The end of a visit with this outcome, now."""
        available = self.pipeline.available_transports
        return VisitEnd(
            answer, outcome, self.site(task.origin), now=self.clock.now(), jitter=random.random(), available=available
        )

    async def plan(self, task: Task, end: VisitEnd, before: HostRecord, after: HostRecord) -> VisitResult:
        """The last steps of a visit whose host was updated: share its backoff, and plan the task."""
        await self.pipeline.share_backoff(after, end.site)
        latest = self.hosts.get(task.origin) or after
        end = end._replace(now=self.clock.now())
        return VisitResult(end, before, after, latest, plan_task(task, end, latest.next_at))

    def internal_failure(self, task: Task, error: Exception) -> FetchResult:
        """The result of a visit that ended with an exception in our code. Finish the visit with `delay_host`."""
        if is_out_of_files(error):
            outcome: Outcome = self.pipeline.defer_for_file_limit()
        else:
            log.exception("internal error during visit", url=task.url)
            outcome = Failed(f"{type(error).__name__} in Tenax itself", FailureKind.INTERNAL)
        return FetchResult(outcome, self.clock.now())


def delay_host(host: HostRecord, end: VisitEnd) -> HostRecord:
    """Delay the next request to the host by its pace. Nothing else changes, because the host is not at fault."""
    next_at = end.answer.answered_at + pace_seconds(host, end.site.politeness)
    return msgspec.structs.replace(host, next_at=max(host.next_at, next_at))
