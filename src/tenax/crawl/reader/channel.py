"""The parent's side of a reader process and its socket."""

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

from tenax.crawl.reader.messages import (
    ANSWER_HEADER,
    HEADER,
    ExtractedPage,
    ExtractJob,
    ReaderBatch,
    decode_pages,
    encode_batch,
)
from tenax.crawl.reader.worker import ReaderProgress
from tenax.urls.admit import Rules

STALL_SECONDS = 10.0
"""A reader hangs if it neither responds nor uses CPU time for this long. A reader that uses CPU time ends by itself."""
EXIT_TIMEOUT_SECONDS = 5.0
POLL_SECONDS = 0.2
"""How often a reader that has not responded is checked: is it still reading the same document?"""
STUCK_CPU_SECONDS = 0.1
"""A reader is stuck if it has used this much CPU time on one document since a check first found it there."""
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
SOCKET_BYTES = 1024 * 1024
LOW_PRIORITY = 5
"""A `nice` value."""


class Channel:
    """A reader process and the socket to it."""

    def __init__(
        self, process: asyncio.subprocess.Process, parent_socket: socket.socket, progress: ReaderProgress
    ) -> None:
        self._process = process
        self._socket = parent_socket
        self._progress = progress
        self._answered_count = 0
        """Documents of earlier batches that the reader has read."""
        self.last_cpu_seconds = 0.0
        """CPU time of the last document."""
        self.is_unused = True
        """No batch was sent yet."""
        self.has_started_document = False
        """Whether it had begun a document when it was closed."""
        self.suspect_index: int | None = None
        """The index in the last batch of the document that probably crashed it."""
        self.committed_jobs: list[int] = []
        """Jobs read here and committed since the last batch."""
        self._rules: Rules | None = None
        """The rules that the reader has."""
        self._is_disconnected = False
        """It has closed its end of the socket, so it is about to end."""
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
        """As in `subprocess`: a negative signal number if a signal ended the process."""
        return self._process.returncode

    @property
    def exit_description(self) -> str:
        """How it ended, in words."""
        code = self.exit_code
        if code is not None and code < 0:
            with suppress(ValueError):
                return f"by {signal.Signals(-code).name}"
        return f"with exit code {code}"

    def lower_priority(self) -> None:
        """Run with lower priority than all other processes."""
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, LOW_PRIORITY)

    async def extract_pages(
        self, rules: Rules, jobs: tuple[ExtractJob, ...], on_stuck: Callable[[], None] = lambda: None
    ) -> tuple[ExtractedPage, ...]:
        """The first pages of the batch, at least one. The others must be read elsewhere.

        `on_stuck` is called repeatedly while the reader spends its time on one document. Raises `OSError` or `EOFError`
        if the reader dies. A reader that hangs is killed.
        """
        self.is_unused = False
        payload = encode_batch(ReaderBatch(None if rules is self._rules else rules, jobs, tuple(self.committed_jobs)))
        self._rules = rules
        self.committed_jobs.clear()
        watch = _Watchdog(self._reader_state, self._kill, on_stuck)
        try:
            pages = await self._exchange(payload)
            self._answered_count += len(pages)
            return pages
        except (OSError, EOFError):
            self._is_disconnected = True
            raise
        finally:
            watch.cancel()

    def _reader_state(self) -> _ReaderState:
        """Documents begun and CPU time used, as far as the system reports them."""
        try:
            used = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(") ")[2].split()[11:13]
        except OSError:
            used = []
        cpu_seconds = sum(map(int, used)) / TICKS_PER_SECOND
        return _ReaderState(self._progress.started_count, self._progress.is_extracting, cpu_seconds)

    def _kill(self) -> None:
        if self._process.returncode is None:
            # Not `Process.kill`, which reaps a process that has just ended, so that asyncio reports exit code 255.
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    async def _exchange(self, payload: bytes) -> tuple[ExtractedPage, ...]:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._socket, HEADER.pack(len(payload)))
        await loop.sock_sendall(self._socket, payload)
        length, self.last_cpu_seconds = ANSWER_HEADER.unpack(await self._receive(ANSWER_HEADER.size))
        return decode_pages(await self._receive(length))

    async def _receive(self, length: int) -> bytearray:
        """Receive exactly this many bytes into one buffer."""
        buffer = bytearray(length)
        view = memoryview(buffer)
        while view:
            received = await asyncio.get_running_loop().sock_recv_into(self._socket, view)
            if not received:
                raise EOFError("reader process ended")
            view = view[received:]
        return buffer

    async def close(self) -> None:
        """End the process, and keep its recorded progress."""
        if self._is_closed:
            return
        self._is_closed = True
        self._socket.close()
        try:
            if self._is_disconnected:  # not killed again, to keep its exit code
                with suppress(TimeoutError):
                    async with asyncio.timeout(EXIT_TIMEOUT_SECONDS):
                        await self._process.wait()
            self._kill()
            await self._process.wait()
        finally:
            begun = self._progress.started_count
            self.has_started_document = begun > 0
            if begun > self._answered_count and self._progress.is_extracting:
                self.suspect_index = begun - self._answered_count - 1
            self._progress.close()


class _ReaderState(NamedTuple):
    started_count: int
    is_extracting: bool
    cpu_seconds: float


class _Watchdog:
    """Checks a reader that has not responded yet, kills it if it hangs, and reports it if it is stuck."""

    def __init__(
        self, state: Callable[[], _ReaderState], kill: Callable[[], None], on_stuck: Callable[[], None]
    ) -> None:
        self._state, self._kill, self._on_stuck = state, kill, on_stuck
        self._last: _ReaderState | None = None
        self._document: _ReaderState | None = None
        """When this document was first seen. On a busy machine a reader gets little CPU time between two checks."""
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
        begun = self._document
        if not state.is_extracting or begun is None or begun.started_count != state.started_count:
            self._document = state if state.is_extracting else None
        elif state.cpu_seconds - begun.cpu_seconds >= STUCK_CPU_SECONDS:
            self._on_stuck()
        self._schedule()

    def cancel(self) -> None:
        self._timer.cancel()


def _environment() -> dict[str, str]:
    """Our environment, with the path of this package, whichever way it was imported."""
    source = Path(__file__).resolve().parents[3]
    path = os.pathsep.join(filter(None, (str(source), os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PYTHONPATH": path}
