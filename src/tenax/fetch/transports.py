"""Every transport, each through the guard and within the rate limits of the host and its address."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tenax.clock import Clock
from tenax.config import SiteConfig
from tenax.fetch import Request, Response, Transport
from tenax.fetch.answer import retry_after_seconds
from tenax.fetch.failures import is_file_limit_failure, late_deferral
from tenax.fetch.guard import Guard, parse_target
from tenax.hosts import Permit, RateLimiter, host_key
from tenax.hosts.limiter.process import RequestInterval
from tenax.hosts.rules import usual_transport
from tenax.hosts.throttle import pace_seconds
from tenax.model import Deferred, Failed, HostRecord, Refused, TransportKind, Value
from tenax.runtime.resources import FILE_RETRY_SECONDS, FileLimit

_BACKOFF_STATUSES = frozenset({429, 503})


class Pace(Value, frozen=True):
    """The rate limits of a request."""

    pace_seconds: float = 0.0
    """Minimum time between two requests to the host."""
    connections: int = 1
    address_pace_seconds: float = 0.0
    """Minimum time between two requests to one address, whatever the hosts on it."""
    connect_timeout_seconds: float = 10.0
    max_backoff_seconds: float = 0.0
    """Maximum backoff that a host may request."""
    is_followup: bool = False
    """The host's previous response asked for this request, in the same visit. It is not delayed."""
    shares_rate_limit: bool = True
    """False: the rate limit is shared only through Redis, not with other crawls on this machine."""


FOLLOWUP_PACE = Pace(is_followup=True)


def request_pace(host: HostRecord, site: SiteConfig, *, is_followup: bool = False) -> Pace:
    """The rate limits of a request to this host."""
    pace = pace_seconds(host, site.politeness)
    if pace == 0:
        return FOLLOWUP_PACE if is_followup else Pace()
    factor = site.politeness.per_ip_rate_factor
    return Pace(
        pace,
        site.politeness.connections_per_host,
        pace / factor if factor else 0.0,
        connect_timeout_seconds=site.fetch.connect_timeout_seconds,
        max_backoff_seconds=site.fetch.max_retry_after_seconds,
        is_followup=is_followup,
        shares_rate_limit=site.politeness.share_rate_limit,
    )


