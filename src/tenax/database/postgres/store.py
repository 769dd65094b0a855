"""The PostgreSQL database: any number of workers on one database, each visiting hosts that it holds for a time.

Workers lease hosts, not URLs. What a worker holds it keeps in memory: a task's row leaves the queue in the transaction
that commits its visit, so when a worker dies its claims die with it. Its hosts are set free by whoever first finds that
it gave no sign of life. While the server is away nothing is claimed, and commits wait for it until their leases end.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from tenax import logs
from tenax.clock import Clock
from tenax.config import DatabaseConfig
from tenax.database import (
    Admission,
    Counts,
    DeadLetterRecord,
    DueTasks,
    PaceRules,
    PageFilter,
    Similarity,
    Status,
    UrlHistory,
    rows,
)
from tenax.database.admission_rate import AdmissionRate
from tenax.database.candidates import EMPTY_BATCH, Batch
from tenax.database.postgres import requeue
from tenax.database.postgres.check import find_problems
from tenax.database.postgres.clock_rollback import correct_clock_rollback
from tenax.database.postgres.connection import FIXED_PLAN_SETTINGS, Address, Connection, PostgresConnection
from tenax.database.postgres.cut_offs import PostgresCutOffs
from tenax.database.postgres.frontier import Frontier
from tenax.database.postgres.groups import GroupCommit, PendingCommit
from tenax.database.postgres.heartbeat import HEARTBEAT_LOOP_SECONDS, Heartbeat
from tenax.database.postgres.leader import Leader
from tenax.database.postgres.links import PostgresLinks
from tenax.database.postgres.read import Reader, read_tally
from tenax.database.postgres.reconnect import RETRY_SECONDS, Breaker
from tenax.database.postgres.requeue import RunStep
from tenax.database.postgres.schema import (
    check_version,
    clock_offset_seconds,
    ensure_tables,
    key_secret,
    queries,
    read_version,
)
from tenax.database.postgres.slots import LeasedSchedule
from tenax.database.postgres.visited import VisitedFilter, VisitedSet, read_member_encoder
from tenax.database.postgres.window import Window
from tenax.database.postgres.worker import Worker, WorkerEnded, wrap_plain_write
from tenax.database.postgres.write import Writer, WriteResult
from tenax.database.visit_rows import PendingVisit
from tenax.errors import DatabaseUnusable
from tenax.model import Candidate, CanonicalCopy, Claim, Cursor, Event, HostRecord, Page, Peers, Visit

T = TypeVar("T")

log = logs.logger(__name__)

CLOSE_SECONDS = 10.0


class PostgresDatabase:
    """See `tenax.database.Database` for what it promises."""

    def __init__(
        self,
        url: str,
        config: DatabaseConfig,
        clock: Clock,
        pace_rules: PaceRules,
        links_per_second: float,
        read_only: bool,
        visited_set: VisitedSet | None,
        similarity: Similarity | None,
    ) -> None:
        address = Address(url, config.schema)
        self._config = config
        self._clock = clock
        self._pace_rules = pace_rules
        self._read_only = read_only
        self._links_per_second = links_per_second
        self._visited_set = visited_set
        self._similarity = similarity
        self._visited_filter: VisitedFilter | None = None
        if read_only:
            self._query_connection = PostgresConnection(
                address, {"default_transaction_read_only": "on"}, should_wait=False
            )
            self._write_connection = self._query_connection
        else:
            # One connection for what must follow one after the other, one for questions.
            # Shorter where a worker is dead sooner: it must be able to give a sign of life after a short outage.
            breaker = Breaker(min(RETRY_SECONDS, config.dead_after_seconds / 4))
            self._query_connection = PostgresConnection(address, {}, should_wait=True, breaker=breaker)
            self._write_connection = PostgresConnection(address, FIXED_PLAN_SETTINGS, should_wait=True, breaker=breaker)
        self._leader = Leader(address, self._query_connection)
        self._tally: Counter[str] = Counter()
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: BaseException | None = None
        self._is_closed = False
        self._dead_worker_count = 0

    @classmethod
    async def open(
        cls,
        url: str,
        config: DatabaseConfig,
        clock: Clock,
        pace_rules: PaceRules,
        *,
        links_per_second: float = 0.0,
        read_only: bool = False,
        visited_set: VisitedSet | None = None,
        similarity: Similarity | None = None,
    ) -> PostgresDatabase:
        """Open the database, or create it in an empty schema. Whatever dead workers had claimed is waiting again.

        `visited_set` may save look-ups of URLs that others have admitted; it is closed with the database.
        Without `similarity` no duplicates are looked for.
        """
        database = cls(url, config, clock, pace_rules, links_per_second, read_only, visited_set, similarity)
        try:
            await database._connect()
        except BaseException:
            await database._write_connection.close()
            await database._query_connection.close()
            if visited_set is not None:
                await visited_set.close()
            raise
        return database

    async def _connect(self) -> None:
        await self._query_connection.open()
        if self._read_only:
            check_version(await self._query_connection.run_idempotent(read_version), self._query_connection.address)
        else:
            await self._query_connection.run_idempotent(lambda db: ensure_tables(db, self._query_connection.address))
        if self._visited_set is not None:
            self._visited_filter = VisitedFilter(
                self._visited_set, await self._query_connection.run_idempotent(read_member_encoder)
            )
        self._build_components(await self._query_connection.run_idempotent(key_secret))
        if not self._read_only:
            await self._join()
        self._tally = Counter(await self._write_connection.run_idempotent(read_tally))

    def _build_components(self, secret: bytes) -> None:
        config, clock = self._config, self._clock
        self._schedule = LeasedSchedule(self._pace_rules, config.window_hosts, config.tasks_per_host)
        self._reader = Reader(self._query_connection, secret)
        self._url_key = rows.make_url_key(secret)
        self.links = PostgresLinks(self._query_connection, secret, self._run_in_transaction)
        self.cut_offs = PostgresCutOffs(self._query_connection, self._run_in_transaction, clock, self._run_requeue)
        self._writer = Writer(secret, AdmissionRate(self._links_per_second), self._visited_filter, self._similarity)
        self._worker = Worker(self._write_connection, config, clock, self._pace_rules)
        self._window = Window(self._worker, self._schedule, self._writer, clock, config.window_hosts)
        self._frontier = Frontier(
            self._worker,
            self._window,
            self._schedule,
            self._write_connection,
            self._query_connection,
            config,
            clock,
            self._fail,
        )
        self._heartbeat = Heartbeat(self._worker, self._window, self._frontier, self._write_connection, config, clock)
        self._group_commit = GroupCommit(
            self._worker, self._writer, self._schedule, config, clock,
            self._on_written, self._frontier.rejoin, self._fail,
        )  # fmt: skip

    async def _join(self) -> None:
        now = self._clock.now()
        await correct_clock_rollback(self._query_connection, now)
        await self._query_connection.set_on_connect(self._frontier.listen)
        await self._write_connection.open()
        await self._write_connection.run_idempotent(self._worker.register)
        await self._write_connection.set_on_connect(self._on_reconnect)
        await self._write_connection.run_idempotent(
            lambda db: db.execute(queries()["meta_begin"], "created_at", repr(now).encode())
        )
        self._dead_worker_count = await self.recover()
        await self._heartbeat.update_peers()
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._run_heartbeat()), loop.create_task(self._watch_outage())]

    async def _on_reconnect(self, db: Connection) -> None:
        """The first words on a new connection for writing."""
        await self._window.reconcile(db)
        self._frontier.wake_waiters()

    # -- the frontier ---------------------------------------------------------------------------------------

    async def admit(self, candidates: Sequence[Candidate], via: int | None = None) -> Admission:
        self._raise_if_failed()
        return await self._group_commit.submit(PendingCommit(Batch(candidates, via, 0)))

    async def claim(self) -> Claim | None:
        self._raise_if_failed()
        claim = await self._frontier.claim()
        if claim is None:
            self._raise_if_failed()  # it may have asked the server
        return claim

    async def wait_for_work(self, timeout_seconds: float) -> None:
        self._raise_if_failed()
        await self._frontier.wait_for_work(timeout_seconds)

    async def commit(self, visit: Visit) -> Admission:
        self._raise_if_failed()
        held = self._frontier.end_claim(visit.claim)
        return await self._group_commit.submit(
            PendingCommit(EMPTY_BATCH, PendingVisit(visit, held.slot.host_id, held.entry), held.slot)
        )

    async def release(self, claim: Claim) -> None:
        self._frontier.release(claim)

    def next_claim_at(self) -> float | None:
        return self._frontier.next_claim_at()

    def lost_file(self) -> str:
        return ""  # it has none

    @property
    def is_unavailable(self) -> bool:
        return self._write_connection.is_unavailable or self._query_connection.is_unavailable

    def counts(self) -> Counts:
        return rows.counts_from_tally(self._tally)

    def _on_written(self, result: WriteResult) -> None:
        """A group is durable; the connection is still ours."""
        self._tally.update(result.tally)
        self._frontier.add_tasks(result.arrivals)
        if result.admitted.has_new_work:
            self._frontier.notify_workers()

    # -- signs of life --------------------------------------------------------------------------------------

    def peers(self) -> Peers:
        """The workers of this database, as they were when it was last asked: every second while it is there."""
        return self._heartbeat.peers

    def set_cut_off_check(self, is_cut_off: Callable[[], bool]) -> None:
        """From now on the other workers are told whether this one reaches no Redis."""
        self._heartbeat.is_cut_off = is_cut_off

    async def clock_offset_seconds(self) -> float:
        """How far the server's clock is ahead of ours; waits for a server that is away."""
        return await self._query_connection.run_idempotent(lambda db: clock_offset_seconds(db, self._clock))

    async def _run_heartbeat(self) -> None:
        try:
            await self._heartbeat.run(self.recover, self._update_counts)
        except Exception as error:
            self._fail(error)

    async def _watch_outage(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_LOOP_SECONDS / 2)
            if self._write_connection.is_unavailable:
                self._group_commit.abandon_expired(self._clock.now())

    async def _update_counts(self) -> None:
        """Read the counts of all workers. What a write of ours adds, its end adds: it is not counted twice."""

        async def read(db: Connection) -> None:
            self._tally = Counter(await read_tally(db))

        await self._worker.run_between_writes(read)

    # -- the outbox -----------------------------------------------------------------------------------------

    async def events(self, after: int, limit: int) -> list[Event]:
        self._raise_if_failed()
        return await self._reader.events(after, limit)

    async def subscribe(self, sink: str) -> Cursor:
        self._raise_if_failed()
        await self._query_connection.run_idempotent(lambda db: db.execute(queries()["cursor_begin"], sink))
        row = await self._query_connection.run_idempotent(lambda db: db.fetchrow(queries()["cursor_get"], sink))
        assert row is not None
        return Cursor(row["seq"], row["position"])

    async def advance(self, sink: str, cursor: Cursor) -> None:
        self._raise_if_failed()
        await self._query_connection.run_idempotent(
            lambda db: db.execute(queries()["cursor_put"], sink, cursor.seq, cursor.position)
        )

    async def is_leader(self, sink: str) -> bool:
        self._raise_if_failed()
        return await self._leader.acquire(sink)

    # -- what people ask ------------------------------------------------------------------------------------

    async def status(self) -> Status:
        self._raise_if_failed()
        return await self._reader.status(self._clock.now(), self._worker.id)

    async def url_history(self, url: str) -> UrlHistory | None:
        self._raise_if_failed()
        return await self._reader.url_history(url, rows.url_origin(url))

    async def host(self, origin: str) -> HostRecord | None:
        self._raise_if_failed()
        return await self._reader.host(origin)

    async def canonical_copy(self, url: str) -> CanonicalCopy | None:
        self._raise_if_failed()
        return await self._reader.canonical_copy(url)

    async def due_tasks(self, limit: int) -> DueTasks:
        self._raise_if_failed()
        return await self._reader.due_tasks(self._clock.now(), limit)

    async def pages(self, page_filter: PageFilter) -> AsyncIterator[Page]:
        self._raise_if_failed()
        async for page in self._reader.pages(page_filter):
            yield page

    async def dead_letters(self) -> AsyncIterator[DeadLetterRecord]:
        self._raise_if_failed()
        async for dead_letter in self._reader.dead_letters():
            yield dead_letter

    async def replay(self, urls: Sequence[str] | None, *, needs_browser: bool = False) -> int:
        now = self._clock.now()
        wanted = list(urls) if urls is not None else None
        return await self._run_requeue(now, lambda part, db, above: part.replay(db, above, wanted, needs_browser))

    async def requeue(self, candidates: Sequence[Candidate]) -> int:
        now, url_key = self._clock.now(), self._url_key
        return await self._run_requeue(now, lambda part, db, above: part.requeue(db, above, candidates, url_key))

    async def unpark(self, causes: Sequence[str]) -> int:
        wanted = list(causes)
        return await self._run_requeue(self._clock.now(), lambda part, db, above: part.unpark(db, above, wanted))

    async def start_recrawl(self, now: float) -> int:
        await self._run_in_transaction(lambda db: requeue.begin_round(db, now))
        return await self._run_requeue(now, lambda part, db, above: part.requeue_settled(db, above))

    async def _run_requeue(self, now: float, run_step: RunStep) -> int:
        back = await requeue.run_steps(
            self._run_in_transaction,
            lambda: requeue.RequeueStep(self._worker.id, self._schedule.host_ids, now),
            run_step,
        )
        await self._update_counts()
        self._frontier.reload()
        self._frontier.notify_workers()
        return back

    async def recover(self) -> int:
        """Free what workers held that gave no sign of life in time; how many there were, those met at opening too."""
        found = self._dead_worker_count + await self._run_in_transaction(self._worker.recover)
        self._dead_worker_count = 0
        return found

    async def find_problems(self) -> list[str]:
        """See `Database`. Of a large database ask one that is open for reading, which waits as long as it takes."""
        self._raise_if_failed()
        return await self._query_connection.run_idempotent(find_problems)

    # -- itself ---------------------------------------------------------------------------------------------

    async def set_meta(self, name: str, value: bytes) -> None:
        self._raise_if_failed()
        await self._query_connection.run_idempotent(lambda db: db.execute(queries()["meta_put"], name, value))

    async def compare_and_set_meta(self, name: str, expected: bytes | None, value: bytes) -> bool:
        self._raise_if_failed()
        return bool(
            await self._query_connection.run_idempotent(
                lambda db: db.fetchval(queries()["meta_swap"], name, expected, value)
            )
        )

    async def get_meta(self, name: str) -> bytes | None:
        self._raise_if_failed()
        return await self._reader.get_meta(name)

    async def close(self) -> None:
        """Give everything back; commits still waiting for their group fail, and their tasks wait for the next claim."""
        if self._is_closed:
            return
        self._is_closed = True
        self._fail(DatabaseUnusable("the database is closed"))
        for task in self._tasks:
            task.cancel()
        await self._leader.close()
        if self._write_connection.is_unavailable:
            await self._write_connection.close()  # nobody waits for it any longer
        await self._group_commit.close(CLOSE_SECONDS)
        await self._frontier.close()
        is_gone = self.is_unavailable
        if not self._read_only:
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._leave()
            except Exception as error:  # others will find us dead
                is_gone |= isinstance(error, TimeoutError)
        await self._write_connection.close(is_unresponsive=is_gone)
        await self._query_connection.close(is_unresponsive=is_gone)
        if self._visited_filter is not None:
            await self._visited_filter.close()

    async def _leave(self) -> None:
        if not self._write_connection.is_unavailable:
            async with self._write_connection.use() as db:
                await self._window.release_hosts(db, self._schedule.all_hosts(self._clock.now()))
            await self._worker.write(wrap_plain_write(self._worker.unregister))

    async def _run_in_transaction(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        while True:
            self._raise_if_failed()
            try:
                return await self._worker.write(wrap_plain_write(work))
            except WorkerEnded as error:
                await self._frontier.rejoin(error.worker_id)

    def _raise_if_failed(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _fail(self, error: BaseException) -> None:
        """From now on every call tells what went wrong; what was committed stays committed."""
        if self._failure is None:
            self._failure = error
        self._group_commit.fail(self._failure)
        self._frontier.wake_waiters()
