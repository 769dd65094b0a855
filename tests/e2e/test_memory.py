"""A run that uses more memory than it may ends cleanly, with a code of its own, and the same command goes on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from tests.e2e.fork_server import Running
from tests.e2e.program import DEADLINE_SECONDS, INLINE, ended, environment, start, stored
from tests.site.robots import page, pages, rules
from tests.site.server import Exchange, Site

PATHS = [f"/{number}" for number in range(5)]


def until_it_says(process: Running, words: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"it never said {words!r}")


async def test_what_is_in_flight_is_committed_and_the_next_run_goes_on(tmp_path: Path) -> None:
    is_over = asyncio.Event()

    async def late(exchange: Exchange) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await is_over.wait()
        await page(*PATHS)(exchange)

    async with Site({"/robots.txt": rules(""), **pages(*PATHS), "/": late}) as site:
        command = ("crawl", site.url("/"), "--discover", "links", "--rate", "0", *INLINE, "--dir", tmp_path)
        first = start(*command, "--set", "resilience.max_memory_bytes=1", "--set", "fetch.headers_timeout_seconds=60")
        await asyncio.to_thread(until_it_says, first, "memory limit exceeded, stopping")
        is_over.set()
        code, _, err = await asyncio.to_thread(ended, first)
        assert code == 12, err
        assert "(`resilience.max_memory_bytes`); everything committed is safe: run the same command again" in err
        assert stored(tmp_path) == [site.url("/")]
        assert [hit.path for hit in site.hits] == ["/robots.txt", "/"], "nothing new was begun"
        second = await asyncio.to_thread(ended, start(*command, "--set", "resilience.max_memory_bytes=0"))
        assert second.code == 0, second
        assert sorted(stored(tmp_path)) == sorted(site.url(path) for path in ["/", *PATHS])
        assert len(site.hits) == len(PATHS) + 2, "and nothing is asked for twice"


HEAPS = """
import ctypes, sys
from tenax.cli import main
code = main(sys.argv[1:])
libc = ctypes.CDLL(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
sys.exit(code)
"""


async def test_the_threads_of_a_crawl_have_one_heap(tmp_path: Path) -> None:
    """A thread that starts before memory is configured would get its own, which grows by a system call per page."""
    async with Site({"/robots.txt": rules(""), **pages(*PATHS), "/": page(*PATHS)}) as site:
        arguments = ["crawl", site.url("/"), "--rate", "0", *INLINE, "--dir", str(tmp_path)]
        program = await asyncio.create_subprocess_exec(
            sys.executable, "-c", HEAPS, *arguments, stdout=subprocess.PIPE, env=environment()
        )
        out, _ = await asyncio.wait_for(program.communicate(), DEADLINE_SECONDS)
    assert program.returncode == 0
    assert out.count(b"<heap nr=") == 1
