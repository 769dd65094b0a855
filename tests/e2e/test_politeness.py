"""Politeness as the server sees it: the gaps between requests, robots.txt included, also across kill -9."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path
from urllib.request import urlopen

import pytest

from tenax.demo import Site
from tests.e2e.program import INLINE, Demo, ended, serving, start, until

TOLERANCE_SECONDS = 0.9
"""What a request may be noticed later than it was sent, on a busy machine, and so seem closer to the next. Taken off
once, however many requests lie between: a pace twice as fast is seen as soon as three requests were made."""


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Demo]:
    """A site of our own, whose log holds this crawl only.

    It makes its first page ten times as long as any other, and reads no clock meanwhile: so that one is not counted.
    """
    with serving(Site(hosts=2, pages_per_host=24, behaviours="none"), tmp_path / "log") as demo:
        urlopen(demo.seeds[0]).close()
        demo.log.write_bytes(b"")
        yield demo


def times_by_host(demo: Demo) -> dict[str, list[float]]:
    times: dict[str, list[float]] = defaultdict(list)
    for request in demo.requests():
        times[request.host].append(request.time)
    return times


def smallest_gaps(demo: Demo) -> dict[str, float]:
    """By host: the least time between two requests."""
    return {host: min(later - earlier for earlier, later in pairwise(at)) for host, at in times_by_host(demo).items()}


def test_no_two_requests_to_a_host_are_closer_than_its_pace(fresh: Demo, tmp_path: Path) -> None:
    """Many visits may be in flight and several to one host; the pace holds all the same, from the first request on."""
    out = tmp_path / "out"
    # With readers of its own: in the same process, reading a page would hold up the requests it is about.
    options = ("--rate", "1", "--per-host", "4", "--concurrency", "32")
    process = start("crawl", *fresh.seeds, *options, "--dir", out)
    until(lambda: len(fresh.requests()) >= 12, "12 requests")
    process.send_signal(signal.SIGINT)
    assert ended(process).code == 130
    assert [request.path for request in fresh.requests()[:2]] == ["/robots.txt"] * 2
    times = times_by_host(fresh)
    assert len(times) == 2
    for at in times.values():
        for (number, earlier), (other, later) in combinations(enumerate(at), 2):
            assert later - earlier >= (other - number) * 1.0 - TOLERANCE_SECONDS, at


def test_the_pace_holds_across_kill_9(fresh: Demo, tmp_path: Path) -> None:
    """Killed right after a request went out, started again at once: that request is remembered too.

    Nobody can say whether it was answered, so its host is left alone for as long as it may take.
    """
    out, pace_seconds = tmp_path / "out", 1.5
    options = ("--rate", f"{1 / pace_seconds:.6f}", "--set", "fetch.total_timeout_seconds=4", *INLINE)
    for wanted in (2, 3, 4, 5):  # the first request is for robots.txt
        process = start("crawl", fresh.seeds[0], *options, "--dir", out)
        until(partial(_were_made, fresh, wanted), "the next request")
        os.killpg(process.pid, signal.SIGKILL)
        assert ended(process).code == -signal.SIGKILL
    [gap] = smallest_gaps(fresh).values()
    assert gap >= pace_seconds


def _were_made(demo: Demo, requests: int) -> bool:
    return len(demo.requests()) >= requests


def test_a_crawl_delay_is_kept_by_all_hosts_with_one(tmp_path: Path) -> None:
    """robots.txt of the second host asks for 0.2 s between requests, which is slower than the pace asked for here."""
    with serving(Site(hosts=2, pages_per_host=24, behaviours="all"), tmp_path / "log") as demo:
        process = start("crawl", demo.seeds[1], "--rate", "100", *INLINE, "--dir", tmp_path / "out")
        until(lambda: len(demo.requests()) >= 8, "8 requests")
        process.send_signal(signal.SIGINT)
        ended(process)
        [gap] = smallest_gaps(demo).values()
    assert gap >= 0.2
