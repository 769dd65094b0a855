"""Cache of the newest events: a relay that keeps up reads them from memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

from tenax.database.page_codec import MAX_EVENT_BYTES
from tenax.model import Event

MAX_RECENT_EVENTS = 500
"""Fewer when their texts exceed `MAX_EVENT_BYTES`."""


class RecentEvents:
    """The newest events, in order and without gaps."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._text_bytes = 0

    def add(self, events: Sequence[Event]) -> None:
        self._events.extend(events)
        self._text_bytes += sum(event.page.text_bytes for event in events)
        while len(self._events) > MAX_RECENT_EVENTS or self._text_bytes > MAX_EVENT_BYTES:
            self._drop_first()

    def events_after(self, seq: int, limit: int) -> list[Event]:
        """Events after this number; empty when the next one is not cached. Drops those up to it."""
        while self._events and self._events[0].seq <= seq:
            self._drop_first()
        is_next = bool(self._events) and self._events[0].seq == seq + 1
        return list(islice(self._events, limit)) if is_next else []

    def _drop_first(self) -> None:
        self._text_bytes -= self._events.popleft().page.text_bytes
