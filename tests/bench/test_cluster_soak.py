"""What a cluster is put through: one plan for one seed, a site that can be counted, a log that tells who came when."""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bench import cluster_soak_log
from bench.cluster_soak_log import Seen, closest, crowds, too_close
from bench.cluster_soak_plan import SERVERS, SPARED_SECONDS, WORKERS, Disturbance, plan
from bench.cluster_soak_plants import PLANTS
from bench.cluster_soak_site import GUESTS_A_PAGE, SHARING, Hosts, path_of
from bench.soak_cluster import QUICK, WHOLE, Found, Size

SEEDS = range(1, 40)
SIZES = pytest.mark.parametrize("size", [QUICK, WHOLE], ids=["quick", "whole"])

LOG = """\
1000.500 0.200 127.1.0.1 127.1.0.1:80 200 worker-0.1 /robots.txt
1002.300 0.001 127.1.0.1 127.1.0.1:80 200 worker-0.1 /
1004.299 0.000 127.1.0.1 127.1.0.1:80 499 worker-1.1 /page/1.html
1000.400 0.000 127.1.0.2 127.1.0.2:80 200 worker-0.1 /robots.txt
1003.000 1.500 127.1.0.2 127.1.0.2:80 200 worker-2.1 /slow/3.html
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
    assert close.describe(1000.0) == (
        "127.1.0.2:80 got two requests within 1.100 s: "
        "0.400 s worker-0.1 127.1.0.2:80/robots.txt (200), 1.500 s worker-2.1 127.1.0.2:80/slow/3.html (200)"
    )


def at_one_address(*times: float) -> list[Seen]:
    return [Seen(at, "127.1.0.9", f"{number % 3}.test", "worker", 200, "/") for number, at in enumerate(times)]


@pytest.mark.parametrize(
    ("times", "crowd"),
    [
        ([0.0, 1.0, 2.0, 3.0, 4.0], None),
        ([0.0, 1.9, 2.0, 3.0, 4.0], None),
        ([0.0, 1.0, 2.2, 2.2, 3.2, 4.0], None),
        ([0.0, 0.1, 0.2], (3, 0.2)),
        ([0.0, 1.0, 2.0, 2.1, 2.2, 3.0], (3, 0.2)),
        ([number * 0.8 for number in range(8)], (8, 5.6)),
        ([number * 0.8 for number in range(7)], None),
    ],
    ids=["in turn", "one late", "late by less than a quarter", "three at once", "later on", "too often", "too few"],
)
def test_a_crowd_at_an_address(times: list[float], crowd: tuple[int, float] | None) -> None:
    apart = Seen(0.15, "127.1.0.8", "a.test", "worker", 200, "/")
    seen = [*at_one_address(*times), apart]
    found = [(one.requests, round(one.last.at - one.first.at, 6)) for one in crowds(seen, 1.0)]
    assert found == ([crowd] if crowd else [])


def test_a_crowd_in_words() -> None:
    [crowd] = crowds(at_one_address(1000.0, 1000.1, 1000.2), 1.0)
    assert crowd.describe(990.0) == "127.1.0.9 got 3 requests within 0.200 s, from 10.000 s"
    apart = closest(at_one_address(1000.0, 1000.5), cluster_soak_log.address_of)
    assert (apart.one_worker, apart.two_workers) == (0.5, None)


def test_a_part_of_the_hosts_have_names_and_share_addresses() -> None:
    hosts = Hosts(300, 2, 8000)
    names = hosts.names()
    assert len(names) == 60
    assert set(Counter(names.values()).values()) == {SHARING}
    called = {urlsplit(origin).hostname for origin in hosts.origins}
    assert len(called) == 300
    assert called >= names.keys()
    assert not called & set(names.values()), "an address that is shared is nobody's own"


def test_a_plant_is_found_as_one_of_the_offences() -> None:
    offences = {field.name for field in fields(Found)}
    assert {plant.finding for plant in PLANTS.values()} <= offences
    assert all(sum(map(bool, (plant.of_one, plant.of_all, plant.sql))) == 1 for plant in PLANTS.values())
