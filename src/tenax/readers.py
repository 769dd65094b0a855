"""Where documents are read: in processes of their own, or in this one.

Documents that arrive while a reader is busy travel together, so the cost of crossing over is shared. A reader that
crashes, hangs or grows too large on a document is ended and replaced; the documents it held are read again one by
one, and the one that does it again is given up. No page stops the crawl.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from tenax.config import PoolConfig
from tenax.reading import HEADER, Job, Reading, Work, decode_readings, encode_work
from tenax.urls.admit import Rules

log = logging.getLogger(__name__)

READ_DEADLINE_SECONDS = 20.0
RESTART_SECONDS = 1.0
SOCKET_BYTES = 1024 * 1024
GATHER_SECONDS = 0.025
"""How long documents are gathered for a reader that is idle. One that is woken for every single document spends more
CPU on it: crossing over, cold caches, and going to sleep again."""
FEW_VISITS = 16
"""With fewer others under way nothing is gathered: little would come, and a host with one connection waits for it."""
MOST_OPEN = 10_000


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
    count = config.processes if config.processes >= 0 else max(1, (os.cpu_count() or 1) - 1)
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
    is_suspect: bool
    """It was in the hands of a reader that died; it travels alone now."""


class ProcessReaders:
    def __init__(self, count: int, max_batch: int) -> None:
        self._count = count
        self._max_batch = max_batch
        self._wanted: deque[Wanted] = deque()
        self._arrived = asyncio.Event()
        self._full = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
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
        self._wanted.append(Wanted(job, rules, done, is_suspect=False))
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
        while True:
            try:
                channel = await Channel.open()
            except OSError as error:
                log.error("a reader cannot be started", extra={"why": str(error)})
                await asyncio.sleep(RESTART_SECONDS)
                continue
            try:
                while True:
                    batch = await self._next_batch()
                    if not await self._serve(channel, batch):
                        break
            finally:
                await channel.close()

    async def _next_batch(self) -> list[Wanted]:
        while not await self._gathered():
            pass
        batch = [self._wanted.popleft()]
        while (
            not batch[0].is_suspect
            and self._wanted
            and len(batch) < self._max_batch
            and not self._wanted[0].is_suspect
            and self._wanted[0].rules is batch[0].rules
        ):
            batch.append(self._wanted.popleft())
        return batch

    async def _gathered(self) -> bool:
        """Wait until there is something to read, and a moment longer if more may come; False if another reader took it
        all."""
        while not self._wanted:
            self._arrived.clear()
            await self._arrived.wait()
        if self._others >= FEW_VISITS and len(self._wanted) < self._max_batch:
            self._full.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(GATHER_SECONDS):
                    await self._full.wait()
        return bool(self._wanted)

    async def _serve(self, channel: Channel, batch: list[Wanted]) -> bool:
        """Have a batch read; False when the reader is of no more use."""
        try:
            readings = await channel.ask(batch[0].rules, tuple(wanted.job for wanted in batch))
        except (OSError, EOFError, TimeoutError, msgspec.DecodeError):
            self._blame(batch)
            return False
        except asyncio.CancelledError:
            for wanted in batch:
                wanted.done.cancel()
            raise
        for wanted, reading in zip(batch, readings, strict=True):
            if not wanted.done.done():
                self._read_by[wanted.job.number] = channel.committed
                wanted.done.set_result(reading)
        while len(self._read_by) > MOST_OPEN:
            del self._read_by[next(iter(self._read_by))]
        return True

    def _blame(self, batch: list[Wanted]) -> None:
        for wanted in batch:
            if not wanted.is_suspect:
                self._wanted.append(wanted._replace(is_suspect=True))
            elif not wanted.done.done():
                wanted.done.set_exception(ReaderFailed("the document crashed its reader or took too long to read"))


class Channel:
    """A reader process and the socket to it."""

    def __init__(self, process: asyncio.subprocess.Process, ours: socket.socket) -> None:
        self._process = process
        self._socket = ours
        self.committed: list[int] = []
        """Jobs read here whose visits were committed since it was last told."""
        self._rules: Rules | None = None
        """As the reader has them."""

    @classmethod
    async def open(cls) -> Channel:
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tenax.reader_process", str(theirs.fileno()),
            pass_fds=[theirs.fileno()], stdin=asyncio.subprocess.DEVNULL, env=_environment(),
        )  # fmt: skip
        theirs.close()
        ours.setblocking(False)
        return cls(process, ours)

    async def ask(self, rules: Rules, jobs: tuple[Job, ...]) -> tuple[Reading, ...]:
        payload = encode_work(Work(None if rules is self._rules else rules, jobs, tuple(self.committed)))
        self._rules = rules
        self.committed.clear()
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(READ_DEADLINE_SECONDS):
            await loop.sock_sendall(self._socket, HEADER.pack(len(payload)))
            await loop.sock_sendall(self._socket, payload)
            (length,) = HEADER.unpack(await self._receive(HEADER.size))
            return decode_readings(await self._receive(length))

    async def _receive(self, length: int) -> bytearray:
        """Exactly so many bytes, straight into one buffer."""
        buffer = bytearray(length)
        view = memoryview(buffer)
        while view:
            received = await asyncio.get_running_loop().sock_recv_into(self._socket, view)
            if not received:
                raise EOFError("the reader is gone")
            view = view[received:]
        return buffer

    async def close(self) -> None:
        self._socket.close()
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


def _environment() -> dict[str, str]:
    """Ours, and the way to this very package, however it was found."""
    source = Path(__file__).resolve().parent.parent
    path = os.pathsep.join(filter(None, (str(source), os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PYTHONPATH": path}
