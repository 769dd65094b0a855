"""HTTP/2, by way of libcurl: for hosts that do not answer the plain client, with a browser's handshake if so wished."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from tenax.clock import Clock
from tenax.config import FetchConfig
from tenax.fetch import Request, Response
from tenax.fetch.curl.answer import CurlAnswer
from tenax.fetch.curl.errors import OK, TIMED_OUT, failure_of_ending
from tenax.fetch.failures import body_timeout, connect_timeout, dropped, headers_timeout, total_timeout
from tenax.fetch.guard import Guard
from tenax.fetch.headers import standing_headers
from tenax.fetch.limits import TIMER_SLACK_SECONDS
from tenax.fetch.target import Target, target_of
from tenax.model import Failed, FailureKind, Refused, Way

if TYPE_CHECKING:
    from tenax.fetch.curl.handles import Handles, Transfer

MAX_ADDRESSES: Final = 4
"""Of a host that has more, the first ones are tried, one after the other."""
_UNCONNECTED: Final = frozenset({FailureKind.CONNECT, FailureKind.TIMEOUT_CONNECT})


def curl_missing() -> str | None:
    """What to install for this transport; None when it is there."""
    return None if find_spec("curl_cffi") is not None else "curl_cffi is missing: pip install 'tenax[curl]'"


class CurlTransport:
    """A `Transport` without memory: no cookies, no cache, no redirects, no proxies, no look-ups of its own."""

    def __init__(self, fetch: FetchConfig, guard: Guard, clock: Clock) -> None:
        """Must be made while the event loop runs. The guard is shared, and not closed with it."""
        self._guard = guard
        self._clock = clock
        self._connect_timeout_seconds = fetch.connect_timeout_seconds
        self._loop = asyncio.get_running_loop()
        self._is_browser = fetch.profile == "browser"
        self._standing = standing_headers(fetch)
        self._opened: Handles | None = None

    async def get(self, request: Request) -> Response | Failed | Refused:
        target = target_of(request.url)
        if target is None:
            return Refused("guard: not a plain http or https URL")
        started_at = self._clock.now()
        deadline = self._loop.time() + request.total_timeout_seconds
        checked = await self._guard.check(target.origin, self._connect_timeout_seconds)
        if not isinstance(checked, tuple):
            return checked
        addresses = checked[:MAX_ADDRESSES]
        failed = Failed("no connection", FailureKind.CONNECT, is_site_wide=True)
        for address in addresses:
            patience_seconds = self._connect_timeout_seconds / len(addresses)
            carried = await self._carry(request, target, address, patience_seconds, deadline)
            if isinstance(carried, CurlAnswer):
                return self._response(request, target, address, carried, started_at)
            failed = carried
            if failed.kind not in _UNCONNECTED:
                break
        return failed

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()

    def _response(
        self, request: Request, target: Target, address: str, answer: CurlAnswer, started_at: float
    ) -> Response:
        assert answer.headers is not None
        return Response(
            request.url,
            answer.status,
            answer.headers,
            answer.content,
            answer.wire_bytes,
            started_at,
            answer.answered_at,
            self._clock.now(),
            protocol=answer.protocol,
            way=Way.CURL,
            address_class=self._guard.class_of(target.origin, address),
            is_unverified=target.origin.scheme == "https" and not request.verify_tls,
        )

    async def _carry(
        self, request: Request, target: Target, address: str, connect_seconds: float, deadline: float
    ) -> CurlAnswer | Failed:
        """One transfer, to one address."""
        answer = CurlAnswer(request, self._clock.now, self._loop.time)
        transfer = self._begun(request, target, address, connect_seconds, answer)
        late: Failed | None = None
        try:
            late = await self._outlast(transfer, answer, request, deadline)
        finally:
            ending = transfer.end()
        if late is not None:
            return answer.after(late)
        if ending.code == OK:
            return answer.whole() if answer.headers is not None else dropped()
        if ending.code == TIMED_OUT:
            return connect_timeout(self._connect_timeout_seconds)
        return answer.after(
            failure_of_ending(ending, has_begun=answer.has_begun, has_headers=answer.headers is not None)
        )

    async def _outlast(
        self, transfer: Transfer, answer: CurlAnswer, request: Request, deadline: float
    ) -> Failed | None:
        """Wait until it is over; what took too long, if something did."""
        began = self._loop.time()
        while not transfer.future.done():
            now = self._loop.time()
            if answer.headers is not None:
                until, late = answer.heard_at + request.body_timeout_seconds, body_timeout(request.body_timeout_seconds)
            else:
                seconds_to_send = transfer.seconds_to_send
                sent_at = now if seconds_to_send is None else began + seconds_to_send  # libcurl times the connecting
                until, late = (
                    sent_at + request.headers_timeout_seconds,
                    headers_timeout(request.headers_timeout_seconds),
                )
            if deadline <= until:
                until, late = deadline, total_timeout(request.total_timeout_seconds)
            if until - TIMER_SLACK_SECONDS <= now:
                return late
            await asyncio.wait((transfer.future,), timeout=until - now)
        return None

    def _begun(
        self, request: Request, target: Target, address: str, connect_seconds: float, answer: CurlAnswer
    ) -> Transfer:
        # Imported when it is first needed: it takes a tenth of a second, and it may not be installed.
        from tenax.fetch.curl.handles import Handles, Order

        if self._opened is None:
            self._opened = Handles(self._is_browser)
        origin = target.origin
        standing = request.standing or self._standing
        headers = tuple(f"{name}: {value}".encode("ascii") for name, value in (*standing, *request.headers))
        order = Order(
            f"{origin.scheme}://{origin.authority}{target.path}",
            address,
            origin.port,
            headers,
            connect_seconds,
            request.method == "HEAD",
            request.verify_tls,
        )
        return self._opened.begin(order, answer.on_header, answer.on_body)
