"""Extracts documents in reader processes, or in this process.

A slow page does not delay other pages. While a reader is stuck on a document, an extra reader takes the documents that
wait. A host that sent such a document is a slow host for a while: its documents are read one at a time, by a reader
with low priority. Both extra readers run only while they are needed. Documents that arrive while a reader is busy are
sent as a batch, which shares the cost of the transfer.

A reader gives up a document that takes too much CPU time, and returns the rest of the batch unread. A reader that dies
has recorded which document it was reading. Only that document is suspected; other readers read the rest at once. A
suspect is read alone by a new reader. If two new readers die, the document is given up. No page stops the crawl.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections import deque
from contextlib import suppress
from enum import Enum, auto
from functools import partial
from typing import NamedTuple, Protocol

import msgspec

from tenax.config import PoolConfig
from tenax.crawl.reader.channel import Channel
from tenax.crawl.reader.messages import ExtractedPage, ExtractJob, max_cpu_seconds, unreadable_page
from tenax.runtime.resources import raise_file_limit
from tenax.urls.admit import Rules

log = logging.getLogger(__name__)

RESTART_SECONDS = 1.0
"""Wait between two starts, while readers exit before their first document."""
MAX_EARLY_EXITS = 3
MAX_SUSPECT_WAIT_SECONDS = 1.0
"""A suspect waits for other documents, but no longer than this."""
MAX_CRASHES = 2
"""A document that crashes this many new readers, each of which reads only this document, is given up."""
LINGER_SECONDS = 0.025
"""How long documents are collected for an idle reader. Waking the reader for each document costs more CPU time, for the
transfer, for cold caches, and for going to sleep again."""
MIN_BATCHING_VISITS = 16
"""With fewer other visits nothing is collected. Few documents would come, and a host with one connection would wait."""
MAX_UNCOMMITTED_JOBS = 10_000
FILES_PER_READER = 8
"""Each reader takes a socket. If few open files are allowed, there are fewer readers."""
SLOW_CPU_SECONDS = 0.5
"""A host is a slow host if it sends a document that takes this long,"""
SLOW_FOR_SECONDS = 600.0
"""and remains one for this long."""
MAX_SLOW_HOSTS = 1000
IDLE_SECONDS = 30.0
"""An extra reader that is idle for this long ends."""
MAX_BATCH_BYTES = 8 * 1024 * 1024
"""Maximum size of a batch. A longer document is sent alone."""


class ReaderFailed(Exception):
    """A document that crashes every reader."""


class ReaderPool(Protocol):
    async def start(self) -> None: ...

    async def extract(self, job: ExtractJob, rules: Rules, other_visits: int = MIN_BATCHING_VISITS) -> ExtractedPage:
        """Extract a document. `other_visits` are the other visits in flight, which may bring documents too.

        Raises `ReaderFailed` for a document that cannot be read.
        """

    def mark_committed(self, number: int) -> None:
        """The visit of this job is committed, and so are all its candidates."""

    async def close(self) -> None: ...


def build_reader_pool(config: PoolConfig) -> ReaderPool:
    most = max(1, raise_file_limit() // FILES_PER_READER)
    count = config.processes if config.processes >= 0 else min(max(1, (os.cpu_count() or 1) - 1), most)
    if count == 0 or (config.processes < 0 and (os.cpu_count() or 1) == 1):
        return InlineReaderPool()
    return ProcessReaderPool(count, config.max_batch)


class InlineReaderPool:
    """Reads in this process: if there is only one core, or if a setting says so."""

    async def start(self) -> None:
        # Imported only here, because this process needs no parser if there are reader processes.
        from tenax.crawl.reader.cpu_limit import extract_within_limit
        from tenax.crawl.reader.read_page import Reader

        self._reader = Reader()
        self._extract = partial(extract_within_limit, self._reader.extract)

    async def extract(self, job: ExtractJob, rules: Rules, other_visits: int = MIN_BATCHING_VISITS) -> ExtractedPage:
        return self._extract(job, rules)

    def mark_committed(self, number: int) -> None:
        self._reader.mark_committed((number,))

    async def close(self) -> None: ...


class PendingJob(NamedTuple):
    job: ExtractJob
    rules: Rules
    future: asyncio.Future[ExtractedPage]
    crashes: int = 0
    """New readers that ended while they read only this document."""
    suspected_at: float = 0.0
    """When a reader last died while reading the document, in the time of the event loop."""


class Lane(Enum):
    """The purpose of a reader."""

    REGULAR = auto()
    EXTRA = auto()
    """Takes waiting documents while a regular reader is stuck."""
    SLOW = auto()
    """Reads the documents of slow hosts."""


class ProcessReaderPool:
    def __init__(self, count: int, max_batch: int, *, has_extra: bool = True) -> None:
        """`count` regular readers. With `has_extra`, up to two more for slow pages."""
        self._count = count
        self._max_batch = max_batch
        self._has_extra = has_extra
        self._pending: deque[PendingJob] = deque()
        self._slow_pending: deque[PendingJob] = deque()
        """Documents of slow hosts."""
        self._slow_until: dict[str, float] = {}
        """When each slow host stops being one, in the time of the event loop."""
        self._extra_tasks: dict[Lane, asyncio.Task[None]] = {}
        self._suspects: deque[PendingJob] = deque()
        """Documents that probably crashed a reader. Each is read by a new reader that reads nothing else."""
        self._job_arrived = asyncio.Event()
        self._batch_full = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._unused_readers = 0
        """Readers that have read nothing yet, or are starting."""
        self._other_visits = MIN_BATCHING_VISITS
        """Visits in flight besides the one that submitted the last document."""
        self._commit_lists: dict[int, list[int]] = {}
        """For each job that was read and is not committed: the list to which its number is added when it is
        committed."""

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._run_reader(Lane.REGULAR)) for _ in range(self._count)]

    async def extract(self, job: ExtractJob, rules: Rules, other_visits: int = MIN_BATCHING_VISITS) -> ExtractedPage:
        self._other_visits = other_visits
        loop = asyncio.get_running_loop()
        done: asyncio.Future[ExtractedPage] = loop.create_future()
        if self._is_slow(job):
            self._slow_pending.append(PendingJob(job, rules, done))
            self._start_extra(Lane.SLOW)
        else:
            self._pending.append(PendingJob(job, rules, done))
        self._job_arrived.set()
        if len(self._pending) >= self._max_batch:
            self._batch_full.set()
        return await done

    def mark_committed(self, number: int) -> None:
        committed_jobs = self._commit_lists.pop(number, None)
        if committed_jobs is not None:
            committed_jobs.append(number)

    async def close(self) -> None:
        tasks = [*self._tasks, *self._extra_tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start_extra(self, lane: Lane) -> None:
        running = self._extra_tasks.get(lane)
        if self._has_extra and (running is None or running.done()):
            self._extra_tasks[lane] = asyncio.get_running_loop().create_task(self._run_reader(lane))

    def _is_slow(self, job: ExtractJob) -> bool:
        if not self._slow_until or not self._has_extra:
            return False
        return self._slow_until.get(_job_host(job), 0.0) > asyncio.get_running_loop().time()

    def _on_stuck(self) -> None:
        if self._pending:
            self._start_extra(Lane.EXTRA)

    async def _run_reader(self, lane: Lane) -> None:
        """Keep one reader alive and busy. An extra reader is kept as long as it is needed."""
        last_error = ""
        early_exits = 0
        self._unused_readers += lane is Lane.REGULAR
        while True:
            try:
                channel = await Channel.open()
            except OSError as error:
                if last_error != str(error):
                    last_error = str(error)
                    log.error("reader failed to start, retrying", extra={"why": last_error})
                await asyncio.sleep(RESTART_SECONDS)
                continue
            if lane is Lane.SLOW:
                channel.lower_priority()
            try:
                while (batch := await self._next_batch(channel, lane)) and await self._run_batch(channel, batch, lane):
                    pass
                if not batch and lane is not Lane.REGULAR:
                    return
            finally:
                if lane is Lane.REGULAR:
                    self._unused_readers += not channel.is_unused  # the next one
                await channel.close()
            early_exits = 0 if channel.has_started_document else early_exits + 1
            if early_exits >= MAX_EARLY_EXITS:
                log.error("reader exited before its first document", extra={"exit_code": channel.exit_code})
                await asyncio.sleep(RESTART_SECONDS)

    async def _next_batch(self, channel: Channel, lane: Lane = Lane.REGULAR) -> list[PendingJob]:
        """The next batch of this reader: a suspect alone, a document of a slow host alone, or the documents that wait.

        Empty if the reader must be replaced, or is no longer needed.
        """
        try:
            async with asyncio.timeout(None if lane is Lane.REGULAR else IDLE_SECONDS):
                while not await self._wait_for_batch(channel, lane):
                    pass
        except TimeoutError:
            return []
        if lane is Lane.SLOW:
            return [self._slow_pending.popleft()]
        if lane is Lane.REGULAR and self._has_suspect_for(channel):
            return [self._suspects.popleft()] if channel.is_unused else []
        batch = [self._pending.popleft()]
        batch_bytes = len(batch[0].job.body)
        while (
            self._pending
            and len(batch) < self._max_batch
            and (batch_bytes := batch_bytes + len(self._pending[0].job.body)) <= MAX_BATCH_BYTES
            and self._pending[0].rules is batch[0].rules
        ):
            batch.append(self._pending.popleft())
        return batch

    def _has_work(self, channel: Channel, lane: Lane) -> bool:
        if lane is Lane.SLOW:
            return bool(self._slow_pending)
        return bool(self._pending) or (lane is Lane.REGULAR and self._has_suspect_for(channel))

    def _has_suspect_for(self, channel: Channel) -> bool:
        """Whether there is a suspect for this reader. A suspect needs a reader that has read nothing yet; if there is
        none, a used reader ends to make room."""
        if len(self._suspects) <= (0 if channel.is_unused else self._unused_readers):
            return False
        due_at = self._suspects[0].suspected_at + MAX_SUSPECT_WAIT_SECONDS
        return not self._pending or asyncio.get_running_loop().time() >= due_at

    async def _wait_for_batch(self, channel: Channel, lane: Lane) -> bool:
        """Wait for documents, and a moment longer if more may come. False if another reader took them all."""
        while not self._has_work(channel, lane):
            self._job_arrived.clear()
            await self._job_arrived.wait()
        is_gathering = self._other_visits >= MIN_BATCHING_VISITS and lane is Lane.REGULAR
        if is_gathering and self._pending and len(self._pending) < self._max_batch:
            self._batch_full.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER_SECONDS):
                    await self._batch_full.wait()
        return self._has_work(channel, lane)

    async def _run_batch(self, channel: Channel, batch: list[PendingJob], lane: Lane = Lane.REGULAR) -> bool:
        """Have a batch read. False if the reader cannot be used again."""
        is_alone = channel.is_unused and len(batch) == 1
        if lane is Lane.REGULAR:
            self._unused_readers -= channel.is_unused
        try:
            pages = await channel.extract_pages(batch[0].rules, tuple(wanted.job for wanted in batch), self._on_stuck)
        except (OSError, EOFError):
            await channel.close()
            self._on_crash(channel, batch, is_alone)
            return False
        except msgspec.DecodeError as error:
            self._on_decode_error(batch, error)
            return False
        except asyncio.CancelledError:
            for wanted in batch:
                wanted.future.cancel()
            raise
        for wanted, extracted in zip(batch, pages, strict=False):
            if not wanted.future.done():
                self._commit_lists[wanted.job.number] = channel.committed_jobs
                wanted.future.set_result(extracted)
        while len(self._commit_lists) > MAX_UNCOMMITTED_JOBS:
            del self._commit_lists[next(iter(self._commit_lists))]
        if channel.last_cpu_seconds >= SLOW_CPU_SECONDS:
            self._mark_slow_host(batch[len(pages) - 1].job)
        self._requeue(batch[len(pages) :])
        return True

    def _on_crash(self, channel: Channel, batch: list[PendingJob], is_alone: bool) -> None:
        """Requeue all documents at once, except the one on which the reader died."""
        at = channel.suspect_index
        suspect = batch[at] if at is not None else None
        self._requeue([wanted for wanted in batch if wanted is not suspect])
        if suspect is None or suspect.future.done():
            return
        facts = {"url": suspect.job.url, "exit_code": channel.exit_code, "alone": is_alone}
        log.warning("reader crashed on a document", extra=facts)
        deaths = suspect.crashes + is_alone
        if channel.exit_code == -signal.SIGXCPU:
            seconds = max_cpu_seconds(suspect.job)
            why = f"too costly to read: {seconds:g} s of CPU used up (`extract.max_cpu_seconds`)"
            suspect.future.set_result(unreadable_page(why))
            self._mark_slow_host(suspect.job)
        elif deaths >= MAX_CRASHES:
            why = f"unreadable: {deaths} readers crashed on it, {channel.exit_description}"
            suspect.future.set_exception(ReaderFailed(why))
        else:
            now = asyncio.get_running_loop().time()
            self._suspects.append(suspect._replace(crashes=deaths, suspected_at=now))
            self._job_arrived.set()

    def _mark_slow_host(self, job: ExtractJob) -> None:
        """Make this a slow host. Its waiting documents are moved too."""
        host = _job_host(job)
        self._slow_until.pop(host, None)
        while len(self._slow_until) >= MAX_SLOW_HOSTS:
            del self._slow_until[next(iter(self._slow_until))]
        self._slow_until[host] = asyncio.get_running_loop().time() + SLOW_FOR_SECONDS
        if not self._has_extra:
            return
        waiting, self._pending = self._pending, deque[PendingJob]()
        for wanted in waiting:
            (self._slow_pending if _job_host(wanted.job) == host else self._pending).append(wanted)
        if self._slow_pending:
            self._start_extra(Lane.SLOW)
            self._job_arrived.set()

    def _on_decode_error(self, batch: list[PendingJob], error: msgspec.DecodeError) -> None:
        """An error in our code, which would occur again. So each document of the batch is read alone the next time."""
        log.error("cannot decode the answer of a reader", extra={"why": str(error)})
        if len(batch) > 1:
            self._suspects.extend(batch)
            self._job_arrived.set()
        elif not batch[0].future.done():
            batch[0].future.set_exception(ReaderFailed(f"unreadable: the extracted page cannot be decoded: {error}"))

    def _requeue(self, jobs: list[PendingJob]) -> None:
        """Put these documents at the front, because they have waited longest."""
        if jobs:
            self._pending.extendleft(reversed(jobs))
            self._job_arrived.set()


def _job_host(job: ExtractJob) -> str:
    """Scheme, name and port: the part before the path."""
    return job.url[: job.url.index("/", job.url.index("//") + 2)]
