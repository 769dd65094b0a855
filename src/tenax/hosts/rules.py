"""Updates a host's record after each answer: its pace, backoffs and transport.

Each rule changes its own part of the record: `throttle` (429), `breaker` (outages), `cooldown` (blocks, costly pages,
many failures of any kind), and here the choice of the transport. Of several backoffs, the longest applies.
"""

from __future__ import annotations

import msgspec

from tenax.config import FetchConfig, PolitenessConfig, SiteConfig, Sites
from tenax.hosts import breaker, cooldown, throttle
from tenax.hosts.breaker import attribute_failure, should_probe
from tenax.hosts.robots import OUR_NAMES, robots_rules
from tenax.hosts.throttle import (
    allowed_retry_after,
    is_backing_off,
    is_unknown_host,
    pace_seconds,
    retry_delay_seconds,
    shared_limits,
    start_backoff,
)
from tenax.model import (
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    HostRecord,
    Outcome,
    RobotsCopy,
    RobotsVerdict,
    TransportKind,
)


def usual_transport(record: HostRecord, now: float) -> TransportKind:
    """The transport for a page without special needs."""
    return record.transport if record.transport is not None and record.transport_until > now else TransportKind.HTTP


def apply_transport_choice(
    record: HostRecord,
    outcome: Outcome,
    now: float,
    learn_seconds: float,
    transport: TransportKind,
    other_transport: TransportKind | None,
) -> HostRecord:
    """A page confirms its transport. A reset moves the whole host to the other transport, until that fails, too.

    The whole host, not one URL: otherwise each of many URLs would be reset before the first is retried, and the host
    would count as down.
    """
    if isinstance(outcome, Fetched):
        return _set_transport(record, transport, now, learn_seconds)
    is_reset = isinstance(outcome, Failed) and outcome.kind is FailureKind.RESET
    if is_reset and transport is usual_transport(record, now):
        return _set_transport(record, other_transport or TransportKind.HTTP, now, learn_seconds)
    return record


def _set_transport(record: HostRecord, transport: TransportKind, now: float, learn_seconds: float) -> HostRecord:
    if transport is not TransportKind.HTTP:
        return msgspec.structs.replace(record, transport=transport, transport_until=now + learn_seconds)
    return (
        msgspec.structs.replace(record, transport=None, transport_until=0.0) if record.transport is not None else record
    )


def apply_robots(
    record: HostRecord, copy: RobotsCopy, politeness: PolitenessConfig, names: frozenset[str] = OUR_NAMES
) -> HostRecord:
    """The record with this robots.txt, which may address us by any of these names.

    If it is unreachable, the host backs off until the next attempt to fetch it.
    """
    robots = robots_rules(copy, names)
    record = msgspec.structs.replace(
        record,
        robots=copy,
        crawl_delay_seconds=robots.crawl_delay(politeness.max_crawl_delay_seconds),
        is_allowed=not robots.is_all_disallowed(),
    )
    if copy.verdict is RobotsVerdict.UNREACHABLE:
        return start_backoff(record, copy.expires_at, f"robots.txt unreachable: {copy.why}")
    return record


def robots_failure(copy: RobotsCopy) -> Failed | None:
    """A server error on robots.txt as a failure of its host: it counts towards an outage like that of a page. A 429
    does not: the host is up."""
    if copy.verdict is not RobotsVerdict.UNREACHABLE or copy.http_status is None or copy.http_status < 500:
        return None
    why = f"robots.txt: HTTP {copy.http_status}"
    return Failed(why, FailureKind.SERVER_ERROR, is_site_wide=True, status=copy.http_status)


def extend_robots_expiry(
    copy: RobotsCopy,
    record: HostRecord,
    politeness: PolitenessConfig,
    now: float,
    requests: int,
    names: frozenset[str] = OUR_NAMES,
) -> RobotsCopy:
    """The copy, valid until after the next request that follows the `requests` of this visit.

    Otherwise a host with an hour or a day between requests would get only robots.txt requests. An old copy that
    replaces an unreachable one is not extended beyond its limit.
    """
    delay = robots_rules(copy, names).crawl_delay(politeness.max_crawl_delay_seconds)
    pace = pace_seconds(msgspec.structs.replace(record, crawl_delay_seconds=delay), politeness)
    until = now + pace * (requests + 1)
    if copy.fetched_at < now:
        until = min(until, copy.fetched_at + politeness.robots_stale_seconds)
    if copy.verdict is RobotsVerdict.UNREACHABLE or until <= copy.expires_at:
        return copy
    return msgspec.structs.replace(copy, expires_at=until)


