"""Kill -9 in the middle, ten times: the short form of `scripts/soak kill`."""

from __future__ import annotations

from pathlib import Path
from random import Random

from bench.killing import Range, survive
from bench.soak_kill import shoot
from tenax.demo import Site
from tenax.demo.server import DemoProcess


async def test_ten_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    site = Site(hosts=4, pages_per_host=40, behaviours="quick")
    rounds = await shoot(site, tmp_path, wanted=10, each=4, dice=Random(7))
    assert sum(round_.kills.total() for round_ in rounds) >= 10
    for round_ in rounds:
        assert round_.troubles == []
        assert (round_.lost, round_.doubled, round_.foreign) == (0, 0, 0)


async def test_what_is_wrong_would_be_seen(tmp_path: Path) -> None:
    """The judge itself: a crawl whose file was tampered with is not whole."""
    site = Site(hosts=1, pages_per_host=24, behaviours="none")
    log, out = tmp_path / "log", tmp_path / "out"
    async with DemoProcess(site, log=log) as demo:
        range_ = Range(demo, log)
        whole = await survive(range_, out, "flat out", Random(1), most_kills=0)
        assert (whole.is_whole, whole.pages) == (True, 24)
        lines = (out / "pages.jsonl").read_bytes().splitlines(keepends=True)
        (out / "pages.jsonl").write_bytes(b"".join([*lines[:-2], lines[0], lines[-1][:-9]]))
        broken = await survive(range_, out, "flat out", Random(1), most_kills=0)
    assert (broken.lost, broken.doubled, broken.is_whole) == (2, 1, False)
    assert any("cut off" in trouble for trouble in broken.troubles)
