"""The SQLite ledger: one file, one writing process, one thread that touches the database.

Claims are held in memory only: a task's row leaves the queue in the transaction that commits its visit, so claims die
with the process. Commits are gathered for some hundredths of a second; the event loop never waits for the disk.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path
from typing import TypeVar

from tenax.clock import Clock
from tenax.config import LedgerConfig
from tenax.database import Admission, Agenda, Counts, LetterRecord, Life, Likeness, PageFilter, Status, Turns, rows
from tenax.database.admission_rate import Inflow
from tenax.database.candidates import NO_OFFERS, Batch
from tenax.database.schedule import Schedule, Slot
from tenax.database.sqlite.check import problems
from tenax.database.sqlite.clock_rollback import SEEN, bring_back
from tenax.database.sqlite.cut_offs import SqliteCutOffs
from tenax.database.sqlite.identity import FileIdentity
from tenax.database.sqlite.in_flight import Pending, Taken
from tenax.database.sqlite.links import SqliteLinks
from tenax.database.sqlite.read import Reader
from tenax.database.sqlite.recent_events import RecentEvents
from tenax.database.sqlite.requeue import REVISITED_AT_ONCE
from tenax.database.sqlite.schema import OwnerLock, abandon, open_for_reading, open_for_writing, translated
from tenax.database.sqlite.window import Window
from tenax.database.sqlite.write import Applied, Writer
from tenax.database.visit_rows import Settling
from tenax.errors import LeaseLost, LedgerUnusable
from tenax.model import CanonicalCopy, Claim, Cursor, Event, HostRecord, Lease, Offer, Page, Visit

T = TypeVar("T")
NewWriter = Callable[[sqlite3.Connection], Writer]

LEAST_WAIT_SECONDS = 0.001
UNHURRIED = 10
"""So much longer commits are gathered while nothing waits for them: a transaction costs as much as some visits."""
FEW_CLAIMS = 8
"""With fewer visits under way commits are not gathered: few would join, and a host with one connection waits for it."""


class SqliteLedger:
    """See `tenax.database.Ledger` for what it promises."""

    def __init__(
        self, file: Path, config: LedgerConfig, clock: Clock, turns: Turns, new_writer: NewWriter, read_only: bool
    ) -> None:
        self._file = file
        self._config = config
        self._clock = clock
        self._read_only = read_only
        self._new_writer = new_writer
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._schedule = Schedule(turns, config.window_hosts, config.look_ahead)
        self._window = Window(self._schedule, self._thread, clock, self._window_changed)
        self._held: dict[int, Taken] = {}
        self._lease_number = 0
        self._pending: list[Pending] = []
        self._group_open = False
        self._gather_until = 0.0
        """In the loop's time."""
        self._hurry_at = inf
        """When the first host of those gathered has its next turn."""
        self._is_sought = False
        """Someone has a hand free and waits for work."""
        self._writing = 0
        self._tally: Counter[str] = Counter()
        self._recent = RecentEvents()
        self._changed = asyncio.Event()
        self._broken: BaseException | None = None
        self._is_closed = False

    @classmethod
    async def open(
        cls,
        file: Path,
        config: LedgerConfig,
        clock: Clock,
        turns: Turns,
        *,
        links_per_second: float = 0.0,
        read_only: bool = False,
        likeness: Likeness | None = None,
    ) -> SqliteLedger:
        """Open or create the ledger. Whatever a dead process had claimed is waiting again. Without `likeness` no
        duplicates are looked for."""
        new_writer = partial(Writer, inflow=Inflow(links_per_second), likeness=likeness)
        ledger = cls(file, config, clock, turns, new_writer, read_only)
        await ledger._in_thread(ledger._connect)
        return ledger

    def _connect(self) -> None:
        self._lock: OwnerLock = OwnerLock(self._file)
        self._epoch, self._identity = 0, FileIdentity()
        if self._read_only:
            self._db = open_for_reading(self._file)
        else:
            self._db, self._lock = open_for_writing(self._file, self._config)
            bring_back(self._db, self._clock.now())
            self._writer = self._new_writer(self._db)
        self._reader = Reader(self._db)
        self.links = SqliteLinks(self._db, self._schedule, self._in_thread)
        self.cut_offs = SqliteCutOffs(self._db, self._in_thread, self._tally, self._come_back)
        self._window.connect(self._db)
        self._tally.update(self._reader.counts())
        if not self._read_only:
            before = self._reader.meta("epoch")
            if before is not None and self._reader.meta("ended") != before:
                self._schedule.unknown_until = self._clock.now()
            self._epoch = int(before or 0) + 1
            self._writer.remember("epoch", str(self._epoch).encode())
            if self._reader.meta("created_at") is None:
                self._writer.remember("created_at", repr(self._clock.now()).encode())
            self._identity = FileIdentity.of_ledger(self._file)

    # -- the frontier ---------------------------------------------------------------------------------------

    async def admit(self, offers: Sequence[Offer], via: int | None = None) -> Admission:
        return await self._enlist(None, Batch(offers, via, 0), None)

    async def claim(self) -> Claim | None:
        self._check()
        now = self._clock.now()
        self._take_back_expired(now)
        taken = self._schedule.take(now)
        self._window.fill_soon(now)
        if taken is None:
            return None
        slot, entry = taken
        self._lease_number += 1
        lease = Lease(epoch=self._epoch, number=self._lease_number, expires_at=now + self._config.lease_seconds)
        task = rows.task_of(entry, slot.record.origin)
        claim = Claim(task=task, host=slot.record, lease=lease, held=entry.held, waiting=slot.waiting)
        self._held[lease.number] = Taken(claim, slot, entry)
        return claim

    async def wait_for_work(self, timeout_seconds: float) -> None:
        self._check()
        turn = self.next_turn()
        if turn is not None and not self._window.is_filling:
            timeout_seconds = min(timeout_seconds, max(turn - self._clock.now(), LEAST_WAIT_SECONDS))
        self._changed.clear()
        self._is_sought = True
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_seconds):
                    await self._changed.wait()
        finally:
            self._is_sought = False

    async def commit(self, visit: Visit) -> Admission:
        self._check()
        held = self._held.get(visit.claim.lease.number)
        if held is None or visit.claim.lease.epoch != self._epoch:
            raise LeaseLost(f"the claim on {visit.claim.task.url} is void; its visit was not written")
        del self._held[visit.claim.lease.number]
        settling = Settling(visit, held.slot.host_id, held.entry)
        return await self._enlist(settling, NO_OFFERS, held.slot)

    async def release(self, claim: Claim) -> None:
        held = self._held.pop(claim.lease.number, None)
        if held is not None and claim.lease.epoch == self._epoch:
            self._schedule.put_back(held.slot, held.entry, self._clock.now())
            self._changed.set()

    def next_turn(self) -> float | None:
        return self._window.next_turn()

    def counts(self) -> Counts:
        return rows.counts_of(self._tally)

    def _take_back_expired(self, now: float) -> None:
        # Every lease is as long as the others, so the first that was given is the first to end.
        while self._held and (first := next(iter(self._held.values()))).claim.lease.expires_at <= now:
            del self._held[first.claim.lease.number]
            self._schedule.put_back(first.slot, first.entry, first.claim.lease.expires_at)

    def _window_changed(self, error: BaseException | None) -> None:
        if error is not None:
            self._break(error)
        self._changed.set()

    # -- group commit ---------------------------------------------------------------------------------------

    async def _enlist(self, settling: Settling | None, offers: Batch, slot: Slot | None) -> Admission:
        """Join the next group and wait until it is on disk."""
        self._check()
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Admission] = loop.create_future()
        self._pending.append(Pending(settling, offers, slot, done))
        self._hurry_at = min(self._hurry_at, settling.visit.host.next_at if settling is not None else 0.0)
        if not self._group_open:
            self._group_open = True
            self._gather_until = loop.time() + UNHURRIED * self._config.group_seconds
            few_may_join = settling is not None and len(self._held) < FEW_CLAIMS
            loop.call_later(0.0 if few_may_join else self._config.group_seconds, self._write_group)
        return await done

    def _is_unhurried(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether the group may grow: hands are free, and no host in it may be asked again before it is written."""
        wait = self._config.group_seconds
        is_early = loop.time() + wait < self._gather_until and self._clock.now() + wait < self._hurry_at
        return is_early and self._is_sought and len(self._pending) < self._config.group_visits

    def _write_group(self) -> None:
        """Hand everything gathered to the thread; one group at a time, so the next one grows meanwhile."""
        if self._writing:
            return
        loop = asyncio.get_running_loop()
        if self._is_unhurried(loop):
            loop.call_later(self._config.group_seconds, self._write_group)
            return
        self._hurry_at = inf
        group, self._pending = self._pending[: self._config.group_visits], self._pending[self._config.group_visits :]
        if not group:
            self._group_open = False
            return
        self._writing = len(group)
        group.sort(key=lambda one: one.settling is None)
        settlings = [one.settling for one in group if one.settling is not None]
        offers = [one.offers for one in group if one.settling is None]
        in_hand = self._window.in_hand({one.host_id for one in settlings})
        future = loop.run_in_executor(self._thread, self._writer.apply, settlings, offers, in_hand, self._clock.now())
        future.add_done_callback(lambda written: self._written(written, group))

    def _written(self, future: asyncio.Future[Applied], group: list[Pending]) -> None:
        self._writing = 0
        error = future.exception() if not future.cancelled() else LedgerUnusable("the ledger was closed")
        if error is not None:
            self._pending = group + self._pending
            self._break(error)
            return
        applied = future.result()
        self._recent.add(applied.events)
        for one in group:
            if one.settling is not None and one.slot is not None:
                self._schedule.settle(one.slot, one.settling.entry.key, one.settling.visit.host)
        self._tally.update(applied.tally)
        for host_id, entry in applied.arrivals:
            self._window.arrived(host_id, entry, self._clock.now())
        for one, admission in zip(group, applied.admissions, strict=True):
            if not one.done.done():
                one.done.set_result(admission)
        self._changed.set()  # last: whoever waits for work sees that these visits have ended
        if self._pending:
            loop = asyncio.get_running_loop()
            self._gather_until = loop.time() + UNHURRIED * self._config.group_seconds
            loop.call_soon(self._write_group)
        else:
            self._group_open = False

    # -- the outbox -----------------------------------------------------------------------------------------

    async def events(self, after: int, limit: int) -> list[Event]:
        return self._recent.after(after, limit) or await self._in_thread(lambda: self._reader.events(after, limit))

    async def subscribe(self, sink: str) -> Cursor:
        return await self._in_thread(lambda: self._writer.subscribe(sink))

    async def advance(self, sink: str, cursor: Cursor) -> None:
        await self._in_thread(lambda: self._writer.advance(sink, cursor.seq, cursor.position))

    async def lead(self, sink: str) -> bool:
        return True  # nobody else may write

    # -- what people ask ------------------------------------------------------------------------------------

    async def status(self) -> Status:
        is_running = self._read_only and self._lock.is_held_by_another()
        return await self._in_thread(lambda: self._reader.status(self._clock.now(), is_running))

    async def life(self, url: str) -> Life | None:
        return await self._in_thread(lambda: self._reader.life(url, rows.origin_of(url)))

    async def host(self, origin: str) -> HostRecord | None:
        return await self._in_thread(lambda: self._reader.host(origin))

    async def canonical_copy(self, url: str) -> CanonicalCopy | None:
        return await self._in_thread(lambda: self._reader.canonical_copy(url))

    async def agenda(self, limit: int) -> Agenda:
        return await self._in_thread(lambda: self._reader.agenda(self._clock.now(), limit))

    async def pages(self, where: PageFilter) -> AsyncIterator[Page]:
        async for page in self._stream(self._reader.pages(where)):
            yield page

    async def dead_letters(self) -> AsyncIterator[LetterRecord]:
        async for letter in self._stream(self._reader.dead_letters()):
            yield letter

    async def replay(self, urls: Sequence[str] | None, *, needs_browser: bool = False) -> int:
        return await self._come_back(partial(self._writer.replay, urls, needs_browser))

    async def requeue(self, offers: Sequence[Offer]) -> int:
        return await self._come_back(partial(self._writer.requeue, offers))

    async def unpark(self, causes: Sequence[str]) -> int:
        back = await self._come_back(partial(self._writer.unpark, causes))
        return back + await self.unpark(causes) if back else 0

    async def revisit(self, now: float) -> int:
        highest = await self._in_thread(lambda: self._writer.begin_round(now))
        self._tally["pages_this_round"] = 0
        parts = range(0, highest, REVISITED_AT_ONCE)
        return sum([await self._come_back(partial(self._writer.revisit, above), now) for above in parts])

    async def _come_back(self, work: Callable[[float], Counter[str]], at: float | None = None) -> int:
        """Let tasks wait again; `work` writes that, and gives what it adds to the tally. How many there are."""
        now = self._clock.now() if at is None else at
        tally = await self._in_thread(lambda: work(now))
        self._tally.update(tally)
        self._window.look_again(now)
        self._changed.set()
        return tally["waiting"]

    def lost_file(self) -> str:
        return self._identity.lost()

    @property
    def is_away(self) -> bool:
        return False  # a file that cannot be read is an error

    async def remember(self, name: str, value: bytes) -> None:
        await self._in_thread(lambda: self._writer.remember(name, value))

    async def remember_if(self, name: str, expected: bytes | None, value: bytes) -> bool:
        return await self._in_thread(lambda: self._writer.remember_if(name, expected, value))

    async def recall(self, name: str) -> bytes | None:
        return await self._in_thread(lambda: self._reader.meta(name))

    async def recover(self) -> int:
        return 0  # claims die with the one process that holds them

    async def problems(self) -> list[str]:
        return await self._in_thread(lambda: problems(self._db))

    async def close(self) -> None:
        """Let go of the file; commits still waiting for their group fail, and their tasks wait for the next run."""
        if self._is_closed:
            return
        self._is_closed = True
        self._is_at_rest = self._broken is None and not self._held
        self._break(LedgerUnusable("the ledger is closed"))
        await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown(wait=True)

    def _disconnect(self) -> None:
        if self.lost_file():
            abandon(self._db)
            return self._lock.give_up()
        try:
            if self._is_at_rest and not self._read_only:
                self._writer.finish()
                self._writer.remember("ended", str(self._epoch).encode())
                self._writer.remember(SEEN, repr(self._clock.now()).encode())
            self._db.close()
        except sqlite3.Error as error:
            raise translated(error, self._file) from None
        finally:
            self._lock.give_up()

    # -- the thread and its troubles ------------------------------------------------------------------------

    async def _in_thread(self, work: Callable[[], T]) -> T:
        self._check()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (sqlite3.Error, OSError) as error:
            raise translated(error, self._file) from None

    async def _stream(self, batches: Iterator[list[T]]) -> AsyncIterator[T]:
        while batch := await self._in_thread(lambda: next(batches, None)):
            for one in batch:
                yield one

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _break(self, error: BaseException) -> None:
        """From now on every call tells what went wrong; what was committed stays committed."""
        if self._broken is None:
            self._broken = translated(error, self._file) if isinstance(error, (sqlite3.Error, OSError)) else error
        for one in self._pending:
            if not one.done.done():
                one.done.set_exception(self._broken)
        self._pending = []
        self._changed.set()
