"""The PostgreSQL ledger: any number of workers on one database, each visiting hosts that it holds for a time.

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
from tenax.config import LedgerConfig
from tenax.database import Admission, Agenda, Counts, LetterRecord, Life, Likeness, PageFilter, Status, Turns, rows
from tenax.database.admission_rate import Inflow
from tenax.database.candidates import NO_OFFERS, Batch
from tenax.database.postgres import requeue as again
from tenax.database.postgres.check import problems
from tenax.database.postgres.clock_rollback import bring_back
from tenax.database.postgres.connection import FIXED_PLANS, Address, Connection, Link
from tenax.database.postgres.cut_offs import PostgresCutOffs
from tenax.database.postgres.frontier import Frontier
from tenax.database.postgres.groups import Groups, Pending
from tenax.database.postgres.heartbeat import PULSE_SECONDS, Pulse
from tenax.database.postgres.leader import Lead
from tenax.database.postgres.links import PostgresLinks
from tenax.database.postgres.read import Reader, tallies
from tenax.database.postgres.reconnect import REST_SECONDS, Breaker
from tenax.database.postgres.schema import ahead_seconds, check_version, key_secret, prepare, queries, version_of
from tenax.database.postgres.slots import Slots
from tenax.database.postgres.visited import Visited, VisitedSet, members
from tenax.database.postgres.window import Window
from tenax.database.postgres.worker import Ended, Worker, alone
from tenax.database.postgres.write import Applied, Writer
from tenax.database.visit_rows import Settling
from tenax.errors import LedgerUnusable
from tenax.model import CanonicalCopy, Claim, Company, Cursor, Event, HostRecord, Offer, Page, Visit

T = TypeVar("T")

log = logs.logger(__name__)

CLOSE_SECONDS = 10.0


class PostgresLedger:
    """See `tenax.database.Ledger` for what it promises."""

    def __init__(
        self,
        url: str,
        config: LedgerConfig,
        clock: Clock,
        turns: Turns,
        links_per_second: float,
        read_only: bool,
        visited: VisitedSet | None,
        likeness: Likeness | None,
    ) -> None:
        address = Address(url, config.schema)
        self._config = config
        self._clock = clock
        self._turns = turns
        self._read_only = read_only
        self._links_per_second = links_per_second
        self._visited_set = visited
        self._likeness = likeness
        self._visited: Visited | None = None
        if read_only:
            self._ears = Link(address, {"default_transaction_read_only": "on"}, is_patient=False)
            self._hands = self._ears
        else:
            # One connection for what must follow one after the other, one for questions.
            # Shorter where a worker is dead sooner: it must be able to give a sign of life after a short outage.
            breaker = Breaker(min(REST_SECONDS, config.dead_after_seconds / 4))
            self._ears = Link(address, {}, is_patient=True, breaker=breaker)
            self._hands = Link(address, FIXED_PLANS, is_patient=True, breaker=breaker)
        self._lead = Lead(address, self._ears)
        self._tally: Counter[str] = Counter()
        self._tasks: list[asyncio.Task[None]] = []
        self._broken: BaseException | None = None
        self._is_closed = False
        self._found_dead = 0

    @classmethod
    async def open(
        cls,
        url: str,
        config: LedgerConfig,
        clock: Clock,
        turns: Turns,
        *,
        links_per_second: float = 0.0,
        read_only: bool = False,
        visited: VisitedSet | None = None,
        likeness: Likeness | None = None,
    ) -> PostgresLedger:
        """Open the ledger, or create it in an empty schema. Whatever dead workers had claimed is waiting again.

        `visited` may save look-ups of URLs that others have admitted; it is closed with the ledger.
        Without `likeness` no duplicates are looked for.
        """
        ledger = cls(url, config, clock, turns, links_per_second, read_only, visited, likeness)
        try:
            await ledger._connect()
        except BaseException:
            await ledger._hands.close()
            await ledger._ears.close()
            if visited is not None:
                await visited.close()
            raise
        return ledger

    async def _connect(self) -> None:
        await self._ears.open()
        if self._read_only:
            check_version(await self._ears.ask(version_of), self._ears.address)
        else:
            await self._ears.ask(lambda db: prepare(db, self._ears.address))
        if self._visited_set is not None:
            self._visited = Visited(self._visited_set, await self._ears.ask(members))
        self._build(await self._ears.ask(key_secret))
        if not self._read_only:
            await self._join()
        self._tally = Counter(await self._hands.ask(tallies))

    def _build(self, secret: bytes) -> None:
        config, clock = self._config, self._clock
        self._slots = Slots(self._turns, config.window_hosts, config.look_ahead)
        self._reader = Reader(self._ears, secret)
        self._url_key = rows.keys_by(secret)
        self.links = PostgresLinks(self._ears, secret, self._in_transaction)
        self.cut_offs = PostgresCutOffs(self._ears, self._in_transaction, clock, self._again)
        self._writer = Writer(secret, Inflow(self._links_per_second), self._visited, self._likeness)
        self._worker = Worker(self._hands, config, clock, self._turns)
        self._window = Window(self._worker, self._slots, self._writer, clock, config.window_hosts)
        self._frontier = Frontier(
            self._worker, self._window, self._slots, self._hands, self._ears, config, clock, self._break
        )
        self._pulse = Pulse(self._worker, self._window, self._frontier, self._hands, config, clock)
        self._groups = Groups(
            self._worker, self._writer, self._slots, config, clock,
            self._written, self._frontier.start_over, self._break,
        )  # fmt: skip

    async def _join(self) -> None:
        now = self._clock.now()
        await bring_back(self._ears, now)
        await self._ears.greet_with(self._frontier.listen)
        await self._hands.open()
        await self._hands.ask(self._worker.begin)
        await self._hands.greet_with(self._resume)
        await self._hands.ask(lambda db: db.execute(queries()["meta_begin"], "created_at", repr(now).encode()))
        self._found_dead = await self.recover()
        await self._pulse.meet()
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._live()), loop.create_task(self._watch())]

    async def _resume(self, db: Connection) -> None:
        """The first words on a new connection for writing."""
        await self._window.reconcile(db)
        self._frontier.wake()

    # -- the frontier ---------------------------------------------------------------------------------------

    async def admit(self, offers: Sequence[Offer], via: int | None = None) -> Admission:
        self._check()
        return await self._groups.enlist(Pending(Batch(offers, via, 0)))

    async def claim(self) -> Claim | None:
        self._check()
        claim = await self._frontier.claim()
        if claim is None:
            self._check()  # it may have asked the server
        return claim

    async def wait_for_work(self, timeout_seconds: float) -> None:
        self._check()
        await self._frontier.wait_for_work(timeout_seconds)

    async def commit(self, visit: Visit) -> Admission:
        self._check()
        held = self._frontier.give_in(visit.claim)
        return await self._groups.enlist(Pending(NO_OFFERS, Settling(visit, held.slot.host_id, held.entry), held.slot))

    async def release(self, claim: Claim) -> None:
        self._frontier.release(claim)

    def next_turn(self) -> float | None:
        return self._frontier.next_turn()

    def lost_file(self) -> str:
        return ""  # it has none

    @property
    def is_away(self) -> bool:
        return self._hands.is_away or self._ears.is_away

    def counts(self) -> Counts:
        return rows.counts_of(self._tally)

    def _written(self, applied: Applied) -> None:
        """A group is durable; the connection is still ours."""
        self._tally.update(applied.tally)
        self._frontier.arrived(applied.arrivals)
        if applied.admitted.has_woken:
            self._frontier.tell_others()

    # -- signs of life --------------------------------------------------------------------------------------

    def company(self) -> Company:
        """The workers of this ledger, as they were when it was last asked: every second while it is there."""
        return self._pulse.company

    def tell_when(self, is_cut_off: Callable[[], bool]) -> None:
        """From now on the other workers are told whether this one reaches no Redis."""
        self._pulse.is_cut_off = is_cut_off

    async def ahead_seconds(self) -> float:
        """How far the server's clock is ahead of ours; waits for a server that is away."""
        return await self._ears.ask(lambda db: ahead_seconds(db, self._clock))

    async def _live(self) -> None:
        try:
            await self._pulse.run(self.recover, self._count)
        except Exception as error:
            self._break(error)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(PULSE_SECONDS / 2)
            if self._hands.is_away:
                self._groups.give_up_expired(self._clock.now())

    async def _count(self) -> None:
        """Read the counts of all workers. What a write of ours adds, its end adds: it is not counted twice."""

        async def read(db: Connection) -> None:
            self._tally = Counter(await tallies(db))

        await self._worker.between_writes(read)

    # -- the outbox -----------------------------------------------------------------------------------------

    async def events(self, after: int, limit: int) -> list[Event]:
        self._check()
        return await self._reader.events(after, limit)

    async def subscribe(self, sink: str) -> Cursor:
        self._check()
        await self._ears.ask(lambda db: db.execute(queries()["cursor_begin"], sink))
        row = await self._ears.ask(lambda db: db.fetchrow(queries()["cursor_of"], sink))
        assert row is not None
        return Cursor(row["seq"], row["position"])

    async def advance(self, sink: str, cursor: Cursor) -> None:
        self._check()
        await self._ears.ask(lambda db: db.execute(queries()["cursor_put"], sink, cursor.seq, cursor.position))

    async def lead(self, sink: str) -> bool:
        self._check()
        return await self._lead.of(sink)

    # -- what people ask ------------------------------------------------------------------------------------

    async def status(self) -> Status:
        self._check()
        return await self._reader.status(self._clock.now(), self._worker.id)

    async def life(self, url: str) -> Life | None:
        self._check()
        return await self._reader.life(url, rows.origin_of(url))

    async def host(self, origin: str) -> HostRecord | None:
        self._check()
        return await self._reader.host(origin)

    async def canonical_copy(self, url: str) -> CanonicalCopy | None:
        self._check()
        return await self._reader.canonical_copy(url)

    async def agenda(self, limit: int) -> Agenda:
        self._check()
        return await self._reader.agenda(self._clock.now(), limit)

    async def pages(self, where: PageFilter) -> AsyncIterator[Page]:
        self._check()
        async for page in self._reader.pages(where):
            yield page

    async def dead_letters(self) -> AsyncIterator[LetterRecord]:
        self._check()
        async for letter in self._reader.dead_letters():
            yield letter

    async def replay(self, urls: Sequence[str] | None, *, needs_browser: bool = False) -> int:
        now = self._clock.now()
        wanted = list(urls) if urls is not None else None
        return await self._again(now, lambda part, db, above: part.replay(db, above, wanted, needs_browser))

    async def requeue(self, offers: Sequence[Offer]) -> int:
        now, url_key = self._clock.now(), self._url_key
        return await self._again(now, lambda part, db, above: part.requeue(db, above, offers, url_key))

    async def unpark(self, causes: Sequence[str]) -> int:
        wanted = list(causes)
        return await self._again(self._clock.now(), lambda part, db, above: part.unpark(db, above, wanted))

    async def revisit(self, now: float) -> int:
        await self._in_transaction(lambda db: again.begin_round(db, now))
        return await self._again(now, lambda part, db, above: part.revisit(db, above))

    async def _again(self, now: float, next_part: again.NextPart) -> int:
        back = await again.part_by_part(
            self._in_transaction, lambda: again.Part(self._worker.id, self._slots.ids, now), next_part
        )
        await self._count()
        self._frontier.look_again()
        self._frontier.tell_others()
        return back

    async def recover(self) -> int:
        """Free what workers held that gave no sign of life in time; how many there were, those met at opening too."""
        found = self._found_dead + await self._in_transaction(self._worker.recover)
        self._found_dead = 0
        return found

    async def problems(self) -> list[str]:
        """See `Ledger`. Of a large ledger ask one that is open for reading, which waits as long as it takes."""
        self._check()
        return await self._ears.ask(problems)

    # -- itself ---------------------------------------------------------------------------------------------

    async def remember(self, name: str, value: bytes) -> None:
        self._check()
        await self._ears.ask(lambda db: db.execute(queries()["meta_put"], name, value))

    async def remember_if(self, name: str, expected: bytes | None, value: bytes) -> bool:
        self._check()
        return bool(await self._ears.ask(lambda db: db.fetchval(queries()["meta_swap"], name, expected, value)))

    async def recall(self, name: str) -> bytes | None:
        self._check()
        return await self._reader.meta(name)

    async def close(self) -> None:
        """Give everything back; commits still waiting for their group fail, and their tasks wait for the next claim."""
        if self._is_closed:
            return
        self._is_closed = True
        self._break(LedgerUnusable("the ledger is closed"))
        for task in self._tasks:
            task.cancel()
        await self._lead.close()
        if self._hands.is_away:
            await self._hands.close()  # nobody waits for it any longer
        await self._groups.close(CLOSE_SECONDS)
        await self._frontier.close()
        is_gone = self.is_away
        if not self._read_only:
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._leave()
            except Exception as error:  # others will find us dead
                is_gone |= isinstance(error, TimeoutError)
        await self._hands.close(is_gone=is_gone)
        await self._ears.close(is_gone=is_gone)
        if self._visited is not None:
            await self._visited.close()

    async def _leave(self) -> None:
        if not self._hands.is_away:
            async with self._hands.use() as db:
                await self._window.free(db, self._slots.all(self._clock.now()))
            await self._worker.write(alone(self._worker.leave))

    async def _in_transaction(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        while True:
            self._check()
            try:
                return await self._worker.write(alone(work))
            except Ended as error:
                await self._frontier.start_over(error.worker_id)

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _break(self, error: BaseException) -> None:
        """From now on every call tells what went wrong; what was committed stays committed."""
        if self._broken is None:
            self._broken = error
        self._groups.fail(self._broken)
        self._frontier.wake()
