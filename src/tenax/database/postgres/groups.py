"""Group commit: visits that end in the same few hundredths of a second are written in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence, Set

from tenax import logs
from tenax.clock import Clock
from tenax.config import LedgerConfig
from tenax.database import Admission
from tenax.database.candidates import Batch
from tenax.database.postgres.connection import Connection, NoText
from tenax.database.postgres.slots import Slots
from tenax.database.postgres.worker import Ended, Worker
from tenax.database.postgres.write import Applied, Writer, outbox, readable
from tenax.database.schedule import Slot
from tenax.database.visit_rows import Settling
from tenax.errors import CommitUnknown, LeaseLost, LedgerUnusable
from tenax.model import Offer

log = logs.logger(__name__)


class Pending:
    """A commit waiting for its group: a visit, or offers made outside of any."""

    def __init__(self, offers: Batch, settling: Settling | None = None, slot: Slot | None = None) -> None:
        self.offers = offers
        self.settling = settling
        self.slot = slot
        self.done: asyncio.Future[Admission] = asyncio.get_running_loop().create_future()
        self.is_given_up = False

    @property
    def expires_at(self) -> float:
        return self.settling.visit.claim.lease.expires_at if self.settling is not None else float("inf")

    @property
    def all_offers(self) -> Sequence[Offer]:
        return self.settling.visit.offers if self.settling is not None else self.offers.offers

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)
            self.done.exception()  # whoever waited may be gone


class Groups:
    """Gathers commits and writes them, one group at a time, so the next one grows meanwhile."""

    def __init__(
        self,
        worker: Worker,
        writer: Writer,
        slots: Slots,
        config: LedgerConfig,
        clock: Clock,
        written: Callable[[Applied], None],
        ended: Callable[[int], Awaitable[None]],
        failed: Callable[[BaseException], None],
    ) -> None:
        """`written` is told of each transaction; `ended` joins anew after others found us dead."""
        self._worker = worker
        self._writer = writer
        self._slots = slots
        self._config = config
        self._clock = clock
        self._written = written
        self._ended = ended
        self._failed = failed
        self._pending: list[Pending] = []
        self._group: list[Pending] = []
        self._is_sent = False
        """The COMMIT of the group was sent, and whether it was made is not known yet."""
        self._task: asyncio.Task[None] | None = None

    async def enlist(self, one: Pending) -> Admission:
        """Join the next group and wait until it is durable."""
        self._pending.append(one)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())
        return await one.done

    def fail(self, error: BaseException) -> None:
        """Nothing more is written."""
        for one in self._pending:
            one.fail(error)
        self._pending = []

    def give_up_expired(self, now: float) -> None:
        """While the server is away: whoever waited for longer than its lease is told that it was in vain.

        Not so when its COMMIT was sent, which nobody can take back: then it is told that this is not known yet.
        """
        for one in self._group:
            _give_up(one, now, _unknown if self._is_sent else _lost)
        for one in self._pending:
            _give_up(one, now, _lost)

    async def close(self, seconds: float) -> None:
        """Let the group that is on its way end."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=seconds)
            self._task.cancel()

    async def _run(self) -> None:
        if self._config.group_seconds:
            await asyncio.sleep(self._config.group_seconds)
        while self._pending:
            most = self._config.group_visits
            self._group, self._pending = self._pending[:most], self._pending[most:]
            self._group.sort(key=lambda one: one.settling is None)
            try:
                await self._write(self._group)
            except asyncio.CancelledError:
                for one in self._group:
                    one.fail(LedgerUnusable("the ledger is closed"))
                raise
            except Exception as error:
                for one in self._group:
                    one.fail(error)
                self._failed(error)
            finally:
                self._group = []
                self._is_sent = False

    async def _write(self, group: list[Pending]) -> None:
        is_readable = False
        hinted = await self._writer.hints(offer for one in group for offer in one.all_offers)
        while group:
            try:
                await self._transaction(group, hinted)
                return
            except NoText:
                # Someone's header was no text. It is too rare to look for it first.
                if is_readable:
                    raise LedgerUnusable("PostgreSQL does not take the text of a visit; this is a defect") from None
                is_readable = True
                for one in group:
                    if one.settling is not None:
                        one.settling = one.settling._replace(visit=readable(one.settling.visit))
            except Ended as error:
                await self._ended(error.worker_id)
                for one in group:
                    if one.settling is not None:
                        one.fail(_lost(one))
                group[:] = [one for one in group if one.settling is None]

    async def _transaction(self, group: list[Pending], hinted: Set[str]) -> None:
        async def work(db: Connection) -> tuple[Applied, str]:
            for one in group:
                if one.settling is not None and one.settling.visit.claim.lease.epoch != self._worker.id:
                    raise Ended(one.settling.visit.claim.lease.epoch)
            self._is_sent = False  # an earlier COMMIT was not made, or this would not be done again
            self._put_back_given_up(group)
            settlings = [one.settling for one in group if one.settling is not None]
            applied = await self._writer.apply(
                db,
                self._worker.id,
                settlings,
                [one.offers for one in group if one.settling is None],
                self._slots.ids,
                # Nothing comes to hand meanwhile: who fills the window waits for this connection.
                self._slots.in_hand({one.host_id for one in settlings}),
                self._clock.now(),
                hinted,
            )
            self._is_sent = True  # by the caller, at once
            return applied, outbox([news.content_id for news in applied.effects.news])

        await self._worker.write(work, lambda applied: self._done(group, applied))

    def _put_back_given_up(self, group: list[Pending]) -> None:
        """Nothing of them is written: their tasks may be claimed again."""
        for one in [one for one in group if one.is_given_up]:
            if one.settling is not None and one.slot is not None:
                self._slots.put_back(one.slot, one.settling.entry, self._clock.now())
            group.remove(one)

    def _done(self, group: list[Pending], applied: Applied) -> None:
        self._writer.written(applied)
        for one in group:
            if one.settling is not None and one.slot is not None:
                self._slots.settle(one.slot, one.settling.entry.key, one.settling.visit.host)
        self._written(applied)
        for one, admission in zip(group, applied.admissions, strict=True):
            if not one.done.done():
                one.done.set_result(admission)
            elif one.is_given_up:
                log.info("a commit that nobody waits for any more was made", url=_url_of(one))


def _give_up(one: Pending, now: float, error_of: Callable[[Pending], Exception]) -> None:
    if one.expires_at <= now and not one.is_given_up:
        one.is_given_up = True
        one.fail(error_of(one))


def _lost(one: Pending) -> LeaseLost:
    return LeaseLost(f"the claim on {_url_of(one)} is void; its visit was not written")


def _unknown(one: Pending) -> CommitUnknown:
    return CommitUnknown(
        f"PostgreSQL went away during the commit of {_url_of(one)}; whether it was written will be known when it is "
        "back, and it is never written twice"
    )


def _url_of(one: Pending) -> str:
    return one.settling.visit.claim.task.url if one.settling is not None else "some offers"
