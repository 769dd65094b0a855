"""What to take from the queue: each host's items in their order, past those of hosts that wait.

A host has *room* when it may be asked now and not enough of it is in hand. Items of a host without room stay where they
are, and so do all later ones of it: one that was passed over is not overtaken. The queue is looked through a window at
a time: its head each time, the part beyond it bit by bit, and its end, where new items arrive.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tenax.services.page_fetcher.items import InvalidItem, parse_item

WINDOW_SIZE = 256
"""Items looked at in one step."""
HEAD_WINDOWS = 80
"""Of the head of the queue, so much is looked at each time; of what lies beyond it, so much at a time."""
MAX_SKIPPED_HOSTS = 50_000
"""Hosts passed over that are remembered. Beyond, an item of another may overtake an earlier one of its host."""
MAX_CACHED_ORIGINS = 10_000

_PLAIN_ORIGIN = re.compile(rb"https?://[A-Za-z0-9.:-]+(?=[/?#]|$)")


class Span(NamedTuple):
    """A part of the queue to look through."""

    first: int
    windows: int
    is_head: bool = False


class Selection(NamedTuple):
    items: list[bytes]
    examined: int
    """Items of the window that need not be looked at again in this look."""


class OriginCache:
    """The origins of items, of which many share the same beginning. None: it is no URL."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, str] = OrderedDict()

    def find_origin(self, raw: bytes) -> str | None:
        plain = _PLAIN_ORIGIN.match(raw)
        if plain is not None and (known := self._known.get(plain[0])) is not None:
            return known
        item = parse_item(raw, 0.0)
        if isinstance(item, InvalidItem):
            return None
        if plain is not None:
            self._known[plain[0]] = item.task.origin
            if len(self._known) > MAX_CACHED_ORIGINS:
                self._known.popitem(last=False)
        return item.task.origin


class Intake:
    """One look at the queue after the other. Nothing here asks the time or waits."""

    def __init__(self) -> None:
        self._origins = OriginCache()
        self._skipped_at_head: set[str] = set()
        self._skipped_beyond_head: set[str] = set()
        self._next_offset = 0
        """Where the next part beyond the head begins; 0: right behind the head."""
        self._length = 0
        self._skipped_last_pass: set[str] = set()
        """Beyond the head, when that was last looked through as a whole."""
        self._has_found = False
        """Something was taken since the first part beyond the head was looked at."""
        self._was_scan_empty = False
        """The whole queue was looked through in vain, and nothing has happened since."""
        self.is_exhausted = False
        """Nothing of the queue may be taken now, as far as is known: there is no hurry to look again."""

    @property
    def skipped_hosts(self) -> set[str]:
        """Hosts of which something was left in the queue."""
        return self._skipped_at_head | self._skipped_beyond_head | self._skipped_last_pass

    def resume_scan(self) -> None:
        """One of them may be asked again: wherever its items are, they are to be found soon."""
        self._was_scan_empty = False

    def scan_spans(self) -> Iterator[Span]:
        """The parts of one look, in order; each is made when the one before it was looked through."""
        self._skipped_at_head.clear()
        if not self._next_offset:
            self._skipped_last_pass, self._skipped_beyond_head = self._skipped_beyond_head, set()
            self._has_found = False
        self.is_exhausted = False
        yield Span(0, HEAD_WINDOWS, is_head=True)
        head = HEAD_WINDOWS * WINDOW_SIZE
        if self._length <= head:
            self._next_offset = 0
            self._skipped_last_pass.clear()
            self.is_exhausted = self._was_scan_empty = not self._has_found
            return
        first = max(self._next_offset, head)
        self._next_offset = first
        yield Span(first, HEAD_WINDOWS)
        if self._next_offset + WINDOW_SIZE >= self._length:
            self.is_exhausted = self._was_scan_empty = not self._has_found
            self._next_offset = 0
        else:
            yield Span(max(self._length - WINDOW_SIZE, head), 1)
            self.is_exhausted = self._was_scan_empty

    def select_items(
        self, items: Sequence[bytes], span: Span, free_slots: Callable[[str], int], limit: int
    ) -> Selection:
        """Which items of this window to take, at most so many."""
        found: list[bytes] = []
        of_host: Counter[str] = Counter()
        for number, raw in enumerate(items):
            if len(found) >= limit:
                return Selection(found, number)
            origin = self._origins.find_origin(raw)
            if origin is None:
                found.append(raw)  # it is given up at once
            elif origin in self._skipped_at_head or (not span.is_head and origin in self._skipped_beyond_head):
                continue
            elif free_slots(origin) > of_host[origin]:
                of_host[origin] += 1
                found.append(raw)
            else:
                self._skip_host(origin, span)
        return Selection(found, len(items))

    def record_window(self, span: Span, first: int, length: int, taken: int) -> None:
        """A window was dealt with; the next of this span begins at `first`, in a queue of this length."""
        self._length = length - taken
        if taken:
            self._has_found, self._was_scan_empty = True, False
        if not span.is_head and span.windows > 1:
            self._next_offset = first

    def _skip_host(self, origin: str, span: Span) -> None:
        passed = self._skipped_at_head if span.is_head else self._skipped_beyond_head
        if len(passed) < MAX_SKIPPED_HOSTS:
            passed.add(origin)
