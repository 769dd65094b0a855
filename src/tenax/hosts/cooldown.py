"""The cooldown: a host that shuts us out, or sends pages that nobody can read, is left alone.

It is not down, so this is kept apart from the breaker.
"""

from __future__ import annotations

import msgspec

from tenax.config import HostsConfig
from tenax.hosts.backoff import format_seconds, start_backoff
from tenax.hosts.throttle import is_success
from tenax.model import Failed, FailureKind, HostRecord, Outcome, Rejected

_BLOCK_FAILURES = frozenset({FailureKind.BLOCKED, FailureKind.RATE_LIMITED})
# An answer about the page: whoever gives it does not shut us out.
_ADMITTING_FAILURES = frozenset(
    {
        FailureKind.NOT_FOUND,
        FailureKind.GONE,
        FailureKind.TOO_LARGE,
        FailureKind.REDIRECT,
        FailureKind.UNREADABLE,
    }
)


def apply_cooldown(record: HostRecord, outcome: Outcome, now: float, hosts: HostsConfig) -> HostRecord:
    """Refusals in a row, or one page that plainly shuts us out, begin a cooldown.

    Once a cooldown is over, a single further refusal begins the next one: only an answer that lets us in starts the
    count again. So do a few pages within an hour that cost too much to read: each takes a reader from all other hosts.
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
    if record.blocks_in_a_row and _is_letting_us_in(outcome):
        return msgspec.structs.replace(record, blocks_in_a_row=0)
    return record


def _count_unreadable(record: HostRecord, now: float, hosts: HostsConfig) -> HostRecord:
    """While the first of them count, every further one begins another cooldown."""
    since = now - hosts.unreadable_window_seconds
    times = sorted([at for at in record.unreadable_pages if at > since] + [now])[-hosts.unreadable_pages :]
    record = msgspec.structs.replace(record, unreadable_pages=tuple(times))
    if len(times) < hosts.unreadable_pages:
        return record
    why = f"cooldown: {len(times)} pages too costly to read in {format_seconds(hosts.unreadable_window_seconds)}"
    return start_backoff(record, now + hosts.cooldown_seconds, why)


def _is_letting_us_in(outcome: Outcome) -> bool:
    return is_success(outcome) or (isinstance(outcome, Failed) and outcome.kind in _ADMITTING_FAILURES)
