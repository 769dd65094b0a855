"""The loop: visits due items, publishes the results, and probes hosts that were down. Also its cache of host
records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from tenax.clock import Clock
from tenax.config import PageFetcherConfig
from tenax.errors import TenaxError
from tenax.fetch.body_budget import BodyBudget, MemoryReservation
from tenax.fetch.pipeline import Visitor, VisitResult, delay_host
from tenax.fetch.retry import update_host
from tenax.hosts import Hosts
from tenax.hosts.rules import should_probe
from tenax.logs import logger
from tenax.model import Failed, HostRecord, Task, new_task
from tenax.runtime.cancellation import Pause, cancel_and_wait, pause, run_until_set
from tenax.services.page_fetcher import Queue
from tenax.services.page_fetcher.disposition import (
    GiveUp,
    Keep,
    PutBack,
    Skip,
    Step,
    Wait,
    build_outgoing_page,
    next_step,
)
from tenax.services.page_fetcher.in_flight import Gauges, InFlight, Maintenance, PageFetcherMetrics
from tenax.services.page_fetcher.intake import Item

log = logger(__name__)

MAX_WAIT_SECONDS = 1.0
UNREGISTER_TIMEOUT_SECONDS = 10.0
"""How long to wait at the end for a Redis that is unavailable."""


class PageFetcher:
    """Runs until it is stopped."""

    def __init__(
        self,
        queue: Queue,
        visitor: Visitor,
        in_flight_items: InFlight,
        *,
        config: PageFetcherConfig,
        metrics: PageFetcherMetrics,
        bodies: BodyBudget,
        pause: Pause = pause,
    ) -> None:
        self.metrics = metrics
        self.metrics.read_gauges = self._current_gauges
        self.in_flight_items = in_flight_items
        self._queue = queue
        self._visitor = visitor
        self._hosts = visitor.hosts
        self._pipeline = visitor.pipeline
        self._clock = visitor.clock
        self._config = config
        self._bodies = bodies
        self._pause = pause
        self._host_queue = in_flight_items.host_queue
        self._backoffs = in_flight_items.backoffs
        self._maintenance = Maintenance(queue, in_flight_items, config, metrics, visitor.clock)
        self._visits: dict[asyncio.Task[None], str] = {}
        self._probing_hosts: set[str] = set()
        self._stop_requested = asyncio.Event()
        self._error: BaseException | None = None
        """An error that ends the run, and is raised at its end."""

    @property
    def in_flight(self) -> int:
        return len(self._visits)

    def stop(self) -> None:
        """Take no more items. Visits in flight are finished, within the grace period."""
        self._stop_requested.set()
        self.in_flight_items.wakeup.set()

    async def run(self) -> None:
        """Run until stopped. By then all claimed items are settled or back in the queue, if Redis answers."""
        await run_until_set(self._stop_requested, self._maintenance.recover())
        filling, *jobs = [
            asyncio.ensure_future(job)
            for job in (
                self.in_flight_items.fill_from_queue(),
                self._visit_due_items(),
                self.in_flight_items.publisher.run(),
                self._maintenance.run(lambda: next(iter(self._visits.values()), "")),
            )
        ]
        try:
            await asyncio.wait([filling, *jobs], return_when=asyncio.FIRST_COMPLETED)
            await cancel_and_wait(filling)
            await self._drain()
        finally:
            await cancel_and_wait(filling, *jobs, *self._visits)
        errors = [self._error, *(job.exception() for job in [filling, *jobs] if job.done() and not job.cancelled())]
        if error := next(filter(None, errors), None):
            raise error
        await self._unregister()

    async def _unregister(self) -> None:
        try:
            async with asyncio.timeout(UNREGISTER_TIMEOUT_SECONDS):
                count = await self._queue.unregister()
        except TimeoutError:
            log.warning("Redis unavailable, claimed URLs are requeued when the lease expires")
        else:
            log.info("page-fetcher stopped", requeued=count)

    async def _drain(self) -> None:
        """Finish the visits in flight and publish what was fetched, within the grace period."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._config.grace_seconds):
                while self._visits:
                    await asyncio.wait(self._visits)
                await self.in_flight_items.publisher.wait_until_empty()

    async def _visit_due_items(self) -> None:
        news = self.in_flight_items.wakeup
        while not self._stop_requested.is_set():
            news.clear()
            now = self._clock.now()
            while len(self._visits) < self._max_concurrency and (item := self._host_queue.take(now)) is not None:
                self._start_task(self._visit(item), item.url)
            backoff_count = len(self._backoffs)
            for record in self._backoffs.pop_due_probes(now):
                self._probing_hosts.add(record.origin)
                self._start_task(self._probe(record), record.origin)
            if len(self._backoffs) < backoff_count:
                self.in_flight_items.has_room.set()
            if not news.is_set():
                await self._pause(news, self._seconds_to_next(now))

    def _start_task(self, work: Coroutine[Any, Any, None], label: str) -> None:
        task = asyncio.ensure_future(work)
        self._visits[task] = label
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        del self._visits[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = self._error or error
            self._stop_requested.set()
        self.in_flight_items.wakeup.set()
        self.in_flight_items.has_room.set()

    def _seconds_to_next(self, now: float) -> float:
        next_at = self._host_queue.next_due_at() if len(self._visits) < self._max_concurrency else None
        times = [at for at in (next_at, self._backoffs.next_end_at()) if at is not None]
        return max(min(times) - now, 0.0) if times else MAX_WAIT_SECONDS

    @property
    def _max_concurrency(self) -> int:
        return min(self._config.concurrency, self._pipeline.max_concurrent_visits)

    # -- one visit ------------------------------------------------------------------------------------------

    async def _visit(self, item: Item) -> None:
        room = self._bodies.open_reservation()
        step: Step | None = None
        try:
            step = await self._attempt_visit(item, room)
            await self._apply_step(item, step, room)
        finally:
            if not isinstance(step, Keep):  # otherwise the page holds the reservation
                room.close()

    async def _attempt_visit(self, item: Item, room: MemoryReservation) -> Step:
        """Make one attempt. Every error becomes a step, because no page may stop the loop."""
        origin = item.task.origin
        record = await self._hosts.acquire(HostRecord(origin=origin, domain=item.host))
        try:
            result = await self._visit_host(item.task, record, room)
        finally:
            self._hosts.release(origin)
        self._log_backoff(result.host, result.end.now)
        self.in_flight_items.on_visit_end(result.host, result.end.now)
        return next_step(item, result.end.answer, result.plan)

    async def _visit_host(self, task: Task, record: HostRecord, room: MemoryReservation | None = None) -> VisitResult:
        try:
            answer = await self._pipeline.fetch(task, record, reservation=room)
            result = await self._visitor.finish(task, record, answer, answer.outcome)
        except TenaxError:
            raise
        except Exception as error:
            answer = self._visitor.internal_failure(task, error)
            rule = delay_host if isinstance(answer.outcome, Failed) else update_host
            result = await self._visitor.finish(task, record, answer, answer.outcome, rule)
        self._count_host_change(result)
        return result

    def _log_backoff(self, record: HostRecord, now: float) -> None:
        if self._backoffs.should_report(record, now):
            until = datetime.fromtimestamp(record.next_at, UTC).isoformat(timespec="seconds")
            seconds = round(record.next_at - now)
            log.info("host backing off", host=record.origin, why=record.backoff_reason, until=until, seconds=seconds)

    def _count_host_change(self, result: VisitResult) -> None:
        numbers, answer = self.metrics, result.end.answer
        before, after = result.host_before, result.host_after
        if before.breaker == "closed" and after.breaker != "closed":
            numbers.breakers_opened += 1
            seconds = round(after.next_at - answer.answered_at)
            log.warning("circuit open: a host appears to be down", host=after.origin, next_probe_seconds=seconds)
        elif before.breaker != "closed" and after.breaker == "closed":
            numbers.breakers_closed += 1
            log.info("circuit closed: the host is back", host=after.origin)
        if answer.probe is not None:
            numbers.probes["success" if answer.probe.is_up else "failure"] += 1
        if answer.response is not None:
            numbers.durations.observe(answer.record.total_seconds)

    async def _apply_step(self, item: Item, step: Step, room: MemoryReservation) -> None:
        numbers, in_flight = self.metrics, self.in_flight_items
        match step:
            case Keep(response=response):
                numbers.content_bytes.observe(len(response.body))
                outgoing = build_outgoing_page(
                    item.raw,
                    item.url,
                    response.status,
                    content_type=response.headers.content_type,
                    body=response.body,
                    fetched_at=response.finished_at,
                )
                await in_flight.publisher.publish_page(outgoing, room)
            case Skip(why=why):
                numbers.skipped += 1
                log.info("skipped by robots.txt", url=item.url, why=why)
                in_flight.publisher.mark_done(item.raw)
            case Wait(item=again, at=at, is_retry=is_retry, why=why):
                if is_retry:
                    numbers.retries += 1
                    attempts = again.task.attempt
                    log.info("visit failed, will be retried", url=item.url, why=why, attempts=attempts)
                    # Stored first, because any worker that claims the item next must know.
                    await self._queue.set_attempts(item.raw, attempts)
                in_flight.schedule_item(again, at)
            case PutBack(why=why):
                log.info("requeued, host fails", url=item.url, why=why)
                in_flight.requeue([item.raw])
            case GiveUp(why=why, status=status, attempts=attempts):
                numbers.failed += 1
                log.info("given up", url=item.url, why=why)
                in_flight.add_dead_letter(item.raw, why, status, attempts)

    async def _probe(self, record: HostRecord) -> None:
        """Probe a host that was down, on behalf of all its URLs."""
        origin, now = record.origin, self._clock.now()
        newest = await self._hosts.acquire(record)
        try:
            # If another fetcher has probed the host meanwhile, that result counts.
            if should_probe(newest) and newest.next_at <= now:
                task = new_task(f"{origin}/", origin, now)
                newest = (await self._visit_host(task, newest)).host
        finally:
            self._hosts.release(origin)
        self._probing_hosts.discard(origin)
        now = self._clock.now()
        self._log_backoff(newest, now)
        self._backoffs.update_host(newest, now, is_probed=True)

    def _current_gauges(self) -> Gauges:
        down = self._backoffs.down_hosts()
        state = 0
        if self.in_flight_items.is_blocked and down:
            state = 2 if self._probing_hosts else 1
        return Gauges(
            in_flight=len(self.in_flight_items),
            breaker_state=state,
            failures_in_a_row=self._backoffs.max_consecutive_failures(self._clock.now()),
            backoff_seconds=max((record.breaker_backoff_seconds for record in down), default=0.0),
        )


CACHE_SECONDS = 1.0
"""How long a local record of a host without a rate limit is used before the shared record is read again."""
MAX_HOSTS = 10_000


class LocalHosts(Protocol):
    """The host records of this process."""

    def acquire(self, record: HostRecord) -> HostRecord: ...

    def get(self, origin: str) -> HostRecord | None: ...

    def put(self, record: HostRecord) -> None: ...


class CachedHosts:
    """`Hosts` that read the shared record at every visit to a host with a rate limit, and rarely for other hosts.

    Without a rate limit, the next request does not depend on a page that came. It depends on a failure, a backoff or a
    new robots.txt, so these are shared at once.
    """

    def __init__(self, shared: Hosts, local_hosts: LocalHosts, clock: Clock, is_unpaced: Callable[[str], bool]) -> None:
        """`local_hosts` is the cache in front of `shared`."""
        self._shared = shared
        self._local_hosts = local_hosts
        self._clock = clock
        self._is_unpaced = is_unpaced
        self._fetched_at: dict[str, float] = {}

    async def acquire(self, record: HostRecord) -> HostRecord:
        origin, now = record.origin, self._clock.now()
        if not self._is_unpaced(origin):
            return await self._shared.acquire(record)
        if now < self._fetched_at.get(origin, 0.0) + CACHE_SECONDS:
            return self._local_hosts.acquire(record)
        if len(self._fetched_at) >= MAX_HOSTS:
            self._fetched_at.clear()
        self._fetched_at[origin] = now
        return await self._shared.acquire(record)

    def get(self, origin: str) -> HostRecord | None:
        return self._shared.get(origin)

    async def store(self, before: HostRecord, after: HostRecord, attempt: int = 0) -> HostRecord | None:
        is_private = not attempt and self._is_unpaced(after.origin)
        if is_private and has_only_counter_changes(before, after, self._clock.now()):
            self._local_hosts.put(after)
            return None
        return await self._shared.store(before, after, attempt)

    def release(self, origin: str) -> None:
        self._shared.release(origin)


def has_only_counter_changes(before: HostRecord, after: HostRecord, now: float) -> bool:
    """Whether only the counts of pages and successes have changed, and the host may be requested at once."""
    if after.next_at > now:
        return False
    same = msgspec.structs.replace(
        after,
        next_at=before.next_at,
        page_count=before.page_count,
        successes_in_a_row=before.successes_in_a_row,
        backoff_reason=before.backoff_reason,
    )
    return same == before
