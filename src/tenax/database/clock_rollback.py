"""Shift future timestamps after the clock was set back."""

from __future__ import annotations

import msgspec

from tenax.model import HostRecord


def shift_host_times(record: HostRecord, offset_seconds: float, now: float) -> HostRecord:
    """Move every time after `now` back by the offset. Backoffs keep their remaining length."""

    def back(at: float) -> float:
        return at - offset_seconds if at > now else at

    robots = record.robots
    if robots is not None:
        robots = msgspec.structs.replace(robots, fetched_at=back(robots.fetched_at), expires_at=back(robots.expires_at))
    return msgspec.structs.replace(
        record,
        robots=robots,
        next_at=back(record.next_at),
        transport_until=back(record.transport_until),
        recent_failures=tuple(map(back, record.recent_failures)),
        unreadable_pages=tuple(map(back, record.unreadable_pages)),
    )
