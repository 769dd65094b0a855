"""Retry budget: after a number of failures of any kind within a few minutes, the host backs off."""

from __future__ import annotations

import msgspec

from tenax.config import HostsConfig
from tenax.hosts.throttle import format_seconds, is_unknown_host, start_backoff
from tenax.model import Failed, FailureKind, HostRecord, Outcome

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
