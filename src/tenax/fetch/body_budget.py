"""Memory for bodies: one budget in bytes for all visits of a process, whatever their number.

Each visit has a `Room`. It grows while a body arrives, by every transport, and is closed when the visit is committed.
A body has two parts of its life here. While it arrives it takes room bit by bit and waits when there is none, which
stops the reading from its connection. When it is whole it is handed on, to be read and committed: what that needs
besides is counted too, but never waits for what arrives, so it always comes to an end and frees its room.

Nobody waits for ever: who came first is served first until its body is whole, and may go beyond the budget if it must,
one visit at a time, until that is over. So a body that is larger than the whole budget can come as well. Large bodies
leave a part of the budget to small ones.
"""

from __future__ import annotations

import asyncio
from bisect import insort
from typing import NamedTuple

SMALL_BYTES: int = 256 * 1024
"""A body up to this size may use all of the budget; larger ones leave a quarter of it free."""
COPIES = 3
"""What a body needs while it is read: itself, the message to the reader, and the texts that come back."""

WAITING_SHARE = 4
"""One visit of so many may wait for room: the others are for pages that need less of it."""


class NoRoom(Exception):
    """Too many wait for room already."""


class _Waiting(NamedTuple):
    room: Room
    wanted_bytes: int
    granted: asyncio.Future[None]


