"""The feed of a site listed by the program, into a pipe as programs have it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.e2e.program import Demo, tenax
from tests.site.hostile import serves
from tests.site.server import Site

HURRIED = ("--set", "politeness.rate_per_second=0")


def test_a_feed_and_the_page_that_names_it(rude: Demo, tmp_path: Path) -> None:
    origin = rude.origins[4]  # the home of that behaviour
    done = tenax("feed", f"{origin}/feed.xml", "--json", *HURRIED, cwd=tmp_path)
    listed = [json.loads(line) for line in done.out.splitlines()]
    assert len(listed) > 1
    assert (done.code, done.err) == (0, f"{len(listed)} entries\n")
    assert {line["feed"] for line in listed} == {f"{origin}/feed.xml"}
    assert all(line["title"] and line["link"].startswith(f"{origin}/") for line in listed)
    named = tenax("feed", f"{origin}/curiosities", "--json", *HURRIED, cwd=tmp_path)
    assert (named.code, named.out) == (0, done.out)
    assert named.err.endswith(f"read {origin}/feed.xml, linked from {origin}/curiosities\n")
    assert list(tmp_path.iterdir()) == [], "nothing is written down"


async def test_a_feed_at_a_private_address_that_nobody_typed_is_refused(tmp_path: Path) -> None:
    feed = serves(b"<rss><channel><item><link>/x</link></item></channel></rss>", "application/rss+xml")
    async with Site({"/feed.xml": feed}, host="127.0.0.2") as private:
        named = f'<!doctype html><link rel="alternate" type="application/rss+xml" href="{private.url("/feed.xml")}">'
        async with Site({"/": serves(named.encode())}) as typed:
            done = await asyncio.to_thread(
                tenax, "feed", typed.url("/"), *HURRIED, "--set", f"guard.ports=80,443,{private.port}", cwd=tmp_path
            )
    assert (done.code, done.out) == (3, "")
    assert "127.0.0.2 is not a public address" in done.err
    assert private.hits == []