class Transports:
    """Sends requests of many visits at the same time. Owns the guard and the transports, and closes them."""

    def __init__(
        self,
        transports: Mapping[TransportKind, Transport],
        guard: Guard,
        rate_limiter: RateLimiter,
        clock: Clock,
        *,
        unshared_rate_limiter: RateLimiter | None = None,
        request_interval_seconds: float = 0.0,
        files: FileLimit | None = None,
    ) -> None:
        """`unshared_rate_limiter` is for requests with `shares_rate_limit = False`; None: they use the same one."""
        self._transports = transports
        self._guard = guard
        self._rate_limiter = rate_limiter
        self._unshared_rate_limiter = rate_limiter if unshared_rate_limiter is None else unshared_rate_limiter
        self._clock = clock
        self._interval = RequestInterval(request_interval_seconds)
        self._files = files or FileLimit()
        self._in_flight = 0
        self._start_lock = asyncio.Lock()
        self.available = frozenset(transports)
        """The installed transports."""

    async def get(self, kind: TransportKind, request: Request, pace: Pace) -> Response | Failed | Refused | Deferred:
        """The response by this transport, or by plain HTTP if it is not installed. Deferred: nothing was sent."""
        if pace.is_followup or not self._interval.seconds:
            return await self._send_counted(kind, request, pace)
        now = self._clock.now()
        free_at = self._interval.reserve(now)
        if free_at > now:
            return Deferred(free_at, "rate limit: `crawl.request_interval_seconds` not over yet")
        answer = await self._send_counted(kind, request, pace)
        if isinstance(answer, Deferred):
            self._interval.cancel()
        return answer

    def choose(self, host: HostRecord, preferred: TransportKind | None = None) -> TransportKind:
        """The transport for a request to this host, if it is installed."""
        kind = preferred or usual_transport(host, self._clock.now())
        return kind if kind in self.available else TransportKind.HTTP

    @property
    def max_concurrent_visits(self) -> int:
        """The number of visits for which there are file descriptors."""
        if self._files.is_lowered:
            self._files.recover(self._clock.now())
        return self._files.max_visits

    def defer_for_file_limit(self) -> Deferred:
        """Defer a visit because no file descriptor was left, which is our own failure."""
        now = self._clock.now()
        self._files.record_exhaustion(self._in_flight, now)
        return Deferred(now + FILE_RETRY_SECONDS, "files: no file descriptor was left; raise `ulimit -n`")

    async def _send_counted(
        self, kind: TransportKind, request: Request, pace: Pace
    ) -> Response | Failed | Refused | Deferred:
        self._in_flight += 1
        try:
            answer = await self._send_paced(kind, request, pace)
            return (
                self.defer_for_file_limit() if isinstance(answer, Failed) and is_file_limit_failure(answer) else answer
            )
        finally:
            self._in_flight -= 1

    async def _send_paced(
        self, kind: TransportKind, request: Request, pace: Pace
    ) -> Response | Failed | Refused | Deferred:
        """Send with a permit for the host and its address."""
        transport = self._transports.get(kind) or self._transports[TransportKind.HTTP]
        if pace.pace_seconds == 0 and pace.address_pace_seconds == 0:
            return await self._send_at_interval(transport, request)
        target = parse_target(request.url)
        if target is None:
            return Refused("guard: not a plain http or https URL")
        addresses = await self._guard.check(target.origin, pace.connect_timeout_seconds)
        if not isinstance(addresses, tuple):
            return addresses
        # With one connection the permit is held until the response arrives. With several, requests may overlap.
        busy = request.total_timeout_seconds if pace.connections == 1 else 0.0
        permits = (
            Permit(host_key(f"{target.origin.scheme}://{target.origin.authority}"), pace.pace_seconds, busy),
            Permit(f"address {min(addresses)}", pace.address_pace_seconds),
        )
        rate_limiter = self._rate_limiter if pace.shares_rate_limit else self._unshared_rate_limiter
        now = self._clock.now()
        if now >= request.send_by:
            return late_deferral(now)
        free_at = await rate_limiter.acquire(permits, now)
        if free_at > now:
            return Deferred(free_at, "rate limit: another request to this host or its address comes first")
        try:
            answer = await self._send_at_interval(transport, request)
        except BaseException:
            await rate_limiter.release(permits, self._clock.now())
            raise
        if isinstance(answer, Response):
            await rate_limiter.release(permits, answer.answered_at)
            if backoff_seconds := _requested_backoff_seconds(answer, pace):
                # Other crawls must know about the backoff too, and so must this one if it is killed now.
                await rate_limiter.back_off(permits[0].key, answer.answered_at + backoff_seconds, answer.answered_at)
        else:
            await rate_limiter.release(permits, self._clock.now())
        return answer

    async def _send_at_interval(self, transport: Transport, request: Request) -> Response | Failed | Refused | Deferred:
        """Send the request when it is its turn among all requests of the process."""
        if self._interval.seconds:
            async with self._start_lock:
                if wait := self._interval.wait_seconds(self._clock.now()):
                    await asyncio.sleep(wait)
                self._interval.mark_started(self._clock.now())
        answer = await transport.get(request)
        if request.reservation is not None:
            # The time that is left after the wait.
            request.reservation.resize(len(answer.body) if isinstance(answer, Response) else 0)
        return answer

    async def share_backoff(
        self, origin: str, until: float, pace_seconds: float, *, shares_rate_limit: bool = True
    ) -> None:
        """Tell all users of the rate limiter: no request to this host until then, and no faster than this
        afterwards."""
        if shares_rate_limit or self._unshared_rate_limiter is self._rate_limiter:
            await self._rate_limiter.back_off(host_key(origin), until, self._clock.now(), pace_seconds)

    async def close(self) -> None:
        for transport in self._transports.values():
            await transport.close()
        await self._guard.close()
        await self._rate_limiter.close()
        if self._unshared_rate_limiter is not self._rate_limiter:
            await self._unshared_rate_limiter.close()


def _requested_backoff_seconds(response: Response, pace: Pace) -> float:
    """The backoff that the host requests; 0 if none."""
    if response.status not in _BACKOFF_STATUSES:
        return 0.0
    return retry_after_seconds(response, pace.max_backoff_seconds) or 0.0
