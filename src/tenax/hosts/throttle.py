"""The pace of a host and its backoffs: a slower pace after a 429, and no requests for a while after failures."""

from __future__ import annotations

import msgspec

from tenax.config import FetchConfig, HostsConfig, PolitenessConfig, SiteConfig
from tenax.model import Failed, FailureKind, Fetched, HostRecord, Outcome, Redirected, Unchanged

MAX_REASON_CHARS = 200
"""Maximum length of the reason, which may quote the server."""


def is_backing_off(record: HostRecord, now: float) -> bool:
    """Whether the host waits for more than its pace. Responses that arrive meanwhile were requested before."""
    return record.next_at > now and bool(record.backoff_reason)


def is_unknown_host(outcome: Outcome) -> bool:
    """Whether the host name does not exist. This is a failure of the URL: there is no host to back off from."""
    return isinstance(outcome, Failed) and outcome.kind is FailureKind.DNS and not outcome.is_site_wide


def start_backoff(record: HostRecord, until: float, why: str) -> HostRecord:
    """Back off until this time, unless the host already backs off for longer: a backoff is never shortened."""
    if until <= record.next_at:
        return record
    return msgspec.structs.replace(record, next_at=until, backoff_reason=why[:MAX_REASON_CHARS])


def retry_delay_seconds(attempt: int, fetch: FetchConfig, jitter: float) -> float:
    """The wait before a retry. It doubles from the base up to the maximum, plus jitter, so that retries do not
    coincide."""
    wait = min(fetch.retry_base_seconds * 2.0 ** min(attempt, 30), fetch.retry_max_seconds)
    return wait * (1 + fetch.retry_jitter * jitter)


def allowed_retry_after(retry_after_seconds: float | None, fetch: FetchConfig) -> float:
    """The Retry-After that we obey; 0 if there is none."""
    return min(retry_after_seconds or 0.0, fetch.max_retry_after_seconds)


def format_seconds(seconds: float) -> str:
    """`45 s`, `5 min`."""
    return f"{seconds / 60:.0f} min" if seconds >= 120 and seconds % 60 == 0 else f"{seconds:.0f} s"


MIN_RATE_PER_MINUTE = 1.0
"""The minimum rate after any number of 429 responses."""
RECOVERY_FACTOR = 1.1
JITTER = 0.1


def pace_seconds(record: HostRecord, politeness: PolitenessConfig) -> float:
    """Seconds between two requests to this host. A rate of 0 removes every limit, except one that a 429 has set."""
    limited = 60 / record.rate_per_minute if record.rate_per_minute else 0.0
    return max(_usual_pace_seconds(record, politeness), limited)


def _usual_pace_seconds(record: HostRecord, politeness: PolitenessConfig) -> float:
    if politeness.rate_per_second == 0:
        return 0.0
    return max(1 / politeness.rate_per_second, record.crawl_delay_seconds or 0.0)


def shared_limits(record: HostRecord, politeness: PolitenessConfig) -> tuple[float, float] | None:
    """The demands of the host that other crawls cannot know.

    These are the end of its backoff after a 429, and the pace after that backoff or by its Crawl-delay. None: only the
    configured pace applies.
    """
    if politeness.rate_per_second == 0:
        return None
    pace = pace_seconds(record, politeness)
    until = record.next_at if record.limited_in_a_row else 0.0
    return (until, pace) if until or pace > 1 / politeness.rate_per_second else None


def is_success(outcome: Outcome) -> bool:
    """Whether the host responded with the page, a redirect or a confirmation."""
    if isinstance(outcome, Failed):
        return outcome.kind is FailureKind.NOT_MODIFIED
    return isinstance(outcome, (Fetched, Unchanged, Redirected))


def is_repeated_limit(record: HostRecord, outcome: Outcome, is_late: bool) -> bool:
    """Whether this is another 429 of the burst that caused the current backoff. Such a 429 changes nothing."""
    is_limit = isinstance(outcome, Failed) and outcome.kind is FailureKind.RATE_LIMITED
    return is_late and is_limit and record.limited_in_a_row > 0


def apply_throttle(
    record: HostRecord, outcome: Outcome, now: float, site: SiteConfig, jitter: float, is_late: bool
) -> HostRecord:
    """A 429 makes the host back off and slows it down; successes raise its rate again, by a tenth at a time.

    `is_late`: the response came during a backoff, so its request was sent before. It does not show that the host has
    recovered.
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
    slower = None  # no rate limit on the user's own site: a 429 causes only a backoff
    if pace:
        rate = 60 / pace
        # The minimum rate must not speed up a host with a long Crawl-delay.
        slower = min(rate, max(rate * site.hosts.throttle_factor, MIN_RATE_PER_MINUTE))
    return msgspec.structs.replace(
        record, rate_per_minute=slower, limited_in_a_row=record.limited_in_a_row + 1, successes_in_a_row=0
    )


def _limit_backoff(times: int, retry_after: float, hosts: HostsConfig, jitter: float) -> tuple[float, str]:
    """The length and the reason of the backoff. Jitter never makes it shorter than the host's Retry-After."""
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
    """At this rate the host counts as recovered, and the configured pace applies again."""
    usual, most = _usual_pace_seconds(record, site.politeness), site.hosts.throttle_rate_per_minute
    return min(60 / usual, most) if usual else most
