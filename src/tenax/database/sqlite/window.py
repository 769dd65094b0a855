"""The window on the frontier: keeps the schedule filled from the file, read by the ledger's one thread."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import NamedTuple

from tenax.clock import Clock
from tenax.database import rows
from tenax.database.schedule import AWAY_SECONDS, RANKS, Entry, Schedule, places
from tenax.database.sqlite.schema import queries, transaction
from tenax.model import HostRecord

LOOK_PAUSE_SECONDS = 0.1
"""How often a crowded window looks for hosts that wait outside of it."""
NEVER = float("inf")


class Found(NamedTuple):
    """What the thread read for the window."""

    hosts: list[tuple[int, HostRecord]]
    look_at: float
    """When it is worth looking for hosts outside again."""
    tasks: list[tuple[int, list[Entry], int, float | None]]


class Window:
    """Hosts outside of the window wait in the file; `fill_soon` brings in those whose turn has come."""

    def __init__(
        self, schedule: Schedule, thread: Executor, clock: Clock, changed: Callable[[BaseException | None], None]
    ) -> None:
        """`changed` is called when there may be more to claim, or with what went wrong."""
        self._schedule = schedule
        self._thread = thread
        self._clock = clock
        self._changed = changed
        self._sql = queries()
        self._look_at = 0.0
        self._crowded_until = 0.0
        self.is_filling = False
        self._asked: frozenset[int] = frozenset()
        """The hosts whose tasks the thread was asked for, and has not brought yet."""

    def connect(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def next_turn(self) -> float | None:
        """When a claim may succeed, in the window or by a look outside of it; at once, while it is being filled."""
        if self.is_filling or self._schedule.has_hungry:
            return 0.0
        inside = self._schedule.next_turn()
        turn = min(self._look_at, NEVER if inside is None else inside)
        return None if turn == NEVER else turn

    def arrived(self, host_id: int, entry: Entry, now: float) -> None:
        """A task waits now at this host."""
        if host_id in self._schedule:
            self._schedule.arrived(host_id, entry, now)
        else:
            self._look_at = min(self._look_at, entry.due / 1000)

    def in_hand(self, host_ids: Iterable[int]) -> dict[int, frozenset[int]]:
        """The keys of the tasks that memory holds of these hosts; hosts of which it may be about to hold others are
        left out."""
        return self._schedule.in_hand(host_id for host_id in host_ids if host_id not in self._asked)

    def look_again(self, now: float) -> None:
        """Tasks wait now at many hosts."""
        self._schedule.look_again()
        self._look_at = min(self._look_at, now)

    def fill_soon(self, now: float) -> None:
        """Have the thread read what the window asks for, unless it is at it already."""
        wants_hosts = self._look_at <= now
        if self.is_filling or not (wants_hosts or self._schedule.has_hungry):
            return
        room = self._room(now) if wants_hosts else 0
        hungry = self._schedule.hungry()
        if not hungry and room <= 0:
            return
        self.is_filling = True
        self._asked = frozenset(host_id for host_id, _ in hungry)
        future = asyncio.get_running_loop().run_in_executor(self._thread, self._read_window, hungry, room, now)
        future.add_done_callback(self._filled)

    def _room(self, now: float) -> int:
        """How many hosts may come in now. When the window is full some leave it, but not at every look."""
        if self._schedule.room <= 0 and self._crowded_until <= now:
            self._schedule.make_room(now)
            self._crowded_until = now + LOOK_PAUSE_SECONDS
        self._look_at = NEVER if self._schedule.room > 0 else self._crowded_until
        return self._schedule.room

    def _read_window(self, hungry: list[tuple[int, int]], room: int, now: float) -> Found:
        """Hosts outside of the window whose turn has come, and the tasks that hosts inside of it ask for."""
        asleep: list[tuple[float, int]] = []
        hosts, look_at = self._read_hosts(room, now, asleep) if room > 0 else ([], NEVER)
        tasks = [self._read_tasks(host, limit, now, asleep) for host, limit in hungry]
        if asleep:
            with transaction(self._db):
                self._db.executemany(self._sql["host_sleep"], asleep)
        return Found(hosts, look_at, tasks)

    def _read_hosts(
        self, room: int, now: float, asleep: list[tuple[float, int]]
    ) -> tuple[list[tuple[int, HostRecord]], float]:
        """Who comes in, and when to look again. Who has new work but rests is put to sleep until it may be asked."""
        hosts: list[tuple[int, HostRecord]] = []
        look_at = NEVER
        # Those inside may all stand before the first one outside.
        limit = len(self._schedule) + room + 1
        waiting = self._db.execute(self._sql["hosts_with_work"], (limit,)).fetchall()
        for host_id, turn_at in waiting:
            if host_id in self._schedule:
                continue
            if turn_at > now or room <= 0:
                return hosts, min(look_at, max(turn_at, now + LOOK_PAUSE_SECONDS))
            record = rows.host_record(*self._db.execute(self._sql["host_by_id"], (host_id,)).fetchone())
            if record.next_at > now + AWAY_SECONDS:
                asleep.append((record.next_at, host_id))
                look_at = min(look_at, record.next_at)
            else:
                hosts.append((host_id, record))
                room -= places(record)
        return hosts, look_at if len(waiting) < limit else now + LOOK_PAUSE_SECONDS

    def _read_tasks(
        self, host_id: int, limit: int, now: float, asleep: list[tuple[float, int]]
    ) -> tuple[int, list[Entry], int, float | None]:
        """What is due at a host, best first, and when the next task is."""
        sql, now_ms = self._sql, int(now * 1000)
        due: list[Entry] = []
        for rank in range(RANKS):
            # Of each level one at least, so that the host can see which task has waited longest.
            asked = (host_id, rank, now_ms, max(limit - len(due), 1))
            due.extend(map(Entry._make, self._db.execute(sql["queue_due"], asked).fetchall()))
        due = [entry if entry.record_id is None else self._with_held(entry, entry.record_id) for entry in due]
        next_due = None
        if len(due) < limit:
            later = [
                row[0]
                for rank in range(RANKS)
                if (row := self._db.execute(sql["queue_next_due_after"], (host_id, rank, now_ms)).fetchone())
            ]
            next_due = min(later) / 1000 if later else None
        if not due and next_due is not None:
            asleep.append((next_due, host_id))
        return host_id, due, limit, next_due

    def _with_held(self, entry: Entry, record_id: int) -> Entry:
        return entry._replace(held=rows.held_of(self._db.execute(self._sql["held"], {"id": record_id}).fetchone()))

    def _filled(self, future: asyncio.Future[Found]) -> None:
        self.is_filling = False
        self._asked = frozenset()
        if future.cancelled():
            return
        if (error := future.exception()) is not None:
            self._changed(error)
            return
        found = future.result()
        for host_id, entries, asked, next_due in found.tasks:
            self._schedule.fill(host_id, entries, asked, next_due)
        for host_id, record in found.hosts:
            if host_id not in self._schedule:
                self._schedule.enter(host_id, record)
        self._look_at = min(self._look_at, found.look_at)
        now = self._clock.now()
        self.fill_soon(now)
        self._changed(None)
