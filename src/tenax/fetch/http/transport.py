"""HTTP/1.1 over pooled connections, each to an address that the guard has checked."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

from tenax.clock import Clock
from tenax.config import FetchConfig
from tenax.fetch import KEEP_ALIVE_SECONDS, Request, Response
from tenax.fetch.connect import ProxyError, TunnelError, credentials_error, open_socket, open_tunnel
from tenax.fetch.failures import connect_timeout_failure, failure_from_error, total_timeout_failure
from tenax.fetch.guard import Guard, Origin, Target, parse_target
from tenax.fetch.headers import default_headers
from tenax.fetch.http.wire import Connection, WireResponse
from tenax.fetch.proxies import Proxy, ProxyPools
from tenax.fetch.proxy_rotation import ProxyRotation, resolve_proxy
from tenax.model import AddressClass, Deferred, Failed, FailureKind, Refused
from tenax.runtime.resources import are_files_used_up, file_share, is_out_of_files, raise_file_limit


class Route(NamedTuple):
    """The purpose of a connection. Only a request with the same route may use it again."""

    origin: Origin
    verify_tls: bool = True
    proxy: Proxy | None = None

    @property
    def is_tunnelled(self) -> bool:
        """False also if an http proxy is asked for the page itself, as is usual for plain http."""
        return self.proxy is not None and (self.origin.scheme == "https" or self.proxy.scheme == "socks5")


@lru_cache(maxsize=4096)
def direct_route(origin: Origin, verify_tls: bool) -> Route:
    """The route without a proxy. Cached, because nearly every request needs one."""
    return Route(origin, verify_tls)


class PooledConnection(NamedTuple):
    """A connection, and where it leads."""

    connection: Connection
    route: Route
    address_class: AddressClass


class ConnectionPool:
    """Open connections of one event loop. Used by many visits at once."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        now: Callable[[], float],
        classify_address: Callable[[Origin, str], AddressClass],
    ) -> None:
        self._loop = loop
        self._now = now
        self._classify_address = classify_address
        self._idle: dict[Route, list[tuple[float, PooledConnection]]] = {}
        self._idle_count = 0
        self._max_idle = file_share(raise_file_limit())
        self._sweep_timer: asyncio.TimerHandle | None = None

    def take_idle(self, route: Route) -> PooledConnection | None:
        """Take the most recently used connection of this route; None if there is none."""
        idle = self._idle.get(route)
        while idle:
            _, pooled = idle.pop()
            self._idle_count -= 1
            if not idle:
                del self._idle[route]
            if pooled.connection.is_open:
                return pooled
        return None

    def release(self, pooled: PooledConnection) -> None:
        """Return a connection after use. A connection that cannot be used again is closed."""
        if not pooled.connection.is_open or self._idle_count >= self._max_idle:
            pooled.connection.abort()
            return
        self._idle.setdefault(pooled.route, []).append((self._loop.time(), pooled))
        self._idle_count += 1
        if self._sweep_timer is None:
            self._sweep_timer = self._loop.call_later(KEEP_ALIVE_SECONDS / 2, self._drop_expired)

    async def open(self, route: Route, addresses: Sequence[str]) -> PooledConnection:
        """A new direct connection to one of these addresses. Raises `OSError`, including `ssl.SSLError`."""
        origin = route.origin
        tls = self._tls_context(route)
        sock = await self._open_socket(addresses, origin.port)
        try:
            peer = sock.getpeername()[0] if len(addresses) > 1 else addresses[0]
            _, connection = await self._loop.create_connection(
                self._new_connection, sock=sock, ssl=tls, server_hostname=origin.host if tls is not None else None
            )
        except BaseException:
            sock.close()
            raise
        connection.socket = sock
        return PooledConnection(connection, route, self._classify_address(origin, peer))

    async def connect_proxy(
        self, proxy: Proxy, proxy_addresses: Sequence[str], route: Route, address: str
    ) -> asyncio.Transport:
        """The first half of a connection through a proxy: plain TCP or TLS to the proxy. Raises `ProxyError`."""
        target = (address, route.origin.port) if route.is_tunnelled else None
        try:
            sock = await self._open_socket(proxy_addresses, proxy.port)
            # Always verified, whatever the request says, because the proxy gets a password.
            return await open_tunnel(
                self._loop, sock, proxy, target, self._verified_tls if proxy.scheme == "https" else None
            )
        except OSError as error:
            failed = failure_from_error(error)
            if failed.kind is FailureKind.INTERNAL:
                raise  # the failure is ours, not the proxy's
            raise ProxyError(proxy, failed.why) from None

    async def upgrade_tunnel(self, transport: asyncio.Transport, route: Route, address: str) -> PooledConnection:
        """The second half: the tunnel becomes a connection to the host. Raises `OSError`."""
        connection = self._new_connection()
        tls = self._tls_context(route)
        if transport.is_closing():
            raise ConnectionResetError
        if tls is None:
            transport.set_protocol(connection)
        else:
            transport = await self._start_tls(transport, connection, tls, route.origin.host)
        connection.connection_made(transport)
        return PooledConnection(connection, route, self._classify_address(route.origin, address))

    async def close(self) -> None:
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        self._drop_idle()
        self._max_idle = 0  # connections still in use are not kept
        await asyncio.sleep(0)  # lets the loop close each transport

    async def _open_socket(self, addresses: Sequence[str], port: int) -> socket.socket:
        """Raises `OSError`. If no file descriptor is left, idle connections are closed to free some."""
        try:
            return await open_socket(addresses, port)
        except OSError as error:
            if not is_out_of_files(error) or not self._idle_count:
                raise
        self._drop_idle()
        await asyncio.sleep(0)
        return await open_socket(addresses, port)

    def _drop_idle(self) -> None:
        for idle in self._idle.values():
            for _, pooled in idle:
                pooled.connection.abort()
        self._idle.clear()
        self._idle_count = 0

    def _new_connection(self) -> Connection:
        return Connection(self._loop, self._now)

    async def _start_tls(
        self, bare: asyncio.Transport, connection: Connection, tls: ssl.SSLContext, host: str
    ) -> asyncio.Transport:
        try:
            secure = await self._loop.start_tls(bare, connection, tls, server_hostname=host)
        except TypeError as error:
            # asyncio fails when TLS within TLS fails, and hides the reason (gh-113214; fixed in 3.11.8 and 3.12.2).
            bare.abort()
            raise error.__context__ if isinstance(error.__context__, OSError) else ConnectionResetError from None
        except BaseException:
            bare.abort()
            raise
        if secure is None:
            raise ConnectionResetError
        return secure

    def _drop_expired(self) -> None:
        """Close connections that were idle for too long. The loop calls this while connections are idle."""
        limit = self._loop.time() - KEEP_ALIVE_SECONDS
        for route, idle in list(self._idle.items()):
            fresh = [(since, pooled) for since, pooled in idle if since > limit and pooled.connection.is_open]
            for since, pooled in idle:
                if since <= limit:
                    pooled.connection.abort()
            self._idle_count -= len(idle) - len(fresh)
            if fresh:
                self._idle[route] = fresh
            else:
                del self._idle[route]
        self._sweep_timer = self._loop.call_later(KEEP_ALIVE_SECONDS / 2, self._drop_expired) if self._idle else None

    def _tls_context(self, route: Route) -> ssl.SSLContext | None:
        """TLS context for the origin itself; None: plain http."""
        if route.origin.scheme != "https":
            return None
        return self._verified_tls if route.verify_tls else self._unverified_tls

    @cached_property
    def _verified_tls(self) -> ssl.SSLContext:
        """Created on first use: reading the system's certificates takes a tenth of a second."""
        if are_files_used_up():
            raise OSError(errno.EMFILE, "no file left to read the certificates from")
        return ssl.create_default_context()

    @cached_property
    def _unverified_tls(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context


Exchange: TypeAlias = tuple[WireResponse, PooledConnection]


class HttpTransport:
    """A stateless `Transport` with pooled connections: no cookies, no cache, no redirects."""

    def __init__(self, fetch: FetchConfig, guard: Guard, clock: Clock, pools: ProxyPools | None = None) -> None:
        """Create it while the event loop runs. Guard and pools are shared, and are not closed with it."""
        self._guard = guard
        self._clock = clock
        self._proxy_pools = pools
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
        pool = self._proxy_pools.for_host(origin.host) if self._proxy_pools is not None else None
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

        return await self._proxy_rotation.get(pool, origin.host, addresses, deadline, carry, forwards=forwards)

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
            body=received.body,
            wire_bytes=received.wire_bytes,
            started_at=started_at,
            answered_at=received.answered_at,
            finished_at=self._clock.now(),
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
            # The idle connection was closed, so the host has not seen this request, or has not begun to respond. After
            # a failure on a new connection a retry would be impolite, because there the host has seen the request.
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
        """The head of a request. For a proxy it is in absolute form (RFC 9112, 3.2.2), with the proxy's credentials."""
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
                # A proxy has statuses for a host that does not respond (RFC 9110, 15.6.3). Some proxies close the
                # connection instead.
                raise ProxyError(proxy, "it closed the connection before an answer", is_declined=True)
        return exchanged

    async def _connect_proxy(
        self, route: Route, proxy: Proxy, address: str, began: float, seconds: float
    ) -> asyncio.Transport:
        """Connect to the proxy. Raises `ProxyError`; raises `OSError` if the failure is not the proxy's."""
        try:
            async with asyncio.timeout_at(began + seconds):
                found = await resolve_proxy(self._guard, proxy)
                return await self._connections.connect_proxy(proxy, found, route, address)
        except TimeoutError:
            raise ProxyError(proxy, connect_timeout_failure(seconds).why) from None


def _format_headers(headers: tuple[tuple[str, str], ...]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers)
