"""The steps of one fetch; the result is a value.

    preflight (refusal, policy, stored copy) → network, and then the reader validates

Each step may end the fetch with an outcome. Nothing waits here: if the host's robots.txt must be fetched first, or the
host probed after an outage, that is done, and the task goes back until the host's next request.
"""

from __future__ import annotations

import math

from tenax.clock import Clock
from tenax.config import FetchConfig, SiteConfig, Sites
from tenax.fetch import REDIRECT_STATUSES, Request, Response
from tenax.fetch.answer import (
    FetchResult,
    Probe,
    RedirectTarget,
    SameUrl,
    Stop,
    fetch_record,
    next_hop,
    response_outcome,
    retry_after_seconds,
)
from tenax.fetch.body_budget import MemoryReservation
from tenax.fetch.failures import add_setting_advice, body_limit_setting, is_local_failure, robots_host_failure
from tenax.fetch.headers import conditional_headers, default_headers, robot_names
from tenax.fetch.preflight import FetchRobots, ProbeHost, cached_outcome, next_policy_step, request_refusal
from tenax.fetch.transports import Pace, Transports
from tenax.hosts.robots import (
    MAX_ROBOTS_BYTES,
    MAX_ROBOTS_REDIRECTS,
    RobotsAnswer,
    RobotsRedirectFailed,
    RobotsResult,
    RobotsUnreachable,
    extend_robots_expiry,
    make_robots_copy,
    shorten_robots_retry,
)
from tenax.hosts.rules import attribute_failure, should_probe, usual_transport
from tenax.hosts.throttle import is_unknown_host, pace_seconds, shared_limits
from tenax.model import (
    CanonicalCopy,
    Deferred,
    Failed,
    FailureKind,
    Hop,
    HostRecord,
    Outcome,
    Redirected,
    Refused,
    RobotsVerdict,
    StoredCopy,
    Task,
    TransportKind,
    Unchanged,
)
from tenax.urls.normalize import NormalizeOptions, normalize

ROBOTS_TIMEOUT_SECONDS = 10.0
PROBE_TIMEOUT_SECONDS = 10.0
_FOLLOWUP_PACE = Pace(is_followup=True)


