"""Sites that measure the time between our requests, and reject too many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from itertools import pairwise

from tests.loops import rounds, turn
from tests.site.server import Behaviour, Exchange, Hit, Site

BACKOFFS = [30.0, 60.0, 120.0, 240.0, 300.0]
"""Between the probes of an outage; the last one stays. Each may be a tenth longer, except the longest."""


def assert_as_planned(probes: list[float], *, late_seconds: float = 0.01) -> None:
    """The times of the probes of an outage, the first one a backoff after the breaker opened."""
    for number, (earlier, later) in enumerate(pairwise(probes), 1):
        rest = BACKOFFS[min(number, len(BACKOFFS) - 1)]
        assert rest <= later - earlier <= min(rest * 1.1, 300.0) + late_seconds, (number, later - earlier)


def gaps(hits: list[Hit]) -> list[float]:
    """Seconds between each request and the next."""
    return [later.at - earlier.at for earlier, later in pairwise(hits)]


def slow(seconds: float, behaviour: Behaviour) -> Behaviour:
    """The same response, later: other requests in flight overlap with it."""

    async def answer(exchange: Exchange) -> None:
        await asyncio.sleep(seconds)
        await behaviour(exchange)

    return answer


def given_up(seconds: float, behaviour: Behaviour) -> Behaviour:
    """The same, until the client has waited for this long: at once, by the loop's time. Nobody else should wait."""

    async def answer(exchange: Exchange) -> None:
        going_on = asyncio.ensure_future(behaviour(exchange))
        try:
            await rounds()
            turn(seconds)
            await going_on
        finally:
            going_on.cancel()

    return answer


def too_many_requests(retry_after: str | None = None) -> Behaviour:
    async def answer(exchange: Exchange) -> None:
        headers = {"Retry-After": retry_after} if retry_after is not None else {}
        await exchange.answer(b"slow down", "429 Too Many Requests", headers)

    return answer


async def unavailable(exchange: Exchange) -> None:
    await exchange.answer(b"" if exchange.method == "HEAD" else b"gone fishing", "503 Service Unavailable")


def now_and_then(
    behaviours: dict[str, Behaviour], other: Behaviour, is_now: Callable[[Exchange], bool]
) -> dict[str, Behaviour]:
    """These behaviours, except at moments when every path has another one."""

    def torn(behaviour: Behaviour) -> Behaviour:
        async def answer(exchange: Exchange) -> None:
            await (other if is_now(exchange) else behaviour)(exchange)

        return answer

    return {path: torn(behaviour) for path, behaviour in behaviours.items()}


def nth(numbers: Collection[int]) -> Callable[[Exchange], bool]:
    """True for these requests of all, counted from 1."""
    asked = 0

    def is_now(exchange: Exchange) -> bool:
        nonlocal asked
        asked += 1
        return asked in numbers

    return is_now


async def shut(site: Site) -> None:
    """Stop listening, and close open connections."""
    await site.__aexit__(None, None, None)


async def reopen(site: Site) -> None:
    """Listen again, at the same address and port."""
    await site.__aenter__()
