"""HTTP/2 through libcurl, for hosts that do not respond to the HTTP transport. It has a browser's handshake if
configured."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from tenax.clock import Clock
from tenax.config import FetchConfig
from tenax.fetch import TIMER_SLACK_SECONDS, Request, Response
from tenax.fetch.connect import ProxyError
from tenax.fetch.curl.responses import (
    OK,
    STOPPED,
    TIMED_OUT,
    CurlResponse,
    TransferResult,
    transfer_failure,
    transfer_proxy_error,
)
from tenax.fetch.failures import (
    body_timeout_failure,
    connect_timeout_failure,
    failure_from_error,
    headers_timeout_failure,
    late_deferral,
    reset_failure,
    total_timeout_failure,
)
from tenax.fetch.guard import Guard, Target, parse_target
from tenax.fetch.headers import Profile, default_headers
from tenax.fetch.proxies import Proxy, ProxyPools
from tenax.fetch.proxy_rotation import ProxyRotation, resolve_proxy
from tenax.model import Deferred, Failed, FailureKind, Refused, TransportKind, Value

if TYPE_CHECKING:
    from tenax.fetch.curl.handles import CurlHandles, Transfer

MAX_ADDRESSES: Final = 4
"""If there are more addresses, only the first ones are tried, one after the other."""
SUSPEND_GRACE_SECONDS: Final = 0.5
"""libcurl itself stops sending this long after the deadline. We end the transfer at the deadline, unless this process
is suspended."""
_CONNECT_FAILURES: Final = frozenset({FailureKind.CONNECT, FailureKind.TIMEOUT_CONNECT})


def curl_install_hint() -> str | None:
    """What to install for this transport; None if it is installed."""
    return None if find_spec("curl_cffi") is not None else "curl_cffi is missing: pip install 'tenax[curl]'"


class _Call(Value, frozen=True):
    """One request to one address, through a proxy if there is one."""

    request: Request
    target: Target
    started_at: float
    deadline: float
    """In the loop's time."""
    address: str
    connect_seconds: float
    proxy: Proxy | None = None
    proxy_addresses: tuple[str, ...] = ()


