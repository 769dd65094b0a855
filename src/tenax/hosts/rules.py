"""How each answer changes a host's record: its outages, its cooldowns and its transport.

A 429 and the pace are in `throttle`. Of several backoffs, the longest applies.

**Circuit breaker.** A host that fails repeatedly is down; it backs off, and single probes check whether it is back.

    closed     five failures in a row              →  open
    open       backoff over, the probe failed      →  open, with a longer backoff
               backoff over, the probe passed      →  closed; half_open when more probes are required
    half_open  the next probe passed, or failed    →  as from open

**Cooldown and retry budget** are backoffs from a host that is not down. A host that blocks us, or that sends pages too
costly to extract, gets a cooldown. A host with too many failures of any kind within a few minutes has used up its retry
budget.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from tenax.config import HostsConfig, PolitenessConfig, SiteConfig, Sites
from tenax.hosts.throttle import (
    allowed_retry_after,
    apply_throttle,
    format_seconds,
    is_backing_off,
    is_repeated_limit,
    is_success,
    is_unknown_host,
    pace_seconds,
    retry_delay_seconds,
    start_backoff,
)
from tenax.model import Deferred, Failed, FailureKind, Fetched, HostRecord, Outcome, Refused, Rejected, TransportKind


class SentRequests(NamedTuple):
    """The requests of a visit."""

    requests: int
    """How many."""
    answered_at: float
    """When the last answer's headers arrived, or when the request failed."""
    transport: TransportKind = TransportKind.HTTP
    other_transport: TransportKind | None = None
    """The one to use instead, if this one fails."""


def host_after_visit(
    record: HostRecord, outcome: Outcome, sent: SentRequests, site: SiteConfig, jitter: float
) -> HostRecord:
    """The record after a visit. `jitter` is a random number from 0 to 1."""
    requests, answered_at = sent.requests, sent.answered_at
    if requests == 0 and isinstance(outcome, Deferred):
        return _defer_host(record, outcome.until, answered_at)
    if requests == 0 and not isinstance(outcome, Failed):
        return record
    if is_unknown_host(outcome):
        requests = max(requests - 1, 0)  # the last request was never sent
    if isinstance(outcome, Failed) and outcome.kind is FailureKind.PROXY:
        return _finish_requests(
            _after_proxy_failure(record, outcome, answered_at, site), answered_at, requests, site.politeness
        )
    is_late = is_backing_off(record, answered_at)
    is_repeated = is_repeated_limit(record, outcome, is_late)
    record = apply_throttle(record, outcome, answered_at, site, jitter, is_late=is_late)
    record = apply_breaker(record, outcome, answered_at, site, jitter, is_late=is_late)
    if not is_repeated:
        record = apply_retry_budget(record, outcome, answered_at, site.hosts)
        record = apply_cooldown(record, outcome, answered_at, site.hosts)
    record = apply_transport_choice(record, outcome, sent, site.browser.learn_seconds)
    return _finish_requests(record, answered_at, requests, site.politeness, outcome)


def host_after_probe(
    record: HostRecord, is_up: bool, why: str, now: float, site: SiteConfig, jitter: float
) -> HostRecord:
    """The record after a probe of a host that `should_probe`; `why` describes the result."""
    record = apply_breaker_probe(record, is_up, why, now, site, jitter=jitter)
    return _finish_requests(record, now, 1, site.politeness)


def _after_proxy_failure(record: HostRecord, failed: Failed, now: float, site: SiteConfig) -> HostRecord:
    """The record after no proxy reached the host. The host is not at fault; it backs off if all proxies declined."""
    asked = allowed_retry_after(failed.retry_after_seconds, site.fetch)
    return start_backoff(record, now + asked, failed.why) if asked else record


def _defer_host(record: HostRecord, until: float, now: float) -> HostRecord:
    """The record while another crawl has the permit. The other tasks of the host are not tried either until then."""
    if until <= record.next_at:
        return record
    why = record.backoff_reason if record.next_at > now else ""
    return msgspec.structs.replace(record, next_at=until, backoff_reason=why)


