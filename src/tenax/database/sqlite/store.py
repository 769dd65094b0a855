"""The SQLite database: one file, one writing process, one thread that uses the connection.

Claims are in memory only. A task's row leaves the queue in the transaction that commits its visit, so claims end with
the process. Commits are collected for some hundredths of a second. The event loop never waits for the disk.
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
from tenax.config import DatabaseConfig
from tenax.database import Admission, PaceRules, rows
from tenax.database.admission import DEFAULT_RULES, Batch, WriteRules
from tenax.database.claims import ActiveClaims, PendingCommit, complete_visits, split_group, visits_and_batches
from tenax.database.page_codec import RecentEvents
from tenax.database.reports import Counts, DeadLetterRecord, DueTasks, PageFilter, Status, UrlHistory
from tenax.database.schedule import Schedule
from tenax.database.sqlite import schema
from tenax.database.sqlite.host_window import NEVER, Window
from tenax.database.sqlite.read import Reader, SqliteLinks
from tenax.database.sqlite.requeue import SqliteCutOffs
from tenax.database.sqlite.schema import LAST_TIME_KEY, FileIdentity, correct_clock_rollback, find_problems
from tenax.database.sqlite.transactions import Writer, WriteResult
from tenax.database.statements import RECORD_BATCH_SIZE
from tenax.errors import DatabaseUnusable
from tenax.model import Candidate, CanonicalCopy, Claim, Cursor, Event, HostRecord, Page, Visit

T = TypeVar("T")

MIN_WAIT_SECONDS = 0.001
IDLE_GATHER_FACTOR = 10
"""Commits are collected this much longer while nothing waits for them, because a transaction costs as much as some
visits."""
MIN_CLAIMS_TO_GATHER = 8
"""With fewer visits in flight commits are not collected: few would be added, and a host with one connection would
wait."""


class SqliteDatabase:
    """Implements `tenax.database.Database`."""

    def __init__(
        self,
        file: Path,
        config: DatabaseConfig,
        clock: Clock,
        pace_rules: PaceRules,
        write_rules: WriteRules,
        *,
        read_only: bool,
    ) -> None:
        self._file = file
        self._config = config
        self._clock = clock
        self._read_only = read_only
        self._write_rules = write_rules
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="database")
        self._schedule = Schedule(pace_rules, config.window_hosts, config.tasks_per_host)
        self._window = Window(self._schedule, self._thread, clock, self._on_window_changed)
        self._claims = ActiveClaims(self._schedule, config.lease_seconds)
        self._pending: list[PendingCommit] = []
        self._is_group_open = False
        self._gather_until = 0.0  # in the time of the event loop
        self._flush_by = inf  # when the first host of the collected visits may be requested again
        self._is_work_awaited = False  # by a caller of `wait_for_work`
        self._writing_count = 0
        self._tally: Counter[str] = Counter()
        self._recent_events = RecentEvents()
        self._changed = asyncio.Event()
        self._failure: BaseException | None = None
        self._is_closed = False

    @classmethod
    async def open(
        cls,
        file: Path,
        config: DatabaseConfig,
        clock: Clock,
        pace_rules: PaceRules,
        *,
        write_rules: WriteRules = DEFAULT_RULES,
        read_only: bool = False,
    ) -> SqliteDatabase:
        """Open or create the database. Tasks of a dead process wait again."""
        database = cls(file, config, clock, pace_rules, write_rules, read_only=read_only)
        await database._run_in_thread(database._connect)
        return database

    def _connect(self) -> None:
        self._lock: schema.OwnerLock = schema.OwnerLock(self._file)
        self._epoch, self._identity = 0, FileIdentity()
        if self._read_only:
            self._db = schema.open_for_reading(self._file)
        else:
            self._db, self._lock = schema.open_for_writing(self._file, self._config)
            correct_clock_rollback(self._db, self._clock.now())
            self._writer = Writer(self._db, self._write_rules)
        self._reader = Reader(self._db)
        self.links = SqliteLinks(self._db, self._schedule, self._run_in_thread)
        self.cut_offs = SqliteCutOffs(self._db, self._run_in_thread, self._tally, self._requeue_tasks)
        self._window.connect(self._db)
        self._tally.update(self._reader.counts())
        if not self._read_only:
            before = self._reader.get_meta("epoch")
            if before is not None and self._reader.get_meta("ended") != before:
                self._schedule.unknown_until = self._clock.now()
            self._epoch = int(before or 0) + 1
            self._writer.set_meta("epoch", str(self._epoch).encode())
            if self._reader.get_meta("created_at") is None:
                self._writer.set_meta("created_at", repr(self._clock.now()).encode())
            self._identity = FileIdentity.from_database_file(self._file)

    # -- the frontier ---------------------------------------------------------------------------------------

    async def admit(self, candidates: Sequence[Candidate], via: int | None = None) -> Admission:
        self._raise_if_failed()
        return await self._join_group(PendingCommit(Batch(candidates, via, 0)))

    async def claim(self) -> Claim | None:
        self._raise_if_failed()
        now = self._clock.now()
        self._claims.expire(now)
        taken = self._schedule.take(now)
        window = self._window
        if not window.is_filling and (self._schedule.should_refill or window.next_scan_at <= now):
            window.start_fill(now)
        return self._claims.begin(*taken, self._epoch, now) if taken is not None else None

    async def wait_for_work(self, timeout_seconds: float) -> None:
        self._raise_if_failed()
        claim_at = self.next_claim_at()
        if claim_at is not None and not self._window.is_filling:
            timeout_seconds = min(timeout_seconds, max(claim_at - self._clock.now(), MIN_WAIT_SECONDS))
        self._changed.clear()
        self._is_work_awaited = True
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_seconds):
                    await self._changed.wait()
        finally:
            self._is_work_awaited = False

    async def commit(self, visit: Visit) -> Admission:
        self._raise_if_failed()
        return await self._join_group(PendingCommit.from_visit(visit, self._claims.end(visit.claim, self._epoch)))

    async def release(self, claim: Claim) -> None:
        if self._claims.release(claim, self._epoch, self._clock.now()):
            self._changed.set()

    def next_claim_at(self) -> float | None:
        if self._window.is_filling or self._schedule.should_refill:
            return 0.0
        inside = self._schedule.next_claim_at()
        ready_at = min(self._window.next_scan_at, NEVER if inside is None else inside)
        return None if ready_at == NEVER else ready_at

    def counts(self) -> Counts:
        return rows.counts_from_tally(self._tally)

    def _on_window_changed(self, error: BaseException | None) -> None:
        if error is not None:
            self._fail(error)
        self._changed.set()

    # -- group commit ---------------------------------------------------------------------------------------

    async def _join_group(self, one: PendingCommit) -> Admission:
        """Join the next group, and wait until the group is durable."""
        loop = asyncio.get_running_loop()
        self._pending.append(one)
        visit = one.pending_visit.visit if one.pending_visit is not None else None
        self._flush_by = min(self._flush_by, visit.host.next_at if visit is not None else 0.0)
        if not self._is_group_open:
            self._is_group_open = True
            self._gather_until = loop.time() + IDLE_GATHER_FACTOR * self._config.group_seconds
            few_may_join = visit is not None and len(self._claims) < MIN_CLAIMS_TO_GATHER
            loop.call_later(0.0 if few_may_join else self._config.group_seconds, self._write_group)
        return await one.done

    def _may_group_grow(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether the group may grow: a caller waits for work, and no host in it may be requested before the write."""
        wait = self._config.group_seconds
        is_early = loop.time() + wait < self._gather_until and self._clock.now() + wait < self._flush_by
        return is_early and self._is_work_awaited and len(self._pending) < self._config.group_visits

    def _write_group(self) -> None:
        """Pass the collected commits to the thread. There is one group at a time, so the next group grows meanwhile."""
        if self._writing_count:
            return
        loop = asyncio.get_running_loop()
        if self._may_group_grow(loop):
            loop.call_later(self._config.group_seconds, self._write_group)
            return
        self._flush_by = inf
        group, self._pending = split_group(self._pending, self._config.group_visits)
        if not group:
            self._is_group_open = False
            return
        self._writing_count = len(group)
        visits, batches = visits_and_batches(group)
        loaded = self._schedule.loaded_keys({one.host_id for one in visits} - self._window.requested_hosts)
        future = loop.run_in_executor(self._thread, self._writer.apply, visits, batches, loaded, self._clock.now())
        future.add_done_callback(lambda written: self._on_group_written(written, group))

    def _on_group_written(self, future: asyncio.Future[WriteResult], group: list[PendingCommit]) -> None:
        self._writing_count = 0
        error = future.exception() if not future.cancelled() else DatabaseUnusable("the database was closed")
        if error is not None:
            self._pending = group + self._pending
            self._fail(error)
            return
        applied = future.result()
        self._recent_events.add(applied.events)
        complete_visits(self._schedule, group)
        self._tally.update(applied.tally)
        for host_id, entry in applied.arrivals:
            self._window.add_task(host_id, entry, self._clock.now())
        for one, admission in zip(group, applied.admissions, strict=True):
            one.finish(admission)
        self._changed.set()  # last, because callers that wait for work must see that these visits have ended
        if self._pending:
            loop = asyncio.get_running_loop()
            self._gather_until = loop.time() + IDLE_GATHER_FACTOR * self._config.group_seconds
            loop.call_soon(self._write_group)
        else:
            self._is_group_open = False

    # -- the outbox -----------------------------------------------------------------------------------------

    async def events(self, after: int, limit: int) -> list[Event]:
        recent = self._recent_events.events_after(after, limit)
        return recent or await self._run_in_thread(lambda: self._reader.events(after, limit))

    async def subscribe(self, sink: str) -> Cursor:
        return await self._run_in_thread(lambda: self._writer.subscribe(sink))

    async def advance(self, sink: str, cursor: Cursor) -> None:
        await self._run_in_thread(lambda: self._writer.advance(sink, cursor.seq, cursor.position))

    async def is_leader(self, sink: str) -> bool:
        return True  # there is only one process that writes

    # -- reports -------------------------------------------------------------------------------------------

    async def status(self) -> Status:
        is_running = self._read_only and self._lock.is_owned_by_other()
        return await self._run_in_thread(lambda: self._reader.status(self._clock.now(), is_running))

    async def url_history(self, url: str) -> UrlHistory | None:
        return await self._run_in_thread(lambda: self._reader.url_history(url, rows.url_origin(url)))

    async def host(self, origin: str) -> HostRecord | None:
        return await self._run_in_thread(lambda: self._reader.host(origin))

    async def canonical_copy(self, url: str) -> CanonicalCopy | None:
        return await self._run_in_thread(lambda: self._reader.canonical_copy(url))

    async def due_tasks(self, limit: int) -> DueTasks:
        return await self._run_in_thread(lambda: self._reader.due_tasks(self._clock.now(), limit))

    def pages(self, page_filter: PageFilter) -> AsyncIterator[Page]:
        return self._stream(self._reader.pages(page_filter))

    def dead_letters(self) -> AsyncIterator[DeadLetterRecord]:
        return self._stream(self._reader.dead_letters())

    async def replay(self, urls: Sequence[str] | None, *, needs_browser: bool = False) -> int:
        return await self._requeue_tasks(partial(self._writer.replay, urls, needs_browser))

    async def requeue(self, candidates: Sequence[Candidate]) -> int:
        return await self._requeue_tasks(partial(self._writer.requeue, candidates))

    async def unpark(self, causes: Sequence[str]) -> int:
        back = await self._requeue_tasks(partial(self._writer.unpark, causes))
        return back + await self.unpark(causes) if back else 0

    async def start_recrawl(self, now: float) -> int:
        highest = await self._run_in_thread(lambda: self._writer.begin_round(now))
        self._tally["pages_this_round"] = 0
        parts = range(0, highest, RECORD_BATCH_SIZE)
        return sum([await self._requeue_tasks(partial(self._writer.requeue_settled, above), now) for above in parts])

    async def _requeue_tasks(self, work: Callable[[float], Counter[str]], at: float | None = None) -> int:
        """Queue tasks again. `work` writes them and returns its changes of the tally. Returns the number of tasks."""
        now = self._clock.now() if at is None else at
        tally = await self._run_in_thread(lambda: work(now))
        self._tally.update(tally)
        self._window.reload(now)
        self._changed.set()
        return tally["waiting"]

    @property
    def shared_server(self) -> None:
        return None

    def lost_file(self) -> str:
        return self._identity.find_lost_file()

    @property
    def is_unavailable(self) -> bool:
        return False  # a file that cannot be read is an error

    async def set_meta(self, name: str, value: bytes) -> None:
        await self._run_in_thread(lambda: self._writer.set_meta(name, value))

    async def compare_and_set_meta(self, name: str, expected: bytes | None, value: bytes) -> bool:
        return await self._run_in_thread(lambda: self._writer.compare_and_set_meta(name, expected, value))

    async def get_meta(self, name: str) -> bytes | None:
        return await self._run_in_thread(lambda: self._reader.get_meta(name))

    async def recover(self) -> int:
        return 0  # claims end with their process

    async def find_problems(self) -> list[str]:
        return await self._run_in_thread(lambda: find_problems(self._db))

    async def close(self) -> None:
        """Close the file. Commits that still wait for their group fail, and their tasks wait for the next run."""
        if self._is_closed:
            return
        self._is_closed = True
        self._is_clean_close = self._failure is None and not self._claims
        self._fail(DatabaseUnusable("the database is closed"))
        await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown(wait=True)

    def _disconnect(self) -> None:
        if self.lost_file():
            schema.abandon_connection(self._db)
            return self._lock.release()
        try:
            if self._is_clean_close and not self._read_only:
                self._writer.flush()
                self._writer.set_meta("ended", str(self._epoch).encode())
                self._writer.set_meta(LAST_TIME_KEY, repr(self._clock.now()).encode())
            self._db.close()
        except sqlite3.Error as error:
            raise schema.translate_error(error, self._file) from None
        finally:
            self._lock.release()

    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        self._raise_if_failed()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (sqlite3.Error, OSError) as error:
            raise schema.translate_error(error, self._file) from None

    async def _stream(self, batches: Iterator[list[T]]) -> AsyncIterator[T]:
        while batch := await self._run_in_thread(lambda: next(batches, None)):
            for one in batch:
                yield one

    def _raise_if_failed(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _fail(self, error: BaseException) -> None:
        """Make every later call raise this error. Committed work is kept."""
        if isinstance(error, (sqlite3.Error, OSError)):
            error = schema.translate_error(error, self._file)
        self._failure = self._failure or error
        for one in self._pending:
            one.fail(self._failure)
        self._pending = []
        self._changed.set()
