"""Sends requests through a host's proxies, one after the other until one reaches it, and records their results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from tenax.clock import Clock
from tenax.fetch import Response
from tenax.fetch.connect import ProxyError, TunnelError
from tenax.fetch.guard import Guard
from tenax.fetch.proxies import Proxy, ProxyPool, ProxyPools
from tenax.logs import logger
from tenax.model import Deferred, Failed, FailureKind
from tenax.runtime.resources import is_out_of_files

# Nothing arrived, or not everything. Either the host or the proxy is at fault. Several in a row count against the
# proxy.
_TRANSFER_FAILURES = frozenset({
    FailureKind.RESET, FailureKind.TRUNCATED, FailureKind.TIMEOUT_CONNECT, FailureKind.TIMEOUT_HEADERS,
    FailureKind.TIMEOUT_BODY, FailureKind.TIMEOUT_TOTAL,
})  # fmt: skip
_GATEWAY_STATUSES = frozenset({502, 504})
"""Statuses of a proxy that does not reach the host, or of a gateway in front of the host."""

T = TypeVar("T")
ProxiedResult: TypeAlias = Response | Failed
log = logger(__name__)


async def resolve_proxy(guard: Guard, proxy: Proxy) -> tuple[str, ...]:
    """The addresses of a proxy. Raises `ProxyError`, or `OSError` if the failure is ours."""
    try:
        return await guard.resolve_proxy(proxy.host)
    except OSError as error:
        if is_out_of_files(error):
            raise
        raise ProxyError(proxy, error.strerror or "the name look-up failed") from None


class ProxyRotation:
    """The proxies of every host, for one transport. Transports with the same pools share choices and bans."""

    def __init__(self, pools: ProxyPools | None, clock: Clock) -> None:
        self._pools = pools
        self._clock = clock

    def pool_for_host(self, host: str) -> ProxyPool | None:
        """The pool of this host; None if requests to the host are direct."""
        return self._pools.for_host(host) if self._pools is not None else None

    async def get(
        self,
        pool: ProxyPool,
        host: str,
        addresses: tuple[str, ...],
        deadline: float,
        carry: Callable[[Proxy, str], Awaitable[Response | Failed | Deferred]],
        forwards: Callable[[Proxy], bool] = lambda _: False,
    ) -> Response | Failed | Deferred:
        """Send one request through the first proxy that accepts it. The result is recorded for that proxy.

        If the proxy may be at fault, another one is tried. If they agree, the host is at fault. `carry` may raise
        `ProxyError` and `TunnelError`. `forwards` says whether a proxy forwards responses, and so may send one of its
        own; a request through a tunnel is not sent twice.
        """
        broken: set[Proxy] = set()

        async def reach(proxy: Proxy, address: str) -> Response | Failed | Deferred:
            try:
                return await carry(proxy, address)
            except TunnelError as error:
                broken.add(proxy)
                return error.failure

        suspects: list[tuple[Proxy, ProxiedResult]] = []
        while True:
            excluded = [proxy for proxy, _ in suspects]
            reached = await self.try_proxies(pool, host, addresses, deadline=deadline, reach=reach, excluded=excluded)
            if not isinstance(reached, tuple):
                return self._blame_host(pool, host, suspects) if suspects else reached
            proxy, answer = reached
            if isinstance(answer, Deferred):
                return answer  # nothing was sent
            if not (proxy in broken or (forwards(proxy) and _is_suspect(answer, pool))):
                recorded = self._record_result(pool, proxy, host, answer)
                for other, result in suspects:
                    self._blame_proxy(pool, other, host, result)  # this proxy succeeded, so the others are at fault
                return recorded
            suspects.append((proxy, answer))
            if not pool.record_suspicion(proxy, host, self._clock.now()):
                return self._blame_host(pool, host, suspects)
            if asyncio.get_running_loop().time() >= deadline:
                return self._fail_undecided(pool, host, suspects)

    def _record_result(self, pool: ProxyPool, proxy: Proxy, host: str, result: ProxiedResult) -> ProxiedResult:
        if isinstance(result, Response):
            self.record_response(pool, proxy, host, result.status)
            return result
        if result.kind in _TRANSFER_FAILURES:
            self.record_failure(pool, proxy, host, result.why)
        return _add_proxy_name(result, proxy)

    def _blame_proxy(self, pool: ProxyPool, proxy: Proxy, host: str, result: ProxiedResult) -> None:
        if isinstance(result, Response) and pool.is_ban_status(result.status):
            self.record_response(pool, proxy, host, result.status)
        else:
            self.record_failure(pool, proxy, host, _describe_result(result))

    def _blame_host(self, pool: ProxyPool, host: str, suspects: list[tuple[Proxy, ProxiedResult]]) -> ProxiedResult:
        """No proxy had a better result, so the host is at fault. A response that several proxies delivered bans none of
        them."""
        proxy, result = suspects[-1]
        if len(suspects) == 1:
            return self._record_result(pool, proxy, host, result)
        for other, one in suspects:
            if isinstance(one, Response) or one.kind in _TRANSFER_FAILURES:
                self.record_failure(pool, other, host, _describe_result(one))
        return result if isinstance(result, Response) else _add_proxy_name(result, proxy)

    def _fail_undecided(self, pool: ProxyPool, host: str, suspects: list[tuple[Proxy, ProxiedResult]]) -> Failed:
        """No time is left to try another proxy; the next visit does. Until then only the proxies are blamed."""
        for other, result in suspects:
            self.record_failure(pool, other, host, _describe_result(result))
        proxy, result = suspects[-1]
        return Failed(f"proxy {proxy.name}: {_describe_result(result)}", FailureKind.PROXY)

    async def try_proxies(
        self,
        pool: ProxyPool,
        host: str,
        addresses: tuple[str, ...],
        deadline: float,
        reach: Callable[[Proxy, str], Awaitable[T]],
        excluded: Sequence[Proxy] = (),
    ) -> tuple[Proxy, T] | Failed | Deferred:
        """The result of `reach` for the first proxy that raises no `ProxyError`. No proxy is tried twice.

        `reach` gets a proxy and the checked address to connect to. `deadline` is in the time of the event loop.
        """
        # Proxies do not say whether they support IPv6. So each further proxy tries the next address of the host.
        near = sorted(addresses, key=lambda address: ":" in address)
        tried = list(excluded)
        declined: list[tuple[Proxy, str]] = []
        failed: Failed | None = None
        while (proxy := pool.choose_proxy(host, self._clock.now(), tried)) is not None:
            address = near[len(tried) % len(near)]
            tried.append(proxy)
            try:
                reached = await reach(proxy, address)
            except ProxyError as error:
                failed = error.failure
                if error.is_declined:
                    declined.append((proxy, error.why))
                else:
                    self.record_failure(pool, proxy, host, error.why)
                if asyncio.get_running_loop().time() >= deadline:
                    break
                continue
            for other, why in declined:
                self.record_failure(pool, other, host, why)  # this proxy succeeded, so the others are at fault
            return proxy, reached
        if failed is None:
            return Deferred(pool.first_unban_at(), pool.unavailable_reason())
        rest_seconds = pool.host_backoff_seconds(host) if declined else None
        return msgspec.structs.replace(failed, retry_after_seconds=rest_seconds)

    def record_response(self, pool: ProxyPool, proxy: Proxy, host: str, status: int) -> None:
        """Record a response with this status."""
        if pool.record_response(proxy, host, status, self._clock.now()):
            log.warning("proxy banned", proxy=proxy.name, why=f"{host} answered {status}")

    def record_failure(self, pool: ProxyPool, proxy: Proxy, host: str, why: str) -> None:
        """Record that nothing arrived through this proxy, or not everything."""
        if pool.record_failure(proxy, host, why, self._clock.now()):
            log.warning("proxy banned", proxy=proxy.name, why=why)


def _is_suspect(result: ProxiedResult, pool: ProxyPool) -> bool:
    """Whether the response may come from the proxy itself."""
    if isinstance(result, Response):
        return pool.is_ban_status(result.status) or result.status in _GATEWAY_STATUSES
    return result.kind in _TRANSFER_FAILURES or result.kind is FailureKind.BAD_RESPONSE


def _describe_result(result: ProxiedResult) -> str:
    return f"answer {result.status}" if isinstance(result, Response) else result.why


def _add_proxy_name(failed: Failed, proxy: Proxy) -> Failed:
    return msgspec.structs.replace(failed, why=f"{failed.why}, through proxy {proxy.name}")