class CurlTransport:
    """A stateless `Transport`: no cookies, no cache, no redirects, no look-ups of its own.

    Proxies are asked for tunnels to the checked address, for plain http too.
    """

    def __init__(self, fetch: FetchConfig, guard: Guard, clock: Clock, pools: ProxyPools | None = None) -> None:
        """Create it while the event loop runs. Guard and pools are shared, and are not closed with it."""
        self._guard = guard
        self._clock = clock
        self._proxy_rotation = ProxyRotation(pools, clock)
        self._connect_timeout_seconds = fetch.connect_timeout_seconds
        self._loop = asyncio.get_running_loop()
        self._profile: Profile = fetch.profile
        self._default_headers = default_headers(fetch)
        self._handles: dict[Profile, CurlHandles] = {}

    async def get(self, request: Request) -> Response | Failed | Refused | Deferred:
        target = parse_target(request.url)
        if target is None:
            return Refused("guard: not a plain http or https URL")
        started_at = self._clock.now()
        deadline = self._loop.time() + request.total_timeout_seconds
        patience_seconds = self._connect_seconds(request)
        addresses = await self._guard.check(target.origin, patience_seconds)
        if not isinstance(addresses, tuple):
            return addresses
        pool = self._proxy_rotation.pool_for_host(target.origin.host)
        if pool is None:
            return await self._send_direct(request, target, addresses[:MAX_ADDRESSES], started_at, deadline)

        async def carry(proxy: Proxy, address: str) -> Response | Failed | Deferred:
            try:
                found = await self._resolve_proxy(proxy, patience_seconds)
            except OSError as error:
                return failure_from_error(error)
            return await self._send(
                _Call(
                    request,
                    target,
                    started_at,
                    deadline=deadline,
                    address=address,
                    connect_seconds=patience_seconds,
                    proxy=proxy,
                    proxy_addresses=found,
                )
            )

        return await self._proxy_rotation.get(pool, target.origin.host, addresses, deadline, carry)

    async def close(self) -> None:
        opened, self._handles = self._handles, {}
        for handles in opened.values():
            await handles.close()

    async def _send_direct(
        self, request: Request, target: Target, addresses: tuple[str, ...], started_at: float, deadline: float
    ) -> Response | Failed | Deferred:
        """Try one address after the other until a connection succeeds."""
        answer: Response | Failed | Deferred = Failed("no connection", FailureKind.CONNECT, is_site_wide=True)
        connect_seconds = self._connect_seconds(request) / len(addresses)
        for address in addresses:
            answer = await self._send(
                _Call(request, target, started_at, deadline=deadline, address=address, connect_seconds=connect_seconds)
            )
            if not isinstance(answer, Failed) or answer.kind not in _CONNECT_FAILURES:
                break
        return answer

    def _connect_seconds(self, request: Request) -> float:
        """Timeout for the look-up, and for the connection."""
        return min(request.connect_timeout_seconds or self._connect_timeout_seconds, request.total_timeout_seconds)

    async def _resolve_proxy(self, proxy: Proxy, timeout_seconds: float) -> tuple[str, ...]:
        try:
            async with asyncio.timeout(timeout_seconds):
                return await resolve_proxy(self._guard, proxy)
        except TimeoutError:
            raise ProxyError(proxy, "the name look-up took too long") from None

    # -- one transfer ---------------------------------------------------------------------------------------

    async def _send(self, call: _Call) -> Response | Failed | Deferred:
        """Raises `ProxyError` when the call has a proxy."""
        if self._loop.time() >= call.deadline or self._clock.now() >= call.request.send_by:
            return late_deferral(self._clock.now())
        answer = CurlResponse(call.request, self._clock.now, self._loop)
        transfer = self._start_transfer(call, answer, call.deadline - self._loop.time() + SUSPEND_GRACE_SECONDS)
        late: Failed | None = None
        try:
            while True:
                late = await self._wait_for_transfer(transfer, answer, call)
                while answer.is_waiting:
                    # libcurl is paused, or has finished. Waiting for memory does not count as the host's time.
                    if transfer.future.done():
                        answer.mark_arrived()
                    await answer.change_future
                if late is not None or answer.is_stopped or transfer.future.done():
                    break
                transfer.resume()
            is_sent = late is not None and transfer.seconds_to_send is not None
        finally:
            ending = transfer.finish()
            answer.close()
        result = self._transfer_outcome(call, answer, ending, late, is_sent=is_sent)
        return self._build_response(call, result) if isinstance(result, CurlResponse) else result

    def _transfer_outcome(
        self, call: _Call, answer: CurlResponse, result: TransferResult, late: Failed | None, *, is_sent: bool
    ) -> CurlResponse | Failed | Deferred:
        if result.code == OK:
            return answer.finish() if answer.headers is not None else reset_failure()
        is_late = late is not None or result.code == TIMED_OUT
        if call.proxy is not None and is_late and not is_sent and not result.has_tunnel:
            raise ProxyError(call.proxy, connect_timeout_failure(self._connect_seconds(call.request)).why)
        if late is not None or result.code == STOPPED:
            return answer.finish_failed(late or reset_failure())
        if result.code == TIMED_OUT:
            if self._loop.time() >= call.deadline:
                return answer.finish_failed(total_timeout_failure(call.request.total_timeout_seconds))
            return connect_timeout_failure(self._connect_seconds(call.request))
        has_begun, has_headers = answer.has_started, answer.headers is not None
        if call.proxy is not None:
            declined = transfer_proxy_error(result, call.proxy, has_started=has_begun)
            if declined is not None:
                raise declined
        return answer.finish_failed(transfer_failure(result, has_started=has_begun, has_headers=has_headers))

    def _build_response(self, call: _Call, answer: CurlResponse) -> Response:
        assert answer.headers is not None
        origin = call.target.origin
        return Response(
            call.request.url,
            answer.status,
            answer.headers,
            body=answer.body,
            wire_bytes=answer.wire_bytes,
            started_at=call.started_at,
            answered_at=answer.answered_at,
            finished_at=self._clock.now(),
            protocol=answer.protocol,
            transport=TransportKind.CURL,
            address_class=self._guard.classify_address(origin, call.address),
            proxy=call.proxy.name if call.proxy is not None else "",
            is_unverified=origin.scheme == "https" and not call.request.verify_tls,
        )

    async def _wait_for_transfer(self, transfer: Transfer, answer: CurlResponse, call: _Call) -> Failed | None:
        """Wait until it ends, or starts or stops waiting for memory; returns the timeout failure, if any."""
        request = call.request
        began = self._loop.time()
        changed = answer.change_future
        while not (transfer.future.done() or changed.done() or answer.is_waiting):
            now, deadline = self._loop.time(), call.deadline + answer.waited_seconds
            if answer.headers is not None:
                until, late = (
                    answer.received_at + request.body_timeout_seconds,
                    body_timeout_failure(request.body_timeout_seconds),
                )
            else:
                seconds_to_send = transfer.seconds_to_send
                sent_at = now if seconds_to_send is None else began + seconds_to_send  # libcurl measures the connecting
                until, late = (
                    sent_at + request.headers_timeout_seconds,
                    headers_timeout_failure(request.headers_timeout_seconds),
                )
            if deadline <= until:
                until, late = deadline, total_timeout_failure(request.total_timeout_seconds)
            if until - TIMER_SLACK_SECONDS <= now:
                return late
            await asyncio.wait((transfer.future, changed), timeout=until - now, return_when=asyncio.FIRST_COMPLETED)
        return None

    def _start_transfer(self, call: _Call, answer: CurlResponse, timeout_seconds: float) -> Transfer:
        # Imported on first use, because the import takes a tenth of a second, and the library may not be installed.
        from tenax.fetch.curl.handles import CurlHandles, CurlRequest

        request, origin = call.request, call.target.origin
        profile = request.profile or self._profile
        if profile not in self._handles:
            # Each profile has its own connections: a connection with another handshake must not be used.
            self._handles[profile] = CurlHandles(profile == "browser")
        base_headers = request.default_headers or self._default_headers
        curl_request = CurlRequest(
            f"{origin.scheme}://{origin.authority}{call.target.path}",
            call.address,
            origin.port,
            headers=tuple(f"{name}: {value}".encode("ascii") for name, value in (*base_headers, *request.headers)),
            connect_timeout_seconds=call.connect_seconds,
            timeout_seconds=timeout_seconds,
            is_head=request.method == "HEAD",
            verify_tls=request.verify_tls,
            proxy=call.proxy,
            proxy_addresses=call.proxy_addresses,
        )
        return self._handles[profile].start_transfer(curl_request, answer.on_header, answer.on_body)
