"""The visit: what crawls, the page-fetcher and traces do with a task, from its host's record to its plan.

A visit acquires the record of the host, fetches (`pipeline`), updates the host and plans the task. The caller decides
the outcome between fetching and updating: a crawl extracts the page there. It also updates the host itself, because the
record has its guesses.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import msgspec

from tenax.clock import Clock
from tenax.config import SiteConfig, Sites
from tenax.fetch.answer import FetchResult, VisitEnd
from tenax.fetch.pipeline import Pipeline
from tenax.fetch.retry import plan_task, update_host
from tenax.hosts import Hosts
from tenax.hosts.throttle import pace_seconds
from tenax.logs import logger
from tenax.model import Failed, FailureKind, HostRecord, Outcome, Plan, Task
from tenax.runtime.resources import is_out_of_files

log = logger(__name__)

HostRule = Callable[[HostRecord, VisitEnd], HostRecord]
"""Computes the record of a host after a visit. `retry.update_host` is one."""


class VisitResult(NamedTuple):
    """What a visit did to its host and to its task."""

    end: VisitEnd
    """`now` is the time of the plan."""
    host_before: HostRecord
    """The record of the host that the visit updated."""
    host_after: HostRecord
    host: HostRecord
    """The latest record of the host: another visit may have updated it since."""
    plan: Plan


class Visitor:
    """Visits hosts whose records are in `hosts`; used by many visits at once."""

    def __init__(self, pipeline: Pipeline, hosts: Hosts, sites: Sites, clock: Clock) -> None:
        self.pipeline = pipeline
        self.hosts = hosts
        self.sites = sites
        self.clock = clock

    def site(self, origin: str) -> SiteConfig:
        return self.sites.for_origin(origin)

    async def finish(
        self, task: Task, known: HostRecord, answer: FetchResult, outcome: Outcome, rule: HostRule = update_host
    ) -> VisitResult:
        """End the visit with this outcome: update the host by the rule, share its backoff, and plan the task.

        The latest record of the host is updated, not `known`, the one that the visit began with.
        """
        end = self.visit_end(task, answer, outcome)
        before = self.hosts.get(task.origin) or known
        for attempt in count():
            after = rule(before, end)
            newer = await self.hosts.store(before, after, attempt)
            if newer is None:
                break
            before = newer
        return await self.plan(task, end, before, after)

    def visit_end(self, task: Task, answer: FetchResult, outcome: Outcome) -> VisitEnd:
        """The end of a visit with this outcome, now."""
        available = self.pipeline.available_transports
        return VisitEnd(answer, outcome, self.site(task.origin), self.clock.now(), random.random(), available)

    async def plan(self, task: Task, end: VisitEnd, before: HostRecord, after: HostRecord) -> VisitResult:
        """The last steps of a visit whose host was updated: share its backoff, and plan the task."""
        await self.pipeline.share_backoff(after, end.site)
        latest = self.hosts.get(task.origin) or after
        end = end._replace(now=self.clock.now())
        return VisitResult(end, before, after, latest, plan_task(task, end, latest.next_at))

    def internal_failure(self, task: Task, error: Exception) -> FetchResult:
        """The result of a visit that ended with an exception of ours. To be finished with `delay_host`."""
        if is_out_of_files(error):
            outcome: Outcome = self.pipeline.defer_for_file_limit()
        else:
            log.exception("internal error during visit", url=task.url)
            outcome = Failed(f"{type(error).__name__} in Tenax itself", FailureKind.INTERNAL)
        return FetchResult(outcome, self.clock.now())


def delay_host(host: HostRecord, end: VisitEnd) -> HostRecord:
    """Delay the next request to the host by its pace. Nothing else changes, as the host is not to blame."""
    next_at = end.answer.answered_at + pace_seconds(host, end.site.politeness)
    return msgspec.structs.replace(host, next_at=max(host.next_at, next_at))
