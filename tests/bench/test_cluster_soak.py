"""What a cluster is put through: one plan for one seed, a site that can be counted, a log that tells who came when."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import pytest

from bench import cluster_soak_log
from bench.cluster_soak_log import closest, too_close
from bench.cluster_soak_plan import SERVERS, SPARED_SECONDS, WORKERS, Disturbance, plan
from bench.cluster_soak_site import GUESTS_A_PAGE, Hosts, path_of
from bench.soak_cluster import QUICK, WHOLE, Size

SEEDS = range(1, 40)
SIZES = pytest.mark.parametrize("size", [QUICK, WHOLE], ids=["quick", "whole"])

LOG = """\
1000.500 0.200 127.1.0.1 200 worker-0.1 /robots.txt
1002.300 0.001 127.1.0.1 200 worker-0.1 /
1004.299 0.000 127.1.0.1 499 worker-1.1 /page/1.html
1000.400 0.000 127.1.0.2 200 worker-0.1 /robots.txt
1003.000 1.500 127.1.0.2 200 worker-2.1 /slow/3.html
"""


def test_the_same_seed_is_the_same_plan() -> None:
    assert plan(7, WHOLE.shape) == plan(7, WHOLE.shape) != plan(8, WHOLE.shape)


@SIZES
@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_has_everything_in_time(seed: int, size: Size) -> None:
    made, shape = plan(seed, size.shape), size.shape
    assert [one.what for one in made].count("kill") == shape.kills
    assert [one.what for one in made].count("pause") == 1
    assert {one.what for one in made} >= set(SERVERS)
    assert list(made) == sorted(made)
    assert all(shape.begin_seconds <= one.at_seconds <= shape.end_seconds for one in made)
    assert all(0 <= one.slot < WORKERS for one in made if one.what not in SERVERS)


@SIZES
@pytest.mark.parametrize("seed", SEEDS)
def test_servers_fail_one_after_the_other(seed: int, size: Size) -> None:
    servers = [one for one in plan(seed, size.shape) if one.what in SERVERS]
    assert all(one.end_seconds <= after.at_seconds for one, after in pairwise(servers))


@SIZES
@pytest.mark.parametrize("seed", SEEDS)
def test_who_is_put_to_sleep_is_there_and_wakes_again(seed: int, size: Size) -> None:
    made = plan(seed, size.shape)
    asleep = [one for one in made if one.what in ("pause", "nap")]
    kills = [one for one in made if one.what == "kill"]
    assert not [kill for kill in kills if any(_is_spared(kill, one) for one in asleep)]
    [long] = [one for one in asleep if one.what == "pause"]
    assert long.seconds > size.shape.dead_after_seconds > max(one.seconds for one in asleep if one is not long)
    assert long.seconds > size.lease_seconds


def _is_spared(kill: Disturbance, sleep: Disturbance) -> bool:
    is_near = sleep.at_seconds - SPARED_SECONDS <= kill.at_seconds <= sleep.end_seconds + SPARED_SECONDS
    return kill.slot == sleep.slot and is_near


def test_guests_are_linked_from_elsewhere_only(tmp_path: Path) -> None:
    hosts = Hosts(40, 12, 8000)
    hosts.write(tmp_path)
    pages = {path_of(number) for number in range(12)}
    expected = hosts.expected()
    guests = {url for url in expected if "/guest/" in url}
    assert len(expected) == 40 * 12 + len(guests)
    assert len(guests) == 12 * GUESTS_A_PAGE
    assert {url.partition(":8000")[2] for url in expected - guests} == pages
    texts = [gzip.decompress(file.read_bytes()).decode() for file in tmp_path.rglob("*.html.gz")]
    assert len(texts) == 12 + 12 * GUESTS_A_PAGE
    linked = {part.partition('"')[0] for text in texts for part in text.split('href="')[1:]}
    assert linked == pages | guests


def test_a_log_tells_who_came_too_close(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text(LOG)
    seen = cluster_soak_log.read(tmp_path / "access.log")
    assert [one.at for one in seen] == pytest.approx([1000.3, 1000.4, 1001.5, 1002.299, 1004.299])
    assert closest(seen) == pytest.approx((1.999, 1.1))
    [close] = too_close(seen, 2.0)
    assert close.told(1000.0) == (
        "127.1.0.2 was asked twice within 1.100 s: "
        "0.400 s worker-0.1 /robots.txt (200), 1.500 s worker-2.1 /slow/3.html (200)"
    )
