"""Claims in the memory of one process, and the commits that end them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

from tenax.database import Admission, rows
from tenax.database.admission import EMPTY_BATCH, Batch
from tenax.database.schedule import Entry, Schedule, Slot
from tenax.database.visit_rows import PendingVisit
from tenax.errors import LeaseLost
from tenax.model import Candidate, Claim, Lease, Visit


class ActiveClaim(NamedTuple):
    """A claim with its slot and queue entry."""

    claim: Claim
    slot: Slot
    entry: Entry


class ActiveClaims:
    """The claims by lease number. Each one ends with a commit, with a release, or with its lease."""

    def __init__(self, schedule: Schedule, lease_seconds: float) -> None:
        self._schedule = schedule
        self._lease_seconds = lease_seconds
        self._claims: dict[int, ActiveClaim] = {}
        self._last_number = 0

    def __len__(self) -> int:
        return len(self._claims)

    def begin(self, slot: Slot, entry: Entry, epoch: int, now: float, host_until: float = inf) -> Claim:
        """Lease a task that was taken from the schedule."""
        self._last_number += 1
        expires_at = now + self._lease_seconds
        lease = Lease(epoch=epoch, number=self._last_number, expires_at=expires_at, host_until=host_until)
        task = rows.task_from_entry(entry, slot.record.origin)
        claim = Claim(task=task, host=slot.record, lease=lease, stored_copy=entry.stored_copy, waiting=slot.waiting)
        self._claims[lease.number] = ActiveClaim(claim, slot, entry)
        return claim

    def end(self, claim: Claim, epoch: int) -> ActiveClaim:
        """End a claim by a commit. `epoch` is that of this process now. Raises `LeaseLost`."""
        active = self._claims.get(claim.lease.number)
        if active is None or claim.lease.epoch != epoch:
            raise LeaseLost(f"the claim on {claim.task.url} is void; its visit was not written")
        return self._claims.pop(claim.lease.number)

    def release(self, claim: Claim, epoch: int, now: float) -> bool:
        """Return the task unchanged to the schedule. False if its claim has already ended."""
        try:
            active = self.end(claim, epoch)
        except LeaseLost:
            return False
        self._schedule.put_back(active.slot, active.entry, now)
        return True

    def expire(self, now: float) -> None:
        """Return the tasks whose leases have ended to the schedule."""
        # All leases have the same length, so the oldest one expires first.
        while self._claims and (first := next(iter(self._claims.values()))).claim.lease.expires_at <= now:
            del self._claims[first.claim.lease.number]
            self._schedule.put_back(first.slot, first.entry, first.claim.lease.expires_at)

    def clear(self) -> None:
        """Forget every claim, because other workers have the hosts."""
        self._claims.clear()


class PendingCommit:
    """A commit that waits for its group: a visit, or candidates outside of a visit. Create it in the event loop."""

    def __init__(self, batch: Batch, pending_visit: PendingVisit | None = None, slot: Slot | None = None) -> None:
        self.batch = batch
        self.pending_visit = pending_visit
        self.slot = slot
        self.done: asyncio.Future[Admission] = asyncio.get_running_loop().create_future()
        self.is_abandoned = False

    @classmethod
    def from_visit(cls, visit: Visit, active: ActiveClaim) -> PendingCommit:
        return cls(EMPTY_BATCH, PendingVisit(visit, active.slot.host_id, active.entry), active.slot)

    @property
    def expires_at(self) -> float:
        return self.pending_visit.visit.claim.lease.expires_at if self.pending_visit is not None else inf

    @property
    def candidates(self) -> Sequence[Candidate]:
        return self.pending_visit.visit.candidates if self.pending_visit is not None else self.batch.candidates

    def finish(self, admission: Admission) -> None:
        if not self.done.done():
            self.done.set_result(admission)

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)
            self.done.exception()  # retrieved here, because nobody may wait for it any more


def split_group(pending: Sequence[PendingCommit], most: int) -> tuple[list[PendingCommit], list[PendingCommit]]:
    """The next commits to write in one transaction, visits first, and the rest."""
    return sorted(pending[:most], key=lambda one: one.pending_visit is None), list(pending[most:])


def visits_and_batches(group: Iterable[PendingCommit]) -> tuple[list[PendingVisit], list[Batch]]:
    """The visits of a group, and its candidates outside of visits."""
    visits = [one.pending_visit for one in group if one.pending_visit is not None]
    return visits, [one.batch for one in group if one.pending_visit is None]


def complete_visits(schedule: Schedule, group: Iterable[PendingCommit]) -> None:
    """Tell the schedule that the visits of a group are written."""
    for one in group:
        if one.pending_visit is not None and one.slot is not None:
            schedule.complete_visit(one.slot, one.pending_visit.entry.key, one.pending_visit.visit.host)
