"""What happens to a task after a visit: done, again at a time, or a dead letter."""

from __future__ import annotations

from tenax.config import FetchConfig
from tenax.model import Again, DeadLetter, Deferred, Done, Failed, FailureKind, Outcome, Plan

# Answers: the site has spoken, and there is nothing left to try.
_SETTLED = frozenset({FailureKind.NOT_FOUND, FailureKind.GONE})
# Trying again would give the same; a person may see a reason to.
_PERMANENT = frozenset({FailureKind.CLIENT_ERROR, FailureKind.BLOCKED, FailureKind.TOO_LARGE, FailureKind.REDIRECT})


def plan_for(
    outcome: Outcome, attempt: int, now: float, fetch: FetchConfig, jitter: float, host_next_at: float
) -> Plan:
    """`attempt` counts the visits that failed by this URL's own fault before this one; `jitter` is random, 0 to 1."""
    if isinstance(outcome, Deferred):
        return Again(outcome.until)
    if not isinstance(outcome, Failed) or outcome.kind in _SETTLED:
        return Done()
    asked_for = now + min(outcome.retry_after_seconds or 0.0, fetch.max_retry_after_seconds)
    if outcome.is_site_wide or outcome.kind is FailureKind.RATE_LIMITED:
        return Again(max(host_next_at, asked_for))
    if outcome.kind in _PERMANENT:
        return DeadLetter(outcome.why)
    if attempt + 1 >= fetch.max_attempts:
        return DeadLetter(f"{outcome.why} (tried {attempt + 1} times)")
    return Again(max(now + retry_delay_seconds(attempt, fetch, jitter), asked_for), spends_attempt=True)


def retry_delay_seconds(attempt: int, fetch: FetchConfig, jitter: float) -> float:
    """Doubling from the base up to the most, and a random share more, so that retries do not come in step."""
    wait = min(fetch.retry_base_seconds * 2.0 ** min(attempt, 30), fetch.retry_max_seconds)
    return wait * (1 + fetch.retry_jitter * jitter)
