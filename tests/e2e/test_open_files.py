"""A crawl of more hosts than there are file descriptors: it goes slower, says why once, and blames nobody."""

from __future__ import annotations

import asyncio
import resource
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.e2e.program import status, stored, tenax
from tests.site.robots import pages, rules
from tests.site.server import Site

HOSTS = 200


async def sites(stack: AsyncExitStack) -> list[Site]:
    behaviours = {"/robots.txt": rules(""), **pages("/a", "/b")}
    hosts = [f"127.0.{1 + number // 100}.{1 + number % 100}" for number in range(HOSTS)]
    return [await stack.enter_async_context(Site(behaviours, host)) for host in hosts]


@pytest.mark.parametrize(("files", "processes"), [(64, 2), (64, 0), (32, 1)])
async def test_few_files_make_it_slower_and_nothing_else(tmp_path: Path, files: int, processes: int) -> None:
    def allow() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    async with AsyncExitStack() as stack:
        there = await sites(stack)
        seeds = [site.url("/") for site in there]
        options = ("--rate", "0", "--discover", "links", "--dir", tmp_path, "--set", f"pool.processes={processes}")
        code, out, err = await asyncio.to_thread(tenax, "crawl", *seeds, *options, before=allow)
    assert code == 0, err
    assert sorted(stored(tmp_path)) == sorted(site.url(path) for site in there for path in ("/", "/a", "/b"))
    outcomes = status(tmp_path)["outcomes"]
    assert not [name for name in outcomes if name.startswith("failed")], outcomes
    assert outcomes.get("deferred", 0) <= 2 * HOSTS, outcomes
    [warning] = [line for line in err.splitlines() if "ulimit" in line]
    assert "raise `ulimit -n`" in warning
    assert f"ulimit={files} " in warning and "wanted=256 enough=768" in warning
    assert "internal error" not in err + out and "internal error during visit" not in err