class BodyBudget:
    """For one event loop. `used_bytes` is what all rooms hold."""

    def __init__(self, limit_bytes: int, concurrency: int) -> None:
        """`concurrency`: how many visits may be in flight at the same time."""
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self.most_used_bytes = 0
        """The most that it ever was."""
        self._large_limit_bytes = limit_bytes * 3 // 4
        self._small_bytes = min(SMALL_BYTES, limit_bytes // 8)
        self._most_waiting = max(concurrency // WAITING_SHARE, 1)
        self._waiting: list[_Waiting] = []
        """Who waited first comes first, also when it waits again."""
        self._turns = 0
        self._first: Room | None = None
        """The one that may go beyond the budget."""
        self._onward_bytes = 0
        """Of `used_bytes`: in bodies that were handed on."""
        self._to_hand_on: list[_Waiting] = []

    @property
    def waiting(self) -> int:
        """How many bodies wait for room."""
        return len(self._waiting)

    def room(self) -> Room:
        return Room(self)

    # -- for rooms ------------------------------------------------------------------------------------------

    def fits(self, room: Room, wanted_bytes: int) -> bool:
        if room is self._first:
            return True
        if room.held_bytes + wanted_bytes <= self._small_bytes:
            return self.used_bytes + wanted_bytes <= self.limit_bytes
        return self._is_next(room) and self.used_bytes + wanted_bytes <= self._large_limit_bytes

    def free_bytes(self, room: Room, most_bytes: int) -> int:
        """How much of `most_bytes` would fit now."""
        if room is self._first:
            return most_bytes
        small = min(self._small_bytes - room.held_bytes, self.limit_bytes - self.used_bytes)
        large = self._large_limit_bytes - self.used_bytes if self._is_next(room) else 0
        return max(min(max(small, large), most_bytes), 0)

    def hold(self, room: Room, held_bytes: int) -> None:
        more = held_bytes - room.held_bytes
        room.held_bytes = held_bytes
        self.used_bytes += more
        if room.is_onward:
            self._onward_bytes += more
        if more > 0:
            self.most_used_bytes = max(self.most_used_bytes, self.used_bytes)
        elif self._waiting or self._to_hand_on:
            self._serve()

    async def wait(self, room: Room, wanted_bytes: int) -> None:
        if len(self._waiting) >= self._most_waiting:
            raise NoRoom
        if not room.turn:
            self._turns += 1
            room.turn = self._turns
        one = _Waiting(room, wanted_bytes, asyncio.get_running_loop().create_future())
        insort(self._waiting, one, key=lambda other: other.room.turn)
        await self._granted(self._waiting, one)

    async def hand_on(self, room: Room) -> None:
        if room.is_onward:
            return
        wanted_bytes = room.held_bytes * COPIES
        if not self._may_go_on(wanted_bytes, is_next=not self._to_hand_on):
            one = _Waiting(room, wanted_bytes, asyncio.get_running_loop().create_future())
            self._to_hand_on.append(one)
            await self._granted(self._to_hand_on, one)
        else:
            self._go_on(room, wanted_bytes)

    def end(self, room: Room) -> None:
        if room is self._first:
            self._first = None
        self.hold(room, 0)

    # -- the two queues -------------------------------------------------------------------------------------

    async def _granted(self, queue: list[_Waiting], one: _Waiting) -> None:
        self._serve()
        try:
            await one.granted
        except asyncio.CancelledError:
            if one in queue:
                queue.remove(one)
                self._serve()
            raise

    def _serve(self) -> None:
        while self._waiting and self._is_served(self._waiting[0], is_next=True):
            del self._waiting[0]
        for one in [one for one in self._waiting if self._is_served(one, is_next=False)]:
            self._waiting.remove(one)
        for one in list(self._to_hand_on):
            if self._may_go_on(one.wanted_bytes, is_next=one is self._to_hand_on[0]):
                self._to_hand_on.remove(one)
                self._go_on(one.room, one.wanted_bytes)
                _grant(one)

    def _is_next(self, room: Room) -> bool:
        """Whether nobody waits who came before."""
        return not self._waiting or 0 < room.turn < self._waiting[0].room.turn

    def _is_served(self, one: _Waiting, *, is_next: bool) -> bool:
        after = self.used_bytes + one.wanted_bytes
        is_small = one.room.held_bytes + one.wanted_bytes <= self._small_bytes
        if after > (self.limit_bytes if is_small else self._large_limit_bytes):
            if not is_next or self._first not in (None, one.room):
                return False
            self._first = one.room
        elif not (is_small or is_next):
            return False
        self.hold(one.room, one.room.held_bytes + one.wanted_bytes)
        _grant(one)
        return True

    def _may_go_on(self, wanted_bytes: int, *, is_next: bool) -> bool:
        """What is handed on comes to its end by itself, so one more may always go when there is nothing else."""
        if self._onward_bytes == 0:
            return True
        after = self._onward_bytes + wanted_bytes
        if wanted_bytes <= self._small_bytes * COPIES:
            return after <= self.limit_bytes
        return is_next and after <= self.limit_bytes // 2

    def _go_on(self, room: Room, wanted_bytes: int) -> None:
        room.is_onward = True
        self._onward_bytes += room.held_bytes
        self.hold(room, wanted_bytes)


class Room:
    """What one visit holds of the budget."""

    __slots__ = ("_budget", "held_bytes", "is_onward", "turn")

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self.held_bytes = 0
        self.is_onward = False
        self.turn = 0
        """Its place among those that have waited; 0: it has not."""

    def take(self, more_bytes: int) -> bool:
        """So much more, if it is there now."""
        if not self._budget.fits(self, more_bytes):
            return False
        self._budget.hold(self, self.held_bytes + more_bytes)
        return True

    def free_bytes(self, most_bytes: int) -> int:
        """How much of `most_bytes` could be taken now."""
        return self._budget.free_bytes(self, most_bytes)

    async def wait(self, more_bytes: int) -> None:
        """So much more, when it is there. Raises `NoRoom` at once when too many wait already."""
        await self._budget.wait(self, more_bytes)

    def hold(self, held_bytes: int) -> None:
        """So much and no more from now on, whether it is there or not: somebody knows better what is held."""
        self._budget.hold(self, held_bytes)

    async def hand_on(self) -> None:
        """The body is whole: wait until it may go on to a reader."""
        await self._budget.hand_on(self)

    def close(self) -> None:
        """Nothing is held any more."""
        self._budget.end(self)


def _grant(one: _Waiting) -> None:
    if not one.granted.done():
        one.granted.set_result(None)
