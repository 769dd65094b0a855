"""The lifecycle of browsers: started when needed, replaced, disabled for a while, and gone at the end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import tenax
from tenax.config import BrowserConfig
from tenax.fetch import Response
from tenax.fetch.browser import browser_install_hint
from tenax.fetch.browser import sessions as sessions_module
from tenax.fetch.browser.chromium import find_chromium
from tenax.fetch.browser.rules import DISABLED_SECONDS, IDLE_SECONDS
from tenax.model import Deferred, Failed, FailureKind, Refused
from tests.fetch.browser_lab import Lab, opened_lab, until
from tests.loops import outlasted

SOURCE = str(Path(tenax.__file__).parents[1])

on_one_loop = pytest.mark.asyncio(loop_factories=["uvloop"])
"""For slow tests that do not depend on the loop."""


def inside(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for temporary files. Not pytest's own, whose path is too long for sockets; must be set first."""
    with tempfile.TemporaryDirectory() as directory:
        monkeypatch.setenv("TMPDIR", directory)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(directory)


@pytest.fixture
async def lab(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lab]:
    async with opened_lab(monkeypatch) as lab:
        yield lab


@on_one_loop
async def test_a_browser_lives_from_its_first_page_to_its_last(lab: Lab) -> None:
    """Started lazily, replaced after its pages, replaced at its age, ended when idle; nothing is left of it."""
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
        return await asyncio.wait_for(visit, 60.0)

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
async def test_no_secret_of_ours_is_in_chromium_s_environment(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENAX_PROXY_URLS", "http://me:hunter2@proxy.example")
    monkeypatch.setenv("https_proxy", "http://me:hunter2@proxy.example")
    assert isinstance(await lab.get(lab.transport(BrowserConfig(settle_seconds=0))), Response)
    [browser] = lab.browsers()
    environment = Path(f"/proc/{browser}/environ").read_bytes()  # noqa: ASYNC240 - this file is no disk's
    assert b"PATH=" in environment and b"hunter2" not in environment


@on_one_loop
async def test_an_idle_browser_that_died_is_noticed_and_replaced(lab: Lab) -> None:
    transport = lab.transport(BrowserConfig(settle_seconds=0, health_check_seconds=0.05))
    assert isinstance(await lab.get(transport), Response)
    lab.kill(lab.browsers())
    await until(lambda: lab.processes() == [])
    assert isinstance(await lab.get(transport), Response)


@on_one_loop
async def test_a_browser_that_hangs_is_ended(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "WATCH_SECONDS", 0.1)
    transport = lab.transport(BrowserConfig(settle_seconds=0, health_check_seconds=0.05))
    assert isinstance(await lab.get(transport), Response)
    [browser] = lab.browsers()
    os.kill(browser, signal.SIGSTOP)
    monkeypatch.setattr("tenax.fetch.browser.chromium.ANSWER_SECONDS", 0.3)
    await until(lambda: browser not in lab.browsers())
    monkeypatch.setattr("tenax.fetch.browser.chromium.ANSWER_SECONDS", 60.0)
    assert isinstance(await lab.get(transport), Response)


@on_one_loop
async def test_no_more_pages_are_open_than_there_may_be(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenax.fetch.browser.chromium.ANSWER_SECONDS", 1e6)  # a look at the browser lasts, too
    transport = lab.transport(BrowserConfig(pages=1, settle_seconds=0))
    assert isinstance(await lab.get(transport), Response)
    first = asyncio.ensure_future(lab.get(transport, "/silent", 600.0))
    await until(lambda: lab.site.hits[-1].path == "/silent")
    second = await outlasted(lab.get(transport, seconds=100.0), 100.0, lambda: True)
    assert isinstance(second, Deferred) and "in use" in second.why and second.until > lab.clock.now()
    assert [hit.path for hit in lab.site.hits] == ["/plain", "/silent"], "nothing was sent"
    third = await outlasted(lab.get(transport, seconds=10_000.0), 600.0, lambda: True)
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
    says = "[12:12:1116/0452:FATAL:content/zygote.cc:313] No usable sandbox!"
    broken.write_text(f"#!/bin/sh\necho x >> {tmp_path}/tries\necho '{says}' >&2\nexit 1\n")
    broken.chmod(0o755)
    transport = lab.transport(BrowserConfig(executable=str(broken)))

    def tries() -> int:
        return len((tmp_path / "tries").read_text().splitlines())

    for number in (1, 2, 3):
        failed = await lab.get(transport)
        assert isinstance(failed, Failed) and (failed.kind, failed.is_site_wide) == (FailureKind.INTERNAL, True)
        assert failed.why.endswith("Chromium does not start: No usable sandbox!") or number == 3
        assert "No usable sandbox!" in failed.why and tries() == number
    lab.clock.advance(100.0)
    given_up = await lab.get(transport)
    assert isinstance(given_up, Failed) and given_up.is_site_wide
    assert given_up.retry_after_seconds == DISABLED_SECONDS - 100.0, "nobody comes back before that"
    assert "3 times in a row" in given_up.why and "browser.executable" in given_up.why
    assert tries() == 3, "nobody tries now"
    lab.clock.advance(DISABLED_SECONDS)
    await lab.get(transport)
    assert tries() == 4


@on_one_loop
async def test_a_driver_that_does_not_start_is_the_browser_s_trouble(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Playwright raises a plain Exception when its driver ends at once."""
    monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", "/bin/false")
    transport = lab.transport(BrowserConfig())
    failed = await lab.get(transport)
    assert isinstance(failed, Failed) and (failed.kind, failed.is_site_wide) == (FailureKind.INTERNAL, True)
    assert failed.why.startswith("browser: Chromium does not start: ")


@on_one_loop
async def test_a_page_that_breaks_every_browser_is_blamed_in_the_end(lab: Lab) -> None:
    """Otherwise one page would prevent all others from being rendered, for ever."""
    transport = lab.transport(BrowserConfig(settle_seconds=0))
    blamed = []
    for _ in range(3):
        assert isinstance(await lab.get(transport), Response)
        visit = asyncio.ensure_future(lab.get(transport, "/waits-for-ever"))
        lab.site.hits.clear()
        await until(lambda: any(hit.path == "/silent" for hit in lab.site.hits))
        lab.kill(lab.browsers())
        failed = await visit
        assert isinstance(failed, Failed) and failed.kind is FailureKind.INTERNAL
        blamed.append(not failed.is_site_wide)
    assert blamed == [False, False, True]


@on_one_loop
async def test_no_file_outlives_the_browser_and_what_a_killed_process_left_is_removed(
    lab: Lab, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = (
        "import asyncio\nfrom tenax.fetch.browser.chromium import Chromium\nasync def main():\n"
        "    await Chromium.start('', 'http://127.0.0.1:1')\n    print('started', flush=True)\n"
        "    await asyncio.sleep(60)\nasyncio.run(main())"
    )
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    assert other.stdout is not None
    assert await other.stdout.readline() == b"started\n"
    other.kill()
    await other.wait()
    await until(lambda: not lab.processes("-pipe"))
    [left] = inside(temporary)
    transport = lab.transport(BrowserConfig(settle_seconds=0))
    assert isinstance(await lab.get(transport), Response)
    [own] = inside(temporary)
    assert own != left
    await transport.close()
    assert inside(temporary) == []


def test_what_is_missing_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert browser_install_hint() is None, "the tests need a Chromium: scripts/test provides it"
    nowhere = str(tmp_path / "chromium")
    assert (
        browser_install_hint(nowhere) == f"no Chromium found: `browser.executable` names {nowhere}, which cannot be run"
    )
    monkeypatch.setattr("tenax.fetch.browser.chromium._EXECUTABLES", ())
    assert find_chromium() is None
    assert (browser_install_hint() or "").startswith(
        "no Chromium found: install it (Debian and Ubuntu: apt-get install"
    )
    monkeypatch.setattr("tenax.fetch.browser.chromium.find_spec", lambda name: None)
    assert browser_install_hint() == "the browser is not installed: pip install 'tenax[browser]'"
