"""The life of browsers: started when needed, replaced, survived, given up for a while, and gone in the end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from tenax.clock import ManualClock
from tenax.config import BrowserConfig, FetchConfig, GuardConfig
from tenax.fetch import Request, Response
from tenax.fetch.browser import BrowserTransport, browser_missing
from tenax.fetch.browser import sessions as sessions_module
from tenax.fetch.browser.chromium import found
from tenax.fetch.browser.session_rules import GIVEN_UP_SECONDS, IDLE_SECONDS
from tenax.fetch.guard import Guard
from tenax.model import Deferred, Failed, FailureKind, Refused
from tests.site.browser import PAGES
from tests.site.server import Site

MARK = "TENAX_TEST_BROWSERS"
"""In the environment of every process a browser here is made of."""


on_one_loop = pytest.mark.asyncio(loop_factories=["uvloop"])
"""For what takes long and has nothing to do with the loop."""


class Running(NamedTuple):
    pid: int
    group: int
    command: bytes
    environment: bytes


def _running() -> Iterator[Running]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and entry.name != str(os.getpid()):
            with suppress(OSError):
                command = (entry / "cmdline").read_bytes()
                if command:  # else it is dead, and only its parent has not looked yet
                    group, environment = os.getpgid(int(entry.name)), (entry / "environ").read_bytes()
                    yield Running(int(entry.name), group, command, environment)


class Lab:
    """A site, a clock turned by hand, and the processes that a browser left on this machine."""

    def __init__(self, site: Site, guard: Guard, clock: ManualClock, mark: str) -> None:
        self.site = site
        self.clock = clock
        self._guard = guard
        self._mark = f"{MARK}={mark}".encode()
        self._transports: list[BrowserTransport] = []
        self._groups: set[int] = set()

    def transport(self, config: BrowserConfig) -> BrowserTransport:
        transport = BrowserTransport(config, FetchConfig(), self._guard, self.clock)
        self._transports.append(transport)
        return transport

    async def close(self) -> None:
        for transport in self._transports:
            await transport.close()
        await self._guard.close()

    async def get(
        self, transport: BrowserTransport, path: str = "/plain", seconds: float = 20.0
    ) -> Response | Failed | Refused | Deferred:
        return await transport.get(Request(self.site.url(path), 100_000, seconds))

    def processes(self, kind: str = "") -> list[int]:
        """Of every kind: the driver (`run-driver`), Chromium itself, its renderers (`--type=renderer`)."""
        return [pid for pid, command in self._commands().items() if kind.encode() in command]

    def _commands(self) -> dict[int, bytes]:
        everyone = list(_running())
        self._groups |= {one.group for one in everyone if self._mark in one.environment and b"-pipe" in one.command}
        # A renderer writes its title over its environment; it is known by the group it is in.
        return {one.pid: one.command for one in everyone if self._mark in one.environment or one.group in self._groups}

    def is_empty_after(self, seconds: float) -> bool:
        self.clock.advance(seconds)
        return self.processes() == []

    def browsers(self) -> list[int]:
        return [pid for pid in self.processes("--remote-debugging-pipe") if pid not in self.processes("--type=")]

    def kill(self, pids: list[int]) -> None:
        assert pids
        for pid in pids:
            os.kill(pid, signal.SIGKILL)


async def until(is_so: Callable[[], bool], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not is_so():  # noqa: ASYNC110 - other processes have no event for us
            await asyncio.sleep(0.02)


@pytest.fixture
async def lab(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lab]:
    mark = os.urandom(8).hex()
    monkeypatch.setenv(MARK, mark)
    clock = ManualClock()
    async with Site(PAGES) as site:
        guard = Guard(GuardConfig(), clock, [site.origin])
        lab = Lab(site, guard, clock, mark)
        yield lab
        await lab.close()
        await until(lambda: not lab.processes(), 3.0)


@on_one_loop
async def test_a_browser_lives_from_its_first_page_to_its_last(lab: Lab) -> None:
    """Lazily started, replaced after its pages, replaced at its age, ended when idle; nothing is left of it."""
    transport = lab.transport(BrowserConfig(settle_seconds=0, max_pages_per_session=2, health_check_seconds=0.05))
    assert lab.processes() == []
    seen = []
    for _ in range(3):
        assert isinstance(await lab.get(transport), Response)
        await until(lambda: len(lab.browsers()) == 1)
        seen += lab.browsers()
    assert seen[0] == seen[1] != seen[2], "the third page has a browser of its own"
    lab.clock.advance(600.0)
    assert isinstance(await lab.get(transport), Response)
    await until(lambda: len(lab.browsers()) == 1)
    assert lab.browsers()[0] not in seen, "ten minutes are enough"
    await until(lambda: lab.is_empty_after(IDLE_SECONDS))
    assert isinstance(await lab.get(transport), Response), "it starts again when it is needed"


async def test_every_process_can_be_killed(lab: Lab) -> None:
    transport = lab.transport(BrowserConfig(settle_seconds=0))
    assert isinstance(await lab.get(transport), Response)
    [browser] = lab.browsers()

    async def killed(kind: Callable[[], list[int]]) -> Response | Failed | Refused | Deferred:
        visit = asyncio.ensure_future(lab.get(transport, "/waits-for-ever"))
        lab.site.hits.clear()
        await until(lambda: any(hit.path == "/silent" for hit in lab.site.hits))
        lab.kill(kind())
        return await asyncio.wait_for(visit, 10.0)

    page = await killed(lambda: lab.processes("--type=renderer"))
    assert isinstance(page, Failed) and (page.kind, page.is_site_wide) == (FailureKind.INTERNAL, False)
    assert isinstance(await lab.get(transport), Response)
    assert lab.browsers() == [browser], "only the page was lost"
    for kind in (lab.browsers, lambda: lab.processes("run-driver")):
        page = await killed(kind)
        assert isinstance(page, Failed) and (page.kind, page.is_site_wide) == (FailureKind.INTERNAL, True)
        assert page.why.startswith("browser: ")
        assert isinstance(await lab.get(transport), Response), "the next page starts another"
    assert browser not in lab.browsers()


@on_one_loop
async def test_an_idle_browser_that_died_is_noticed_and_replaced(lab: Lab) -> None:
    transport = lab.transport(BrowserConfig(settle_seconds=0, health_check_seconds=0.05))
    assert isinstance(await lab.get(transport), Response)
    lab.kill(lab.browsers())
    await until(lambda: lab.processes() == [])
    assert isinstance(await lab.get(transport), Response)


@on_one_loop
async def test_a_browser_that_hangs_is_ended(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenax.fetch.browser.chromium.ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(sessions_module, "WATCH_SECONDS", 0.1)
    transport = lab.transport(BrowserConfig(settle_seconds=0, health_check_seconds=0.05))
    assert isinstance(await lab.get(transport), Response)
    [browser] = lab.browsers()
    os.kill(browser, signal.SIGSTOP)
    await until(lambda: browser not in lab.browsers())
    monkeypatch.setattr("tenax.fetch.browser.chromium.ANSWER_SECONDS", 5.0)
    assert isinstance(await lab.get(transport), Response)


@on_one_loop
async def test_no_more_pages_are_open_than_there_may_be(lab: Lab) -> None:
    transport = lab.transport(BrowserConfig(pages=1, settle_seconds=0))
    assert isinstance(await lab.get(transport), Response)
    first = asyncio.ensure_future(lab.get(transport, "/silent", 2.0))
    await until(lambda: lab.site.hits[-1].path == "/silent")
    second = await lab.get(transport, seconds=0.5)
    assert isinstance(second, Deferred) and "in use" in second.why and second.until > lab.clock.now()
    assert [hit.path for hit in lab.site.hits] == ["/plain", "/silent"], "nothing was sent"
    third = await lab.get(transport)
    assert isinstance(third, Response), "who waits longer gets the page when it is free"
    assert isinstance(await first, Failed)


@on_one_loop
async def test_closing_ends_pages_that_are_still_open(lab: Lab) -> None:
    transport = lab.transport(BrowserConfig(settle_seconds=0))
    visit = asyncio.ensure_future(lab.get(transport, "/silent", 30.0))
    await until(lambda: bool(lab.site.hits))
    visit.cancel()
    with suppress(asyncio.CancelledError):
        await visit


@on_one_loop
async def test_a_browser_that_does_not_start_is_given_up_for_a_while(lab: Lab, tmp_path: Path) -> None:
    broken = tmp_path / "chromium"
    broken.write_text(f"#!/bin/sh\necho x >> {tmp_path}/tries\necho 'FATAL: No usable sandbox!' >&2\nexit 1\n")
    broken.chmod(0o755)
    transport = lab.transport(BrowserConfig(executable=str(broken)))

    def tries() -> int:
        return len((tmp_path / "tries").read_text().splitlines())

    for number in (1, 2, 3):
        failed = await lab.get(transport)
        assert isinstance(failed, Failed) and (failed.kind, failed.is_site_wide) == (FailureKind.INTERNAL, True)
        assert "sandbox" in failed.why and tries() == number
    given_up = await lab.get(transport)
    assert isinstance(given_up, Failed) and given_up.is_site_wide
    assert "3 times in a row" in given_up.why and "browser.executable" in given_up.why
    assert tries() == 3, "nobody tries now"
    lab.clock.advance(GIVEN_UP_SECONDS)
    await lab.get(transport)
    assert tries() == 4


def test_what_is_missing_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert browser_missing() is None, "the tests need a Chromium: scripts/test provides it"
    nowhere = str(tmp_path / "chromium")
    assert browser_missing(nowhere) == f"no Chromium found: `browser.executable` names {nowhere}, which cannot be run"
    monkeypatch.setattr("tenax.fetch.browser.chromium._PLACES", ())
    assert found() is None
    assert (browser_missing() or "").startswith("no Chromium found: install it (Debian and Ubuntu: apt-get install")
    monkeypatch.setattr("tenax.fetch.browser.chromium.find_spec", lambda name: None)
    assert browser_missing() == "the browser is not installed: pip install 'tenax[browser]'"
