"""Every way to carry a request, each through the guard and in the turn of its host and its address."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tenax.clock import Clock
from tenax.fetch import Request, Response, Transport
from tenax.fetch.classify import retry_after_seconds
from tenax.fetch.failures import tells_of_files, too_late
from tenax.fetch.guard import Guard
from tenax.fetch.target import target_of
from tenax.hosts import AskedTurns, Turn, host_key
from tenax.hosts.limiter.immediate import AtOnce
from tenax.hosts.limiter.process import LocalTurns
from tenax.hosts.limiter.request_interval import RequestInterval
from tenax.model import Deferred, Failed, Refused, Value, Way
from tenax.runtime.open_files import PUT_OFF_SECONDS, FileLimit

_ASK_FOR_REST = frozenset({429, 503})


class Manners(Value, frozen=True):
    """What a request owes its host."""

    pace_seconds: float = 0.0
    """Least time between two requests to the host."""
    connections: int = 1
    address_pace_seconds: float = 0.0
    """Least time between two requests to one address, whatever the hosts that live there."""
    connect_timeout_seconds: float = 10.0
    longest_rest_seconds: float = 0.0
    """How long a host that asks to be left alone is left alone at most."""
    follows: bool = False
    """The host asked for it in its answer to the request before, and both are one visit: it is not put off."""
    shares_turns: bool = True
    """False: other crawls on this machine are not asked whose turn it is; those that share a limiter elsewhere are."""


class Transports:
    """Used by many visits at once. Owns the guard and the transports, and closes them."""

    def __init__(
        self,
        ways: Mapping[Way, Transport],
        guard: Guard,
        turns: AskedTurns,
        clock: Clock,
        interval: RequestInterval | None = None,
        is_always_shared: bool = False,
        files: FileLimit | None = None,
    ) -> None:
        """`is_always_shared`: the turns are those of a limiter that was asked for by name, such as one in Redis. That
        other crawls of this machine are not asked does not switch it off."""
        self._is_always_shared = is_always_shared
        self._ways = ways
        self._guard = guard
        self._turns = turns
        self._own_turns: AskedTurns = AtOnce(LocalTurns())
        self._clock = clock
        self._interval = interval or RequestInterval(0.0)
        self._files = files or FileLimit()
        self._under_way = 0
        self._starting = asyncio.Lock()
        self.available = frozenset(ways)

    async def get(self, way: Way, request: Request, manners: Manners) -> Response | Failed | Refused | Deferred:
        """The answer by this way, or by plain HTTP where that way is not there. Deferred: nothing was sent."""
        if manners.follows:
            return await self._counted(way, request, manners)
        now = self._clock.now()
        free_at = self._interval.take(now)
        if free_at > now:
            return Deferred(free_at, "turn: by `crawl.request_interval_seconds` other requests go first")
        answer = await self._counted(way, request, manners)
        if isinstance(answer, Deferred):
            self._interval.give_back()
        return answer

    @property
    def most_at_once(self) -> int:
        """As many visits as there are files for."""
        return self._files.most_visits(self._clock.now())

    def out_of_files(self) -> Deferred:
        """There was no file descriptor left: our own trouble, so whatever was to be done is put off."""
        now = self._clock.now()
        self._files.ran_out(self._under_way, now)
        return Deferred(now + PUT_OFF_SECONDS, "files: no file descriptor was left; raise `ulimit -n`")

    async def _counted(self, way: Way, request: Request, manners: Manners) -> Response | Failed | Refused | Deferred:
        self._under_way += 1
        try:
            answer = await self._get(way, request, manners)
            return self.out_of_files() if isinstance(answer, Failed) and tells_of_files(answer) else answer
        finally:
            self._under_way -= 1

    async def _get(self, way: Way, request: Request, manners: Manners) -> Response | Failed | Refused | Deferred:
        """In the turn of the host and its address."""
        transport = self._ways.get(way) or self._ways[Way.HTTP]
        if manners.pace_seconds == 0 and manners.address_pace_seconds == 0:
            return await self._sent(transport, request)
        target = target_of(request.url)
        if target is None:
            return Refused("guard: not a plain http or https URL")
        addresses = await self._guard.check(target.origin, manners.connect_timeout_seconds)
        if not isinstance(addresses, tuple):
            return addresses
        # With one connection the turn is held until the answer is there; with several they may overlap.
        busy = request.total_timeout_seconds if manners.connections == 1 else 0.0
        turns = (
            Turn(host_key(f"{target.origin.scheme}://{target.origin.authority}"), manners.pace_seconds, busy),
            Turn(f"address {min(addresses)}", manners.address_pace_seconds),
        )
        shared = self._turns if manners.shares_turns or self._is_always_shared else self._own_turns
        now = self._clock.now()
        if now >= request.send_by:
            return too_late(now)
        free_at = await shared.take(turns, now)
        if free_at > now:
            return Deferred(free_at, "turn: another request to this host or its address goes first")
        try:
            answer = await self._sent(transport, request)
        except BaseException:
            await shared.end(turns, self._clock.now())
            raise
        if isinstance(answer, Response):
            await shared.end(turns, answer.answered_at)
            if rest := _rest_seconds(answer, manners):
                # Other crawls, and this one if it is killed now, must know of it too.
                await shared.hold(turns[0].key, answer.answered_at + rest, answer.answered_at)
        else:
            await shared.end(turns, self._clock.now())
        return answer

    async def _sent(self, transport: Transport, request: Request) -> Response | Failed | Refused | Deferred:
        """In the time of this request among all those of the process."""
        if self._interval.seconds:
            async with self._starting:
                if wait := self._interval.wait_seconds(self._clock.now()):
                    await asyncio.sleep(wait)
                self._interval.started(self._clock.now())
        answer = await transport.get(request)
        if request.room is not None:
            # Whatever was needed on the way, this is left of it.
            request.room.hold(len(answer.body) if isinstance(answer, Response) else 0)
        return answer

    async def tell_others(self, origin: str, until: float, pace_seconds: float, *, shares_turns: bool = True) -> None:
        """Whoever shares its turns leaves this host alone until then, and asks no faster than this afterwards."""
        if not (shares_turns or self._is_always_shared):
            return
        await self._turns.hold(host_key(origin), until, self._clock.now(), pace_seconds)

    async def close(self) -> None:
        for transport in self._ways.values():
            await transport.close()
        await self._guard.close()
        await self._turns.close()


def _rest_seconds(answer: Response, manners: Manners) -> float:
    """How long the host asks to be left alone; 0 when it does not."""
    if answer.status not in _ASK_FOR_REST:
        return 0.0
    return retry_after_seconds(answer, manners.longest_rest_seconds) or 0.0
