"""Every way to carry a request, each through the guard and in the turn of its host and its address."""

from __future__ import annotations

from collections.abc import Mapping

from tenax.clock import Clock
from tenax.fetch import Request, Response, Transport
from tenax.fetch.classify import retry_after_seconds
from tenax.fetch.failures import too_late
from tenax.fetch.guard import Guard
from tenax.fetch.target import target_of
from tenax.hosts import AskedTurns, Turn, host_key
from tenax.hosts.at_once import AtOnce
from tenax.hosts.local_turns import LocalTurns
from tenax.model import Deferred, Failed, Refused, Value, Way

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
    shares_turns: bool = True
    """False: other crawls on this machine are not asked whose turn it is."""


class Transports:
    """Used by many visits at once. Owns the guard and the transports, and closes them."""

    def __init__(self, ways: Mapping[Way, Transport], guard: Guard, turns: AskedTurns, clock: Clock) -> None:
        self._ways = ways
        self._guard = guard
        self._turns = turns
        self._own_turns: AskedTurns = AtOnce(LocalTurns())
        self._clock = clock
        self.available = frozenset(ways)

    async def get(self, way: Way, request: Request, manners: Manners) -> Response | Failed | Refused | Deferred:
        """The answer by this way, or by plain HTTP where that way is not there. Deferred: nothing was sent."""
        transport = self._ways.get(way) or self._ways[Way.HTTP]
        if manners.pace_seconds == 0 and manners.address_pace_seconds == 0:
            return await transport.get(request)
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
        shared = self._turns if manners.shares_turns else self._own_turns
        now = self._clock.now()
        if now >= request.send_by:
            return too_late(now)
        free_at = await shared.take(turns, now)
        if free_at > now:
            return Deferred(free_at, "turn: another request to this host or its address goes first")
        try:
            answer = await transport.get(request)
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

    async def tell_others(self, origin: str, until: float, pace_seconds: float) -> None:
        """Other crawls of this machine leave this host alone until then, and ask no faster than this afterwards."""
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
