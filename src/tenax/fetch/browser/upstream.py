"""Connections from the gate to sites: to addresses from the guard, direct or through the page's proxy."""

from __future__ import annotations

import asyncio
import ssl
from functools import cached_property
from typing import NamedTuple, TypeAlias

from tenax.clock import Clock
from tenax.fetch.connect import ProxyError, open_socket, open_tunnel
from tenax.fetch.failures import connect_timeout_failure, failure_from_error
from tenax.fetch.guard import Guard, Origin
from tenax.fetch.proxies import Proxy, ProxyPool, ProxyPools
from tenax.fetch.proxy_rotation import ProxyRotation, resolve_proxy
from tenax.model import Deferred, Failed, FailureKind, Refused

PIECE_BYTES = 64 * 1024

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class ProxyRoute(NamedTuple):
    """The proxies that a connection may use, and the host whose settings name them."""

    pool: ProxyPool
    host: str


class UpstreamConnection(NamedTuple):
    """A connection to a site, and its route."""

    streams: Streams
    address: str
    proxy: Proxy | None = None
    is_tunnelled: bool = True
    """False: the other end is an http proxy that expects requests in absolute form, as is usual for http."""


class Upstream:
    """Opens connections, which the caller closes. Records the results of proxies."""

    def __init__(self, guard: Guard, clock: Clock, pools: ProxyPools | None = None) -> None:
        self._guard = guard
        self._clock = clock
        self._proxy_rotation = ProxyRotation(pools, clock)

    def proxy_route(self, host: str, page_host: str) -> ProxyRoute | None:
        """The proxies for a connection; None: direct. A page and its subrequests use one proxy, except for hosts with
        proxies of their own."""
        pool, own = self._proxy_rotation.pool_for_host(page_host), self._proxy_rotation.pool_for_host(host)
        if own is not None and own is not pool:
            return ProxyRoute(own, host)
        return ProxyRoute(pool, page_host) if pool is not None else None

    def banned_deferral(self, page_host: str) -> Deferred | None:
        """Deferred until the first ban ends, if every proxy of this host is banned."""
        pool = self._proxy_rotation.pool_for_host(page_host)
        if pool is None or pool.first_unban_at() <= self._clock.now():
            return None
        return Deferred(pool.first_unban_at(), pool.unavailable_reason())

    def record_response(self, proxy: Proxy, page_host: str, status: int) -> None:
        """The page arrived through this proxy, with this status."""
        detour = self.proxy_route(page_host, page_host)
        if detour is not None:
            self._proxy_rotation.record_response(detour.pool, proxy, detour.host, status)

    def record_failure(self, proxy: Proxy, host: str, page_host: str, why: str) -> None:
        """Record that nothing arrived through the proxy, or not everything."""
        detour = self.proxy_route(host, page_host)
        if detour is not None:
            self._proxy_rotation.record_failure(detour.pool, proxy, detour.host, why)

    async def connect(
        self, origin: Origin, page_host: str, seconds: float, *, is_plain: bool
    ) -> UpstreamConnection | Refused | Failed | Deferred:
        """A connection to this origin. `is_plain`: for one http request only."""
        addresses = await self._guard.check(origin, seconds)
        if not isinstance(addresses, tuple):
            return addresses
        detour = self.proxy_route(origin.host, page_host)
        try:
            if detour is not None:
                return await self._connect_via_proxy(detour, origin, addresses, seconds, is_plain=is_plain)
            async with asyncio.timeout(seconds):
                sock = await open_socket(addresses, origin.port)
            address = sock.getpeername()[0]
            return UpstreamConnection(await asyncio.open_connection(sock=sock, limit=PIECE_BYTES), address)
        except TimeoutError as error:
            return failure_from_error(error) if error.errno else connect_timeout_failure(seconds)
        except OSError as error:
            return failure_from_error(error)

    async def _connect_via_proxy(
        self, route: ProxyRoute, origin: Origin, addresses: tuple[str, ...], seconds: float, *, is_plain: bool
    ) -> UpstreamConnection | Failed | Deferred:
        async def reach(proxy: Proxy, address: str) -> UpstreamConnection:
            is_tunnelled = not is_plain or proxy.scheme == "socks5"
            target = (address, origin.port) if is_tunnelled else None
            return UpstreamConnection(
                await self._open_proxy_streams(proxy, target, seconds), address, proxy, is_tunnelled
            )

        deadline = asyncio.get_running_loop().time() + seconds
        taken = await self._proxy_rotation.try_proxies(route.pool, route.host, addresses, deadline, reach)
        return taken[1] if isinstance(taken, tuple) else taken

    async def _open_proxy_streams(self, proxy: Proxy, target: tuple[str, int] | None, seconds: float) -> Streams:
        """Streams through the proxy, or to it without a target. Raises `ProxyError`, or `OSError` if the failure is
        ours."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                found = await resolve_proxy(self._guard, proxy)
                sock = await open_socket(found, proxy.port)
                # Always verified, whatever the settings of the site, because the proxy gets a password.
                tls = self._tls if proxy.scheme == "https" else None
                return _wrap_streams(loop, await open_tunnel(loop, sock, proxy, target, tls))
        except OSError as error:
            failed = failure_from_error(error)
            if failed.kind is FailureKind.INTERNAL:
                raise  # the failure is ours, not the proxy's
            is_late = isinstance(error, TimeoutError) and error.errno is None
            raise ProxyError(proxy, f"no connection within {seconds:g} s" if is_late else failed.why) from None

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """Created on first use: reading the system's certificates takes a tenth of a second."""
        return ssl.create_default_context()


def _wrap_streams(loop: asyncio.AbstractEventLoop, transport: asyncio.Transport) -> Streams:
    if transport.is_closing():
        raise ConnectionResetError
    reader = asyncio.StreamReader(PIECE_BYTES, loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
