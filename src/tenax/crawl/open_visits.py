"""Visits without an answer, by host. They may lead to more URLs, so they count as remaining work."""

from __future__ import annotations

from collections import Counter

from tenax.model import Claim


class OpenVisits:
    """The open visits of this process, and the number of tasks that waited at each host at its latest claim."""

    def __init__(self) -> None:
        self._origins: dict[int, str] = {}
        self._counts: Counter[str] = Counter()
        self._waiting: dict[str, int | None] = {}

    def begin(self, claim: Claim) -> None:
        origin = claim.task.origin
        self._origins[claim.lease.number] = origin
        self._counts[origin] += 1
        self._waiting[origin] = claim.waiting

    def record_answer(self, claim: Claim) -> int | None:
        """End the visit and return how many tasks its host has left, waiting or open; None: many, or not counted.

        The waiting ones are those of the host's latest claim, which may be later than this one.
        """
        origin = claim.task.origin
        waiting = self._waiting.get(origin, claim.waiting)
        self.end(claim)
        return None if waiting is None else waiting + self._counts[origin]

    def end(self, claim: Claim) -> None:
        """The visit was answered or abandoned. Harmless when called again."""
        origin = self._origins.pop(claim.lease.number, None)
        if origin is None:
            return
        self._counts[origin] -= 1
        if self._counts[origin] <= 0:
            del self._counts[origin], self._waiting[origin]
