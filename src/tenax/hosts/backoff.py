"""Backoff of a host: a time before which it is not requested, and the reason."""

from __future__ import annotations

import msgspec

from tenax.config import FetchConfig
from tenax.model import Failed, FailureKind, HostRecord, Outcome

MAX_REASON_CHARS = 200
"""Limit on the reason, which may quote the server."""


def is_backing_off(record: HostRecord, now: float) -> bool:
    """Whether it waits for more than its pace. Answers that arrive meanwhile were requested before."""
    return record.next_at > now and bool(record.backoff_reason)


def is_unknown_host(outcome: Outcome) -> bool:
    """Its name does not exist: a failure of the URL. There is no host to back off from or to pace."""
    return isinstance(outcome, Failed) and outcome.kind is FailureKind.DNS and not outcome.is_site_wide


def start_backoff(record: HostRecord, until: float, why: str) -> HostRecord:
    """Back off until this time, unless it does so for longer already: a backoff is never shortened."""
    if until <= record.next_at:
        return record
    return msgspec.structs.replace(record, next_at=until, backoff_reason=why[:MAX_REASON_CHARS])


def retry_delay_seconds(attempt: int, fetch: FetchConfig, jitter: float) -> float:
    """Doubles from the base up to the maximum, plus jitter, so that retries do not coincide."""
    wait = min(fetch.retry_base_seconds * 2.0 ** min(attempt, 30), fetch.retry_max_seconds)
    return wait * (1 + fetch.retry_jitter * jitter)


def allowed_retry_after(retry_after_seconds: float | None, fetch: FetchConfig) -> float:
    """The Retry-After that we obey; 0 when there is none."""
    return min(retry_after_seconds or 0.0, fetch.max_retry_after_seconds)


def format_seconds(seconds: float) -> str:
    """`45 s`, `5 min`."""
    return f"{seconds / 60:.0f} min" if seconds >= 120 and seconds % 60 == 0 else f"{seconds:.0f} s"
