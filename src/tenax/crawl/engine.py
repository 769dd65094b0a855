"""The loop: claim what is due, visit it, commit it; many visits in flight, none of them able to stop the crawl."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from tenax.clock import Clock
from tenax.config import CrawlConfig, SiteConfig, Sites
from tenax.crawl.after_visit import Lesson, lesson_of
from tenax.crawl.connectivity import HOLD as NETWORK
from tenax.crawl.connectivity import NetworkWatch
from tenax.crawl.discovery_candidates import why_repeated
from tenax.crawl.duplicates import likeness_of
from tenax.crawl.open_visits import OpenVisits
from tenax.crawl.page_record import job_of, page_of, record_of, validators_of, visit_bytes
from tenax.crawl.reader.messages import Reading, unreadable
from tenax.crawl.reader.pool import ReaderFailed, Readers
from tenax.crawl.rules import Rulebook
from tenax.crawl.skip_rules import spared, waits_for_others
from tenax.database import Admission, Ledger
from tenax.errors import CommitUnknown, LeaseLost, NoSeedReachable, TenaxError
from tenax.fetch.answer import Answer
from tenax.fetch.body_budget import BodyBudget, Room
from tenax.fetch.cache import is_sought_by_canonical
from tenax.fetch.pipeline import Pipeline
from tenax.fetch.redirects import Elsewhere
from tenax.fetch.retry import plan_for
from tenax.hosts import Hosts
from tenax.hosts.rules import pace_seconds
from tenax.model import (
    CanonicalCopy,
    Claim,
    Deferred,
    Ending,
    Failed,
    FailureKind,
    Fetched,
    HostRecord,
    Offer,
    Outcome,
    Page,
    Redirected,
    Rejected,
    Source,
    Task,
    Visit,
)
from tenax.runtime.open_files import is_out_of_files
from tenax.urls.admit import budgets_at

log = logging.getLogger(__name__)

LONGEST_WAIT_SECONDS = 1.0
HOPELESS_REST_SECONDS = 10.0
"""A crawl that never got an answer from anyone does not wait for rests longer than this."""


class Engine:
    """Runs one crawl on the parts it is given."""

    def __init__(
        self,
        ledger: Ledger,
        hosts: Hosts,
        pipeline: Pipeline,
        readers: Readers,
        rulebook: Rulebook,
        clock: Clock,
        crawl: CrawlConfig,
        sites: Sites,
        network: NetworkWatch,
        on_visit: Callable[[Visit, Admission], None],
        *,
        is_endless: bool = False,
    ) -> None:
        """One that `is_endless` ends only when it is stopped: others may bring it work at any time."""
        self.ledger = ledger
        self.hosts = hosts
        self.pipeline = pipeline
        self.readers = readers
        self.rulebook = rulebook
        self.clock = clock
        self.crawl = crawl
        self.sites = sites
        self.network = network
        self.bodies = BodyBudget(crawl.max_body_memory_bytes, crawl.concurrency)
        self.on_visit = on_visit
        self.in_flight: dict[int, tuple[str, float]] = {}
        """What is being visited, and since when, by the number of its lease: a URL may be claimed again before the
        visit that put it off has ended here."""
        self.last_activity = self.last_turn = clock.now()
        """When a visit last ended, and when the loop last looked for work."""
        self._last_failure = "all of them rest after earlier failures"
        self._unasked = 0
        """Visits that were put off before anything was sent: another crawl on this machine had the turn, say."""
        self._is_endless = is_endless
        self._visits: set[asyncio.Task[None]] = set()
        self._open = OpenVisits()
        self._stopping = False
        self._holds: set[str] = set()
        self._finished = asyncio.Event()

    def stop(self) -> None:
        """Claim no more; what is in flight is finished and committed."""
        self._stopping = True
        self._finished.set()

    def abandon(self) -> int:
        """Give up what is in flight: nothing of it is committed, and it is waiting again; how many visits that were."""
        for visit in self._visits:
            visit.cancel()
        return len(self._visits)

    def hold(self, reason: str, is_held: bool) -> None:
        """Claim nothing while there is a reason: someone downstream is behind, or the network is away."""
        (self._holds.add if is_held else self._holds.discard)(reason)
        self._finished.set()

    @property
    def is_stopping(self) -> bool:
        return self._stopping

    async def run(self) -> Ending:
        """Crawl until there is a reason to end; every visit begun is committed by then."""
        async with asyncio.TaskGroup() as visits:
            while (ending := self._ending()) is None:
                self.last_turn = self.clock.now()
                claim = await self.ledger.claim() if self._may_claim() else None
                if claim is not None:
                    self.in_flight[claim.lease.number] = (claim.task.url, self.clock.now())
                    self._open.begin(claim)
                    visit = visits.create_task(self.work(claim))
                    self._visits.add(visit)
                    visit.add_done_callback(self._visits.discard)
                elif self._may_claim():
                    if self._ending() is None:  # the claim may have found out that there is nothing to wait for
                        await self.ledger.wait_for_work(LONGEST_WAIT_SECONDS)
                else:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(LONGEST_WAIT_SECONDS):
                            await self._finished.wait()
                    self._finished.clear()
        return ending

    async def work(self, claim: Claim) -> None:
        """One task: visit it and commit what came of it."""
        room = self.bodies.room()
        try:
            visit = await self.visit(claim, room)
            room.hold(visit_bytes(visit))
            admission = await self.ledger.commit(visit)
            if admission.are_offers_known:
                self.readers.committed(claim.lease.number)
            self.on_visit(visit, admission)
        except LeaseLost:
            log.warning("visit came too late", extra={"url": claim.task.url})
        except CommitUnknown:
            # It counts with the ledger, should it prove to be written; here nobody waits for that.
            log.warning("the ledger went away during the commit of a visit", extra={"url": claim.task.url})
        except asyncio.CancelledError:
            await self.ledger.release(claim)  # unless its commit is on its way: that is written, or fails with others
            raise
        finally:
            room.close()
            self.hosts.release(claim.host.origin)
            self.in_flight.pop(claim.lease.number, None)
            self._open.end(claim)
            self.last_activity = self.clock.now()
            self._finished.set()

    async def visit(self, claim: Claim, room: Room) -> Visit:
        """One attempt at a task. Whatever goes wrong in here becomes an outcome: no page may stop the crawl."""
        started_at = self.clock.now()
        host = await self.hosts.adopt(claim.host)
        try:
            answer = await self._spared(claim, host) or await self.pipeline.fetch(
                claim.task, host, claim.held, claim.lease.host_until, await self._canonical_copy(claim), room
            )
            reading = await self._read(claim, answer, room)
            return await self._settled(claim, answer, reading, started_at)
        except TenaxError:
            raise
        except Exception as error:
            if is_out_of_files(error):
                answer = Answer(self.pipeline.out_of_files(), self.clock.now())
                return await self._settled(claim, answer, None, started_at)
            log.exception("visit failed inside", extra={"url": claim.task.url})
            return await self._given_up(claim, error, started_at)

    async def _spared(self, claim: Claim, host: HostRecord) -> Answer | None:
        """What is not asked for, or not before others like it were answered: those that were claimed earlier."""
        rules, now = await self.rulebook.current(), self.clock.now()
        why = spared(claim, host.finds, rules) or waits_for_others(claim, host.finds, rules, self.in_flight, now)
        return Answer(why, now) if why is not None else None

    async def _canonical_copy(self, claim: Claim) -> CanonicalCopy | None:
        """A page that names this URL as its canonical one; only looked for where it could serve."""
        cache = self.sites.of_origin(claim.host.origin).cache
        if not is_sought_by_canonical(claim.task, claim.held, cache):
            return None
        return await self.ledger.canonical_copy(claim.task.url)

    async def _given_up(self, claim: Claim, error: Exception, started_at: float) -> Visit:
        """A visit that broke us: the host is left as it was, but for a pause, and the task tries again a few times."""
        now = self.clock.now()
        site = self.sites.of_origin(claim.host.origin)
        outcome = Failed(why=f"{type(error).__name__} in Tenax itself", kind=FailureKind.INTERNAL)
        host = await self._paused(claim, now, site)
        return Visit(
            claim=claim,
            outcome=outcome,
            plan=plan_for(outcome, claim.task, now, site, random.random(), host.next_at, self.pipeline.ways),
            host=host,
            started_at=started_at,
            finished_at=now,
        )

    async def _read(self, claim: Claim, answer: Answer, room: Room) -> Reading | None:
        response = answer.response
        if not isinstance(answer.outcome, Fetched) or response is None:
            return None
        await room.hand_on()
        job = job_of(claim, response, self.sites.of_origin(claim.host.origin), self.clock.now())
        try:
            return await self.readers.read(job, await self.rulebook.current(), len(self.in_flight) - 1)
        except ReaderFailed as error:
            return unreadable(str(error))

    async def _settled(self, claim: Claim, answer: Answer, reading: Reading | None, started_at: float) -> Visit:
        """The whole effect of the visit: what is learned about the host, what is planned, what is offered."""
        outcome, offers = await self._outcome(claim, answer, reading)
        if reading is not None and reading.failed is not None:
            reading = None
        if isinstance(outcome, Failed):
            self._last_failure = f"{claim.task.origin}: {outcome.why}"
        elif isinstance(outcome, Deferred) and not answer.requests:
            self._unasked += 1
        site = self.sites.of_origin(claim.host.origin)
        self.network.note(outcome, claim.host.origin, answer.record.address_class == "public")
        if isinstance(outcome, Failed) and self.network.is_ours(outcome):
            # Neither the host nor the URL pays for our own network: both only wait for their turn.
            outcome = msgspec.structs.replace(outcome, is_site_wide=True)
            lesson = Lesson(await self._paused(claim, answer.answered_at, site))
        else:
            lesson = await self._learned(claim, answer, outcome, site, reading, offers)
        host, now = lesson.host, self.clock.now()
        held_etag, held_date = validators_of(outcome, answer)
        plan = plan_for(outcome, claim.task, now, site, random.random(), host.next_at, self.pipeline.ways, answer.way)
        return Visit(
            claim=claim,
            outcome=outcome,
            plan=lesson.plan(plan),
            host=host,
            started_at=started_at,
            finished_at=now,
            page=_page(claim.task, answer, reading, now - started_at) if isinstance(outcome, Fetched) else None,
            offers=offers + lesson.offers,
            refusals={**(reading.refusals if reading is not None else {}), **lesson.cut_off},
            linked=reading.linked if reading is not None else {},
            fetch=record_of(answer, reading),
            etag=held_etag,
            last_modified=held_date,
            tidings=reading.tidings if reading is not None else (),
            freshness=lesson.freshness,
            leads_to=reading.leads_to if reading is not None else None,
        )

    async def _paused(self, claim: Claim, since: float, site: SiteConfig) -> HostRecord:
        """What went wrong is not the host's doing: it waits for its next turn, and nothing else changes."""

        def rule(host: HostRecord) -> HostRecord:
            turn = since + pace_seconds(host, site.politeness)
            return msgspec.structs.replace(host, next_at=max(host.next_at, turn))

        return await self.hosts.learn(claim.host.origin, claim.host, rule)

    async def _learned(
        self,
        claim: Claim,
        answer: Answer,
        outcome: Outcome,
        site: SiteConfig,
        reading: Reading | None,
        new: tuple[Offer, ...],
    ) -> Lesson:
        """What is known after this visit: of the host as it is now, not as it was when we set out."""
        now, jitter, ways = self.clock.now(), random.random(), self.pipeline.ways
        rules = await self.rulebook.current()
        before, lesson = claim.host, Lesson(claim.host)
        asked = msgspec.structs.replace(claim, waiting=self._open.answered(claim))

        def rule(host: HostRecord) -> HostRecord:
            nonlocal before, lesson
            before = host
            lesson = lesson_of(host, asked, answer, outcome, reading, new, now, jitter, ways, rules, site)
            return lesson.host

        host = await self.hosts.learn(claim.host.origin, claim.host, rule)
        await self.pipeline.tell_others(host, site)
        _tell_change(before, host, now)
        # Other visits may have taught us more meanwhile; what is committed last must not be the older.
        return lesson._replace(host=self.hosts.get(claim.host.origin) or host)

    async def _outcome(
        self, claim: Claim, answer: Answer, reading: Reading | None
    ) -> tuple[Outcome, tuple[Offer, ...]]:
        if reading is not None:
            if reading.failed is not None:
                return reading.failed, ()
            if reading.rejected is not None:
                return reading.rejected, reading.offers
            if reading.catalogue and isinstance(answer.outcome, Fetched):
                return msgspec.structs.replace(answer.outcome, catalogue=reading.catalogue), reading.offers
            if reading.is_noindex:
                return Rejected(why="noindex: the page asks not to be kept"), reading.offers
            finds = (self.hosts.get(claim.host.origin) or claim.host).finds
            if why := why_repeated(claim.task, reading, finds, likeness_of):
                return Rejected(f"guess: {why}"), reading.offers
            return answer.outcome, reading.offers
        if not isinstance(answer.outcome, Redirected) or answer.elsewhere is None:
            return answer.outcome, ()
        return await self._redirected(claim.task, answer.outcome, answer.elsewhere)

    async def _redirected(
        self, task: Task, outcome: Redirected, elsewhere: Elsewhere
    ) -> tuple[Outcome, tuple[Offer, ...]]:
        """The target becomes a task of its own, unless the rules refuse it."""
        why = await self.rulebook.redirect_refusal(elsewhere.url, task)
        if why is not None:
            return msgspec.structs.replace(outcome, why=why), ()
        offer = Offer(
            url=elsewhere.url,
            origin=elsewhere.origin,
            depth=task.depth,
            priority=task.priority,
            source=Source.REDIRECT,
            via=task.url,
            chain=elsewhere.chain,
            budgets=() if task.is_catalogue else budgets_at(self.rulebook.rules, elsewhere.url),
            is_catalogue=task.is_catalogue,
        )
        return outcome, (offer,)

    def _may_claim(self) -> bool:
        flying = len(self.in_flight)
        if flying >= min(self.crawl.concurrency, self.pipeline.most_at_once) or self._holds:
            return False
        return not self.crawl.max_pages or self.ledger.counts().pages_this_round + flying < self.crawl.max_pages

    def _ending(self) -> Ending | None:
        """Why to end now, if there is a reason."""
        if self._stopping:
            return Ending.INTERRUPTED
        if self._is_endless or self.in_flight or NETWORK in self._holds:
            return None
        counts = self.ledger.counts()
        if counts.waiting == 0:
            return Ending.COMPLETE
        if self.crawl.max_pages and counts.pages_this_round >= self.crawl.max_pages:
            return Ending.PAGE_LIMIT
        turn = self.ledger.next_turn()
        rest_seconds = turn - self.clock.now() if turn is not None else 0.0
        if rest_seconds > HOPELESS_REST_SECONDS and self._is_unanswered(counts.outcomes):
            raise NoSeedReachable(f"no seed answers: {self._last_failure}; check the URL, or run it again later")
        return Ending.PATIENCE if rest_seconds > self.crawl.patience_seconds else None

    def _is_unanswered(self, outcomes: Mapping[str, int]) -> bool:
        """Whether whoever was asked failed; not so when nobody was asked because all were put off."""
        asked = [name for name, count in outcomes.items() if name != "deferred" or count > self._unasked]
        return all(name.startswith("failed:") for name in asked) and (bool(asked) or not outcomes)


def _page(task: Task, answer: Answer, reading: Reading | None, seconds: float) -> Page | None:
    if reading is None or reading.catalogue or answer.response is None:
        return None
    return page_of(task, answer.response, answer.chain, reading, seconds)


def _tell_change(before: HostRecord, host: HostRecord, now: float) -> None:
    """An outage, its end, and being shut out are worth a line; that an outage goes on is not."""
    if (before.breaker == "closed") != (host.breaker == "closed"):
        log.info(
            "the host is back" if host.breaker == "closed" else "the host is down, and is probed until it is back",
            extra={"host": host.origin, "why": host.resting_why, "rest_seconds": round(max(host.next_at - now, 0))},
        )
    elif host.next_at > before.next_at and host.resting_why.startswith("cooldown"):
        log.info(
            "the host is left alone for a while",
            extra={"host": host.origin, "why": host.resting_why, "rest_seconds": round(host.next_at - now)},
        )
