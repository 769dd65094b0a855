"""Pages in the browser, as a whole crawl meets them: what they try is theirs alone to suffer from."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from tenax.config import BrowserConfig
from tenax.fetch import Response
from tenax.fetch.browser.rules import DISABLED_SECONDS, IDLE_SECONDS
from tenax.model import Failed, FailureKind, Fetched, Refused, TransportKind
from tests.fetch.browser_lab import Lab, be_patient, opened_lab, until
from tests.hostile.asking import explained, outcome_of
from tests.hostile.crawling import Settings, crawl
from tests.site.hostile import WORDS, hub, moves, serves
from tests.site.proxies import LocalProxy
from tests.site.server import Behaviour, Site

RENDERED: Settings = {
    "fetch.fallbacks": ("browser",),
    "fetch.max_attempts": 1,
    "fetch.total_timeout_seconds": 60.0,
    "browser.settle_seconds": 10.0,
    "guard.allow_networks": ("127.0.0.1/32",),
}
"""127.0.0.1 stands for the open web; the rest of loopback is private."""
TALE = f"document.getElementById('root').innerHTML = '<h1>A tale</h1><p>{WORDS}</p>';"


def app(script: str, tale: str = TALE) -> Behaviour:
    """A page that is an empty shell to everyone but a browser."""
    shell = "<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>"
    return serves(f"<!doctype html><title>App</title><body>{shell}<script>{tale}{script}</script>".encode())


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    be_patient(monkeypatch)


@pytest.fixture
async def lab(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lab]:
    async with opened_lab(monkeypatch) as lab:
        yield lab


# ---- 10 000 pages → process count and memory stable


def megabytes(pids: list[int]) -> float:
    """What they hold, shared pages divided among their holders; without those of files, for these are shared with
    every other browser of this machine, and how many there are is not ours to say."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
    return total / 1000


async def test_10_000_pages_process_count_and_memory_stable(lab: Lab) -> None:
    """Four browsers of six pages here; `scripts/soak browser` renders a thousand, bad ones among them."""
    transport = lab.transport(BrowserConfig(settle_seconds=0, max_pages_per_session=6))
    counts, browser_mb, own_mb = [], [], []
    for number in range(24):
        assert isinstance(await lab.get(transport, "/rendered"), Response)
        if number % 6 == 5:
            await until(lambda: len(lab.browsers()) == 1 and not lab.processes("--type=renderer"))
            counts.append(len(lab.processes()))
            browser_mb.append(megabytes(lab.processes()))
            own_mb.append(megabytes([os.getpid()]))
    assert max(counts) - min(counts) <= 1, counts
    assert max(browser_mb) < statistics.median(browser_mb) * 1.25, browser_mb
    assert own_mb[-1] - own_mb[0] < 5.0, own_mb


# ---- renderer crash, endless alert(), popups, downloads → that page fails alone


async def test_renderer_crash_endless_alert_popups_downloads_that_page_fails_alone(tmp_path: Path) -> None:
    apps = {
        "/crash": app("const a = []; for (;;) a.push(new Uint8Array(1 << 24).fill(1))"),
        "/alerts": app("for (;;) alert(1)"),
        "/popups": app("for (let i = 0; i < 30; i++) window.open('/popup?' + i)"),
        "/downloads": app("root.innerHTML += '<a href=/file?1 download id=a>x</a>'; a.click(); location = '/file?2'"),
        "/good": app(""),
    }
    file = serves(b"MZ\0binary", "application/octet-stream", Content_Disposition="attachment")
    async with Site({"/": hub(*apps), **apps, "/file": file}) as site:
        done = await crawl([site.url("/")], tmp_path, RENDERED)
        outcomes = {path: await outcome_of(done, site.url(path)) for path in apps}
        host = await done.host(site.origin)
        asked = [hit.path for hit in site.hits]
    assert {path: outcome.label for path, outcome in outcomes.items()} == {
        "/crash": "failed:internal",
        "/alerts": "failed:bad_response",
        "/popups": "fetched",
        "/downloads": "fetched",
        "/good": "fetched",
    }
    for path in ("/popups", "/downloads", "/good"):
        assert "harbours, ropes and tides" in (done.pages[site.url(path)].text or ""), path
    assert set(done.dead_letters) == {site.url("/crash"), site.url("/alerts")}
    assert (host.breaker, host.failures_in_a_row) == ("closed", 0)
    assert not any(path.startswith("/popup?") for path in asked)


# ---- idle → no CPU


def cpu_seconds(pids: list[int]) -> float:
    ticks = 0
    for pid in pids:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


