"""The browsers of this process: one takes pages until it is exhausted, then another one does. Idle browsers are
ended."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
from typing import Any

from tenax import logs
from tenax.clock import Clock
from tenax.config import BrowserConfig
from tenax.fetch.browser.chromium import BrowserError, Chromium, resident_bytes
from tenax.fetch.browser.rules import (
    MAX_OTHER_BYTES,
    MAX_RENDERER_BYTES,
    BrowserErrors,
    CrashSuspicion,
    SessionUsage,
    describe_errors,
    is_crash_cause,
    is_exhausted,
    record_crash,
    record_error,
    should_close,
)
from tenax.model import Deferred, Failed, FailureKind

BUSY_SECONDS = 5.0
"""Delay of a task if every page is in use."""
WATCH_SECONDS = 0.5
"""How often the memory of a browser with open pages is checked, because a page can fill it quickly."""
CLOSE_PAGE_SECONDS = 5.0
MAX_SUSPECTS = 1000
"""Maximum pages that are remembered because a browser failed while they were open. The oldest ones are forgotten
first."""

log = logs.logger(__name__)


class Session:
    """One Chromium, and how much it was used."""

    def __init__(self, chromium: Chromium, now: float) -> None:
        self.chromium = chromium
        self.usage = SessionUsage(now, now)
        self.failure: asyncio.Future[BrowserError] = asyncio.get_running_loop().create_future()
        """Set when this browser fails. Its open pages will not end by themselves."""

    @property
    def is_broken(self) -> bool:
        return self.failure.done()


class BrowserSessions:
    """At most `browser.pages` pages at the same time. Used by many visits at once."""

    def __init__(self, config: BrowserConfig, gate_url: str, clock: Clock) -> None:
        self._config = config
        self._gate_url = gate_url
        self._clock = clock
        self._slots = asyncio.Semaphore(config.pages)
        self._current: Session | None = None
        self._sessions: set[Session] = set()
        """Every running Chromium: the current one, and exhausted ones with open pages."""
        self._starting: asyncio.Task[Session] | None = None
        self._errors = BrowserErrors()
        self._good_pages = 0
        self._suspects: dict[str, CrashSuspicion] = {}
        self._is_busy = asyncio.Event()
        self._watch_task: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def acquire(self, timeout_seconds: float) -> Session | Failed | Deferred:
        """A browser with room for one more page; `release` it afterwards. The first call starts one."""
        if self._errors.disabled_until > self._clock.now():
            return self._disabled_failure()
        session, has_room = None, False
        try:
            async with asyncio.timeout(timeout_seconds):
                has_room = await self._slots.acquire()
                session = await self._usable_session()
        except TimeoutError:
            why = "it is still starting" if has_room else "every page of it is in use"
            return Deferred(self._clock.now() + BUSY_SECONDS, f"browser: {why}")
        except BrowserError as error:
            return (
                self._disabled_failure() if self._errors.disabled_until > self._clock.now() else _browser_failure(error)
            )
        finally:
            if has_room and session is None:
                self._slots.release()
        session.usage = session.usage.with_page(self._clock.now())
        self._is_busy.set()
        return session

    def release(self, session: Session, url: str, closing: Awaitable[object]) -> None:
        """The page has ended. It is closed in the background; if it does not close, its browser is ended."""
        if not session.is_broken:
            self._errors = BrowserErrors()
            self._good_pages += 1
            self._suspects.pop(url, None)
        self._run_in_background(self._close_page(session, closing))

    def fail_session(self, session: Session, error: BrowserError, url: str = "") -> Failed:
        """End this browser with all its pages. The next page starts another browser.

        The pages may not be the cause, so they are retried without using up an attempt.
        """
        if not session.is_broken:
            session.failure.set_result(error)
            self._record_error(error)
            if session is self._current:
                self._current = None
            session.chromium.kill()
        suspicion = record_crash(self._suspects.pop(url, CrashSuspicion()), self._good_pages)
        if url:
            self._suspects[url] = suspicion
        if len(self._suspects) > MAX_SUSPECTS:
            del self._suspects[next(iter(self._suspects))]
        return _browser_failure(error, is_page_cause=is_crash_cause(suspicion, self._good_pages))

    async def close(self) -> None:
        if self._watch_task is not None:
            self._watch_task.cancel()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        for session in list(self._sessions):
            self._run_in_background(self._end_session(session))
        while self._tasks:  # closing a page may end its browser
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- starting and ending --------------------------------------------------------------------------------

    async def _usable_session(self) -> Session:
        while True:
            session = self._current
            if session is not None and self._is_usable(session):
                return session
            if session is not None:
                self._current = None
                self._end_if_unused(session)
            if self._starting is None:
                self._starting = asyncio.get_running_loop().create_task(self._start())
                self._starting.add_done_callback(self._on_started)
            # Shared by all visits, so it continues if the visit that started it runs out of time.
            await asyncio.shield(self._starting)

    def _is_usable(self, session: Session) -> bool:
        if not session.chromium.is_connected:
            self.fail_session(session, BrowserError("Chromium has ended"))
        return not session.is_broken and not is_exhausted(session.usage, self._clock.now(), self._config)

    async def _start(self) -> Session:
        chromium = await Chromium.start(self._config.executable, self._gate_url)
        session = Session(chromium, self._clock.now())
        self._sessions.add(session)
        self._current = session
        if self._watch_task is None or self._watch_task.done():
            self._watch_task = asyncio.get_running_loop().create_task(self._watch_sessions())
        log.debug("browser started", version=chromium.browser.version)
        return session

    def _on_started(self, task: asyncio.Task[Session]) -> None:
        self._starting = None
        error = None if task.cancelled() else task.exception()
        if isinstance(error, BrowserError):
            self._record_error(error)

    def _record_error(self, error: BrowserError) -> None:
        self._errors = record_error(self._errors, str(error), self._clock.now(), self._config)
        log.warning("browser failed", why=str(error), in_a_row=self._errors.errors_in_a_row)

    def _disabled_failure(self) -> Failed:
        now = self._clock.now()
        wait = self._errors.disabled_until - now
        return Failed(
            describe_errors(self._errors, now), FailureKind.INTERNAL, is_site_wide=True, retry_after_seconds=wait
        )

    async def _close_page(self, session: Session, closing: Awaitable[object]) -> None:
        try:
            async with asyncio.timeout(CLOSE_PAGE_SECONDS):
                await closing
        except TimeoutError:
            self.fail_session(session, BrowserError("Chromium does not close a page"))
        finally:
            session.usage = session.usage.without_page(self._clock.now())
            if not any(one.usage.pages_open for one in self._sessions):
                self._is_busy.clear()
            self._slots.release()
            self._end_if_unused(session)

    def _end_if_unused(self, session: Session) -> None:
        if session.usage.pages_open == 0 and session is not self._current:
            self._run_in_background(self._end_session(session))

    async def _end_session(self, session: Session) -> None:
        if session in self._sessions:
            self._sessions.discard(session)
            if session is self._current:
                self._current = None
            await session.chromium.close(is_broken=session.is_broken)
            log.debug("browser ended", pages=session.usage.pages_started)

    def _run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- monitoring -----------------------------------------------------------------------------------------

    async def _watch_sessions(self) -> None:
        """Check every running Chromium: often while pages are open, rarely while it is idle."""
        while self._sessions:
            if self._is_busy.is_set():
                await asyncio.sleep(WATCH_SECONDS)
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._config.health_check_seconds):
                        await self._is_busy.wait()
            for session in list(self._sessions):
                await self._check_session(session)

    async def _check_session(self, session: Session) -> None:
        if should_close(session.usage, self._clock.now(), self._config):
            return self._run_in_background(self._end_session(session))
        try:
            for process in await session.chromium.processes():
                used_bytes = resident_bytes(process.pid)
                if process.kind == "renderer" and used_bytes > MAX_RENDERER_BYTES:
                    log.warning("page used too much memory", bytes=used_bytes)
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(process.pid, signal.SIGKILL)
                elif used_bytes > MAX_OTHER_BYTES:
                    raise BrowserError("Chromium used too much memory")
        except BrowserError as error:
            self.fail_session(session, error)
            self._end_if_unused(session)
        return None


def _browser_failure(error: BrowserError, *, is_page_cause: bool = False) -> Failed:
    # This is our failure, not the host's, and uses up no attempt of the URL.
    return Failed(f"browser: {error}", FailureKind.INTERNAL, is_site_wide=not is_page_cause)
