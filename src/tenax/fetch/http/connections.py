"""Connections to checked addresses, kept for the next request to the same origin."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from tenax.fetch.connect import open_socket
from tenax.fetch.failures import failure_from_error
from tenax.fetch.http.wire import Connection
from tenax.fetch.limits import KEEP_ALIVE_SECONDS
from tenax.fetch.proxies import Proxy
from tenax.fetch.target import Origin
from tenax.fetch.tunnels import ProxyError, open_tunnel
from tenax.model import AddressClass, FailureKind
from tenax.runtime.open_files import are_files_used_up, file_share, is_out_of_files, raise_file_limit


class Route(NamedTuple):
    """What a connection is for; only a request with the same route may reuse it."""

    origin: Origin
    verify_tls: bool = True
    proxy: Proxy | None = None

    @property
    def is_tunnelled(self) -> bool:
        """False too where an http proxy is asked for the page itself, as usual for plain http."""
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
        """Take out the most recently used connection of this route; None if there is none."""
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
        """Return a connection after use; one that cannot be reused is closed."""
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
            # Always verified, whatever the request says: the proxy gets a password.
            return await open_tunnel(
                self._loop, sock, proxy, target, self._verified_tls if proxy.scheme == "https" else None
            )
        except OSError as error:
            failed = failure_from_error(error)
            if failed.kind is FailureKind.INTERNAL:
                raise  # our failure, not the proxy's
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
        """Called by the loop while connections are idle."""
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
