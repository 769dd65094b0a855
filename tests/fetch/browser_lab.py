"""A site, a manual clock, browsers, and every process that they leave on this machine."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from tenax.clock import ManualClock
from tenax.config import BrowserConfig, FetchConfig, GuardConfig
from tenax.fetch import Request, Response
from tenax.fetch.browser import BrowserTransport
from tenax.fetch.guard import Guard
from tenax.model import Deferred, Failed, Refused
from tests.loops import FAULT_SECONDS
from tests.site.browser import PAGES
from tests.site.server import Site

MARK = "BROWSERS_OF_THIS_TEST"
"""In the environment of every browser process started here."""


class Running(NamedTuple):
    pid: int
    group: int
    command: bytes
    environment: bytes


def _pids() -> set[int]:
    return {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()}


def _running(pids: Iterable[int]) -> Iterator[Running]:
    for pid in pids:
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if command:  # else it is dead, and its parent has not reaped it yet
                yield Running(pid, os.getpgid(pid), command, Path(f"/proc/{pid}/environ").read_bytes())


class Lab:
    """A site, a manual clock, and the processes that a browser left on this machine."""

    def __init__(self, site: Site, guard: Guard, clock: ManualClock, mark: str) -> None:
        self.site = site
        self.clock = clock
        self._guard = guard
        self._mark = f"{MARK}={mark}".encode()
        self._transports: list[BrowserTransport] = []
        self._groups: set[int] = set()
        self._foreign = _pids()
        """They were here before: none of them is a browser's, and there are many to look at again and again."""

    def transport(self, config: BrowserConfig) -> BrowserTransport:
        transport = BrowserTransport(config, FetchConfig(), self._guard, self.clock)
        self._transports.append(transport)
        return transport

    async def close(self) -> None:
        for transport in self._transports:
            await transport.close()
        await self._guard.close()

    async def get(
        self, transport: BrowserTransport, path: str = "/plain", seconds: float = 60.0
    ) -> Response | Failed | Refused | Deferred:
        return await transport.get(Request(self.site.url(path), 100_000, seconds))

    def processes(self, kind: str = "") -> list[int]:
        """Of every kind: the driver (`run-driver`), Chromium itself, its renderers (`--type=renderer`)."""
        return [pid for pid, command in self._commands().items() if kind.encode() in command]

    def _commands(self) -> dict[int, bytes]:
        everyone = list(_running(_pids() - self._foreign))
        self._groups |= {one.group for one in everyone if self._mark in one.environment and b"-pipe" in one.command}
        # A renderer overwrites its environment with its title; it is recognised by its process group.
        return {one.pid: one.command for one in everyone if self._mark in one.environment or one.group in self._groups}

    def is_empty_after(self, seconds: float) -> bool:
        self.clock.advance(seconds)
        return self.processes() == []

    def browsers(self) -> list[int]:
        commands = self._commands()
        return [
            pid
            for pid, command in commands.items()
            if b"--remote-debugging-pipe" in command and b"--type=" not in command
        ]

    def kill(self, pids: list[int]) -> None:
        assert pids
        for pid in pids:
            os.kill(pid, signal.SIGKILL)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 - other processes have no event for us
            await asyncio.sleep(0.02)


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser that is slow on a busy machine does not count as hung."""
    for patience in ("chromium.START_SECONDS", "chromium.ANSWER_SECONDS", "sessions.CLOSE_PAGE_SECONDS"):
        monkeypatch.setattr(f"tenax.fetch.browser.{patience}", FAULT_SECONDS)


@asynccontextmanager
async def opened_lab(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lab]:
    """At the end no process of it may be left."""
    mark = os.urandom(8).hex()
    monkeypatch.setenv(MARK, mark)
    be_patient(monkeypatch)
    clock = ManualClock()
    async with Site(PAGES) as site:
        guard = Guard(GuardConfig(), clock, [site.origin])
        lab = Lab(site, guard, clock, mark)
        yield lab
        await lab.close()
        await until(lambda: not lab.processes())
