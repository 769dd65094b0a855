"""Group commit: visits that end at nearly the same time are written in one transaction, each completely or not at
all."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence, Set
from typing import NamedTuple

from tenax import logs
from tenax.clock import Clock
from tenax.config import DatabaseConfig
from tenax.database import Admission, rows
from tenax.database.admission import AdmissionRate, Batch, WriteRules, mark_duplicates, visit_batches
from tenax.database.claims import PendingCommit, complete_visits, split_group, visits_and_batches
from tenax.database.corrections import map_texts, replace_surrogates
from tenax.database.postgres.admit import AdmitResult, Admitter, WindowState
from tenax.database.postgres.connection import Connection, InvalidText
from tenax.database.postgres.schema import queries
from tenax.database.postgres.visited import VisitedFilter
from tenax.database.postgres.worker import LeasedSchedule, Worker, WorkerEnded
from tenax.database.postgres.write_visits import VisitWriter, expedite_changed_pages
from tenax.database.schedule import Entry
from tenax.database.visit_rows import Effects, PendingVisit
from tenax.errors import CommitUnknown, DatabaseUnusable, LeaseLost
from tenax.model import Candidate, RobotsCopy, Visit


class WriteResult(NamedTuple):
    """The result of a transaction. It is valid when the transaction is committed."""

    effects: Effects
    admitted: AdmitResult
    tally: Counter[str]

    @property
    def admissions(self) -> list[Admission]:
        """One for each visit, and then one for each batch of candidates outside of a visit."""
        return self.admitted.admissions

    @property
    def arrivals(self) -> list[tuple[int, Entry]]:
        """Tasks that wait from now on, by host."""
        return self.effects.arrivals + self.admitted.arrivals + self.admitted.moved


class Writer:
    """Writes groups of visits. Its caches hold only committed data."""

    def __init__(
        self,
        secret: bytes,
        visited_filter: VisitedFilter | None,
        rules: WriteRules,
    ) -> None:
        self._visit_writer = VisitWriter(rules.similarity)
        self._visited_filter = visited_filter
        self._url_key = rows.make_url_key(secret)
        self._admitter = Admitter(self._url_key, AdmissionRate(rules.links_per_second))

    async def find_known_urls(self, candidates: Iterable[Candidate]) -> Set[str]:
        """The URLs that need no look-up. Call before the transaction begins."""
        if self._visited_filter is None:
            return frozenset()
        return await self._visited_filter.known_urls(self._admitter.unknown_candidates(candidates))

    async def apply(
        self,
        db: Connection,
        worker_id: int,
        visits: Sequence[PendingVisit],
        other_batches: Sequence[Batch],
        *,
        window: WindowState,
        now: float,
        filter_hits: Set[str] = frozenset(),
    ) -> WriteResult:
        """Write visits, and batches of candidates outside of visits, inside of a transaction.

        `outbox_statements` must follow as the last step of the transaction.
        """
        effects = await self._visit_writer.write_visits(db, visits)
        batches = [*visit_batches(visits, effects), *other_batches]
        self._admitter.forget_visited(one.visit.claim.task.url for one in visits)
        admitted = await self._admitter.admit(db, batches, window, now, filter_hits)
        effects.arrivals += await expedite_changed_pages(db, visits, self._url_key, now)
        admitted = admitted._replace(admissions=mark_duplicates(admitted.admissions, effects, visits))
        tally = Counter(effects.tally)
        tally.update(admitted.tally)
        await add_to_tally(db, worker_id, tally)
        return WriteResult(effects, admitted, tally)

    def on_commit(self, result: WriteResult) -> None:
        """Update the caches after the commit."""
        self._visit_writer.on_commit(result.effects)
        self._admitter.on_commit(result.admitted)
        if self._visited_filter is not None:
            self._visited_filter.on_commit(result.admitted.known)

    def mark_robots_stored(self, host_id: int, copy: RobotsCopy | None) -> None:
        self._visit_writer.mark_robots_stored(host_id, copy)


async def add_to_tally(db: Connection, worker_id: int, tally: Counter[str]) -> None:
    changed = sorted((name, count) for name, count in tally.items() if count)
    if changed:
        await db.execute(queries()["tally_add"], worker_id, *zip(*changed, strict=True))


def outbox_statements(content_ids: Sequence[int]) -> str:
    """The statements that assign event numbers.

    They are the last before COMMIT and are sent together with it, because from then on every other commit with events
    waits.
    """
    if not content_ids:
        return ""
    numbers = ",".join(map(str, content_ids))
    return (
        f"UPDATE outbox_end SET seq = seq + {len(content_ids)}; "
        f"INSERT INTO outbox SELECT e.seq - {len(content_ids)} + c.position, c.id FROM outbox_end e, "
        f"unnest('{{{numbers}}}'::bigint[]) WITH ORDINALITY AS c (id, position);"
    )


def make_storable(visit: Visit) -> Visit:
    """The visit with texts that PostgreSQL can store: valid Unicode without NUL."""
    return map_texts(visit, lambda text: replace_surrogates(text).replace("\0", "\ufffd"))


log = logs.logger(__name__)


class CommitCallbacks(NamedTuple):
    """What a group commit reports."""

    on_written: Callable[[WriteResult], None]
    """Called when a transaction is durable."""
    on_ended: Callable[[int], Awaitable[None]]
    """Called when the lease of this worker has expired. Registers the worker again."""
    on_failure: Callable[[BaseException], None]


class GroupCommit:
    """Collects commits and writes one group at a time, so the next group grows meanwhile."""

    def __init__(
        self,
        worker: Worker,
        writer: Writer,
        schedule: LeasedSchedule,
        config: DatabaseConfig,
        clock: Clock,
        *,
        callbacks: CommitCallbacks,
    ) -> None:
        self._worker = worker
        self._writer = writer
        self._schedule = schedule
        self._config = config
        self._clock = clock
        self._callbacks = callbacks
        self._pending: list[PendingCommit] = []
        self._group: list[PendingCommit] = []
        self._is_sent = False
        """The COMMIT of the group was sent, and its result is not known yet."""
        self._task: asyncio.Task[None] | None = None

    async def submit(self, one: PendingCommit) -> Admission:
        """Join the next group, and wait until the group is durable."""
        self._pending.append(one)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())
        return await one.done

    def fail(self, error: BaseException) -> None:
        """Fail all pending commits."""
        for one in self._pending:
            one.fail(error)
        self._pending = []

    def abandon_expired(self, now: float) -> None:
        """While the server is unavailable, fail commits whose lease has expired, with `LeaseLost`.

        With `CommitUnknown` if their COMMIT was already sent.
        """
        for one in self._group:
            _abandon(one, now, _commit_unknown_error if self._is_sent else _lease_lost_error)
        for one in self._pending:
            _abandon(one, now, _lease_lost_error)

    async def close(self, seconds: float) -> None:
        """Wait for the group that is being written."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=seconds)
            self._task.cancel()

    async def _run(self) -> None:
        if self._config.group_seconds:
            await asyncio.sleep(self._config.group_seconds)
        while self._pending:
            self._group, self._pending = split_group(self._pending, self._config.group_visits)
            try:
                await self._write_group(self._group)
            except asyncio.CancelledError:
                for one in self._group:
                    one.fail(DatabaseUnusable("the database is closed"))
                raise
            except Exception as error:
                for one in self._group:
                    one.fail(error)
                self._callbacks.on_failure(error)
            finally:
                self._group = []
                self._is_sent = False

    async def _write_group(self, group: list[PendingCommit]) -> None:
        is_sanitized = False
        filter_hits = await self._writer.find_known_urls(candidate for one in group for candidate in one.candidates)
        while group:
            try:
                await self._write_transaction(group, filter_hits)
                return
            except InvalidText:
                # A header was not valid text. This is too rare to check for in advance.
                if is_sanitized:
                    raise DatabaseUnusable("PostgreSQL rejects the text of a visit; this is a defect") from None
                is_sanitized = True
                for one in group:
                    if one.pending_visit is not None:
                        one.pending_visit = one.pending_visit._replace(visit=make_storable(one.pending_visit.visit))
            except WorkerEnded as error:
                await self._callbacks.on_ended(error.worker_id)
                for one in group:
                    if one.pending_visit is not None:
                        one.fail(_lease_lost_error(one))
                group[:] = [one for one in group if one.pending_visit is None]

    async def _write_transaction(self, group: list[PendingCommit], filter_hits: Set[str]) -> None:
        async def work(db: Connection) -> tuple[WriteResult, str]:
            for one in group:
                if one.pending_visit is not None and one.pending_visit.visit.claim.lease.epoch != self._worker.id:
                    raise WorkerEnded(one.pending_visit.visit.claim.lease.epoch)
            self._is_sent = False  # an earlier COMMIT failed, because otherwise this would not run again
            self._return_abandoned(group)
            visits, batches = visits_and_batches(group)
            applied = await self._writer.apply(
                db,
                self._worker.id,
                visits,
                batches,
                # No task is loaded meanwhile, because refilling the window needs this connection.
                window=WindowState(
                    self._schedule.host_ids, self._schedule.loaded_keys({one.host_id for one in visits})
                ),
                now=self._clock.now(),
                filter_hits=filter_hits,
            )
            self._is_sent = True  # the caller sends it next
            return applied, outbox_statements([news.content_id for news in applied.effects.events])

        await self._worker.write(work, lambda applied: self._on_committed(group, applied))

    def _return_abandoned(self, group: list[PendingCommit]) -> None:
        """Return the tasks of abandoned commits. Nothing of them is written."""
        for one in [one for one in group if one.is_abandoned]:
            if one.pending_visit is not None and one.slot is not None:
                self._schedule.put_back(one.slot, one.pending_visit.entry, self._clock.now())
            group.remove(one)

    def _on_committed(self, group: list[PendingCommit], result: WriteResult) -> None:
        self._writer.on_commit(result)
        complete_visits(self._schedule, group)
        self._callbacks.on_written(result)
        for one, admission in zip(group, result.admissions, strict=True):
            one.finish(admission)
            if one.is_abandoned:
                log.info("abandoned commit was written", url=_commit_url(one))


def _abandon(one: PendingCommit, now: float, make_error: Callable[[PendingCommit], Exception]) -> None:
    if one.expires_at <= now and not one.is_abandoned:
        one.is_abandoned = True
        one.fail(make_error(one))


def _lease_lost_error(one: PendingCommit) -> LeaseLost:
    return LeaseLost(f"the claim on {_commit_url(one)} is void; its visit was not written")


def _commit_unknown_error(one: PendingCommit) -> CommitUnknown:
    return CommitUnknown(
        f"PostgreSQL became unavailable during the commit of {_commit_url(one)}; whether it was written is known when "
        "it is back, and it is never written twice"
    )


def _commit_url(one: PendingCommit) -> str:
    return one.pending_visit.visit.claim.task.url if one.pending_visit is not None else "some candidates"
