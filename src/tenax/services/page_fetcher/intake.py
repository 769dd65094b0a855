"""When to take from the queue: not while all that it brings would only be carried round.

A host is *wanted* when it may be asked now and has room in hand. Items of a host that is not go back to the end of the
queue. Where only one host is met, nothing is taken until it is wanted again. Where several are, a round of the queue in
which nobody was wanted ends it, until somebody of that round is.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable

MEMORY = 1000
"""Items that count as met lately; also the longest round, for to carry a million round would take all our time."""


class Intake:
    def __init__(self) -> None:
        self._lately: deque[str] = deque()
        self._hosts: Counter[str] = Counter()
        self._unwanted: set[str] = set()
        self._in_a_row = 0
        """Items met since the last one whose host was wanted."""

    @property
    def hosts(self) -> list[str]:
        """Those met lately."""
        return list(self._hosts)

    def met(self, origin: str, is_wanted: bool) -> None:
        """An item of this host came out of the queue, or was seen there."""
        self._lately.append(origin)
        self._hosts[origin] += 1
        if len(self._lately) > MEMORY:
            first = self._lately.popleft()
            self._hosts[first] -= 1
            if not self._hosts[first]:
                del self._hosts[first]
        if is_wanted:
            self.begin_round()
        else:
            self._unwanted.add(origin)
            self._in_a_row += 1

    def begin_round(self) -> None:
        self._unwanted.clear()
        self._in_a_row = 0

    def is_open(self, left: int, is_wanted: Callable[[str], bool]) -> bool:
        """Whether to take from the queue, which has so many items."""
        if len(self._hosts) == 1:
            return is_wanted(next(iter(self._hosts)))
        if not self._in_a_row or self._in_a_row < min(left, MEMORY):
            return True
        if any(map(is_wanted, self._unwanted)):
            self.begin_round()
            return True
        return False
