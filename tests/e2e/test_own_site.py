"""A site of one's own: `--rate 0` asks it for several pages at a time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.e2e.program import DEADLINE_SECONDS, INLINE, ended, start
from tests.site.robots import page, rules
from tests.site.server import Exchange, Site

PATHS = [f"/{number}" for number in range(24)]
TEXT = "<html><title>a page</title><p>" + "some words about it " * 40


@pytest.mark.parametrize(("flags", "at_once"), [((), 8), (("--per-host", "2"), 2), (("--per-host", "1"), 1)])
async def test_that_many_requests_are_in_flight(tmp_path: Path, flags: tuple[str, ...], at_once: int) -> None:
    """Each page is answered when as many are asked for as may be; and there are never more."""
    in_flight: set[str] = set()
    most = 0
    is_full = asyncio.Event()

    async def together(exchange: Exchange) -> None:
        nonlocal most
        in_flight.add(exchange.path)
        most = max(most, len(in_flight))
        if len(in_flight) >= at_once:
            is_full.set()
        async with asyncio.timeout(DEADLINE_SECONDS):
            await is_full.wait()
        in_flight.discard(exchange.path)
        await exchange.answer(TEXT.encode())

    async with Site({"/robots.txt": rules(""), "/": page(*PATHS), **dict.fromkeys(PATHS, together)}) as site:
        flags = ("--rate", "0", "--discover", "links", "-q", *flags, *INLINE)
        process = start("crawl", site.url("/"), *flags, "--dir", tmp_path / "out")
        done = await asyncio.to_thread(ended, process)
        assert (done.code, most) == (0, at_once), done
        assert {hit.path for hit in site.hits} == {"/robots.txt", "/", *PATHS}
