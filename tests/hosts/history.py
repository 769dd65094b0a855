"""A host's history as a table: its answers, visit by visit, each as soon as the next request is allowed."""

from __future__ import annotations

import msgspec

from tenax.config import BrowserConfig, FetchConfig, HostsConfig, PolitenessConfig, SiteConfig
from tenax.hosts.rules import SentRequests, host_after_probe, host_after_visit, should_probe
from tenax.model import (
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    HostRecord,
    Outcome,
    Redirected,
    Refused,
    Rejected,
    TransportKind,
    Unchanged,
)

NOW = 1000.0
HOST = HostRecord("https://example.org", "example.org")
SITE = SiteConfig()

OK = Fetched(200)
REFUSED = Failed("connection refused", FailureKind.CONNECT, is_site_wide=True)
RESET = Failed("the connection was closed before a response", FailureKind.RESET, is_site_wide=True)
HTTP_403 = Failed("HTTP 403", FailureKind.BLOCKED, status=403)
HTTP_404 = Failed("HTTP 404", FailureKind.NOT_FOUND, status=404)
HTTP_429 = Failed("HTTP 429", FailureKind.RATE_LIMITED, status=429)
HTTP_500 = Failed("HTTP 500", FailureKind.SERVER_ERROR, status=500)
HTTP_503 = Failed("HTTP 503", FailureKind.SERVER_ERROR, is_site_wide=True, status=503)

ALL: tuple[Outcome, ...] = (
    OK,
    Unchanged(),
    Redirected(301, "https://example.org/x"),
    Deferred(NOW, "permit"),
    Refused("robots: no"),
    Rejected("empty"),
    Rejected("wall: access denied", is_hard=True),
    *(Failed("why", kind) for kind in FailureKind),
    *(Failed("why" * 500, kind, is_site_wide=True, retry_after_seconds=7.0) for kind in FailureKind),
)


def host(**fields: object) -> HostRecord:
    return msgspec.structs.replace(HOST, **fields)


def site(
    politeness: PolitenessConfig = SITE.politeness,
    hosts: HostsConfig = SITE.hosts,
    fetch: FetchConfig = SITE.fetch,
    browser: BrowserConfig = SITE.browser,
) -> SiteConfig:
    return SiteConfig(politeness=politeness, hosts=hosts, fetch=fetch, browser=browser)


def after(
    record: HostRecord,
    outcome: Outcome,
    now: float = NOW,
    requests: int = 1,
    jitter: float = 0.0,
    config: SiteConfig = SITE,
    transport: TransportKind = TransportKind.HTTP,
    other_transport: TransportKind | None = None,
) -> HostRecord:
    sent = SentRequests(requests, now, transport, other_transport)
    return host_after_visit(record, outcome, sent, config, jitter)


def asking_to_wait(failed: Failed, seconds: float) -> Failed:
    return msgspec.structs.replace(failed, retry_after_seconds=seconds)


class History:
    """Moves the clock to the host's next request before each visit; `wait` is the wait after the last one."""

    def __init__(self, record: HostRecord = HOST, config: SiteConfig = SITE, now: float = NOW) -> None:
        self.record = record
        self.config = config
        self.now = now

    @property
    def wait(self) -> float:
        return round(self.record.next_at - self.now, 3)

    def visit(self, outcome: Outcome, jitter: float = 0.5) -> HostRecord:
        assert not should_probe(self.record), "ask whether it is back first"
        self._advance_clock()
        self.record = after(self.record, outcome, self.now, jitter=jitter, config=self.config)
        return self.record

    def probe(self, is_up: bool, why: str = "connection refused") -> HostRecord:
        """As the engine does: the probe updates the host, and its visit ends as deferred."""
        assert should_probe(self.record)
        self._advance_clock()
        record = host_after_probe(self.record, is_up, why, self.now, self.config, 0.0)
        self.record = after(record, Deferred(self.now, "probe"), self.now, config=self.config)
        return self.record

    def _advance_clock(self) -> None:
        self.now = max(self.now, self.record.next_at)