class Pipeline:
    """Fetches tasks; used by many visits at once."""

    def __init__(self, transports: Transports, clock: Clock, sites: Sites, options: NormalizeOptions) -> None:
        self._transports = transports
        self._clock = clock
        self._sites = sites
        self._normalize_options = options
        self._default_site = sites.for_host("")
        self._site_header_cache: dict[int, tuple[tuple[str, str], ...]] = {}

    @property
    def available_transports(self) -> frozenset[TransportKind]:
        """The installed transports."""
        return self._transports.available

    @property
    def max_concurrent_visits(self) -> int:
        """As many visits as there are file descriptors for."""
        return self._transports.max_concurrent_visits

    def defer_for_file_limit(self) -> Deferred:
        """Defer a visit that found no file descriptor left, and reduce concurrency."""
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

        No request is sent at `send_by` or later. `reservation` counts the memory of the body and is closed by the
        caller; None: not counted.
        """
        now = self._clock.now()
        site = self._sites.for_origin(host.origin)
        refused = request_refusal(task, stored_copy, site.cache, self._normalize_options, now)
        if refused is not None:
            return FetchResult(refused, now)
        match next_policy_step(task, host, now, robot_names(site.fetch)):
            case FetchRobots():
                return await self._fetch_robots_first(host, site, send_by, reservation)
            case ProbeHost():
                return await self._probe_host(host, site, send_by, reservation)
            case Deferred() | Refused() as outcome:
                return FetchResult(outcome, now)
        served = cached_outcome(task, stored_copy, site.cache, now, canonical)
        if served is not None:
            return FetchResult(served, now)
        return await self._fetch_page(task, host, stored_copy, site, send_by, reservation)

    # -- before the page ------------------------------------------------------------------------------------

    async def _probe_host(
        self, host: HostRecord, site: SiteConfig, send_by: float, reservation: MemoryReservation | None
    ) -> FetchResult:
        """Send one HEAD to the root. Any response except that of a broken server means that the host is up."""
        transport = self._choose_transport(host)
        timeout = min(PROBE_TIMEOUT_SECONDS, site.fetch.total_timeout_seconds)
        request = Request(
            f"{host.origin}/", site.fetch.max_body_bytes, timeout, verify_tls=site.fetch.verify_tls,
            method="GET" if transport is TransportKind.BROWSER else "HEAD", default_headers=self._site_headers(site),
            connect_timeout_seconds=site.fetch.connect_timeout_seconds, profile=site.fetch.profile, send_by=send_by,
            reservation=reservation,
        )  # fmt: skip
        answer = await self._transports.get(transport, request, _request_pace(host, site))
        if isinstance(answer, Failed):
            answer = add_setting_advice(answer, host.origin)
        now = self._clock.now()
        match answer:
            case Deferred() | Refused():
                return FetchResult(answer, now)
            case Failed() if is_local_failure(answer):
                return FetchResult(answer, now, 1, transport)
            case Failed(why=why, kind=kind):
                probe = Probe(kind is FailureKind.INTERNAL, why)  # the response arrived, and broke our code
            case Response(status=status):
                probe = Probe(status < 500, f"HTTP {status}")
        state = "it is back" if probe.is_up else f"still down: {probe.why}"
        return FetchResult(Deferred(now, f"probe: {state}"), now, 1, transport, probe=probe)

    async def _fetch_robots_first(
        self, host: HostRecord, site: SiteConfig, send_by: float, reservation: MemoryReservation | None
    ) -> FetchResult:
        transport = self._choose_transport(host)
        answer, requests = await self._fetch_robots(host, site, transport, send_by, reservation)
        now = self._clock.now()
        if isinstance(answer, (Refused, Deferred)) or (isinstance(answer, Failed) and is_local_failure(answer)):
            return FetchResult(answer, now, requests, transport)
        if isinstance(answer, Failed) and is_unknown_host(answer):
            # Nothing to remember: there is no host to back off from.
            return FetchResult(answer, now, requests, transport)
        result = RobotsUnreachable(answer.why) if isinstance(answer, Failed) else answer
        copy = make_robots_copy(result, host.robots, site.politeness, now)
        robots = extend_robots_expiry(copy, host, site.politeness, now, requests, robot_names(site.fetch))
        probe = Probe(_is_up(result), f"robots.txt: {robots.why or 'it is there'}") if should_probe(host) else None
        if robots.verdict is not RobotsVerdict.UNREACHABLE:
            return FetchResult(Deferred(now, "robots.txt was fetched first"), now, requests, transport, robots, probe)
        outcome = robots_host_failure(answer) if isinstance(answer, Failed) and probe is None else None
        if outcome is not None and outcome.is_site_wide:
            robots = shorten_robots_retry(robots, host, site.fetch, now)
        deferred = Deferred(robots.expires_at, f"robots.txt unreachable: {robots.why}")
        return FetchResult(outcome or deferred, now, requests, transport, robots, probe)

    async def _fetch_robots(
        self,
        host: HostRecord,
        site: SiteConfig,
        transport: TransportKind,
        send_by: float,
        reservation: MemoryReservation | None,
    ) -> tuple[RobotsResult | Failed | Refused | Deferred, int]:
        """Follow the file's redirects, across hosts too (RFC 9309, 2.3.1.2), within each host's rate limit.

        Each host is requested by its own settings: those of the first do not apply to the others.
        """
        origin, url = host.origin, f"{host.origin}/robots.txt"
        chain: tuple[Hop, ...] = ()
        requests = 0
        visited: set[str] = set()
        while True:
            is_own = origin == host.origin
            here = site if is_own else self._sites.for_origin(origin)
            # There is no record of a host met only by redirect: it has its configured rate.
            keeper = host if is_own else HostRecord(origin=origin, domain="")
            pace = _FOLLOWUP_PACE if origin in visited else _request_pace(keeper, here, is_followup=bool(chain))
            visited.add(origin)
            request = self._robots_request(url, here, send_by, reservation)
            answer = await self._transports.get(transport, request, pace)
            if isinstance(answer, Failed):
                answer = add_setting_advice(answer, origin)
            if isinstance(answer, Deferred):
                return answer, requests
            requests += is_own
            if chain and (isinstance(answer, Refused) or (isinstance(answer, Failed) and is_unknown_host(answer))):
                return RobotsUnreachable(f"redirected: {answer.why}"), requests
            if not isinstance(answer, Response):
                return answer, requests
            if answer.status not in REDIRECT_STATUSES:
                wait = retry_after_seconds(answer, site.fetch.max_retry_after_seconds)
                return RobotsAnswer(answer.status, answer.body, answer.headers.content_type, wait), requests
            location, own = answer.headers.get("Location"), (Hop(url, answer.status),)
            hop = next_hop(
                own, chain, location, MAX_ROBOTS_REDIRECTS, self._normalize_options, site.fetch.https_domains
            )
            if not isinstance(hop, RedirectTarget):
                return RobotsRedirectFailed(answer.status), requests
            chain, url, origin = hop.chain, hop.url, hop.origin

    def _robots_request(
        self, url: str, site: SiteConfig, send_by: float, reservation: MemoryReservation | None
    ) -> Request:
        fetch = site.fetch
        return Request(
            url,
            max(fetch.max_body_bytes, MAX_ROBOTS_BYTES + 1),
            min(ROBOTS_TIMEOUT_SECONDS, fetch.total_timeout_seconds),
            verify_tls=fetch.verify_tls,
            default_headers=self._site_headers(site),
            profile=fetch.profile,
            connect_timeout_seconds=fetch.connect_timeout_seconds,
            may_truncate=True,
            send_by=send_by,
            reservation=reservation,
        )

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
        """Fetch the page. A redirect to another spelling of the same URL is followed here; any other ends the visit."""
        transport = self._choose_transport(host, task.transport)
        url, own = task.url, tuple[Hop, ...]()
        while True:
            request = self._page_request(url, task, stored_copy, site, send_by, reservation)
            # The second spelling needs no permit of its own: the host itself asked for it.
            pace = _FOLLOWUP_PACE if own else _request_pace(host, site)
            answer = await self._transports.get(transport, request, pace)
            if isinstance(answer, Failed):
                answer = attribute_failure(add_setting_advice(answer, host.origin, body_limit_setting(task)), host)
            if not isinstance(answer, Response):
                sent = len(own) + (not isinstance(answer, Deferred))
                return FetchResult(answer, self._clock.now(), sent, transport, chain=(*task.chain, *own))
            outcome = self._page_outcome(answer, request, stored_copy, site)
            if outcome is not None:
                return _build_result(outcome, answer, site.fetch, len(own) + 1, (*task.chain, *own), stored_copy)
            own = (*own, Hop(url, answer.status))
            location = answer.headers.get("Location") if answer.status in REDIRECT_STATUSES else answer.url
            fetch = site.fetch
            hop = next_hop(own, task.chain, location, fetch.max_redirects, self._normalize_options, fetch.https_domains)
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
            return None  # the browser navigated: the content belongs to another URL, with its own rules
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
            # One byte more than is read, so that the reader can see that it was cut.
            site.discovery.max_sitemap_bytes + 1 if task.is_url_list else fetch.max_body_bytes,
            fetch.total_timeout_seconds,
            conditional_headers(stored_copy) if stored_copy is not None and not task.is_unconditional else (),
            fetch.headers_timeout_seconds,
            fetch.body_timeout_seconds,
            verify_tls=fetch.verify_tls,
            default_headers=self._site_headers(site),
            connect_timeout_seconds=fetch.connect_timeout_seconds,
            profile=fetch.profile,
            settle_seconds=site.browser.settle_seconds,
            max_subrequests=site.browser.max_requests_per_page,
            may_truncate=task.is_url_list,
            send_by=send_by,
            reservation=reservation,
        )

    def _site_headers(self, site: SiteConfig) -> tuple[tuple[str, str], ...]:
        """The headers of a site with its own settings; empty if those of the crawl apply."""
        if site is self._default_site:
            return ()
        headers = self._site_header_cache.get(id(site))
        if headers is None:
            headers = self._site_header_cache[id(site)] = default_headers(site.fetch)
        return headers

    def _choose_transport(self, host: HostRecord, preferred: TransportKind | None = None) -> TransportKind:
        transport = preferred or usual_transport(host, self._clock.now())
        return transport if transport in self.available_transports else TransportKind.HTTP


def _build_result(
    outcome: Outcome,
    response: Response,
    fetch: FetchConfig,
    requests: int,
    chain: tuple[Hop, ...],
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


def _is_up(result: RobotsResult) -> bool:
    """Whether the host answered, and not as a broken server."""
    return not isinstance(result, RobotsUnreachable) and result.status < 500


def _request_pace(host: HostRecord, site: SiteConfig, *, is_followup: bool = False) -> Pace:
    pace = pace_seconds(host, site.politeness)
    if pace == 0:
        return _FOLLOWUP_PACE if is_followup else Pace()
    factor = site.politeness.per_ip_rate_factor
    return Pace(
        pace,
        site.politeness.connections_per_host,
        pace / factor if factor else 0.0,
        site.fetch.connect_timeout_seconds,
        site.fetch.max_retry_after_seconds,
        is_followup,
        site.politeness.share_rate_limit,
    )
