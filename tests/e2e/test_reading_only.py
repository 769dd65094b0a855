"""A crawl that may only be read: whoever asks it needs no right to write, and gets the whole answer."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import INLINE, Ended, ended, in_turn, start, stored, tenax, until
from tests.site.robots import page, rules
from tests.site.server import Exchange, Site

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2  # of linux/prctl.h and linux/capability.h
_prctl = ctypes.CDLL(None).prctl
PATHS = [f"/{number}" for number in range(5)]
OPTIONS = ("--discover", "links", "--rate", "0", *INLINE)


def without_rights() -> None:
    """Permissions hold for root too: what lets it pass them by does not survive the start of a program."""
    if os.getuid() == 0:
        for right in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            assert _prctl(PR_CAPBSET_DROP, right, 0, 0, 0) == 0


def read_only(folder: Path) -> None:
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """What is in it may be taken away after the test."""
    yield tmp_path
    for inner in tmp_path.iterdir():
        inner.chmod(0o755)


def asked(out: Path, *words: str) -> Ended:
    return tenax(*words, "--dir", out, before=without_rights)


async def crawled(out: Path) -> list[str]:
    """A crawl that has ended; its pages, and one failed URL."""
    behaviours = {"/robots.txt": rules(""), "/": page(*PATHS, "/gone"), **{path: page("/") for path in PATHS}}
    async with Site(behaviours) as site:
        ran = await asyncio.to_thread(tenax, "crawl", site.url("/"), *OPTIONS, "--dir", out)
        assert ran.code == 0, ran
        return sorted(site.url(path) for path in ["/", *PATHS])


def answers_in_full(out: Path, pages: list[str]) -> None:
    before = sorted(out.iterdir())
    questions = (
        ("status", "--json"),
        ("export",),
        ("explain", pages[1]),
        ("links", "--from", pages[0]),
        ("links", "--to", pages[0]),
        ("links", "--top", "3"),
        ("dead-letters", "list"),
        ("status", "--schedule"),
        ("db", "check"),
    )
    answers = in_turn(*((*words, "--dir", out) for words in questions), before=without_rights)
    for words, answer in zip(questions, answers, strict=True):
        assert (answer.code, answer.err) == (0, ""), (words, answer)
    status, export, *_ = answers
    assert json.loads(status.out)["pages"] == len(pages)
    assert sorted(json.loads(line)["url"] for line in export.out.splitlines()) == pages, export
    assert sorted(out.iterdir()) == before, "nothing was written"


async def test_a_finished_crawl_on_files_that_may_not_be_written(folder: Path) -> None:
    out = folder / "out"
    pages = await crawled(out)
    read_only(out)
    await asyncio.to_thread(answers_in_full, out, pages)


@pytest.mark.parametrize("has_index", [True, False], ids=["with -shm", "without -shm"])
async def test_what_a_killed_crawl_left_in_its_wal_is_read_too(folder: Path, has_index: bool) -> None:
    """A copy of it, say on a medium that cannot be written; the index beside the WAL may have been left out."""
    out, copy = folder / "out", folder / "copy"
    is_asked = asyncio.Event()

    async def never(exchange: Exchange) -> None:
        is_asked.set()
        await asyncio.Event().wait()

    behaviours = {"/robots.txt": rules(""), "/": page(*PATHS, "/never"), "/never": never}
    async with Site({**behaviours, **{path: page("/") for path in PATHS}}) as site:
        process = start("crawl", site.url("/"), *OPTIONS, "--dir", out)
        pages = sorted(site.url(path) for path in ["/", *PATHS])
        async with asyncio.timeout(60):
            await is_asked.wait()
        await asyncio.to_thread(until, lambda: sorted(stored(out)) == pages, "the pages")
        os.killpg(process.pid, signal.SIGKILL)
        await asyncio.to_thread(ended, process)
    assert (out / "tenax.db-wal").stat().st_size > 0
    shutil.copytree(out, copy)
    if not has_index:
        (copy / "tenax.db-shm").unlink()
    read_only(copy)
    await asyncio.to_thread(answers_in_full, copy, pages)


async def test_a_crawl_that_runs_may_be_looked_at_by_others(folder: Path) -> None:
    out = folder / "out"
    is_asked, is_over = asyncio.Event(), asyncio.Event()

    async def late(exchange: Exchange) -> None:
        is_asked.set()
        await is_over.wait()
        await page("/")(exchange)

    async with Site({"/robots.txt": rules(""), "/": page("/late"), "/late": late}) as site:
        process = start("crawl", site.url("/"), *OPTIONS, "--set", "fetch.headers_timeout_seconds=600", "--dir", out)
        async with asyncio.timeout(60):
            await is_asked.wait()
        answer = await asyncio.to_thread(asked, out, "status", "--json")
        assert answer.code == 0, answer
        seen = json.loads(answer.out)
        assert (seen["pages"], seen["is_running"]) == (1, True)
        is_over.set()
        assert (await asyncio.to_thread(ended, process)).code == 0
        assert len(stored(out)) == 2


async def test_what_may_not_be_read_is_said_so(folder: Path) -> None:
    out = folder / "out"
    await crawled(out)
    (out / "tenax.db").chmod(0o000)
    out.chmod(0o555)
    answer = await asyncio.to_thread(asked, out, "status")
    assert answer.code == 5
    assert "cannot be read; check its permissions" in answer.err
