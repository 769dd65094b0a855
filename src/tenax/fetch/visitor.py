"""What the visits of crawls, the page-fetcher and traces share: their parts, their end, and the host's update."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from tenax.clock import Clock
from tenax.config import SiteConfig, Sites
from tenax.fetch.answer import FetchResult, VisitEnd
from tenax.fetch.pipeline import Pipeline
from tenax.fetch.retry import update_host
from tenax.hosts import Hosts
from tenax.model import HostRecord, Outcome


class HostChange(NamedTuple):
    """The record of a host before and after a visit."""

    before: HostRecord
    after: HostRecord


class Visitor:
    """Visits hosts whose records are in `hosts`; used by many visits at once."""

    def __init__(self, pipeline: Pipeline, hosts: Hosts, sites: Sites, clock: Clock) -> None:
        self.pipeline = pipeline
        self.hosts = hosts
        self.sites = sites
        self.clock = clock

    def site(self, origin: str) -> SiteConfig:
        return self.sites.for_origin(origin)

    def end_visit(self, origin: str, answer: FetchResult, outcome: Outcome) -> VisitEnd:
        """The visit ends now with this outcome."""
        available = self.pipeline.available_transports
        return VisitEnd(answer, outcome, self.site(origin), self.clock.now(), random.random(), available)

    async def update_host(
        self, known: HostRecord, end: VisitEnd, rule: Callable[[HostRecord], HostRecord] | None = None
    ) -> HostChange:
        """Update the latest record of the host, not `known`, the one that the visit began with; share its backoff.

        `rule` is used instead of `retry.update_host`.
        """
        before = known

        def apply(record: HostRecord) -> HostRecord:
            nonlocal before
            before = record
            return update_host(record, end) if rule is None else rule(record)

        after = await self.hosts.update(known.origin, known, apply)
        await self.pipeline.share_backoff(after, end.site)
        return HostChange(before, after)
