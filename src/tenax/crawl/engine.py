"""The crawl loop: claim due tasks, visit them, commit. Many visits are in flight; none can stop the crawl."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count

import msgspec

from tenax.config import CrawlConfig
from tenax.crawl import visits
from tenax.crawl.after_visit import VisitUpdate, apply_visit
from tenax.crawl.connectivity import PAUSE_REASON as NETWORK
from tenax.crawl.connectivity import NetworkState, log_host_change
from tenax.crawl.discovery_candidates import repeat_reason
from tenax.crawl.reader.messages import ExtractedPage, unreadable_page
from tenax.crawl.reader.pool import ReaderFailed, ReaderPool
from tenax.crawl.rules import CrawlRules
from tenax.crawl.visits import OpenVisits, defer_outcome, skip_outcome
from tenax.database import Admission, Frontier
from tenax.errors import CommitUnknown, LeaseLost, NoSeedReachable, TenaxError
from tenax.fetch.answer import FetchResult, RedirectTarget
from tenax.fetch.body_budget import BodyBudget, MemoryReservation
from tenax.fetch.pipeline import Visitor, delay_host
from tenax.fetch.preflight import may_use_canonical_copy
from tenax.metrics import RATE_WINDOW_SECONDS, Metrics
from tenax.model import (
    Candidate,
    CanonicalCopy,
    Claim,
    Deferred,
    Ending,
    Failed,
    Fetched,
    HostRecord,
    Outcome,
    Redirected,
    Rejected,
    Source,
    Task,
    Unchanged,
    Visit,
)
from tenax.text.fingerprint import fingerprint_similarity
from tenax.urls.admit import Rules, url_budgets

log = logging.getLogger(__name__)

MAX_WAIT_SECONDS = 1.0
MAX_UNANSWERED_BACKOFF_SECONDS = 10.0
"""A crawl in which no host has ever responded does not wait for a longer backoff."""


class Engine:
    """Runs one crawl."""

    def __init__(
        self,
        frontier: Frontier,
        visitor: Visitor,
        reader_pool: ReaderPool,
        *,
        crawl_rules: CrawlRules,
        crawl: CrawlConfig,
        network: NetworkState,
        metrics: Metrics,
    ) -> None:
        self.frontier = frontier
        self.visitor = visitor
        self.hosts = visitor.hosts
        self.pipeline = visitor.pipeline
        self.reader_pool = reader_pool
        self.crawl_rules = crawl_rules
        self.clock = clock = visitor.clock
        self.crawl = crawl
        self.sites = visitor.sites
        self.network = network
        self.bodies = BodyBudget(crawl.max_body_memory_bytes, crawl.concurrency)
        self.metrics = metrics
        self.listeners: list[Callable[[Visit, Admission], None]] = []
        """Called after each commit."""
        self.in_flight: dict[int, tuple[str, float]] = {}
        """URL and start time of each visit, by lease number. A URL may be claimed again before the visit that deferred
        it has ended here."""
        self.last_activity = self.last_claim_attempt = clock.now()
        """When a visit last ended, or the loop last looked for work."""
        self._last_failure = "all hosts are backing off after earlier failures"
        self._unsent_visits = 0
        """Visits that were deferred before anything was sent, for example because another crawl on this machine had the
        permit."""
        self.is_endless = False
        """End only when stopped, because others may add work at any time."""
        self._visits: set[asyncio.Task[None]] = set()
        self._open_visits = OpenVisits()
        self._is_stopping = False
        self._pause_reasons: set[str] = set()
        self._state_changed = asyncio.Event()

    def stop(self) -> None:
        """Claim no more tasks. Visits in flight are finished and committed."""
        self._is_stopping = True
        self._state_changed.set()

    def abandon(self) -> int:
        """Cancel all visits in flight. None is committed, and their tasks wait again. Returns their number."""
        for visit in self._visits:
            visit.cancel()
        return len(self._visits)

    def set_pause(self, reason: str, is_paused: bool) -> None:
        """Claim nothing while there is a reason: a consumer is behind, or the network is down."""
        (self._pause_reasons.add if is_paused else self._pause_reasons.discard)(reason)
        self._state_changed.set()

    @property
    def is_stopping(self) -> bool:
        return self._is_stopping

    async def run(self) -> Ending:
        """Crawl until there is a reason to end. By then every visit that began is committed."""
        async with asyncio.TaskGroup() as visits:
            while (ending := self._ending()) is None:
                self.last_claim_attempt = self.clock.now()
                claim = await self.frontier.claim() if self._may_claim() else None
                if claim is not None:
                    self.in_flight[claim.lease.number] = (claim.task.url, self.clock.now())
                    self._open_visits.begin(claim)
                    visit = visits.create_task(self.process_claim(claim))
                    self._visits.add(visit)
                    visit.add_done_callback(self._visits.discard)
                elif self._may_claim():
                    if self._ending() is None:  # the claim may have found that there is nothing to wait for
                        await self.frontier.wait_for_work(MAX_WAIT_SECONDS)
                else:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(MAX_WAIT_SECONDS):
                            await self._state_changed.wait()
                    self._state_changed.clear()
        return ending

    async def process_claim(self, claim: Claim) -> None:
        """Visit one task and commit the result."""
        room = self.bodies.open_reservation()
        try:
            visit = await self.visit(claim, room)
            room.resize(visits.visit_bytes(visit))
            admission = await self.frontier.commit(visit)
            if admission.are_candidates_accepted:
                self.reader_pool.mark_committed(claim.lease.number)
            if visit.native_refusal and visit.native_refusal not in self.metrics.native_refusals:
                log.warning("extracting in Python, several times slower", extra={"why": visit.native_refusal})
            count_visit(self.metrics, visit, is_duplicate=admission.duplicate_of is not None)
            for listener in self.listeners:
                listener(visit, admission)
        except LeaseLost:
            log.warning("lease lost, visit discarded", extra={"url": claim.task.url})
        except CommitUnknown:
            # If the commit was written, the database counts it. This process does not wait to find out.
            log.warning("database connection lost during commit, result unknown", extra={"url": claim.task.url})
        except asyncio.CancelledError:
            await self.frontier.release(claim)  # unless its commit has begun: that is written, or fails with others
            raise
        finally:
            room.close()
            self.hosts.release(claim.host.origin)
            self.in_flight.pop(claim.lease.number, None)
            self._open_visits.end(claim)
            self.last_activity = self.clock.now()
            self._state_changed.set()

    async def visit(self, claim: Claim, room: MemoryReservation) -> Visit:
        """One attempt at a task. Every error becomes an outcome: no page may stop the crawl."""
        started_at = self.clock.now()
        host = await self.hosts.acquire(claim.host)
        try:
            answer = await self._skip_answer(claim, host) or await self._fetch_page(claim, host, room)
            extracted = await self._extract_page(claim, answer, room)
            return await self._build_visit(claim, answer, extracted, started_at)
        except TenaxError:
            raise
        except Exception as error:
            answer = self.visitor.internal_failure(claim.task, error)
            return await self._build_visit(claim, answer, None, started_at, is_ours=isinstance(answer.outcome, Failed))

    async def _skip_answer(self, claim: Claim, host: HostRecord) -> FetchResult | None:
        """The result of a task that is not requested, or that waits until earlier claims of similar URLs have a
        response."""
        rules, now = await self._rules(), self.clock.now()
        why = skip_outcome(claim, host.guess_state, rules) or defer_outcome(
            claim, host.guess_state, rules, self.in_flight, now
        )
        return FetchResult(why, now) if why is not None else None

    async def _fetch_page(self, claim: Claim, host: HostRecord, room: MemoryReservation) -> FetchResult:
        canonical: CanonicalCopy | None = None
        cache = self.sites.for_origin(claim.host.origin).cache
        if may_use_canonical_copy(claim.task, claim.stored_copy, cache):
            canonical = await self.frontier.canonical_copy(claim.task.url)
        return await self.pipeline.fetch(
            claim.task, host, claim.stored_copy, send_by=claim.lease.host_until, canonical=canonical, reservation=room
        )

    async def _extract_page(self, claim: Claim, answer: FetchResult, room: MemoryReservation) -> ExtractedPage | None:
        response = answer.response
        if not isinstance(answer.outcome, Fetched) or response is None:
            return None
        await room.start_processing()
        job = msgspec.structs.replace(
            visits.build_extract_job(claim.task, response, self.visitor.site(claim.host.origin), self.clock.now()),
            number=claim.lease.number,
            is_first=claim.stored_copy is None,
        )
        try:
            return await self.reader_pool.extract(job, await self._rules(), len(self.in_flight) - 1)
        except ReaderFailed as error:
            return unreadable_page(str(error))

    async def _build_visit(
        self,
        claim: Claim,
        answer: FetchResult,
        extracted: ExtractedPage | None,
        started_at: float,
        *,
        is_ours: bool = False,
    ) -> Visit:
        """The whole effect of the visit: host record, plan, candidates. `is_ours`: it failed because of an error in our
        code."""
        outcome, candidates = await self._resolve_outcome(claim, answer, extracted)
        if extracted is not None and extracted.failure is not None:
            extracted = None
        if not is_ours:
            outcome, is_ours = self._check_network(claim, answer, outcome)
        rules = await self._rules()
        answered = msgspec.structs.replace(claim, waiting=self._open_visits.record_answer(claim))
        end = self.visitor.visit_end(claim.task, answer, outcome)

        def update(host: HostRecord) -> VisitUpdate:
            if is_ours:  # neither the host nor the URL is at fault, so both are only delayed
                return VisitUpdate(delay_host(host, end))
            return apply_visit(host, answered, end, extracted=extracted, new_candidates=candidates, rules=rules)

        before, visit_update = await self._update_host(claim, update)
        result = await self.visitor.plan(claim.task, end, before, visit_update.host)
        finished_at = result.end.now
        log_host_change(result.host_before, result.host_after, finished_at)
        etag, last_modified = visits.response_validators(outcome, answer)
        return Visit(
            claim=claim,
            outcome=outcome,
            plan=visit_update.adjust_plan(result.plan),
            host=result.host,
            started_at=started_at,
            finished_at=finished_at,
            label=visits.visit_label(claim.task, outcome),
            page=visits.fetched_page(claim.task, answer, extracted, finished_at - started_at)
            if isinstance(outcome, Fetched)
            else None,
            candidates=candidates + visit_update.candidates,
            refusals={**(extracted.refusals if extracted is not None else {}), **visit_update.cut_off},
            new_in_links=extracted.new_in_links if extracted is not None else {},
            fetch=visits.build_fetch_record(answer, extracted),
            etag=etag,
            last_modified=last_modified,
            change_notices=extracted.change_notices if extracted is not None else (),
            change_history=visit_update.change_history,
            link_targets=extracted.link_targets if extracted is not None else None,
            native_refusal=extracted.native_refusal if extracted is not None else "",
        )

    async def _update_host(
        self, claim: Claim, update: Callable[[HostRecord], VisitUpdate]
    ) -> tuple[HostRecord, VisitUpdate]:
        """Update the latest record of the host, which other visits may have changed since the claim. Returns the record
        too."""
        before = self.hosts.get(claim.task.origin) or claim.host
        for attempt in count():
            visit_update = update(before)
            newer = await self.hosts.store(before, visit_update.host, attempt)
            if newer is None:
                break
            before = newer
        return before, visit_update

    def _check_network(self, claim: Claim, answer: FetchResult, outcome: Outcome) -> tuple[Outcome, bool]:
        """The outcome, and whether our own network caused it."""
        if isinstance(outcome, Failed):
            self._last_failure = f"{claim.task.origin}: {outcome.why}"
        elif isinstance(outcome, Deferred) and not answer.requests:
            self._unsent_visits += 1
        self.network.record_outcome(outcome, claim.host.origin, answer.record.address_class == "public")
        if isinstance(outcome, Failed) and self.network.is_network_failure(outcome):
            return msgspec.structs.replace(outcome, is_site_wide=True), True
        return outcome, False

    async def _resolve_outcome(
        self, claim: Claim, answer: FetchResult, extracted: ExtractedPage | None
    ) -> tuple[Outcome, tuple[Candidate, ...]]:
        if extracted is not None:
            outcome = visits.outcome_after_extraction(answer.outcome, extracted)
            if not isinstance(outcome, Fetched) or outcome.url_list:
                return outcome, () if extracted.failure is not None else extracted.candidates
            guess_state = (self.hosts.get(claim.host.origin) or claim.host).guess_state
            if why := repeat_reason(claim.task, extracted, guess_state, fingerprint_similarity):
                return Rejected(f"guess: {why}"), extracted.candidates
            return answer.outcome, extracted.candidates
        if not isinstance(answer.outcome, Redirected) or answer.redirect_target is None:
            return answer.outcome, ()
        return await self._follow_redirect(claim.task, answer.outcome, answer.redirect_target)

    async def _rules(self) -> Rules:
        """The rules by which pages are read."""
        return await self.crawl_rules.current() if self.crawl_rules.is_shared else self.crawl_rules.rules

    async def _follow_redirect(
        self, task: Task, outcome: Redirected, target: RedirectTarget
    ) -> tuple[Outcome, tuple[Candidate, ...]]:
        """Make the target a candidate, unless the rules refuse it."""
        why = await self.crawl_rules.redirect_refusal(target.url, task)
        if why is not None:
            return msgspec.structs.replace(outcome, why=why), ()
        candidate = Candidate(
            url=target.url,
            origin=target.origin,
            depth=task.depth,
            priority=task.priority,
            source=Source.REDIRECT,
            via=task.url,
            chain=target.chain,
            budgets=() if task.is_url_list else url_budgets(self.crawl_rules.rules, target.url),
            is_url_list=task.is_url_list,
        )
        return outcome, (candidate,)

    def _may_claim(self) -> bool:
        in_flight = len(self.in_flight)
        if in_flight >= min(self.crawl.concurrency, self.pipeline.max_concurrent_visits) or self._pause_reasons:
            return False
        return not self.crawl.max_pages or self.frontier.counts().pages_this_round + in_flight < self.crawl.max_pages

    def _ending(self) -> Ending | None:
        """Why to end now; None: continue."""
        if self._is_stopping:
            return Ending.INTERRUPTED
        if self.is_endless or self.in_flight or NETWORK in self._pause_reasons:
            return None
        counts = self.frontier.counts()
        if counts.waiting == 0:
            return Ending.COMPLETE
        if self.crawl.max_pages and counts.pages_this_round >= self.crawl.max_pages:
            return Ending.PAGE_LIMIT
        next_claim_at = self.frontier.next_claim_at()
        wait_seconds = next_claim_at - self.clock.now() if next_claim_at is not None else 0.0
        if wait_seconds > MAX_UNANSWERED_BACKOFF_SECONDS and self._has_only_failures(counts.outcomes):
            raise NoSeedReachable(f"no seed answers: {self._last_failure}; check the URL, or run it again later")
        return Ending.MAX_IDLE if wait_seconds > self.crawl.max_idle_seconds else None

    def _has_only_failures(self, outcomes: Mapping[str, int]) -> bool:
        """Whether every request failed; False if nothing was requested because all visits were deferred."""
        requested = [name for name, count in outcomes.items() if name != "deferred" or count > self._unsent_visits]
        return all(name.startswith("failed:") for name in requested) and (bool(requested) or not outcomes)


def count_visit(metrics: Metrics, visit: Visit, *, is_duplicate: bool) -> None:
    """Count one committed visit. `is_duplicate`: its page is a duplicate."""
    counts, page_times = metrics.counts, metrics.recent_page_times
    how, _, what = visit.label.partition(":")
    metrics.outcomes[how] += 1
    if visit.fetch.status is not None:
        metrics.statuses[str(visit.fetch.status)] += 1
    counts["bytes"] += visit.fetch.wire_bytes
    counts["links"] += len(visit.candidates)
    metrics.fetch_seconds += visit.fetch.total_seconds
    if visit.page is not None:
        counts["pages"] += 1
        counts["duplicates"] += is_duplicate
    if visit.page is not None or isinstance(visit.outcome, Unchanged):
        metrics.pages_this_run += 1
        page_times.append(visit.finished_at)
        while page_times[0] < visit.finished_at - RATE_WINDOW_SECONDS:
            page_times.popleft()
    if visit.native_refusal:
        metrics.native_refusals[visit.native_refusal] += 1
    if how in ("failed", "rejected"):
        metrics.failures[what] += 1
    elif how != "deferred" and how != "refused":
        counts["successes"] += 1
    elif what == "robots":
        counts["robots"] += 1
