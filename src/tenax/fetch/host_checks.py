"""What is requested from a host before its pages: its robots.txt, and after an outage whether it is up.

Either request ends the visit, and the task goes back until the host's next request.
"""

from __future__ import annotations

from tenax.clock import Clock
from tenax.config import SiteConfig, Sites
from tenax.fetch import REDIRECT_STATUSES, Request, Response
from tenax.fetch.answer import FetchResult, Probe, RedirectTarget, next_hop, retry_after_seconds
from tenax.fetch.body_budget import MemoryReservation
from tenax.fetch.failures import add_setting_advice, is_local_failure, robots_host_failure
from tenax.fetch.headers import SiteHeaders, robot_names
from tenax.fetch.transports import FOLLOWUP_PACE, Transports, request_pace
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
from tenax.hosts.rules import should_probe
from tenax.hosts.throttle import is_unknown_host
from tenax.model import (
    Deferred,
    Failed,
    FailureKind,
    Hop,
    HostRecord,
    Refused,
    RobotsVerdict,
    TransportKind,
)
from tenax.urls.normalize import NormalizeOptions

ROBOTS_TIMEOUT_SECONDS = 10.0
PROBE_TIMEOUT_SECONDS = 10.0


class HostChecks:
    """Used by many visits at once. For each: `send_by` and `reservation` as in `Pipeline.fetch`."""

    def __init__(
        self,
        transports: Transports,
        clock: Clock,
        sites: Sites,
        site_headers: SiteHeaders,
        options: NormalizeOptions,
    ) -> None:
        self._transports = transports
        self._clock = clock
        self._sites = sites
        self._site_headers = site_headers
        self._normalize_options = options

    async def probe(
        self, host: HostRecord, site: SiteConfig, send_by: float, reservation: MemoryReservation | None
    ) -> FetchResult:
        """Send one HEAD to the root. Any response means that the host is up, except that of a broken server."""
        transport = self._transports.choose(host)
        timeout = min(PROBE_TIMEOUT_SECONDS, site.fetch.total_timeout_seconds)
        request = Request(
            f"{host.origin}/", site.fetch.max_body_bytes, timeout, verify_tls=site.fetch.verify_tls,
            method="GET" if transport is TransportKind.BROWSER else "HEAD",
            default_headers=self._site_headers.get(site), profile=site.fetch.profile,
            connect_timeout_seconds=site.fetch.connect_timeout_seconds, send_by=send_by, reservation=reservation,
        )  # fmt: skip
        answer = await self._transports.get(transport, request, request_pace(host, site))
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

    async def fetch_robots(
        self, host: HostRecord, site: SiteConfig, send_by: float, reservation: MemoryReservation | None
    ) -> FetchResult:
        transport = self._transports.choose(host)
        answer, requests = await self._follow_robots(host, site, transport, send_by, reservation)
        now = self._clock.now()
        if isinstance(answer, (Refused, Deferred)) or (isinstance(answer, Failed) and is_local_failure(answer)):
            return FetchResult(answer, now, requests, transport)
        if isinstance(answer, Failed) and is_unknown_host(answer):
            # Nothing is remembered, because there is no host to back off from.
            return FetchResult(answer, now, requests, transport)
        result = RobotsUnreachable(answer.why) if isinstance(answer, Failed) else answer
        copy = make_robots_copy(result, host.robots, site.politeness, now)
        robots = extend_robots_expiry(
            copy, host, site.politeness, now=now, requests=requests, names=robot_names(site.fetch)
        )
        probe = Probe(_is_up(result), f"robots.txt: {robots.why or 'it is there'}") if should_probe(host) else None
        if robots.verdict is not RobotsVerdict.UNREACHABLE:
            return FetchResult(
                Deferred(now, "robots.txt was fetched first"),
                now,
                requests,
                transport=transport,
                robots=robots,
                probe=probe,
            )
        outcome = robots_host_failure(answer) if isinstance(answer, Failed) and probe is None else None
        if outcome is not None and outcome.is_site_wide:
            robots = shorten_robots_retry(robots, host, site.fetch, now)
        deferred = Deferred(robots.expires_at, f"robots.txt unreachable: {robots.why}")
        return FetchResult(outcome or deferred, now, requests, transport=transport, robots=robots, probe=probe)

    async def _follow_robots(
        self,
        host: HostRecord,
        site: SiteConfig,
        transport: TransportKind,
        send_by: float,
        reservation: MemoryReservation | None,
    ) -> tuple[RobotsResult | Failed | Refused | Deferred, int]:
        """Follow the redirects of the file, also to other hosts (RFC 9309, 2.3.1.2), within the rate limit of each
        host.

        Each host is requested with its own settings.
        """
        origin, url = host.origin, f"{host.origin}/robots.txt"
        chain: tuple[Hop, ...] = ()
        requests = 0
        visited: set[str] = set()
        while True:
            is_own = origin == host.origin
            here = site if is_own else self._sites.for_origin(origin)
            # A host that is met only by a redirect has no record, so it has its configured rate.
            keeper = host if is_own else HostRecord(origin=origin, domain="")
            pace = FOLLOWUP_PACE if origin in visited else request_pace(keeper, here, is_followup=bool(chain))
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
                own,
                chain,
                location,
                max_redirects=MAX_ROBOTS_REDIRECTS,
                options=self._normalize_options,
                https_domains=site.fetch.https_domains,
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
            default_headers=self._site_headers.get(site),
            profile=fetch.profile,
            connect_timeout_seconds=fetch.connect_timeout_seconds,
            may_truncate=True,
            send_by=send_by,
            reservation=reservation,
        )


def _is_up(result: RobotsResult) -> bool:
    """Whether the host responded, and not as a broken server."""
    return not isinstance(result, RobotsUnreachable) and result.status < 500
