"""Cooldown and retry budget: backoffs from a host that is not down, so they are separate from the breaker.

A host that blocks us, or that sends pages too costly to extract, gets a cooldown. A host with too many failures of any
kind within a few minutes has used up its retry budget.
"""

from __future__ import annotations

import msgspec

from tenax.config import HostsConfig
from tenax.hosts.throttle import format_seconds, is_success, is_unknown_host, start_backoff
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
    """With `unreadable_pages` of them within the window a cooldown begins, and another with each further one."""
    since = now - hosts.unreadable_window_seconds
    times = sorted([at for at in record.unreadable_pages if at > since] + [now])[-hosts.unreadable_pages :]
    record = msgspec.structs.replace(record, unreadable_pages=tuple(times))
    if len(times) < hosts.unreadable_pages:
        return record
    why = f"cooldown: {len(times)} pages too costly to read in {format_seconds(hosts.unreadable_window_seconds)}"
    return start_backoff(record, now + hosts.cooldown_seconds, why)


def _is_unblocked(outcome: Outcome) -> bool:
    return is_success(outcome) or (isinstance(outcome, Failed) and outcome.kind in _UNBLOCKED_FAILURES)


# The host works: it answered, and the answer is final. Or the failure is internal.
_FREE_FAILURES = frozenset(
    {
        FailureKind.NOT_FOUND,
        FailureKind.GONE,
        FailureKind.NOT_MODIFIED,
        FailureKind.REDIRECT,
        FailureKind.TOO_LARGE,
        FailureKind.UNREADABLE,
        FailureKind.INTERNAL,
    }
)


def apply_retry_budget(record: HostRecord, outcome: Outcome, now: float, hosts: HostsConfig) -> HostRecord:
    """A failure uses part of the budget; only time restores it."""
    if not isinstance(outcome, Failed) or outcome.kind in _FREE_FAILURES or is_unknown_host(outcome):
        return record
    window = sorted([at for at in record.recent_failures if at > now - hosts.budget_window_seconds] + [now])
    if len(window) < hosts.budget_failures:
        return msgspec.structs.replace(record, recent_failures=tuple(window))
    why = f"retry budget: {len(window)} failures in {format_seconds(hosts.budget_window_seconds)}"
    record = msgspec.structs.replace(record, recent_failures=())
    return start_backoff(record, now + hosts.budget_lockout_seconds, why)
