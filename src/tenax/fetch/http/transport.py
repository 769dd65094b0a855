"""HTTP/1.1 over pooled connections, each to an address that the guard has checked."""

from __future__ import annotations

import asyncio
from typing import TypeAlias

from tenax.clock import Clock
from tenax.config import FetchConfig
from tenax.fetch import Request, Response
from tenax.fetch.failures import connect_timeout_failure, failure_from_error, total_timeout_failure
from tenax.fetch.guard import Guard
from tenax.fetch.headers import default_headers
from tenax.fetch.http.connections import ConnectionPool, PooledConnection, Route, direct_route
from tenax.fetch.http.wire import WireResponse
from tenax.fetch.proxies import Proxy, ProxyPools
from tenax.fetch.proxy_rotation import ProxyRotation
from tenax.fetch.target import Target, parse_target
from tenax.fetch.tunnels import ProxyError, TunnelError, credentials_error
from tenax.model import Deferred, Failed, FailureKind, Refused
from tenax.runtime.open_files import is_out_of_files

Exchange: TypeAlias = tuple[WireResponse, PooledConnection]


class HttpTransport:
    """A stateless `Transport` with pooled connections: no cookies, no cache, no redirects."""

    def __init__(self, fetch: FetchConfig, guard: Guard, clock: Clock, pools: ProxyPools | None = None) -> None:
        """Must be created while the event loop runs. Guard and pools are shared, and not closed with it."""
        self._guard = guard
        self._clock = clock
        self._proxy_rotation = ProxyRotation(pools, clock)
        self._connect_timeout_seconds = fetch.connect_timeout_seconds
        self._loop = asyncio.get_running_loop()
        self._connections = ConnectionPool(self._loop, clock.now, guard.classify_address)
        self._default_headers = _format_headers(default_headers(fetch))

    async def get(self, request: Request) -> Response | Failed | Refused | Deferred:
        target = parse_target(request.url)
        if target is None:
            return Refused("guard: not a plain http or https URL")
        origin = target.origin
        started_at = self._clock.now()
        deadline = self._loop.time() + request.total_timeout_seconds
        addresses = await self._guard.check(origin, self._connect_seconds(request))
        if not isinstance(addresses, tuple):
            return addresses
        pool = self._proxy_rotation.pool_for_host(origin.host)
        if pool is None:
            route = direct_route(origin, request.verify_tls)
            exchanged = await self._exchange(self._request_head(request, target), request, route, addresses, deadline)
            return self._build_response(request, exchanged, started_at)

        async def carry(proxy: Proxy, address: str) -> Response | Failed | Deferred:
            return self._build_response(
                request, await self._exchange_via_proxy(proxy, request, target, address, deadline), started_at
            )

        def forwards(proxy: Proxy) -> bool:
            return not Route(origin, proxy=proxy).is_tunnelled

        return await self._proxy_rotation.get(pool, origin.host, addresses, deadline, carry, forwards)

    async def close(self) -> None:
        await self._connections.close()

    def _build_response(
        self, request: Request, exchanged: Exchange | Failed | Deferred, started_at: float
    ) -> Response | Failed | Deferred:
        if not isinstance(exchanged, tuple):
            return exchanged
        received, (_, route, address_class) = exchanged
        return Response(
            request.url,
            received.status,
            received.headers,
            received.body,
            received.wire_bytes,
            started_at,
            received.answered_at,
            self._clock.now(),
            address_class=address_class,
            proxy=route.proxy.name if route.proxy is not None else "",
            is_unverified=not route.verify_tls and route.origin.scheme == "https",
        )

    def _connect_seconds(self, request: Request) -> float:
        """Timeout for the look-up, and for the connection."""
        return min(request.connect_timeout_seconds or self._connect_timeout_seconds, request.total_timeout_seconds)

    # -- one exchange ---------------------------------------------------------------------------------------

    async def _exchange(
        self, head: bytes, request: Request, route: Route, addresses: tuple[str, ...], deadline: float
    ) -> Exchange | Failed | Deferred:
        """Raises `ProxyError` and `TunnelError` when the route has a proxy."""
        line = self._connections.take_idle(route)
        if line is not None:
            received = await line.connection.exchange(head, request, deadline)
            is_dropped = isinstance(received, Failed) and received.kind is FailureKind.RESET
            if not is_dropped or line.connection.has_received or self._loop.time() >= deadline:
                self._connections.release(line)
                return (received, line) if isinstance(received, WireResponse) else received
            # The idle connection was closed: the host has not seen this request, or has not begun to answer. A retry
            # after a failure on a new connection would be impolite: there the request was seen and not answered.
        opened = await self._open_connection(route, addresses, request, deadline)
        if isinstance(opened, Failed):
            if route.is_tunnelled:
                raise TunnelError(opened)
            return opened
        received = await opened.connection.exchange(head, request, deadline)
        self._connections.release(opened)
        return (received, opened) if isinstance(received, WireResponse) else received

    async def _open_connection(
        self, route: Route, addresses: tuple[str, ...], request: Request, deadline: float
    ) -> PooledConnection | Failed:
        began, patience = self._loop.time(), self._connect_seconds(request)
        until = began + patience
        try:
            transport = None
            if route.proxy is not None:
                seconds = patience if until <= deadline else max(deadline - began, 0.0)
                transport = await self._connect_proxy(route, route.proxy, addresses[0], began, seconds)
            async with asyncio.timeout_at(min(until, deadline)):
                if transport is not None:
                    return await self._connections.upgrade_tunnel(transport, route, addresses[0])
                return await self._connections.open(route, addresses)
        except TimeoutError as error:
            if error.errno is not None:
                return failure_from_error(error)  # a timeout of the system, not ours
            if until <= deadline:
                return connect_timeout_failure(patience)
            return total_timeout_failure(request.total_timeout_seconds)
        except (OSError, ValueError) as error:
            return failure_from_error(error)

    def _request_head(self, request: Request, target: Target, proxy: Proxy | None = None) -> bytes:
        """With a proxy: in absolute form (RFC 9112, 3.2.2), with its credentials."""
        own_headers = _format_headers(request.headers) if request.headers else ""
        base_headers = _format_headers(request.default_headers) if request.default_headers else self._default_headers
        authority, path = target.origin.authority, target.path
        if proxy is not None:
            own_headers, path = own_headers + proxy.authorization, f"http://{authority}{path}"
        return f"{request.method} {path} HTTP/1.1\r\nHost: {authority}\r\n{base_headers}{own_headers}\r\n".encode(
            "ascii"
        )

    # -- through a proxy ------------------------------------------------------------------------------------

    async def _exchange_via_proxy(
        self, proxy: Proxy, request: Request, target: Target, address: str, deadline: float
    ) -> Exchange | Failed | Deferred:
        route = Route(target.origin, request.verify_tls, proxy)
        head = self._request_head(request, target, None if route.is_tunnelled else proxy)
        exchanged = await self._exchange(head, request, route, (address,), deadline)
        if not route.is_tunnelled:
            if isinstance(exchanged, tuple) and exchanged[0].status == 407:
                raise credentials_error(proxy)
            if isinstance(exchanged, Failed) and exchanged.kind is FailureKind.RESET:
                # A proxy has statuses for a host that does not answer (RFC 9110, 15.6.3). Some close the connection
                # instead.
                raise ProxyError(proxy, "it closed the connection before an answer", is_declined=True)
        return exchanged

    async def _connect_proxy(
        self, route: Route, proxy: Proxy, address: str, began: float, seconds: float
    ) -> asyncio.Transport:
        """Raises `ProxyError`, and `OSError` if the failure is not the proxy's."""
        try:
            async with asyncio.timeout_at(began + seconds):
                try:
                    found = await self._guard.resolve_proxy(proxy.host)
                except OSError as error:
                    if is_out_of_files(error):
                        raise
                    raise ProxyError(proxy, error.strerror or "the name look-up failed") from None
                return await self._connections.connect_proxy(proxy, found, route, address)
        except TimeoutError:
            raise ProxyError(proxy, connect_timeout_failure(seconds).why) from None


def _format_headers(headers: tuple[tuple[str, str], ...]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers)
