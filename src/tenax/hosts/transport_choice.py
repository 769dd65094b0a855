"""Chooses the transport of a host: plain HTTP, or another that it was found to need."""

from __future__ import annotations

import msgspec

from tenax.model import Failed, FailureKind, Fetched, HostRecord, Outcome, TransportKind


def usual_transport(record: HostRecord, now: float) -> TransportKind:
    """The transport for a page without special needs."""
    return record.transport if record.transport is not None and record.transport_until > now else TransportKind.HTTP


def apply_transport_choice(
    record: HostRecord,
    outcome: Outcome,
    now: float,
    learn_seconds: float,
    transport: TransportKind,
    other_transport: TransportKind | None,
) -> HostRecord:
    """A page confirms its transport. A reset moves the whole host to the other transport, until that fails, too.

    The whole host, not one URL: otherwise each of many URLs would be reset before the first is retried, and the host
    would count as down.
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
