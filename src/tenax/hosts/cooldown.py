"""Cooldown: a backoff from a host that blocks us, or that sends pages too costly to extract.

The host is not down, so this is separate from the breaker.
"""

from __future__ import annotations

import msgspec

from tenax.config import HostsConfig
from tenax.hosts.throttle import format_seconds, is_success, start_backoff
from tenax.model import Failed, FailureKind, HostRecord, Outcome, Rejected

_BLOCK_FAILURES = frozenset({FailureKind.BLOCKED, FailureKind.RATE_LIMITED})
# An answer about the page: the host does not block us.
_UNBLOCKED_FAILURES = frozenset(
    {
        FailureKind.NOT_FOUND,
        FailureKind.GONE,
        FailureKind.TOO_LARGE,
        FailureKind.REDIRECT,
        FailureKind.UNREADABLE,
    }
)


def apply_cooldown(record: HostRecord, outcome: Outcome, now: float, hosts: HostsConfig) -> HostRecord:
    """Several blocks in a row, or one page that clearly blocks us, begin a cooldown.

    After a cooldown a single further block begins the next one: only an unblocked answer resets the count. A few pages
    within an hour that cost too much to extract begin one, too: each takes a reader from all other hosts.
    """
    if isinstance(outcome, Failed) and outcome.kind is FailureKind.UNREADABLE:
        record = _count_unreadable(record, now, hosts)
    if isinstance(outcome, Failed) and outcome.kind in _BLOCK_FAILURES:
        blocks = record.blocks_in_a_row + 1
        record = msgspec.structs.replace(record, blocks_in_a_row=blocks)
        if blocks < hosts.cooldown_blocks:
            return record
        return start_backoff(record, now + hosts.cooldown_seconds, f"cooldown: {blocks} refusals in a row")
    if isinstance(outcome, Rejected) and outcome.is_hard:
        return start_backoff(record, now + hosts.cooldown_seconds, f"cooldown: {outcome.why}")
    if record.blocks_in_a_row and _is_unblocked(outcome):
        return msgspec.structs.replace(record, blocks_in_a_row=0)
    return record


def _count_unreadable(record: HostRecord, now: float, hosts: HostsConfig) -> HostRecord:
    """While the first ones count, every further one begins another cooldown."""
    since = now - hosts.unreadable_window_seconds
    times = sorted([at for at in record.unreadable_pages if at > since] + [now])[-hosts.unreadable_pages :]
    record = msgspec.structs.replace(record, unreadable_pages=tuple(times))
    if len(times) < hosts.unreadable_pages:
        return record
    why = f"cooldown: {len(times)} pages too costly to read in {format_seconds(hosts.unreadable_window_seconds)}"
    return start_backoff(record, now + hosts.cooldown_seconds, why)


def _is_unblocked(outcome: Outcome) -> bool:
    return is_success(outcome) or (isinstance(outcome, Failed) and outcome.kind in _UNBLOCKED_FAILURES)
