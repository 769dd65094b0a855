"""Circuit breaker: a host that fails repeatedly is down; it backs off, and single probes check whether it is back.

closed     five failures in a row              →  open
open       backoff over, the probe failed      →  open, with a longer backoff
           backoff over, the probe passed      →  closed; half_open when more probes are required
half_open  the next probe passed, or failed    →  as from open
"""

from __future__ import annotations

import msgspec

from tenax.config import HostsConfig, SiteConfig
from tenax.hosts.throttle import allowed_retry_after, retry_delay_seconds, start_backoff
from tenax.model import Deferred, Failed, FailureKind, HostRecord, Outcome, Refused

# One of these may be caused by the page; several in a row are caused by the host.
_AMBIGUOUS_FAILURES = frozenset(
    {
        FailureKind.SERVER_ERROR,
        FailureKind.TIMEOUT_HEADERS,
        FailureKind.TIMEOUT_BODY,
        FailureKind.TIMEOUT_TOTAL,
        FailureKind.RESET,
    }
)
# These say nothing about the host: an internal error, or there is no such host.
_IGNORED_FAILURES = frozenset({FailureKind.INTERNAL, FailureKind.DNS})
JITTER = 0.1
"""A backoff is up to this share longer, within the maximum: hosts that failed together are not probed together."""


def should_probe(record: HostRecord) -> bool:
    """Whether the next request, after the backoff, must be a probe."""
    return record.breaker != "closed"


def is_host_failure(outcome: Outcome) -> bool:
    """Whether the failure is caused by the host, as far as known. A 429 is not: the host is up."""
    if not isinstance(outcome, Failed) or outcome.kind in (FailureKind.INTERNAL, FailureKind.RATE_LIMITED):
        return False
    return outcome.is_site_wide or outcome.kind in _AMBIGUOUS_FAILURES


def attribute_failure(failed: Failed, record: HostRecord) -> Failed:
    """A reset connection of a host that otherwise answers is a failure of the URL: it spends an attempt.

    `record` is the host before the failure. Several in a row still count towards an outage.
    """
    is_well = record.page_count > 0 and not record.failures_in_a_row and not should_probe(record)
    is_own = failed.kind is FailureKind.RESET and failed.is_site_wide and is_well
    return msgspec.structs.replace(failed, is_site_wide=False) if is_own else failed


def apply_breaker(
    record: HostRecord, outcome: Outcome, now: float, site: SiteConfig, jitter: float, is_late: bool
) -> HostRecord:
    """Failures count until the breaker opens; any answer resets the count.

    `is_late`: the answer came during a backoff, so it was requested before. It neither opens nor closes the breaker:
    the probe decides.
    """
    if isinstance(outcome, Failed) and is_host_failure(outcome):
        return _count_failure(record, outcome, now, site, jitter, is_late)
    if isinstance(outcome, (Deferred, Refused)) or (isinstance(outcome, Failed) and outcome.kind in _IGNORED_FAILURES):
        return record
    if should_probe(record) and not is_late:
        return _pass_probe(record, site.hosts)  # a page counts as a probe
    return msgspec.structs.replace(record, failures_in_a_row=0) if record.failures_in_a_row else record


def apply_breaker_probe(
    record: HostRecord, is_up: bool, why: str, now: float, site: SiteConfig, jitter: float
) -> HostRecord:
    """The record after a probe of the host's root. The pace decides when the next request may start."""
    if is_up:
        return _pass_probe(record, site.hosts)
    return _open_breaker(_increment_failures(record), why, 0.0, now, site.hosts, jitter)


def _count_failure(
    record: HostRecord, failed: Failed, now: float, site: SiteConfig, jitter: float, is_late: bool
) -> HostRecord:
    record = _increment_failures(record)
    asked = allowed_retry_after(failed.retry_after_seconds, site.fetch)
    if should_probe(record) and is_late:
        return start_backoff(record, now + asked, f"down: {failed.why}, asked to wait {asked:.0f} s")
    if should_probe(record) or record.failures_in_a_row >= site.hosts.breaker_failures:
        return _open_breaker(record, failed.why, asked, now, site.hosts, jitter)
    if not failed.is_site_wide:
        return record
    wait = retry_delay_seconds(record.failures_in_a_row - 1, site.fetch, jitter)
    words = f"trouble: {failed.why}, asked to wait {asked:.0f} s" if asked else f"trouble: {failed.why}"
    return start_backoff(record, now + max(wait, asked), words)


def _increment_failures(record: HostRecord) -> HostRecord:
    return msgspec.structs.replace(record, failures_in_a_row=record.failures_in_a_row + 1)


def _open_breaker(
    record: HostRecord, why: str, retry_after: float, now: float, hosts: HostsConfig, jitter: float
) -> HostRecord:
    """Each time it opens without closing in between, the backoff is longer."""
    longer = record.breaker_backoff_seconds * hosts.breaker_factor if should_probe(record) else 0.0
    backoff = min(max(longer, hosts.breaker_first_seconds), hosts.breaker_max_seconds)
    record = msgspec.structs.replace(record, breaker="open", breaker_backoff_seconds=backoff, probes_passed=0)
    seconds = min(backoff * (1 + JITTER * jitter), hosts.breaker_max_seconds)
    return start_backoff(
        record, now + max(seconds, retry_after), f"down: {record.failures_in_a_row} failures in a row, last: {why}"
    )


def _pass_probe(record: HostRecord, hosts: HostsConfig) -> HostRecord:
    passed = record.probes_passed + 1
    if passed < hosts.half_open_successes:
        return msgspec.structs.replace(record, breaker="half_open", probes_passed=passed, failures_in_a_row=0)
    return msgspec.structs.replace(
        record, breaker="closed", breaker_backoff_seconds=0.0, probes_passed=0, failures_in_a_row=0
    )
