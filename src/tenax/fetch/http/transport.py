"""HTTP/1.1: requests over connections that are kept, each made to an address the guard has checked."""

from __future__ import annotations

import asyncio
from typing import TypeAlias

from tenax.clock import Clock
from tenax.config import FetchConfig
from tenax.fetch import Request, Response
from tenax.fetch.failures import connect_timeout, failure_of, total_timeout
from tenax.fetch.guard import Guard
from tenax.fetch.headers import standing_headers
from tenax.fetch.http.connections import Connections, Line, Route, straight
from tenax.fetch.http.wire import Received
from tenax.fetch.proxies import Proxy, ProxyPools
from tenax.fetch.proxy_rotation import Detours
from tenax.fetch.target import Target, target_of
from tenax.fetch.tunnels import ProxyFailed, TunnelBroke, wrong_credentials
from tenax.model import Deferred, Failed, FailureKind, Refused
from tenax.runtime.open_files import is_out_of_files

Exchanged: TypeAlias = tuple[Received, Line]


class HttpTransport:
    """A `Transport` with pooled connections and no memory: no cookies, no cache, no redirects of its own."""

    def __init__(self, fetch: FetchConfig, guard: Guard, clock: Clock, pools: ProxyPools | None = None) -> None:
        """Must be made while the event loop runs. Guard and pools are shared, and not closed with it."""
        self._guard = guard
        self._clock = clock
        self._detours = Detours(pools, clock)
        self._connect_timeout_seconds = fetch.connect_timeout_seconds
        self._loop = asyncio.get_running_loop()
        self._connections = Connections(self._loop, clock.now, guard.class_of)
        self._standing = _lines(standing_headers(fetch))

    async def get(self, request: Request) -> Response | Failed | Refused | Deferred:
        target = target_of(request.url)
        if target is None:
            return Refused("guard: not a plain http or https URL")
        origin = target.origin
        started_at = self._clock.now()
        deadline = self._loop.time() + request.total_timeout_seconds
        addresses = await self._guard.check(origin, self._patience(request))
        if not isinstance(addresses, tuple):
            return addresses
        pool = self._detours.of(origin.host)
        if pool is None:
            route = straight(origin, request.verify_tls)
            exchanged = await self._exchange(self._head(request, target), request, route, addresses, deadline)
            return self._response(request, exchanged, started_at)

        async def carry(proxy: Proxy, address: str) -> Response | Failed | Deferred:
            return self._response(request, await self._by(proxy, request, target, address, deadline), started_at)

        def forwards(proxy: Proxy) -> bool:
            return not Route(origin, proxy=proxy).is_tunnelled

        return await self._detours.get(pool, origin.host, addresses, deadline, carry, forwards)

    async def close(self) -> None:
        await self._connections.close()

    def _response(
        self, request: Request, exchanged: Exchanged | Failed | Deferred, started_at: float
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

    def _patience(self, request: Request) -> float:
        """Seconds for the look-up, and for the connection."""
        return min(request.connect_timeout_seconds or self._connect_timeout_seconds, request.total_timeout_seconds)

    # -- one exchange ---------------------------------------------------------------------------------------

    async def _exchange(
        self, head: bytes, request: Request, route: Route, addresses: tuple[str, ...], deadline: float
    ) -> Exchanged | Failed | Deferred:
        """Raises `ProxyFailed` and `TunnelBroke` when the route has a proxy."""
        line = self._connections.idle(route)
        if line is not None:
            received = await line.connection.exchange(head, request, deadline)
            is_dropped = isinstance(received, Failed) and received.kind is FailureKind.RESET
            if not is_dropped or line.connection.has_heard or self._loop.time() >= deadline:
                self._connections.keep(line)
                return (received, line) if isinstance(received, Received) else received
            # It was closed while it was idle: the host has not seen this request, or has not begun to answer it.
            # On a new connection a second try would be impolite: there the request was seen and not answered.
        opened = await self._opened(route, addresses, request, deadline)
        if isinstance(opened, Failed):
            if route.is_tunnelled:
                raise TunnelBroke(opened)
            return opened
        received = await opened.connection.exchange(head, request, deadline)
        self._connections.keep(opened)
        return (received, opened) if isinstance(received, Received) else received

    async def _opened(
        self, route: Route, addresses: tuple[str, ...], request: Request, deadline: float
    ) -> Line | Failed:
        began, patience = self._loop.time(), self._patience(request)
        until = began + patience
        try:
            transport = None
            if route.proxy is not None:
                seconds = patience if until <= deadline else max(deadline - began, 0.0)
                transport = await self._reached(route, route.proxy, addresses[0], began, seconds)
            async with asyncio.timeout_at(min(until, deadline)):
                if transport is not None:
                    return await self._connections.take_over(transport, route, addresses[0])
                return await self._connections.open(route, addresses)
        except TimeoutError as error:
            if error.errno is not None:
                return failure_of(error)  # the system's own patience, not ours
            if until <= deadline:
                return connect_timeout(patience)
            return total_timeout(request.total_timeout_seconds)
        except (OSError, ValueError) as error:
            return failure_of(error)

    def _head(self, request: Request, target: Target, proxy: Proxy | None = None) -> bytes:
        """With a proxy: as it is asked for a page itself (RFC 9112, 3.2.2), by someone whom it knows."""
        own = _lines(request.headers) if request.headers else ""
        standing = _lines(request.standing) if request.standing else self._standing
        authority, path = target.origin.authority, target.path
        if proxy is not None:
            own, path = own + proxy.authorization, f"http://{authority}{path}"
        return f"{request.method} {path} HTTP/1.1\r\nHost: {authority}\r\n{standing}{own}\r\n".encode("ascii")

    # -- by way of a proxy ----------------------------------------------------------------------------------

    async def _by(
        self, proxy: Proxy, request: Request, target: Target, address: str, deadline: float
    ) -> Exchanged | Failed | Deferred:
        route = Route(target.origin, request.verify_tls, proxy)
        head = self._head(request, target, None if route.is_tunnelled else proxy)
        exchanged = await self._exchange(head, request, route, (address,), deadline)
        if not route.is_tunnelled:
            if isinstance(exchanged, tuple) and exchanged[0].status == 407:
                raise wrong_credentials(proxy)
            if isinstance(exchanged, Failed) and exchanged.kind is FailureKind.RESET:
                # For a host that does not answer a proxy has statuses (RFC 9110, 15.6.3). Some hang up all the same.
                raise ProxyFailed(proxy, "it closed the connection before an answer", declined=True)
        return exchanged

    async def _reached(
        self, route: Route, proxy: Proxy, address: str, began: float, seconds: float
    ) -> asyncio.Transport:
        """Raises `ProxyFailed`, and `OSError` when it is not the proxy that has failed."""
        try:
            async with asyncio.timeout_at(began + seconds):
                try:
                    found = await self._guard.addresses_of_proxy(proxy.host)
                except OSError as error:
                    if is_out_of_files(error):
                        raise
                    raise ProxyFailed(proxy, error.strerror or "the name look-up failed") from None
                return await self._connections.reach(proxy, found, route, address)
        except TimeoutError:
            raise ProxyFailed(proxy, connect_timeout(seconds).why) from None


def _lines(headers: tuple[tuple[str, str], ...]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers)
