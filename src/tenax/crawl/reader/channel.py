"""A reader process and the socket to it, as its parent has them."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tenax.crawl.reader.messages import HEADER, ExtractedPage, ExtractJob, ReaderBatch, decode_pages, encode_batch
from tenax.crawl.reader.progress import ReaderProgress
from tenax.urls.admit import Rules

STALL_SECONDS = 10.0
"""A reader that neither answers nor uses CPU time between two looks hangs. One that does use it ends by itself."""
EXIT_TIMEOUT_SECONDS = 5.0
POLL_SECONDS = 0.2
"""How often a reader that has not answered is looked at: is it still reading the same document?"""
STUCK_CPU_SECONDS = 0.1
"""CPU time that it uses on one document between two looks, when it does."""
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
SOCKET_BYTES = 1024 * 1024
LOW_PRIORITY = 5
"""As of `nice`."""


class Channel:
    """A reader process and the socket to it."""

    def __init__(
        self, process: asyncio.subprocess.Process, parent_socket: socket.socket, progress: ReaderProgress
    ) -> None:
        self._process = process
        self._socket = parent_socket
        self._progress = progress
        self._started_before = 0
        """Documents that it had begun before it was asked last."""
        self.is_unused = True
        """Whether it was asked for nothing yet."""
        self.has_started_document = False
        """Whether it had begun a document when it was closed."""
        self.suspect_index: int | None = None
        """The place of the document that it died of, or so it seems, among those that it was asked to read last."""
        self.committed_jobs: list[int] = []
        """Jobs read here whose visits were committed since it was last told."""
        self._rules: Rules | None = None
        """As the reader has them."""
        self._is_disconnected = False
        """Whether it has closed its end: then it ends, if it has not."""
        self._is_closed = False

    @classmethod
    async def open(cls) -> Channel:
        ours, theirs = socket.socketpair()
        try:
            progress = ReaderProgress.create()
        except OSError:
            ours.close()
            theirs.close()
            raise
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tenax.crawl.reader.worker", str(theirs.fileno()), str(progress.fileno),
                pass_fds=[theirs.fileno(), progress.fileno], stdin=asyncio.subprocess.DEVNULL, env=_environment(),
            )  # fmt: skip
        except BaseException:
            ours.close()
            progress.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        return cls(process, ours, progress)

    @property
    def exit_code(self) -> int | None:
        """As of `subprocess`: below 0, the signal that ended it."""
        return self._process.returncode

    @property
    def exit_description(self) -> str:
        """How it ended, in words."""
        code = self.exit_code
        if code is not None and code < 0:
            with suppress(ValueError):
                return f"by {signal.Signals(-code).name}"
        return f"with exit code {code}"

    @property
    def last_cpu_seconds(self) -> float:
        """CPU time of the last document that it has read."""
        return self._progress.last_cpu_seconds

    def lower_priority(self) -> None:
        """Let all other processes go first."""
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, LOW_PRIORITY)

    async def extract_pages(
        self, rules: Rules, jobs: tuple[ExtractJob, ...], on_stuck: Callable[[], None] = lambda: None
    ) -> tuple[ExtractedPage, ...]:
        """What the first of them hold; at least one. Those after them are to be read by whomever.

        `on_stuck` is called again and again while it spends its time on one document. Raises `OSError` or `EOFError`
        when the reader dies. One that hangs is ended.
        """
        self.is_unused = False
        payload = encode_batch(ReaderBatch(None if rules is self._rules else rules, jobs, tuple(self.committed_jobs)))
        self._rules = rules
        self.committed_jobs.clear()
        self._started_before = self._progress.started_count
        watch = _Watchdog(self._reader_state, self._kill, on_stuck)
        try:
            return await self._exchange(payload)
        except (OSError, EOFError):
            self._is_disconnected = True
            raise
        finally:
            watch.cancel()

    def _reader_state(self) -> _ReaderState:
        """Where it is, and the CPU time that it has used, where the system tells."""
        try:
            used = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(") ")[2].split()[11:13]
        except OSError:
            used = []
        cpu_seconds = sum(map(int, used)) / TICKS_PER_SECOND
        return _ReaderState(self._progress.started_count, self._progress.is_extracting, cpu_seconds)

    def _kill(self) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def _exchange(self, payload: bytes) -> tuple[ExtractedPage, ...]:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._socket, HEADER.pack(len(payload)))
        await loop.sock_sendall(self._socket, payload)
        (length,) = HEADER.unpack(await self._receive(HEADER.size))
        return decode_pages(await self._receive(length))

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
        """End the process, and keep what it has left word of."""
        if self._is_closed:
            return
        self._is_closed = True
        self._socket.close()
        try:
            if self._is_disconnected:  # not killed again, or how it ended would be lost
                with suppress(TimeoutError):
                    async with asyncio.timeout(EXIT_TIMEOUT_SECONDS):
                        await self._process.wait()
            self._kill()
            await self._process.wait()
        finally:
            begun = self._progress.started_count
            self.has_started_document = begun > 0
            if begun > self._started_before and self._progress.is_extracting:
                self.suspect_index = begun - self._started_before - 1
            self._progress.close()


class _ReaderState(NamedTuple):
    started_count: int
    is_extracting: bool
    cpu_seconds: float


class _Watchdog:
    """Looks at a reader that has not answered yet, ends one that does nothing, and tells of one that is stuck."""

    def __init__(
        self, state: Callable[[], _ReaderState], kill: Callable[[], None], on_stuck: Callable[[], None]
    ) -> None:
        self._state, self._kill, self._on_stuck = state, kill, on_stuck
        self._last: _ReaderState | None = None
        self._idle_seconds = 0.0
        self._schedule()

    def _schedule(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(POLL_SECONDS, self._check)

    def _check(self) -> None:
        state, last = self._state(), self._last
        self._last = state
        self._idle_seconds = self._idle_seconds + POLL_SECONDS if state == last else 0.0
        if self._idle_seconds >= STALL_SECONDS:
            self._kill()
            return
        is_same = last is not None and state[:2] == (last.started_count, True)
        if last is not None and is_same and state.cpu_seconds - last.cpu_seconds >= STUCK_CPU_SECONDS:
            self._on_stuck()
        self._schedule()

    def cancel(self) -> None:
        self._timer.cancel()


def _environment() -> dict[str, str]:
    """Ours, and the way to this very package, however it was found."""
    source = Path(__file__).resolve().parents[3]
    path = os.pathsep.join(filter(None, (str(source), os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PYTHONPATH": path}
