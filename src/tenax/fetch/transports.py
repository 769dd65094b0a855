"""Every way to carry a request, each through the guard and in the turn of its host and its address."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tenax.clock import Clock
from tenax.fetch import Request, Response, Transport
from tenax.fetch.classify import retry_after_seconds
from tenax.fetch.guard import Guard
from tenax.fetch.target import target_of
from tenax.hosts import SharedTurns, Turn
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


class Transports:
    """Used by many visits at once. Owns the guard and the transports, and closes them."""

    def __init__(self, ways: Mapping[Way, Transport], guard: Guard, turns: SharedTurns, clock: Clock) -> None:
        self._ways = ways
        self._guard = guard
        self._turns = turns
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
            Turn(f"host {target.origin.scheme}://{target.origin.authority}", manners.pace_seconds, busy),
            Turn(f"address {min(addresses)}", manners.address_pace_seconds),
        )
        now = self._clock.now()
        free_at = self._turns.take(turns, now)
        if free_at > now:
            return Deferred(free_at, "turn: another request to this host or its address goes first")
        try:
            answer = await transport.get(request)
        except BaseException:
            self._turns.end(turns, self._clock.now())
            raise
        if isinstance(answer, Response):
            self._turns.end((_rested(turns[0], answer, manners), turns[1]), answer.answered_at)
        else:
            self._turns.end(turns, self._clock.now())
        return answer

    async def close(self) -> None:
        for transport in self._ways.values():
            await transport.close()
        await self._guard.close()
        self._turns.close()


def _rested(turn: Turn, answer: Response, manners: Manners) -> Turn:
    """The host's turn with what it asks for: other crawls, and this one if it is killed now, must know of it too."""
    if answer.status not in _ASK_FOR_REST:
        return turn
    rest = retry_after_seconds(answer, manners.longest_rest_seconds) or 0.0
    if rest <= turn.pace_seconds:
        return turn
    return msgspec.structs.replace(turn, pace_seconds=rest, busy_seconds=rest)
