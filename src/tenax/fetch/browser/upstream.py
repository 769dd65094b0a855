"""From the gate to the sites: to addresses the guard gave, straight or by way of the page's proxy."""

from __future__ import annotations

import asyncio
import ssl
from functools import cached_property
from typing import NamedTuple, TypeAlias

from tenax.clock import Clock
from tenax.fetch.connect import connected
from tenax.fetch.failures import connect_timeout, failure_of
from tenax.fetch.guard import Guard
from tenax.fetch.proxies import Proxies, Proxy, ProxyPools
from tenax.fetch.proxy_rotation import Detours
from tenax.fetch.target import Origin
from tenax.fetch.tunnels import ProxyFailed, tunnel
from tenax.model import Deferred, Failed, FailureKind, Refused
from tenax.runtime.open_files import is_out_of_files

PIECE_BYTES = 64 * 1024

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Detour(NamedTuple):
    """The proxies that a connection may go through, and the host by whose choice."""

    pool: Proxies
    host: str


class Line(NamedTuple):
    """A connection to a site, and the way it took."""

    streams: Streams
    address: str
    proxy: Proxy | None = None
    is_tunnelled: bool = True
    """False: at the other end is a proxy that wants to be asked for the page itself, as is the custom for http."""


class Upstream:
    """Opens connections; whoever asks for one decides when it ends. Keeps the books of the proxies."""

    def __init__(self, guard: Guard, clock: Clock, pools: ProxyPools | None = None) -> None:
        self._guard = guard
        self._clock = clock
        self._detours = Detours(pools, clock)

    def detour(self, host: str, page_host: str) -> Detour | None:
        """None: straight. A page and all that belongs to it go by one proxy, but for hosts that have their own."""
        pool, own = self._detours.of(page_host), self._detours.of(host)
        if own is not None and own is not pool:
            return Detour(own, host)
        return Detour(pool, page_host) if pool is not None else None

    def wait(self, page_host: str) -> Deferred | None:
        """Until when, when every proxy of this host is banned."""
        pool = self._detours.of(page_host)
        if pool is None or pool.free_at() <= self._clock.now():
            return None
        return Deferred(pool.free_at(), pool.why_none())

    def answered(self, proxy: Proxy, page_host: str, status: int) -> None:
        """The page came through this proxy, with this status."""
        detour = self.detour(page_host, page_host)
        if detour is not None:
            self._detours.answered(detour.pool, proxy, detour.host, status)

    def failed(self, proxy: Proxy, host: str, page_host: str, why: str) -> None:
        """Nothing came through it, or not all."""
        detour = self.detour(host, page_host)
        if detour is not None:
            self._detours.failed(detour.pool, proxy, detour.host, why)

    async def line(
        self, origin: Origin, page_host: str, seconds: float, *, is_plain: bool
    ) -> Line | Refused | Failed | Deferred:
        """A connection to this origin. `is_plain`: it is for one http request and nothing else."""
        addresses = await self._guard.check(origin, seconds)
        if not isinstance(addresses, tuple):
            return addresses
        detour = self.detour(origin.host, page_host)
        try:
            if detour is not None:
                return await self._by_proxy(detour, origin, addresses, seconds, is_plain=is_plain)
            async with asyncio.timeout(seconds):
                sock = await connected(addresses, origin.port)
            address = sock.getpeername()[0]
            return Line(await asyncio.open_connection(sock=sock, limit=PIECE_BYTES), address)
        except TimeoutError as error:
            return failure_of(error) if error.errno else connect_timeout(seconds)
        except OSError as error:
            return failure_of(error)

    async def _by_proxy(
        self, detour: Detour, origin: Origin, addresses: tuple[str, ...], seconds: float, *, is_plain: bool
    ) -> Line | Failed | Deferred:
        async def reach(proxy: Proxy, address: str) -> Line:
            is_tunnelled = not is_plain or proxy.scheme == "socks5"
            target = (address, origin.port) if is_tunnelled else None
            return Line(await self._reached(proxy, target, seconds), address, proxy, is_tunnelled)

        deadline = asyncio.get_running_loop().time() + seconds
        taken = await self._detours.taken(detour.pool, detour.host, addresses, deadline, reach)
        return taken[1] if isinstance(taken, tuple) else taken

    async def _reached(self, proxy: Proxy, target: tuple[str, int] | None, seconds: float) -> Streams:
        """Streams through the proxy, or to it when there is no target. Raises `ProxyFailed`, `OSError` if we failed."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                try:
                    found = await self._guard.addresses_of_proxy(proxy.host)
                except OSError as error:
                    if is_out_of_files(error):
                        raise
                    raise ProxyFailed(proxy, error.strerror or "the name look-up failed") from None
                sock = await connected(found, proxy.port)
                # Verified, whatever the site's settings: the proxy is about to hear a password.
                tls = self._tls if proxy.scheme == "https" else None
                return _streams(loop, await tunnel(loop, sock, proxy, target, tls))
        except OSError as error:
            failed = failure_of(error)
            if failed.kind is FailureKind.INTERNAL:
                raise  # our own trouble, not the proxy's
            is_late = isinstance(error, TimeoutError) and error.errno is None
            raise ProxyFailed(proxy, f"no connection within {seconds:g} s" if is_late else failed.why) from None

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """Made when it is first needed: reading the system's certificates takes a tenth of a second."""
        return ssl.create_default_context()


def _streams(loop: asyncio.AbstractEventLoop, transport: asyncio.Transport) -> Streams:
    if transport.is_closing():
        raise ConnectionResetError
    reader = asyncio.StreamReader(PIECE_BYTES, loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
