"""When a host has its next turn: its pace, and its rests after trouble."""

from __future__ import annotations

import msgspec

from tenax.config import FetchConfig, PolitenessConfig
from tenax.hosts.robots import matcher
from tenax.model import (
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    HostRecord,
    Outcome,
    Refused,
    RobotsCopy,
    RobotsVerdict,
)

OUTAGE_FAILURES = 5
"""So many failures in a row are an outage: from here on the rests are long."""
OUTAGE_FIRST_REST_SECONDS = 30.0
OUTAGE_LONGEST_REST_SECONDS = 300.0
RATE_LIMITED_REST_SECONDS = 45.0
"""After a 429 that names no time, give or take a tenth."""

# One of these may be the page's own fault; a row of them is the host's.
_AMBIGUOUS = frozenset({FailureKind.SERVER_ERROR, FailureKind.TIMEOUT_TOTAL})
# These say nothing about whether the host is up: we broke, or there is no such host.
_TELLS_NOTHING = frozenset({FailureKind.INTERNAL, FailureKind.DNS})


def pace_seconds(record: HostRecord, politeness: PolitenessConfig) -> float:
    """Seconds between two requests to this host. A rate of 0 lifts the limit, Crawl-delay included."""
    if politeness.rate_per_second == 0:
        return 0.0
    return max(1 / politeness.rate_per_second, record.crawl_delay_seconds or 0.0)


def with_robots(record: HostRecord, copy: RobotsCopy, politeness: PolitenessConfig) -> HostRecord:
    """The record with this robots.txt. An unreachable one puts the host to rest until it is to be asked again."""
    robots = matcher(copy)
    record = msgspec.structs.replace(
        record,
        robots=copy,
        crawl_delay_seconds=robots.crawl_delay(politeness.max_crawl_delay_seconds),
        is_allowed=not robots.closes_everything(),
    )
    if copy.verdict is RobotsVerdict.UNREACHABLE:
        return _resting(record, copy.expires_at, f"robots.txt unreachable: {copy.why}")
    return record


def after_visit(
    record: HostRecord,
    outcome: Outcome,
    answered_at: float,
    requests: int,
    politeness: PolitenessConfig,
    fetch: FetchConfig,
    jitter: float,
) -> HostRecord:
    """The record after a visit that sent `requests` requests.

    `answered_at` is when the last answer's headers arrived, or when we gave up on it; `jitter` is a random number
    from 0 to 1.
    """
    if requests == 0 and not isinstance(outcome, Failed):
        return record
    failures = _failures_in_a_row(record, outcome)
    turn = answered_at + pace_seconds(record, politeness) * requests
    keeps_resting = bool(record.resting_why) and record.next_at > turn
    record = msgspec.structs.replace(
        record,
        next_at=max(record.next_at, turn),
        resting_why=record.resting_why if keeps_resting else "",
        failures_in_a_row=failures,
        page_count=record.page_count + isinstance(outcome, Fetched),
        error_count=record.error_count + isinstance(outcome, Failed),
    )
    if not isinstance(outcome, Failed):
        return record
    rest_seconds, why = _rest(outcome, failures, fetch, jitter)
    return _resting(record, answered_at + rest_seconds, why) if rest_seconds else record


def _failures_in_a_row(record: HostRecord, outcome: Outcome) -> int:
    """Trouble of the host adds one, any answer starts from zero, and what tells nothing changes nothing."""
    if isinstance(outcome, (Deferred, Refused)):
        return record.failures_in_a_row
    if not isinstance(outcome, Failed) or outcome.kind is FailureKind.RATE_LIMITED:
        return 0
    if _is_trouble(outcome):
        return record.failures_in_a_row + 1
    return record.failures_in_a_row if outcome.kind in _TELLS_NOTHING else 0


def _is_trouble(failed: Failed) -> bool:
    return (failed.is_site_wide or failed.kind in _AMBIGUOUS) and failed.kind is not FailureKind.INTERNAL


def _rest(failed: Failed, failures: int, fetch: FetchConfig, jitter: float) -> tuple[float, str]:
    """How long the host rests for this failure, and why; 0 when it goes on at its pace."""
    asked = min(failed.retry_after_seconds or 0.0, fetch.max_retry_after_seconds)
    if failed.kind is FailureKind.RATE_LIMITED:
        if asked:
            return asked, f"rate limited: asked to wait {asked:.0f} s"
        return RATE_LIMITED_REST_SECONDS * (0.9 + 0.2 * jitter), "rate limited"
    if not _is_trouble(failed):
        return 0.0, ""
    if failures >= OUTAGE_FAILURES:
        doublings = min(failures - OUTAGE_FAILURES, 10)
        rest = min(OUTAGE_FIRST_REST_SECONDS * 2.0**doublings, OUTAGE_LONGEST_REST_SECONDS)
        return max(rest, asked), f"down: {failures} failures in a row, last: {failed.why}"
    if failed.is_site_wide:
        wait = min(fetch.retry_base_seconds * 2.0 ** (failures - 1), fetch.retry_max_seconds)
        return max(wait * (1 + fetch.retry_jitter * jitter), asked), f"trouble: {failed.why}"
    return 0.0, ""


def _resting(record: HostRecord, until: float, why: str) -> HostRecord:
    if until <= record.next_at:
        return record
    return msgspec.structs.replace(record, next_at=until, resting_why=why)
