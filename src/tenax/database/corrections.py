"""Corrections of stored values: of times after the clock was set back, and of texts that no database accepts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from tenax.model import HostRecord, Visit

CLOCK_TOLERANCE_SECONDS = 120.0
"""If the clock was set back by less, nothing is shifted, because shifting stored times scans the whole queue."""
HOST_BATCH_SIZE = 5000
"""Number of hosts whose times are shifted at a time."""


def shift_host_times(record: HostRecord, offset_seconds: float, now: float) -> HostRecord:
    """Move every time after `now` back by the offset. Backoffs keep their remaining length."""

    def shift(at: float) -> float:
        return at - offset_seconds if at > now else at

    robots = record.robots
    if robots is not None:
        robots = msgspec.structs.replace(
            robots, fetched_at=shift(robots.fetched_at), expires_at=shift(robots.expires_at)
        )
    return msgspec.structs.replace(
        record,
        robots=robots,
        next_at=shift(record.next_at),
        transport_until=shift(record.transport_until),
        recent_failures=tuple(map(shift, record.recent_failures)),
        unreadable_pages=tuple(map(shift, record.unreadable_pages)),
    )


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates: a header may contain any bytes."""
    return text.encode("utf-8", "replace").decode()


def map_texts(visit: Visit, transform: Callable[[str], str]) -> Visit:
    """The visit with every text in it transformed."""

    def apply(value: Any) -> Any:
        if isinstance(value, str):
            return transform(value)
        if isinstance(value, dict):
            return {name: apply(part) for name, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [apply(part) for part in value]
        return value

    return msgspec.convert(apply(msgspec.to_builtins(visit)), Visit)