def _finish_requests(
    record: HostRecord, now: float, requests: int, politeness: PolitenessConfig, outcome: Outcome | None = None
) -> HostRecord:
    """The record after these requests. The next request may start a pace later for each of them, or after the
    backoff."""
    return msgspec.structs.replace(
        record,
        next_at=max(record.next_at, now + pace_seconds(record, politeness) * requests),
        backoff_reason=record.backoff_reason if record.next_at > now else "",
        page_count=record.page_count + (isinstance(outcome, Fetched) and not outcome.url_list),
        error_count=record.error_count + (isinstance(outcome, Failed) and outcome.kind is not FailureKind.INTERNAL),
    )


class HostPace:
    """The pace and connections of hosts. It is called at every claim, so site settings are cached look-ups."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites

    def pace_seconds(self, host: HostRecord) -> float:
        return pace_seconds(host, self._sites.for_origin(host.origin).politeness)

    def connections(self, host: HostRecord, now: float) -> int:
        """One while robots.txt is unknown or the host may be down, because other requests must wait for that result."""
        knows_robots = host.robots is not None and host.robots.expires_at > now
        if should_probe(host) or not knows_robots:
            return 1
        return self._sites.for_origin(host.origin).politeness.connections_per_host


# ---- the transport ----------------------------------------------------------------------------------------


def usual_transport(record: HostRecord, now: float) -> TransportKind:
    """The transport for a page without special needs."""
    return record.transport if record.transport is not None and record.transport_until > now else TransportKind.HTTP


def apply_transport_choice(
    record: HostRecord, outcome: Outcome, sent: SentRequests, learn_seconds: float
) -> HostRecord:
    """A page confirms the transport that fetched it. After a reset the whole host uses the other transport, until that
    one fails too.

    The whole host, not one URL: otherwise each of many URLs would be reset before the first one is retried, and the
    host would count as down.
    """
    now, transport = sent.answered_at, sent.transport
    if isinstance(outcome, Fetched):
        return _set_transport(record, transport, now, learn_seconds)
    is_reset = isinstance(outcome, Failed) and outcome.kind is FailureKind.RESET
    if is_reset and transport is usual_transport(record, now):
        return _set_transport(record, sent.other_transport or TransportKind.HTTP, now, learn_seconds)
    return record


def _set_transport(record: HostRecord, transport: TransportKind, now: float, learn_seconds: float) -> HostRecord:
    if transport is not TransportKind.HTTP:
        return msgspec.structs.replace(record, transport=transport, transport_until=now + learn_seconds)
    return (
        msgspec.structs.replace(record, transport=None, transport_until=0.0) if record.transport is not None else record
    )


# ---- the breaker ------------------------------------------------------------------------------------------

# A single one may be caused by the page; several in a row are caused by the host.
_AMBIGUOUS_FAILURES = frozenset(
    {
        FailureKind.SERVER_ERROR,
        FailureKind.TIMEOUT_HEADERS,
        FailureKind.TIMEOUT_BODY,
        FailureKind.TIMEOUT_TOTAL,
        FailureKind.RESET,
    }
)
# These say nothing about the host: our own error, or a host name that does not exist.
_IGNORED_FAILURES = frozenset({FailureKind.INTERNAL, FailureKind.DNS})
BREAKER_JITTER = 0.1
"""A backoff is up to this share longer, within the maximum, so that hosts that failed together are not probed together.
"""


def should_probe(record: HostRecord) -> bool:
    """Whether the next request, after the backoff, must be a probe."""
    return record.breaker != "closed"


def is_host_failure(outcome: Outcome) -> bool:
    """Whether the host caused the failure, as far as is known. It did not cause a 429, because it is up."""
    if not isinstance(outcome, Failed) or outcome.kind in (FailureKind.INTERNAL, FailureKind.RATE_LIMITED):
        return False
    return outcome.is_site_wide or outcome.kind in _AMBIGUOUS_FAILURES


def attribute_failure(failed: Failed, record: HostRecord, fallbacks_tried: int = 0) -> Failed:
    """A failure of a host that otherwise responds is a failure of the URL, so the URL spends an attempt.

    That is a reset connection, or a 502, 503 or 504 that does not ask to wait. `record` is the host before the failure;
    the failures of the same URL with `fallbacks_tried` transports do not count against it. Several failures in a row
    still count towards an outage.
    """
    is_doubtful = failed.kind is FailureKind.RESET or (
        failed.kind is FailureKind.SERVER_ERROR and not failed.retry_after_seconds
    )
    if not (failed.is_site_wide and is_doubtful and record.page_count):
        return failed
    is_well = record.failures_in_a_row <= fallbacks_tried and not should_probe(record)
    return msgspec.structs.replace(failed, is_site_wide=False) if is_well else failed


def apply_breaker(
    record: HostRecord, outcome: Outcome, now: float, site: SiteConfig, jitter: float, is_late: bool
) -> HostRecord:
    """Failures count until the breaker opens; any response resets the count.

    `is_late`: the response came during a backoff, so its request was sent before. It neither opens nor closes the
    breaker: the probe decides.
    """
    if isinstance(outcome, Failed) and is_host_failure(outcome):
        return _count_failure(record, outcome, now, site, jitter, is_late=is_late)
    if isinstance(outcome, (Deferred, Refused)) or (isinstance(outcome, Failed) and outcome.kind in _IGNORED_FAILURES):
        return record
    if should_probe(record) and not is_late:
        return _pass_probe(record, site.hosts)  # a page counts as a successful probe
    return msgspec.structs.replace(record, failures_in_a_row=0) if record.failures_in_a_row else record


def apply_breaker_probe(
    record: HostRecord, is_up: bool, why: str, now: float, site: SiteConfig, jitter: float
) -> HostRecord:
    """The record after a probe of the host's root. The pace decides when the next request may start."""
    if is_up:
        return _pass_probe(record, site.hosts)
    return _open_breaker(_increment_failures(record), why, 0.0, now, site.hosts, jitter=jitter)