def shorten_robots_retry(copy: RobotsCopy, record: HostRecord, fetch: FetchConfig, now: float) -> RobotsCopy:
    """The copy of an unreachable robots.txt, retried like any failed request: the first failures in a row may be
    temporary. After the attempts of one URL, the wait is that of an unreachable robots.txt."""
    failures = record.failures_in_a_row
    if copy.verdict is not RobotsVerdict.UNREACHABLE or failures + 1 >= fetch.max_attempts:
        return copy
    return msgspec.structs.replace(copy, expires_at=now + retry_delay_seconds(failures, fetch, 0.0))


def host_after_visit(
    record: HostRecord,
    outcome: Outcome,
    answered_at: float,
    requests: int,
    site: SiteConfig,
    jitter: float,
    *,
    transport: TransportKind = TransportKind.HTTP,
    other_transport: TransportKind | None = None,
) -> HostRecord:
    """The record after a visit that sent `requests` requests.

    `answered_at` is when the last answer's headers arrived, or when the request failed; `jitter` is a random number
    from 0 to 1; `transport` is the one used, and `other_transport` the alternative.
    """
    if requests == 0 and isinstance(outcome, Deferred):
        return _defer_host(record, outcome.until, answered_at)
    if requests == 0 and not isinstance(outcome, Failed):
        return record
    if is_unknown_host(outcome):
        requests = max(requests - 1, 0)  # the last one was never sent
    if isinstance(outcome, Failed) and outcome.kind is FailureKind.PROXY:
        return _finish_requests(
            _after_proxy_failure(record, outcome, answered_at, site), answered_at, requests, site.politeness
        )
    is_late = is_backing_off(record, answered_at)
    is_repeated = throttle.is_repeated_limit(record, outcome, is_late)
    record = throttle.apply_throttle(record, outcome, answered_at, site, jitter, is_late)
    record = breaker.apply_breaker(record, outcome, answered_at, site, jitter, is_late)
    if not is_repeated:
        record = cooldown.apply_retry_budget(record, outcome, answered_at, site.hosts)
        record = cooldown.apply_cooldown(record, outcome, answered_at, site.hosts)
    record = apply_transport_choice(
        record, outcome, answered_at, site.browser.learn_seconds, transport, other_transport
    )
    return _finish_requests(record, answered_at, requests, site.politeness, outcome)


def host_after_probe(
    record: HostRecord, is_up: bool, why: str, now: float, site: SiteConfig, jitter: float
) -> HostRecord:
    """The record after a probe of a host that `should_probe`; `why` describes the result."""
    record = breaker.apply_breaker_probe(record, is_up, why, now, site, jitter)
    return _finish_requests(record, now, 1, site.politeness)


def _after_proxy_failure(record: HostRecord, failed: Failed, now: float, site: SiteConfig) -> HostRecord:
    """No proxy reached the host: it is not at fault, and backs off when all proxies refused."""
    asked = allowed_retry_after(failed.retry_after_seconds, site.fetch)
    return start_backoff(record, now + asked, failed.why) if asked else record


def _defer_host(record: HostRecord, until: float, now: float) -> HostRecord:
    """Another crawl has the permit until then: the other tasks of the host are not tried either."""
    if until <= record.next_at:
        return record
    why = record.backoff_reason if record.next_at > now else ""
    return msgspec.structs.replace(record, next_at=until, backoff_reason=why)


def _finish_requests(
    record: HostRecord, now: float, requests: int, politeness: PolitenessConfig, outcome: Outcome | None = None
) -> HostRecord:
    """The next request is a pace away for each request sent, or after the backoff."""
    return msgspec.structs.replace(
        record,
        next_at=max(record.next_at, now + pace_seconds(record, politeness) * requests),
        backoff_reason=record.backoff_reason if record.next_at > now else "",
        page_count=record.page_count + (isinstance(outcome, Fetched) and not outcome.url_list),
        error_count=record.error_count + (isinstance(outcome, Failed) and outcome.kind is not FailureKind.INTERNAL),
    )


class HostPace:
    """Called at every claim; site settings are cached lookups."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites

    def pace_seconds(self, host: HostRecord) -> float:
        return pace_seconds(host, self._sites.for_origin(host.origin).politeness)

    def connections(self, host: HostRecord, now: float) -> int:
        """One while its robots.txt is unknown or it may be down: others wait for that answer."""
        knows_robots = host.robots is not None and host.robots.expires_at > now
        if should_probe(host) or not knows_robots:
            return 1
        return self._sites.for_origin(host.origin).politeness.connections_per_host


__all__ = [
    "apply_robots",
    "attribute_failure",
    "extend_robots_expiry",
    "host_after_probe",
    "host_after_visit",
    "is_unknown_host",
    "pace_seconds",
    "robots_failure",
    "shared_limits",
    "shorten_robots_retry",
    "should_probe",
    "usual_transport",
]
