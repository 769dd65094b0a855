"""A host's pace: as configured, slower when its robots.txt asks for it, and much slower after a 429."""

from __future__ import annotations

import msgspec

from tenax.config import HostsConfig, PolitenessConfig, SiteConfig
from tenax.hosts.backoff import allowed_retry_after, start_backoff
from tenax.model import Failed, FailureKind, Fetched, HostRecord, Outcome, Redirected, Unchanged

MIN_RATE_PER_MINUTE = 1.0
"""No 429 slows a host down further than this."""
RECOVERY_FACTOR = 1.1
JITTER = 0.1


def pace_seconds(record: HostRecord, politeness: PolitenessConfig) -> float:
    """Seconds between two requests to this host. A rate of 0 lifts every limit but the one a 429 has set."""
    limited = 60 / record.rate_per_minute if record.rate_per_minute else 0.0
    return max(_usual_pace_seconds(record, politeness), limited)


def _usual_pace_seconds(record: HostRecord, politeness: PolitenessConfig) -> float:
    if politeness.rate_per_second == 0:
        return 0.0
    return max(1 / politeness.rate_per_second, record.crawl_delay_seconds or 0.0)


def shared_limits(record: HostRecord, politeness: PolitenessConfig) -> tuple[float, float] | None:
    """What this host asked for that other crawls cannot know: how long it rests after a 429, and at what pace it is to
    be visited then, or by its Crawl-delay. None: nothing but what is configured."""
    if politeness.rate_per_second == 0:
        return None
    pace = pace_seconds(record, politeness)
    until = record.next_at if record.limited_in_a_row else 0.0
    return (until, pace) if until or pace > 1 / politeness.rate_per_second else None


def is_success(outcome: Outcome) -> bool:
    """The host gave what was asked for, or said where or that it still stands."""
    if isinstance(outcome, Failed):
        return outcome.kind is FailureKind.NOT_MODIFIED
    return isinstance(outcome, (Fetched, Unchanged, Redirected))


def is_repeated_limit(record: HostRecord, outcome: Outcome, is_late: bool) -> bool:
    """A 429 of the same burst as the one that the host rests for: it tells nothing new."""
    is_limit = isinstance(outcome, Failed) and outcome.kind is FailureKind.RATE_LIMITED
    return is_late and is_limit and record.limited_in_a_row > 0


def apply_throttle(
    record: HostRecord, outcome: Outcome, now: float, site: SiteConfig, jitter: float, is_late: bool
) -> HostRecord:
    """A 429 rests the host and slows it down; good answers bring its pace back, a tenth at a time.

    `is_late`: the answer came during a rest, so it was asked for before that. A page that was already on its way does
    not mean that the host has recovered.
    """
    if isinstance(outcome, Failed) and outcome.kind is FailureKind.RATE_LIMITED:
        asked = allowed_retry_after(outcome.retry_after_seconds, site.fetch)
        if is_repeated_limit(record, outcome, is_late):
            return start_backoff(record, now + asked, _format_retry_after(asked))
        record = _slow_down(record, site)
        seconds, why = _limit_backoff(record.limited_in_a_row, asked, site.hosts, jitter)
        return start_backoff(record, now + seconds, why)
    is_limited = record.rate_per_minute is not None or record.limited_in_a_row > 0
    return _speed_up(record, site) if is_limited and not is_late and is_success(outcome) else record


def _slow_down(record: HostRecord, site: SiteConfig) -> HostRecord:
    pace = pace_seconds(record, site.politeness)
    slower = None  # who lifted the limit, for a site of their own, gets the rest that a 429 asks for and no more
    if pace:
        rate = 60 / pace
        # A host that is slower already, by its Crawl-delay, is not sped up by the floor.
        slower = min(rate, max(rate * site.hosts.throttle_factor, MIN_RATE_PER_MINUTE))
    return msgspec.structs.replace(
        record, rate_per_minute=slower, limited_in_a_row=record.limited_in_a_row + 1, successes_in_a_row=0
    )


def _limit_backoff(times: int, retry_after: float, hosts: HostsConfig, jitter: float) -> tuple[float, str]:
    """How long nothing is asked of the host, and why. The jitter never makes it shorter than what the host named."""
    shortest = _min_backoff_seconds(times, hosts)
    if retry_after and retry_after >= shortest:
        return retry_after * (1 + JITTER * jitter), _format_retry_after(retry_after)
    seconds = max(hosts.throttle_first_seconds * (1 - JITTER + 2 * JITTER * jitter), shortest)
    if times > 1:
        return seconds, f"rate limited: {times} times in a row"
    return seconds, "rate limited"


def _format_retry_after(retry_after: float) -> str:
    return f"rate limited: asked to wait {retry_after:.0f} s"


def _min_backoff_seconds(limited_in_a_row: int, hosts: HostsConfig) -> float:
    if limited_in_a_row >= 3:
        return max(hosts.throttle_second_seconds, hosts.throttle_third_seconds)
    return hosts.throttle_second_seconds if limited_in_a_row == 2 else 0.0


def _speed_up(record: HostRecord, site: SiteConfig) -> HostRecord:
    successes, rate = record.successes_in_a_row + 1, record.rate_per_minute
    if rate is not None and successes > site.hosts.throttle_successes:
        successes, rate = 0, rate * RECOVERY_FACTOR
        if rate >= _full_rate_per_minute(record, site):
            rate = None
    return msgspec.structs.replace(
        record, limited_in_a_row=0, rate_per_minute=rate, successes_in_a_row=successes if rate is not None else 0
    )


def _full_rate_per_minute(record: HostRecord, site: SiteConfig) -> float:
    """At this pace the host counts as recovered, and is visited as configured again."""
    usual, most = _usual_pace_seconds(record, site.politeness), site.hosts.throttle_rate_per_minute
    return min(60 / usual, most) if usual else most
