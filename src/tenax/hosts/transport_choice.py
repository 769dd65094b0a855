"""Which way a host is visited: plain HTTP, or what it was found to need."""

from __future__ import annotations

import msgspec

from tenax.model import Failed, FailureKind, Fetched, HostRecord, Outcome, Way


def usual_way(record: HostRecord, now: float) -> Way:
    """How a page of this host is asked for that needs nothing special."""
    return record.way if record.way is not None and record.way_until > now else Way.HTTP


def after_answer(
    record: HostRecord, outcome: Outcome, now: float, learn_seconds: float, way: Way, other_way: Way | None
) -> HostRecord:
    """A page teaches the way it came by. A reset sends the whole host the other way, until that is found wanting too.

    Not just the one URL: a host with many URLs would have each of them reset before the first had its second turn, and
    be taken for one that is down.
    """
    if isinstance(outcome, Fetched):
        return _learned(record, way, now, learn_seconds)
    is_reset = isinstance(outcome, Failed) and outcome.kind is FailureKind.RESET
    if is_reset and way is usual_way(record, now):
        return _learned(record, other_way or Way.HTTP, now, learn_seconds)
    return record


def _learned(record: HostRecord, way: Way, now: float, learn_seconds: float) -> HostRecord:
    if way is not Way.HTTP:
        return msgspec.structs.replace(record, way=way, way_until=now + learn_seconds)
    return msgspec.structs.replace(record, way=None, way_until=0.0) if record.way is not None else record
