"""HTTP/1.1: requests over connections that are kept, each made to an address the guard has checked."""

from __future__ import annotations

import asyncio
from typing import TypeAlias

import msgspec

from tenax.clock import Clock
from tenax.config import FetchConfig
from tenax.fetch import Request, Response
from tenax.fetch.failures import connect_timeout, failure_of, total_timeout
from tenax.fetch.guard import Guard
from tenax.fetch.headers import standing_headers
from tenax.fetch.http.connections import Connections, Line, Route, straight
from tenax.fetch.http.wire import Received
from tenax.fetch.proxies import Proxies, Proxy, ProxyPools
from tenax.fetch.target import Target, target_of
from tenax.fetch.tunnels import ProxyFailed, wrong_credentials
from tenax.logs import logger
from tenax.model import Deferred, Failed, FailureKind, Refused

# Nothing, or not all, came through: the host's fault or the proxy's. Some of them in a row are the proxy's.
_NOT_THROUGH = frozenset({
    FailureKind.RESET, FailureKind.TRUNCATED, FailureKind.TIMEOUT_CONNECT, FailureKind.TIMEOUT_HEADERS,
    FailureKind.TIMEOUT_BODY, FailureKind.TIMEOUT_TOTAL,
})  # fmt: skip

Exchanged: TypeAlias = tuple[Received, Line]

log = logger(__name__)


