"""Shift future timestamps after the clock was set back."""

from __future__ import annotations

import msgspec

from tenax.model import HostRecord


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
