"""Where documents are read: in processes of their own, or in this one.

Documents that arrive while a reader is busy travel together, so the cost of crossing over is shared. A reader ends by
itself what takes too much CPU time, and hands back what it did not come to. When it dies, it has left word of what it
was reading: only that document is suspected, all others are read elsewhere at once. A suspect is read alone by a fresh
reader; when it ends two of them, it is given up. No page stops the crawl.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections import deque
from contextlib import suppress
from typing import NamedTuple, Protocol

import msgspec

from tenax.config import PoolConfig
from tenax.open_files import raise_file_limit
from tenax.reader_channel import Channel
from tenax.reading import Job, Reading, max_cpu_seconds, unreadable
from tenax.urls.admit import Rules

log = logging.getLogger(__name__)

RESTART_SECONDS = 1.0
"""Between two starts, where readers end before they have read anything."""
MOST_QUICK_ENDS = 3
SUSPECT_SECONDS = 1.0
"""A suspect lets others go first, but no longer than this."""
MOST_DEATHS = 2
"""A document that alone ends so many fresh readers is to blame."""
GATHER_SECONDS = 0.025
"""How long documents are gathered for a reader that is idle. One that is woken for every single document spends more
CPU on it: crossing over, cold caches, and going to sleep again."""
FEW_VISITS = 16
"""With fewer others under way nothing is gathered: little would come, and a host with one connection waits for it."""
MOST_OPEN = 10_000
FILES_PER_READER = 8
"""Each takes a socket of ours; where few files are allowed there are fewer readers."""
MAX_BATCH_BYTES = 8 * 1024 * 1024
"""Documents that travel together are no longer than this; a longer one travels alone."""


class ReaderFailed(Exception):
    """A document that no reader survives."""


class Readers(Protocol):
    async def start(self) -> None: ...

    async def read(self, job: Job, rules: Rules, others: int = FEW_VISITS) -> Reading:
        """`others` are the visits under way besides this one: they may bring documents too.

        Raises `ReaderFailed` for a document that cannot be read.
        """

    def committed(self, number: int) -> None:
        """The visit of this job is in the ledger, and so is every link it offered."""

    async def close(self) -> None: ...


def readers_of(config: PoolConfig) -> Readers:
    most = max(1, raise_file_limit() // FILES_PER_READER)
    count = config.processes if config.processes >= 0 else min(max(1, (os.cpu_count() or 1) - 1), most)
    if count == 0 or (config.processes < 0 and (os.cpu_count() or 1) == 1):
        return InlineReaders()
    return ProcessReaders(count, config.max_batch)


class InlineReaders:
    """Reads in this process; for one core, and for those who ask for it."""

    async def start(self) -> None:
        # The parser is loaded only where it is used: with readers of their own, this process does without it.
        from tenax.reader import Reader

        self._reader = Reader()

    async def read(self, job: Job, rules: Rules, others: int = FEW_VISITS) -> Reading:
        return self._reader.read(job, rules)

    def committed(self, number: int) -> None:
        self._reader.committed((number,))

    async def close(self) -> None: ...


class Wanted(NamedTuple):
    job: Job
    rules: Rules
    done: asyncio.Future[Reading]
    deaths: int = 0
    """Fresh readers that ended while they read this document alone."""
    suspected_at: float = 0.0
    """When a reader last died of it, or so it seems; by the clock of the loop."""


class ProcessReaders:
    def __init__(self, count: int, max_batch: int) -> None:
        self._count = count
        self._max_batch = max_batch
        self._wanted: deque[Wanted] = deque()
        self._suspects: deque[Wanted] = deque()
        """Those that a reader died of, or so it seems: each is read alone, by a fresh one."""
        self._arrived = asyncio.Event()
        self._full = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._fresh = 0
        """Readers that have read nothing yet, or are being started."""
        self._others = FEW_VISITS
        """Visits under way besides the one that wanted something read last."""
        self._read_by: dict[int, list[int]] = {}
        """For each job that was read and is not committed: the list its number goes to when it is."""

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._run_reader()) for _ in range(self._count)]

    async def read(self, job: Job, rules: Rules, others: int = FEW_VISITS) -> Reading:
        self._others = others
        done: asyncio.Future[Reading] = asyncio.get_running_loop().create_future()
        self._wanted.append(Wanted(job, rules, done))
        self._arrived.set()
        if len(self._wanted) >= self._max_batch:
            self._full.set()
        return await done

    def committed(self, number: int) -> None:
        told = self._read_by.pop(number, None)
        if told is not None:
            told.append(number)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run_reader(self) -> None:
        """Keep one reader alive and busy."""
        told = ""
        quick_ends = 0
        self._fresh += 1
        while True:
            try:
                channel = await Channel.open()
            except OSError as error:
                if told != str(error):
                    told = str(error)
                    log.error("a reader cannot be started, it is tried again", extra={"why": told})
                await asyncio.sleep(RESTART_SECONDS)
                continue
            try:
                while (batch := await self._next_batch(channel)) and await self._serve(channel, batch):
                    pass
            finally:
                self._fresh += not channel.is_fresh  # the next one
                await channel.close()
            quick_ends = 0 if channel.has_read else quick_ends + 1
            if quick_ends >= MOST_QUICK_ENDS:
                log.error("readers end before they have read anything", extra={"exit_code": channel.exit_code})
                await asyncio.sleep(RESTART_SECONDS)

    async def _next_batch(self, channel: Channel) -> list[Wanted]:
        """What this reader is to read next: a suspect alone, or what waits; nothing where it is to be replaced."""
        while not await self._gathered(channel):
            pass
        if self._are_suspects_for(channel):
            return [self._suspects.popleft()] if channel.is_fresh else []
        batch = [self._wanted.popleft()]
        batch_bytes = len(batch[0].job.body)
        while (
            self._wanted
            and len(batch) < self._max_batch
            and (batch_bytes := batch_bytes + len(self._wanted[0].job.body)) <= MAX_BATCH_BYTES
            and self._wanted[0].rules is batch[0].rules
        ):
            batch.append(self._wanted.popleft())
        return batch

    def _are_suspects_for(self, channel: Channel) -> bool:
        """A suspect wants a reader that has read nothing yet. One that has makes way where no other is at hand."""
        if len(self._suspects) <= (0 if channel.is_fresh else self._fresh):
            return False
        due_at = self._suspects[0].suspected_at + SUSPECT_SECONDS
        return not self._wanted or asyncio.get_running_loop().time() >= due_at

    async def _gathered(self, channel: Channel) -> bool:
        """Wait until there is something to read, and a moment longer if more may come; False if another reader took it
        all."""
        while not self._wanted and not self._are_suspects_for(channel):
            self._arrived.clear()
            await self._arrived.wait()
        if self._wanted and self._others >= FEW_VISITS and len(self._wanted) < self._max_batch:
            self._full.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(GATHER_SECONDS):
                    await self._full.wait()
        return bool(self._wanted) or self._are_suspects_for(channel)

    async def _serve(self, channel: Channel, batch: list[Wanted]) -> bool:
        """Have a batch read; False when the reader is of no more use."""
        is_alone = channel.is_fresh and len(batch) == 1
        self._fresh -= channel.is_fresh
        try:
            readings = await channel.ask(batch[0].rules, tuple(wanted.job for wanted in batch))
        except (OSError, EOFError):
            await channel.close()
            self._on_death(channel, batch, is_alone)
            return False
        except msgspec.DecodeError as error:
            self._on_nonsense(batch, error)
            return False
        except asyncio.CancelledError:
            for wanted in batch:
                wanted.done.cancel()
            raise
        for wanted, reading in zip(batch, readings, strict=False):
            if not wanted.done.done():
                self._read_by[wanted.job.number] = channel.committed
                wanted.done.set_result(reading)
        while len(self._read_by) > MOST_OPEN:
            del self._read_by[next(iter(self._read_by))]
        self._give_back(batch[len(readings) :])
        return True

    def _on_death(self, channel: Channel, batch: list[Wanted], is_alone: bool) -> None:
        """Whatever the reader was not reading when it died is read elsewhere, right away."""
        at = channel.reading_now
        suspect = batch[at] if at is not None else None
        self._give_back([wanted for wanted in batch if wanted is not suspect])
        if suspect is None or suspect.done.done():
            return
        facts = {"url": suspect.job.url, "exit_code": channel.exit_code, "alone": is_alone}
        log.warning("a reader ended while it read a document", extra=facts)
        deaths = suspect.deaths + is_alone
        if channel.exit_code == -signal.SIGXCPU:
            seconds = max_cpu_seconds(suspect.job)
            why = f"too costly to read: {seconds:g} s of CPU used up (`reading.max_cpu_seconds`)"
            suspect.done.set_result(unreadable(why))
        elif deaths >= MOST_DEATHS:
            why = f"unreadable: it ended {deaths} readers, {channel.ending}"
            suspect.done.set_exception(ReaderFailed(why))
        else:
            now = asyncio.get_running_loop().time()
            self._suspects.append(suspect._replace(deaths=deaths, suspected_at=now))
            self._arrived.set()

    def _on_nonsense(self, batch: list[Wanted], error: msgspec.DecodeError) -> None:
        """A fault of ours, which would come again and again: whichever it is of, it comes alone the next time."""
        log.error("what a reader says cannot be decoded", extra={"why": str(error)})
        if len(batch) > 1:
            self._suspects.extend(batch)
            self._arrived.set()
        elif not batch[0].done.done():
            batch[0].done.set_exception(ReaderFailed(f"unreadable: what was read of it cannot be decoded: {error}"))

    def _give_back(self, unread: list[Wanted]) -> None:
        """To the front: they have waited longest."""
        if unread:
            self._wanted.extendleft(reversed(unread))
            self._arrived.set()