class HttpTransport:
    """A `Transport` with pooled connections and no memory: no cookies, no cache, no redirects of its own."""

    def __init__(self, fetch: FetchConfig, guard: Guard, clock: Clock, pools: ProxyPools | None = None) -> None:
        """Must be made while the event loop runs. The guard is shared, and not closed with it."""
        self._guard = guard
        self._clock = clock
        self._pools = pools
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
        addresses = await self._guard.check(origin, self._connect_timeout_seconds)
        if not isinstance(addresses, tuple):
            return addresses
        pool = self._pools.of(origin.host) if self._pools is not None else None
        if pool is not None:
            exchanged = await self._through(pool, request, target, addresses, deadline)
        else:
            route = straight(origin, request.verify_tls)
            exchanged = await self._exchange(self._head(request, target), request, route, addresses, deadline)
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
            is_unverified=not route.verify_tls and origin.scheme == "https",
        )

    async def close(self) -> None:
        await self._connections.close()

    # -- one exchange ---------------------------------------------------------------------------------------

    async def _exchange(
        self, head: bytes, request: Request, route: Route, addresses: tuple[str, ...], deadline: float
    ) -> Exchanged | Failed:
        """Raises `ProxyFailed` when the route has a proxy."""
        line = self._connections.idle(route)
        if line is not None:
            received = await line.connection.exchange(head, request, deadline)
            if not isinstance(received, Failed) or line.connection.has_heard or self._loop.time() >= deadline:
                self._connections.keep(line)
                return received if isinstance(received, Failed) else (received, line)
            # It was closed while it was idle: the host has not seen this request, or has not begun to answer it.
            # On a new connection a second try would be impolite: there the request was seen and not answered.
        opened = await self._opened(route, addresses, request, deadline)
        if isinstance(opened, Failed):
            return opened
        received = await opened.connection.exchange(head, request, deadline)
        self._connections.keep(opened)
        return received if isinstance(received, Failed) else (received, opened)

    async def _opened(
        self, route: Route, addresses: tuple[str, ...], request: Request, deadline: float
    ) -> Line | Failed:
        until = self._loop.time() + self._connect_timeout_seconds
        try:
            transport = await self._reached(route, addresses[0], min(until, deadline)) if route.proxy else None
            async with asyncio.timeout_at(min(until, deadline)):
                if transport is not None:
                    return await self._connections.take_over(transport, route, addresses[0])
                return await self._connections.open(route, addresses)
        except TimeoutError as error:
            if error.errno is not None:
                return failure_of(error)  # the system's own patience, not ours
            if until <= deadline:
                return connect_timeout(self._connect_timeout_seconds)
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

    async def _through(
        self, pool: Proxies, request: Request, target: Target, addresses: tuple[str, ...], deadline: float
    ) -> Exchanged | Failed | Deferred:
        """By one proxy after the other until one takes the request; none is asked twice."""
        host = target.origin.host
        # No proxy says whether it has IPv6. Each further one is sent to the host's next address.
        near = sorted(addresses, key=lambda address: ":" in address)
        tried: list[Proxy] = []
        declined: list[tuple[Proxy, str]] = []
        failed: Failed | None = None
        while (proxy := pool.choose(host, self._clock.now(), tried)) is not None:
            address = near[len(tried) % len(near)]
            tried.append(proxy)
            try:
                exchanged = await self._by(proxy, request, target, address, deadline)
            except ProxyFailed as error:
                failed = error.failed
                if error.declined:
                    declined.append((proxy, error.why))
                else:
                    self._count_failure(pool, proxy, host, error.why)
                if self._loop.time() >= deadline:
                    break
                continue
            self._count_all(pool, declined, host)
            return self._judged(pool, proxy, host, exchanged)
        if failed is None:
            return Deferred(pool.free_at(), pool.why_none())
        if len(declined) == 1:
            # What several say of a host is believed: else a few hosts that are gone would ban every proxy.
            self._count_all(pool, declined, host)
        return failed

    async def _by(
        self, proxy: Proxy, request: Request, target: Target, address: str, deadline: float
    ) -> Exchanged | Failed:
        route = Route(target.origin, request.verify_tls, proxy)
        head = self._head(request, target, None if route.is_tunnelled else proxy)
        exchanged = await self._exchange(head, request, route, (address,), deadline)
        if isinstance(exchanged, tuple) and exchanged[0].status == 407 and not route.is_tunnelled:
            raise ProxyFailed(proxy, wrong_credentials(proxy))
        return exchanged

    async def _reached(self, route: Route, address: str, until: float) -> asyncio.Transport:
        """Raises `ProxyFailed`, and `OSError` when it is not the proxy that has failed."""
        proxy = route.proxy
        assert proxy is not None
        began = self._loop.time()
        try:
            async with asyncio.timeout_at(until):
                try:
                    found = await self._guard.addresses_of_proxy(proxy.host)
                except OSError as error:
                    raise ProxyFailed(proxy, error.strerror or "the name look-up failed") from None
                return await self._connections.reach(proxy, found, route, address)
        except TimeoutError:
            why = f"no connection within {max(until - began, 0.0):.3g} s"
            raise ProxyFailed(proxy, why, FailureKind.TIMEOUT_CONNECT) from None

    def _judged(self, pool: Proxies, proxy: Proxy, host: str, exchanged: Exchanged | Failed) -> Exchanged | Failed:
        """The same, after the proxy has been given its due."""
        if isinstance(exchanged, tuple):
            if pool.answered(proxy, host, exchanged[0].status, self._clock.now()):
                log.warning("proxy banned", proxy=proxy.name, why=f"{host} answered {exchanged[0].status}")
            return exchanged
        if exchanged.kind in _NOT_THROUGH:
            self._count_failure(pool, proxy, host, exchanged.why)
        return msgspec.structs.replace(exchanged, why=f"{exchanged.why}, through proxy {proxy.name}")

    def _count_all(self, pool: Proxies, declined: list[tuple[Proxy, str]], host: str) -> None:
        for proxy, why in declined:
            self._count_failure(pool, proxy, host, why)

    def _count_failure(self, pool: Proxies, proxy: Proxy, host: str, why: str) -> None:
        if pool.failed(proxy, host, why, self._clock.now()):
            log.warning("proxy banned", proxy=proxy.name, why=why)


def _lines(headers: tuple[tuple[str, str], ...]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers)