async def test_idle_no_cpu(lab: Lab) -> None:
    """An unused browser ends after a minute, and so does its supervision."""
    transport = lab.transport(BrowserConfig(settle_seconds=0))
    assert isinstance(await lab.get(transport), Response)
    await until(lambda: not lab.processes("--type=renderer"))
    pids = lab.processes()
    for _ in range(30):  # what it has left to do takes a while on a busy machine
        used, own = cpu_seconds(pids), time.process_time()
        await asyncio.sleep(2.0)  # CPU can only be seen to be used, or not, while time passes
        spent = cpu_seconds(pids) - used, time.process_time() - own
        if max(spent) <= 0.1:
            break
    assert max(spent) <= 0.1, spent
    assert IDLE_SECONDS == 60.0


# ---- the same by redirect, meta refresh, script, iframe, fetch(), WebSocket in the browser → refused


async def test_the_same_by_redirect_meta_refresh_script_iframe_fetch_websocket_in_the_browser_refused(
    tmp_path: Path,
) -> None:
    async with Site({"/page": app("")}, "127.0.0.2") as private:
        to = private.url("/page")
        leading = {
            "/redirect": app("location = '/moved'"),
            "/refresh": app(f"document.head.innerHTML = '<meta http-equiv=refresh content=\"0; url={to}\">'"),
            "/script": app(f"location = '{to}'"),
        }
        stopped = "e => root.append(' STOPPED')"
        inside = {
            "/iframe": app(f"root.insertAdjacentHTML('beforeend', '<iframe src=\"{to}\"></iframe>')"),
            "/fetch": app(f"fetch('{to}', {{mode: 'no-cors'}}).catch({stopped})"),
            "/websocket": app(f"new WebSocket('{to}'.replace('http', 'ws')).onerror = {stopped}"),
        }
        apps = {**leading, **inside}
        async with Site({"/": hub(*apps), **apps, "/moved": moves(to)}) as site:
            done = await crawl([site.url("/")], tmp_path, RENDERED, ports=(private.port,))
            for path in leading:
                assert await outcome_of(done, site.url(path)) == Refused("guard: 127.0.0.2 is not a public address")
            for path in inside:
                assert await outcome_of(done, site.url(path)) == Fetched(200)
                assert (await done.history(site.url(path))).visits[-1].fetch.transport is TransportKind.BROWSER
            for path in ("/fetch", "/websocket"):
                assert "STOPPED" in (done.pages[site.url(path)].text or "")
        assert private.connections == 0


# ---- proxies → the same guard, and the same proxies


async def test_a_page_that_needs_a_browser_goes_through_the_site_s_proxies(tmp_path: Path) -> None:
    async with LocalProxy(user="me", password="hunter2") as proxy, Site({"/": app("")}) as site:
        settings = {**RENDERED, "proxy.urls": (proxy.url("me", "hunter2"),)}
        done = await crawl([site.url("/")], tmp_path, settings)
        visit = (await done.history(site.url("/"))).visits[-1]
        output = await explained(done.out, site.url("/"))
    assert visit.outcome == Fetched(200)
    assert (visit.fetch.transport, visit.fetch.proxy) == (TransportKind.BROWSER, proxy.name)
    assert site.connections == proxy.connections, "nothing went past the proxy"
    assert proxy.name in output and "hunter2" not in output
    assert not any("proxy" in name for hit in site.hits for name in hit.headers)


# ---- a browser that does not work → no host and no URL pays for it


async def test_a_failure_of_the_browser_itself_counts_against_nobody(tmp_path: Path) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    apps = {f"/{number}": app("") for number in range(8)}
    async with Site({"/": hub(*apps), **apps, "/plain": serves(WORDS.encode())}) as site:
        done = await crawl([site.url("/")], tmp_path / "out", {**RENDERED, "browser.executable": str(broken)})
        host = await done.host(site.origin)
        lives = [await done.history(site.url(path)) for path in apps]
    assert (host.breaker, host.failures_in_a_row, host.recent_failures, host.error_count) == ("closed", 0, (), 0)
    assert done.dead_letters == {}
    for history in lives:
        last = history.visits[-1].outcome
        assert isinstance(last, Failed) and (last.kind, last.is_site_wide) == (FailureKind.INTERNAL, True)
        assert history.attempt == 0 and history.due is not None
    waits = [history.due - history.visits[-1].at for history in lives if history.due is not None]
    assert max(waits) > DISABLED_SECONDS * 0.9, "nobody asks again and again for a browser that was given up"
