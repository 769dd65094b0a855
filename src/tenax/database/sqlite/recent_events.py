"""Events that were written a moment ago: a relay that keeps up finds them still in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

from tenax.database.page_codec import MAX_EVENT_BYTES
from tenax.model import Event

MAX_RECENT_EVENTS = 500
"""Unless their texts are longer than `MAX_EVENT_BYTES`."""


class RecentEvents:
    """The last ones, in order and without a gap."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._text_bytes = 0

    def add(self, events: Sequence[Event]) -> None:
        self._events.extend(events)
        self._text_bytes += sum(event.page.text_bytes for event in events)
        while len(self._events) > MAX_RECENT_EVENTS or self._text_bytes > MAX_EVENT_BYTES:
            self._drop_first()

    def events_after(self, seq: int, limit: int) -> list[Event]:
        """Those that follow this one; none when the next one is not here. Those before it are forgotten."""
        while self._events and self._events[0].seq <= seq:
            self._drop_first()
        is_next = bool(self._events) and self._events[0].seq == seq + 1
        return list(islice(self._events, limit)) if is_next else []

    def _drop_first(self) -> None:
        self._text_bytes -= self._events.popleft().page.text_bytes
