"""Detours: by way of a host's proxies, one after the other until one takes us there; each is given its due."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from tenax.clock import Clock
from tenax.fetch import Response
from tenax.fetch.proxies import Proxies, Proxy, ProxyPools
from tenax.fetch.tunnels import ProxyFailed, TunnelBroke
from tenax.logs import logger
from tenax.model import Deferred, Failed, FailureKind

# Nothing, or not all, came through: the host's fault or the proxy's. Some of them in a row are the proxy's.
_NOT_THROUGH = frozenset({
    FailureKind.RESET, FailureKind.TRUNCATED, FailureKind.TIMEOUT_CONNECT, FailureKind.TIMEOUT_HEADERS,
    FailureKind.TIMEOUT_BODY, FailureKind.TIMEOUT_TOTAL,
})  # fmt: skip
_BAD_GATEWAY = frozenset({502, 504})
"""What a proxy answers by itself when it does not reach the host. So may a gateway of the host."""

T = TypeVar("T")
Came: TypeAlias = Response | Failed
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
        forwards: Callable[[Proxy], bool] = lambda _: False,
    ) -> Response | Failed | Deferred:
        """One request through the first proxy that takes it; that proxy is judged by what came of it.

        Where it may be the proxy that failed, another is asked, and the host is believed to be at fault when they
        agree. `carry` may raise `ProxyFailed` and `TunnelBroke`. `forwards`: whether the proxy passes answers on, and
        so may give one of its own; what was sent through a tunnel is not sent twice.
        """
        broken: set[Proxy] = set()

        async def reach(proxy: Proxy, address: str) -> Response | Failed | Deferred:
            try:
                return await carry(proxy, address)
            except TunnelBroke as error:
                broken.add(proxy)
                return error.failed

        doubted: list[tuple[Proxy, Came]] = []
        while True:
            asked = [proxy for proxy, _ in doubted]
            taken = await self.taken(pool, host, addresses, deadline, reach, asked)
            if not isinstance(taken, tuple):
                return self._agreed(pool, host, doubted) if doubted else taken
            proxy, answer = taken
            if isinstance(answer, Deferred):
                return answer  # nothing was sent
            if not (proxy in broken or (forwards(proxy) and _is_doubtful(answer, pool))):
                judged = self._judged(pool, proxy, host, answer)
                for other, came in doubted:
                    self._blame(pool, other, host, came)  # what this one could, they should have
                return judged
            doubted.append((proxy, answer))
            if not pool.doubt(proxy, host, self._clock.now()):
                return self._agreed(pool, host, doubted)
            if asyncio.get_running_loop().time() >= deadline:
                return self._unsettled(pool, host, doubted)

    def _judged(self, pool: Proxies, proxy: Proxy, host: str, came: Came) -> Came:
        if isinstance(came, Response):
            self.answered(pool, proxy, host, came.status)
            return came
        if came.kind in _NOT_THROUGH:
            self.failed(pool, proxy, host, came.why)
        return _through(came, proxy)

    def _blame(self, pool: Proxies, proxy: Proxy, host: str, came: Came) -> None:
        if isinstance(came, Response) and pool.is_ban(came.status):
            self.answered(pool, proxy, host, came.status)
        else:
            self.failed(pool, proxy, host, _words(came))

    def _agreed(self, pool: Proxies, host: str, doubted: list[tuple[Proxy, Came]]) -> Came:
        """No proxy brought anything better: it is the host's. An answer that several brought bans none of them."""
        proxy, came = doubted[-1]
        if len(doubted) == 1:
            return self._judged(pool, proxy, host, came)
        for other, one in doubted:
            if isinstance(one, Response) or one.kind in _NOT_THROUGH:
                self.failed(pool, other, host, _words(one))
        return came if isinstance(came, Response) else _through(came, proxy)

    def _unsettled(self, pool: Proxies, host: str, doubted: list[tuple[Proxy, Came]]) -> Failed:
        """No time is left to ask another proxy. The next visit does that; until then nobody but a proxy is blamed."""
        for other, came in doubted:
            self.failed(pool, other, host, _words(came))
        proxy, came = doubted[-1]
        return Failed(f"proxy {proxy.name}: {_words(came)}", FailureKind.PROXY)

    async def taken(
        self,
        pool: Proxies,
        host: str,
        addresses: tuple[str, ...],
        deadline: float,
        reach: Callable[[Proxy, str], Awaitable[T]],
        besides: Sequence[Proxy] = (),
    ) -> tuple[Proxy, T] | Failed | Deferred:
        """What `reach` gave for the first proxy that it raised no `ProxyFailed` for; none is asked twice.

        It is handed a proxy and the checked address to be brought to. `deadline` is in the loop's time.
        """
        # No proxy says whether it has IPv6. Each further one is sent to the host's next address.
        near = sorted(addresses, key=lambda address: ":" in address)
        tried = list(besides)
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


def _is_doubtful(came: Came, pool: Proxies) -> bool:
    """Whether a proxy that answers by itself may mean itself."""
    if isinstance(came, Response):
        return pool.is_ban(came.status) or came.status in _BAD_GATEWAY
    return came.kind in _NOT_THROUGH or came.kind is FailureKind.BAD_RESPONSE


def _words(came: Came) -> str:
    return f"answer {came.status}" if isinstance(came, Response) else came.why


def _through(failed: Failed, proxy: Proxy) -> Failed:
    return msgspec.structs.replace(failed, why=f"{failed.why}, through proxy {proxy.name}")
