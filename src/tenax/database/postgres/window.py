"""The window on the frontier: takes hosts from the ledger, reads their tasks, and gives hosts back for others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from tenax.clock import Clock
from tenax.database import rows
from tenax.database.postgres.connection import Connection, Row
from tenax.database.postgres.schema import queries
from tenax.database.postgres.slots import LONG_ENOUGH_SECONDS, GivenUp, Slots
from tenax.database.postgres.worker import Worker
from tenax.database.postgres.write import Writer
from tenax.database.schedule import Entry

LOOK_PAUSE_SECONDS = 0.1
"""How often we look for free hosts at most, when there are some."""
POLL_SECONDS = 1.0
"""How often we look when we know of none: others may have let one go."""
NEVER = float("inf")


class Outside(NamedTuple):
    """What a look at the others shows."""

    workers: int
    held: int
    least: int
    """The fewest that one worker holds."""
    held_by_others: int
    free: int
    """Hosts whose turn has come and that nobody holds; not counted beyond what is of use."""
    next_turn: float | None


class Window:
    """Keeps the slots filled. Every method that speaks to the server wants the connection for itself."""

    def __init__(self, worker: Worker, slots: Slots, writer: Writer, clock: Clock, window_hosts: int) -> None:
        self._worker = worker
        self._slots = slots
        self._writer = writer
        self._clock = clock
        self._window_hosts = window_hosts
        self._sql = queries()
        self._look_at = 0.0
        """When a host that nobody holds has a turn, as far as known."""
        self._poll_at = 0.0
        self._told_hosts: int | None = None
        self._others_hold = False

    # -- what is known --------------------------------------------------------------------------------------

    def is_due(self, now: float) -> bool:
        """Whether tending it would help."""
        return self._slots.has_hungry or self.look_at <= now

    @property
    def look_at(self) -> float:
        return min(self._look_at, self._poll_at)

    def next_turn(self) -> float | None:
        """When a claim may succeed, as far as known: soon while others hold hosts, now while hosts wait for tasks."""
        if self._slots.has_hungry:
            return 0.0
        inside = self._slots.next_turn()
        turn = min(self._look_at, NEVER if inside is None else inside, self._poll_at if self._others_hold else NEVER)
        return None if turn == NEVER else turn

    def arrived(self, host_id: int, entry: Entry, now: float) -> None:
        """A task waits now at this host."""
        if host_id in self._slots:
            self._slots.arrived(host_id, entry, now)
        else:
            self.look(max(entry.due / 1000, now))

    def look(self, at: float) -> None:
        """There may be work at hosts that nobody holds."""
        self._look_at = min(self._look_at, at)

    def begin_anew(self) -> None:
        """The worker is another one now and holds nothing."""
        self._slots.clear()
        self._told_hosts = None
        self._look_at = self._poll_at = 0.0

    # -- tending --------------------------------------------------------------------------------------------

    async def tend(self, db: Connection) -> None:
        """Exchange hosts if it is time to, and read what those we hold ask for."""
        now = self._clock.now()
        if self.look_at <= now:
            await self._exchange(db, now)
        if self._slots.has_hungry:
            await self._fill(db, now)

    async def _exchange(self, db: Connection, now: float) -> None:
        self._look_at, self._poll_at = NEVER, now + POLL_SECONDS
        if self._told_hosts is None:
            await self._tell_hosts(db)
        outside = Outside(*await db.fetchrow(self._sql["outside"], self._worker.id, now, self._window_hosts * 4) or ())
        self._others_hold = outside.held_by_others > 0
        if outside.next_turn is not None:
            self.look(max(outside.next_turn, now + LOOK_PAUSE_SECONDS))
        share = min(self._window_hosts, ceil((outside.held + outside.free) / max(outside.workers, 1)))
        self._make_room(outside, share, now)
        await self.free(db, self._slots.idle(now))
        room = min(share - len(self._slots), self._slots.room)
        if room > 0 and outside.free:
            await self._take(db, room, now)
        if outside.free > max(room, 0):
            self.look(now + LOOK_PAUSE_SECONDS)
        if len(self._slots) != self._told_hosts:
            await self._tell_hosts(db)

    def _make_room(self, outside: Outside, share: int, now: float) -> None:
        """More than our share goes to workers that have less; a full window takes turns with those outside of it."""
        surplus = len(self._slots) - share
        if surplus > 0 and not outside.free and outside.least < share:
            self._slots.dismiss(surplus, now)
        elif outside.free and self._slots.room <= 0:
            self._slots.dismiss(outside.free, now - LONG_ENOUGH_SECONDS)

    async def _tell_hosts(self, db: Connection) -> None:
        await db.execute(self._sql["worker_holds"], self._worker.id, len(self._slots))
        self._told_hosts = len(self._slots)

    async def _take(self, db: Connection, room: int, now: float) -> None:
        for host_id, origin, state, copy in await db.fetch(self._sql["hosts_take"], self._worker.id, now, room):
            record = rows.host_record(origin, state, copy)
            self._writer.knows_robots(host_id, record.robots)
            self._slots.join(host_id, record, now)

    async def free(self, db: Connection, given: Sequence[GivenUp]) -> None:
        """Hosts go back; nobody who adds tasks there at the same time is overlooked."""
        if not given:
            return
        # Not ours from here on, whatever becomes of the connection: what stays behind is found by `reconcile`.
        for one in given:
            if one.host_id in self._slots:
                self._slots.remove(one.host_id)
        await db.execute("BEGIN")
        locked = await db.fetch(self._sql["hosts_lock"], [one.host_id for one in given], self._worker.id)
        ours = {row["id"] for row in locked}
        if freeing := sorted(one for one in given if one.host_id in ours):
            for row in await db.fetch(self._sql["hosts_free"], *zip(*freeing, strict=True)):
                if row["has_work"]:
                    self.look(max(row["turn_at"], self._clock.now() + LOOK_PAUSE_SECONDS))
        await db.execute("COMMIT")

    async def reconcile(self, db: Connection) -> None:
        """After a lost connection: give back hosts that are written down as ours without our knowing."""
        await self._worker.outlast(db)
        now = self._clock.now()
        strays = [
            self._worker.rested(row["id"], row["origin"], row["state"], now)
            for row in await db.fetch(self._sql["hosts_held_by"], self._worker.id)
            if row["id"] not in self._slots
        ]
        await self.free(db, strays)

    async def _fill(self, db: Connection, now: float) -> None:
        hungry = self._slots.hungry()
        now_ms = int(now * 1000)
        found: dict[int, dict[int, Entry]] = defaultdict(dict)
        for row in await db.fetch(self._sql["queue_due"], *zip(*hungry, strict=True), now_ms):
            if row["key"] not in found[row[0]]:
                found[row[0]][row["key"]] = _entry_of(row)
        short = [host_id for host_id, most in hungry if len(found[host_id]) < most]
        later = (
            {row[0]: row[1] / 1000 for row in await db.fetch(self._sql["queue_later"], short, now_ms)} if short else {}
        )
        for host_id, most in hungry:
            self._slots.fill(host_id, list(found[host_id].values()), most, later.get(host_id))


def _entry_of(row: Row) -> Entry:
    values = tuple(row)
    held = rows.held_of(values[14:]) if values[14] is not None else None
    return Entry._make((*values[1:14], held))
