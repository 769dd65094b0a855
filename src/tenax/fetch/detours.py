"""Detours: by way of a host's proxies, one after the other until one takes us there; each is given its due."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from tenax.clock import Clock
from tenax.fetch import Response
from tenax.fetch.proxies import Proxies, Proxy, ProxyPools
from tenax.fetch.tunnels import ProxyFailed
from tenax.logs import logger
from tenax.model import Deferred, Failed, FailureKind

# Nothing, or not all, came through: the host's fault or the proxy's. Some of them in a row are the proxy's.
_NOT_THROUGH = frozenset({
    FailureKind.RESET, FailureKind.TRUNCATED, FailureKind.TIMEOUT_CONNECT, FailureKind.TIMEOUT_HEADERS,
    FailureKind.TIMEOUT_BODY, FailureKind.TIMEOUT_TOTAL,
})  # fmt: skip

T = TypeVar("T")
log = logger(__name__)


class Detours:
    """The proxies of every host, for one transport. Transports that are given the same pools share choices and bans."""

    def __init__(self, pools: ProxyPools | None, clock: Clock) -> None:
        self._pools = pools
        self._clock = clock

    def of(self, host: str) -> Proxies | None:
        """None when requests to this host go straight to it."""
        return self._pools.of(host) if self._pools is not None else None

    async def get(
        self,
        pool: Proxies,
        host: str,
        addresses: tuple[str, ...],
        deadline: float,
        carry: Callable[[Proxy, str], Awaitable[Response | Failed | Deferred]],
    ) -> Response | Failed | Deferred:
        """One request through the first proxy that takes it; that proxy is judged by what came of it."""
        taken = await self.taken(pool, host, addresses, deadline, carry)
        if not isinstance(taken, tuple):
            return taken
        proxy, answer = taken
        if isinstance(answer, Response):
            self.answered(pool, proxy, host, answer.status)
            return answer
        if isinstance(answer, Deferred):
            return answer  # nothing was sent
        if answer.kind in _NOT_THROUGH:
            self.failed(pool, proxy, host, answer.why)
        return msgspec.structs.replace(answer, why=f"{answer.why}, through proxy {proxy.name}")

    async def taken(
        self,
        pool: Proxies,
        host: str,
        addresses: tuple[str, ...],
        deadline: float,
        reach: Callable[[Proxy, str], Awaitable[T]],
    ) -> tuple[Proxy, T] | Failed | Deferred:
        """What `reach` gave for the first proxy that it raised no `ProxyFailed` for; none is asked twice.

        It is handed a proxy and the checked address to be brought to. `deadline` is in the loop's time.
        """
        # No proxy says whether it has IPv6. Each further one is sent to the host's next address.
        near = sorted(addresses, key=lambda address: ":" in address)
        tried: list[Proxy] = []
        declined: list[tuple[Proxy, str]] = []
        failed: Failed | None = None
        while (proxy := pool.choose(host, self._clock.now(), tried)) is not None:
            address = near[len(tried) % len(near)]
            tried.append(proxy)
            try:
                reached = await reach(proxy, address)
            except ProxyFailed as error:
                failed = error.failed
                if error.declined:
                    declined.append((proxy, error.why))
                else:
                    self.failed(pool, proxy, host, error.why)
                if asyncio.get_running_loop().time() >= deadline:
                    break
                continue
            for other, why in declined:
                self.failed(pool, other, host, why)  # what this one could, they should have
            return proxy, reached
        if failed is None:
            return Deferred(pool.free_at(), pool.why_none())
        rest_seconds = pool.rest_seconds(host) if declined else None
        return msgspec.structs.replace(failed, retry_after_seconds=rest_seconds)

    def answered(self, pool: Proxies, proxy: Proxy, host: str, status: int) -> None:
        """An answer with this status came through."""
        if pool.answered(proxy, host, status, self._clock.now()):
            log.warning("proxy banned", proxy=proxy.name, why=f"{host} answered {status}")

    def failed(self, pool: Proxies, proxy: Proxy, host: str, why: str) -> None:
        """Nothing came through it, or not all."""
        if pool.failed(proxy, host, why, self._clock.now()):
            log.warning("proxy banned", proxy=proxy.name, why=why)
