"""Visits without an answer so far, by host: nobody knows where they will lead, so they count as work that is left."""

from __future__ import annotations

from collections import Counter

from tenax.model import Claim


class OpenVisits:
    """Those of one process, and how much else waited at each of their hosts when the last of them was claimed."""

    def __init__(self) -> None:
        self._origins: dict[int, str] = {}
        self._open: Counter[str] = Counter()
        self._waiting: dict[str, int | None] = {}

    def begin(self, claim: Claim) -> None:
        origin = claim.task.origin
        self._origins[claim.lease.number] = origin
        self._open[origin] += 1
        self._waiting[origin] = claim.waiting

    def record_answer(self, claim: Claim) -> int | None:
        """How many tasks its host has left: those that wait, and those without an answer; None: many, or not counted.

        What waits is known from the last claim of the host, which may have been a later one than this.
        """
        origin = claim.task.origin
        waiting = self._waiting.get(origin, claim.waiting)
        self.end(claim)
        return None if waiting is None else waiting + self._open[origin]

    def end(self, claim: Claim) -> None:
        """It was answered, or given up."""
        origin = self._origins.pop(claim.lease.number, None)
        if origin is None:
            return
        self._open[origin] -= 1
        if self._open[origin] <= 0:
            del self._open[origin], self._waiting[origin]
