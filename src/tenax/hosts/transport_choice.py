"""Which way a host is visited: plain HTTP, or what it was found to need."""

from __future__ import annotations

import msgspec

from tenax.model import Failed, FailureKind, Fetched, HostRecord, Outcome, TransportKind


def usual_transport(record: HostRecord, now: float) -> TransportKind:
    """How a page of this host is asked for that needs nothing special."""
    return record.transport if record.transport is not None and record.transport_until > now else TransportKind.HTTP


def apply_transport_choice(
    record: HostRecord,
    outcome: Outcome,
    now: float,
    learn_seconds: float,
    transport: TransportKind,
    other_transport: TransportKind | None,
) -> HostRecord:
    """A page teaches the way it came by. A reset sends the whole host the other way, until that is found wanting too.

    Not just the one URL: a host with many URLs would have each of them reset before the first had its second turn, and
    be taken for one that is down.
    """
    if isinstance(outcome, Fetched):
        return _set_transport(record, transport, now, learn_seconds)
    is_reset = isinstance(outcome, Failed) and outcome.kind is FailureKind.RESET
    if is_reset and transport is usual_transport(record, now):
        return _set_transport(record, other_transport or TransportKind.HTTP, now, learn_seconds)
    return record


def _set_transport(record: HostRecord, transport: TransportKind, now: float, learn_seconds: float) -> HostRecord:
    if transport is not TransportKind.HTTP:
        return msgspec.structs.replace(record, transport=transport, transport_until=now + learn_seconds)
    return (
        msgspec.structs.replace(record, transport=None, transport_until=0.0) if record.transport is not None else record
    )