def _count_failure(
    record: HostRecord, failed: Failed, now: float, site: SiteConfig, jitter: float, is_late: bool
) -> HostRecord:
    record = _increment_failures(record)
    asked = allowed_retry_after(failed.retry_after_seconds, site.fetch)
    if should_probe(record) and is_late:
        return start_backoff(record, now + asked, f"down: {failed.why}, asked to wait {asked:.0f} s")
    if should_probe(record) or record.failures_in_a_row >= site.hosts.breaker_failures:
        return _open_breaker(record, failed.why, asked, now, site.hosts, jitter=jitter)
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
    """The record with an open breaker. If the breaker opens again without having closed, the backoff is longer."""
    longer = record.breaker_backoff_seconds * hosts.breaker_factor if should_probe(record) else 0.0
    backoff = min(max(longer, hosts.breaker_first_seconds), hosts.breaker_max_seconds)
    record = msgspec.structs.replace(record, breaker="open", breaker_backoff_seconds=backoff, probes_passed=0)
    seconds = min(backoff * (1 + BREAKER_JITTER * jitter), hosts.breaker_max_seconds)
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


# ---- cooldown and retry budget ----------------------------------------------------------------------------

_BLOCK_FAILURES = frozenset({FailureKind.BLOCKED, FailureKind.RATE_LIMITED})
# A response about the page, so the host does not block us.
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

    After a cooldown, a single further block begins the next one: only a response that is not a block resets the count.
    A few pages within an hour that cost too much to extract also begin a cooldown, because each of them takes a reader
    away from all other hosts.
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
    """Count a page that costs too much. With `unreadable_pages` of them within the window a cooldown begins, and
    another one with each further page."""
    since = now - hosts.unreadable_window_seconds
    times = sorted([at for at in record.unreadable_pages if at > since] + [now])[-hosts.unreadable_pages :]
    record = msgspec.structs.replace(record, unreadable_pages=tuple(times))
    if len(times) < hosts.unreadable_pages:
        return record
    why = f"cooldown: {len(times)} pages too costly to read in {format_seconds(hosts.unreadable_window_seconds)}"
    return start_backoff(record, now + hosts.cooldown_seconds, why)


def _is_unblocked(outcome: Outcome) -> bool:
    return is_success(outcome) or (isinstance(outcome, Failed) and outcome.kind in _UNBLOCKED_FAILURES)


# Either the host works and its response is final, or the failure is our own.
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
    """Each failure uses part of the budget; only time restores it."""
    if not isinstance(outcome, Failed) or outcome.kind in _FREE_FAILURES or is_unknown_host(outcome):
        return record
    window = sorted([at for at in record.recent_failures if at > now - hosts.budget_window_seconds] + [now])
    if len(window) < hosts.budget_failures:
        return msgspec.structs.replace(record, recent_failures=tuple(window))
    why = f"retry budget: {len(window)} failures in {format_seconds(hosts.budget_window_seconds)}"
    record = msgspec.structs.replace(record, recent_failures=())
    return start_backoff(record, now + hosts.budget_lockout_seconds, why)
