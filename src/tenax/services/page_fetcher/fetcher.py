"""The loop: what is due is visited, what came of it goes out; hosts that were down are asked whether they are back."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

from tenax.clock import Clock
from tenax.config import PageFetcherConfig, SiteConfig, Sites
from tenax.errors import TenaxError
from tenax.fetch.answer import Answer
from tenax.fetch.body_budget import BodyBudget, Room
from tenax.fetch.host_update import learned
from tenax.fetch.pipeline import Pipeline
from tenax.fetch.retry import plan_for
from tenax.hosts import Hosts
from tenax.hosts.limiter.pace import HostTurns
from tenax.hosts.rules import must_probe, pace_seconds
from tenax.logs import logger
from tenax.model import Failed, FailureKind, HostRecord, Priority, Source, Task
from tenax.runtime.cancellation import ended, unless_set
from tenax.services.page_fetcher import Log, Queue
from tenax.services.page_fetcher.backoff import Rests
from tenax.services.page_fetcher.counters import Moment, PageFetcherNumbers
from tenax.services.page_fetcher.disposition import GiveUp, Keep, PutBack, Skip, Step, Wait, step_after
from tenax.services.page_fetcher.events import told_of
from tenax.services.page_fetcher.in_flight import Holdings
from tenax.services.page_fetcher.items import Item
from tenax.services.page_fetcher.maintenance import Upkeep
from tenax.services.page_fetcher.scheduler import Hand
from tenax.services.wait import Pause, pause

log = logger(__name__)

LONGEST_WAIT_SECONDS = 1.0
LEAVE_SECONDS = 10.0
"""At the end, a Redis that is away is waited for no longer."""


class PageFetcher:
    """Runs on the parts it is given, until it is stopped."""

    def __init__(
        self,
        queue: Queue,
        events: Log,
        hosts: Hosts,
        pipeline: Pipeline,
        sites: Sites,
        clock: Clock,
        config: PageFetcherConfig,
        share_of_a_host: int,
        numbers: PageFetcherNumbers,
        bodies: BodyBudget,
        pause: Pause = pause,
    ) -> None:
        self.numbers = numbers
        self.numbers.moment = self._moment
        self._queue = queue
        self._hosts = hosts
        self._pipeline = pipeline
        self._sites = sites
        self._clock = clock
        self._config = config
        self._bodies = bodies
        self._pause = pause
        self._hand = Hand(HostTurns(sites))
        self._rests = Rests()
        self.holdings = Holdings(
            queue, events, hosts, self._hand, self._rests, clock, config, share_of_a_host, self.numbers
        )
        self._upkeep = Upkeep(queue, self.holdings, config, self.numbers, clock)
        self._visits: dict[asyncio.Task[None], str] = {}
        self._probing: set[str] = set()
        self._stopping = asyncio.Event()
        self._error: BaseException | None = None
        """What a person must hear of; it ends the run."""

    @property
    def in_flight(self) -> int:
        return len(self._visits)

    def stop(self) -> None:
        """Take no more; what is in flight is finished, within the grace."""
        self._stopping.set()
        self.holdings.news.set()

    async def run(self) -> None:
        """Until stopped; by then everything that was taken is settled, or in the queue again, if Redis answers."""
        await unless_set(self._stopping, self._upkeep.recover())
        filling, *jobs = [
            asyncio.ensure_future(job)
            for job in (
                self.holdings.fill(),
                self._visit_what_is_due(),
                self.holdings.outlet.run(),
                self._upkeep.run(lambda: next(iter(self._visits.values()), "")),
            )
        ]
        try:
            await asyncio.wait([filling, *jobs], return_when=asyncio.FIRST_COMPLETED)
            await ended(filling)
            await self._finish()
        finally:
            await ended(filling, *jobs, *self._visits)
        errors = [self._error, *(job.exception() for job in [filling, *jobs] if job.done() and not job.cancelled())]
        if error := next(filter(None, errors), None):
            raise error
        await self._leave()

    async def _leave(self) -> None:
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                count = await self._queue.leave()
        except TimeoutError:
            log.warning("Redis is away: what is held goes back when this page-fetcher counts as dead")
        else:
            log.info("page-fetcher stopped", given_back=count)

    async def _finish(self) -> None:
        """What is in flight may end, and what was fetched may go out, within the grace."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._config.grace_seconds):
                while self._visits:
                    await asyncio.wait(self._visits)
                await self.holdings.outlet.empty()

    async def _visit_what_is_due(self) -> None:
        news = self.holdings.news
        while not self._stopping.is_set():
            news.clear()
            now = self._clock.now()
            while len(self._visits) < self._most_at_once and (item := self._hand.take(now)) is not None:
                self._begin(self._visit(item), item.url)
            resting = len(self._rests)
            for record in self._rests.ended(now):
                self._probing.add(record.origin)
                self._begin(self._probe(record), record.origin)
            if len(self._rests) < resting:
                self.holdings.has_room.set()
            if not news.is_set():
                await self._pause(news, self._seconds_to_next(now))

    def _begin(self, work: Coroutine[Any, Any, None], what: str) -> None:
        task = asyncio.ensure_future(work)
        self._visits[task] = what
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        del self._visits[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = self._error or error
            self._stopping.set()
        self.holdings.news.set()
        self.holdings.has_room.set()

    def _seconds_to_next(self, now: float) -> float:
        turn = self._hand.next_turn() if len(self._visits) < self._most_at_once else None
        times = [at for at in (turn, self._rests.next_end()) if at is not None]
        return max(min(times) - now, 0.0) if times else LONGEST_WAIT_SECONDS

    @property
    def _most_at_once(self) -> int:
        return min(self._config.concurrency, self._pipeline.most_at_once)

    # -- one visit ------------------------------------------------------------------------------------------

    async def _visit(self, item: Item) -> None:
        room = self._bodies.room()
        step: Step | None = None
        try:
            step = await self._visited(item, room)
            await self._take_step(item, step, room)
        finally:
            if not isinstance(step, Keep):  # else it goes on its way out with the page
                room.close()

    async def _visited(self, item: Item, room: Room) -> Step:
        """One attempt. Whatever goes wrong in here becomes a step: no page may stop the loop."""
        origin = item.task.origin
        site = self._sites.of_origin(origin)
        record = HostRecord(origin=origin, domain=item.host)
        try:
            record = await self._hosts.adopt(record)
            try:
                answer = await self._pipeline.fetch(item.task, record, room=room)
                record = await self._learned(record, answer, site)
            finally:
                self._hosts.release(origin)
        except TenaxError:
            raise
        except Exception as error:
            log.exception("visit failed inside", url=item.url)
            answer = Answer(Failed(f"{type(error).__name__} in Tenax itself", FailureKind.INTERNAL), self._clock.now())
            turn = answer.answered_at + pace_seconds(record, site.politeness)
            record = msgspec.structs.replace(record, next_at=max(record.next_at, turn))
        now = self._clock.now()
        plan = plan_for(
            answer.outcome, item.task, now, site, random.random(), record.next_at, self._pipeline.ways, answer.way
        )  # fmt: skip
        self._say(record, now)
        self.holdings.landed(record, now)
        return step_after(item, answer, plan)

    async def _learned(self, known: HostRecord, answer: Answer, site: SiteConfig) -> HostRecord:
        now, jitter, ways = self._clock.now(), random.random(), self._pipeline.ways
        before = known

        def rule(record: HostRecord) -> HostRecord:
            nonlocal before
            before = record
            return learned(record, answer, answer.outcome, now, site, jitter, ways)

        record = await self._hosts.learn(known.origin, known, rule)
        await self._pipeline.tell_others(record, site)
        self._count(before, record, answer)
        return record

    def _say(self, record: HostRecord, now: float) -> None:
        if self._rests.is_news(record, now):
            until = datetime.fromtimestamp(record.next_at, UTC).isoformat(timespec="seconds")
            seconds = round(record.next_at - now)
            log.info("host backing off", host=record.origin, why=record.resting_why, until=until, seconds=seconds)

    def _count(self, before: HostRecord, after: HostRecord, answer: Answer) -> None:
        numbers = self.numbers
        if before.breaker == "closed" and after.breaker != "closed":
            numbers.opened += 1
            seconds = round(after.next_at - answer.answered_at)
            log.warning("circuit open: a host appears to be down", host=after.origin, next_probe_seconds=seconds)
        elif before.breaker != "closed" and after.breaker == "closed":
            numbers.closed += 1
            log.info("circuit closed: the host is back", host=after.origin)
        if answer.probe is not None:
            numbers.probes["success" if answer.probe.is_up else "failure"] += 1
        if answer.response is not None:
            numbers.durations.note(answer.response.total_seconds)

    async def _take_step(self, item: Item, step: Step, room: Room) -> None:
        numbers, holdings = self.numbers, self.holdings
        match step:
            case Keep(response=response):
                numbers.content_bytes.note(len(response.body))
                told = told_of(
                    item.raw, item.url, response.status, response.content_type, response.body, response.finished_at
                )
                await holdings.outlet.put(told, room)
            case Skip(why=why):
                numbers.skipped += 1
                log.info("skipped by robots.txt", url=item.url, why=why)
                holdings.outlet.done(item.raw)
            case Wait(item=again, at=at, is_retry=is_retry, why=why):
                if is_retry:
                    numbers.retries += 1
                    attempts = again.task.attempt
                    log.info("failed, will be tried again", url=item.url, why=why, attempts=attempts)
                    # Before it goes anywhere: whoever asks for it next must know.
                    await self._queue.spend(item.raw, attempts)
                holdings.wait(again, at)
            case PutBack(why=why):
                log.info("put back: its host is in trouble", url=item.url, why=why)
                holdings.put_back([item.raw])
            case GiveUp(why=why, status=status, attempts=attempts):
                numbers.failed += 1
                log.info("given up", url=item.url, why=why)
                holdings.give_up(item.raw, why, status, attempts)

    async def _probe(self, record: HostRecord) -> None:
        """Ask a host that was down, for none of its URLs in particular, whether it is back."""
        origin, now = record.origin, self._clock.now()
        try:
            newest = await self._hosts.adopt(record)
            try:
                # Unless another fetcher has asked meanwhile: then its answer holds.
                if must_probe(newest) and newest.next_at <= now:
                    task = Task(f"{origin}/", origin, 0, Priority.HIGH, Source.SEED, None, now, now)
                    answer = await self._pipeline.fetch(task, newest)
                    newest = await self._learned(newest, answer, self._sites.of_origin(origin))
            finally:
                self._hosts.release(origin)
        except TenaxError:
            raise
        except Exception:
            log.exception("probe failed inside", host=origin)
            newest = record
        self._probing.discard(origin)
        now = self._clock.now()
        self._say(newest, now)
        self._rests.note(newest, now, is_probed=True)

    def _moment(self) -> Moment:
        down = self._rests.down()
        state = 0
        if self.holdings.is_closed and down:
            state = 2 if self._probing else 1
        return Moment(
            in_hand=len(self.holdings),
            breaker_state=state,
            failures_in_a_row=self._rests.most_failures(self._clock.now()),
            backoff_seconds=max((record.breaker_rest_seconds for record in down), default=0.0),
        )
