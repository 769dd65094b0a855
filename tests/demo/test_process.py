"""The site as a process: it starts, it serves, and it never stays behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tenax.demo import DemoProcess, Site
from tenax.errors import UsageError

SOURCE = Path(__file__).parents[2] / "src"
SITE = Site(hosts=2, pages_per_host=24, behaviours="quick")


def front_page(origin: str) -> int:
    with urllib.request.urlopen(origin + "/", timeout=60) as answer:
        status: int = answer.status
        return status


async def test_it_serves_while_the_block_runs(tmp_path: Path) -> None:
    log = tmp_path / "access.jsonl"
    async with DemoProcess(SITE, log=log) as demo:
        pid = demo.pid
        assert len(demo.origins) == 2
        assert [await asyncio.to_thread(front_page, origin) for origin in demo.origins] == [200, 200]
    assert len(log.read_bytes().splitlines()) == 2
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_site_that_cannot_start_says_so() -> None:
    async with DemoProcess(SITE) as demo:
        port = int(demo.origins[0].rpartition(":")[2])
        with pytest.raises(UsageError, match="could not start"):
            async with DemoProcess(SITE, port=port):
                pass


PARENT = """
import asyncio, sys
from tenax.demo import Site
from tenax.demo import DemoProcess

async def main():
    async with DemoProcess(Site(hosts=1, pages_per_host=24)) as demo:
        print(demo.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_it_ends_when_its_parent_is_killed() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE, env=environment
    )
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    exit_of_child = os.pidfd_open(child)
    try:
        parent.kill()
        await parent.wait()
        gone = asyncio.Event()
        asyncio.get_running_loop().add_reader(exit_of_child, gone.set)
        await asyncio.wait_for(gone.wait(), 60)
    finally:
        asyncio.get_running_loop().remove_reader(exit_of_child)
        os.close(exit_of_child)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_by_hand_it_prints_its_origins_and_stops_when_asked(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "tenax.demo", "--hosts", "1", "--pages", "24", "--no-behaviours"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        origins = json.loads(process.stdout.readline())["origins"]
        assert front_page(origins[0]) == 200
        process.send_signal(number)
        assert process.wait(timeout=60) == 0


def test_impossible_options_end_in_one_line() -> None:
    command = [sys.executable, "-m", "tenax.demo", "--pages", "3"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=60)
    assert ended.returncode == 2
    assert ended.stderr.decode() == "tenax.demo: a demo host has at least 24 pages, not 3\n"
