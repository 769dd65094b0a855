"""What the cluster benchmark measures is what it says: the same rows, the same work, all of the cost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import yaml

from bench.cluster import Setting, figures_of
from bench.cluster_fill import WAVES, fill, wave_of
from bench.cluster_server import SETTINGS, cpu_of_family
from bench.cluster_worker import NEW_NUMBERS, Counted, Wheel
from bench.report import BenchError, Report
from bench.world import LINKS, World, candidate_of, unpaced_hosts
from docs import from_results
from tenax.clock import Clock, ManualClock, SteadyClock
from tenax.config import DatabaseConfig
from tenax.database.postgres import PostgresDatabase

ROOT = Path(__file__).parent.parent.parent
SIZE = 2000
ROWS = {
    "host": "SELECT origin, has_work, holder, ready_at, state FROM host",
    "seen": "SELECT h.origin, s.key FROM seen s JOIN host h ON h.id = s.host_id",
    "queue": "SELECT h.origin, to_jsonb(q) - 'host_id' FROM queue q JOIN host h ON h.id = q.host_id",
    "tally": "SELECT name, sum(count) FROM tally GROUP BY name",
}


async def opened(url: str, clock: Clock, schema: str = "tenax", *, read_only: bool = False) -> PostgresDatabase:
    return await PostgresDatabase.open(url, DatabaseConfig(schema=schema), clock, unpaced_hosts(), read_only=read_only)


async def rows_of(db: Any, schema: str) -> dict[str, list[tuple[object, ...]]]:
    await db.execute(f"SET search_path = {schema}")
    return {table: sorted((tuple(row) for row in await db.fetch(sql)), key=repr) for table, sql in ROWS.items()}


async def test_filling_writes_the_rows_that_admitting_would(postgres: str) -> None:
    clock = ManualClock()
    count = await fill(postgres, World(SIZE), clock)
    db = await asyncpg.connect(postgres)
    await (await opened(postgres, clock, "other")).close()
    await db.execute("UPDATE other.meta SET value = m.value FROM tenax.meta m WHERE (m.name, meta.name) = ($1, $1)",
                     "key_secret")  # fmt: skip
    other = await opened(postgres, clock, "other")
    for number in range(WAVES):
        await other.admit(list(wave_of(World(SIZE), number)))
    await other.close()
    filled, admitted = await rows_of(db, "tenax"), await rows_of(db, "other")
    await db.close()
    assert len(filled["queue"]) == count > SIZE * 0.9
    assert filled == admitted


async def test_a_worker_commits_what_it_counts_and_nothing_contradicts_itself(postgres: str) -> None:
    clock = SteadyClock()
    await fill(postgres, World(SIZE), clock)
    database = await opened(postgres, clock)
    wheel = Wheel(database, World(SIZE, new_from=NEW_NUMBERS), clock)
    await wheel.run_until(lambda: wheel.count().pages >= 100)
    await database.close()
    seen = await opened(postgres, clock, read_only=True)
    counts, problems = seen.counts(), await seen.find_problems()
    await seen.close()
    assert counts.pages == wheel.count().pages >= 100
    assert problems == []
    assert wheel.count().new_urls == pytest.approx(counts.pages * LINKS * 0.05, rel=0.3)


def test_the_waves_are_the_world() -> None:
    world = World(SIZE)
    urls = [one.url for number in range(WAVES) for one in wave_of(world, number)]
    assert sorted(urls) == sorted(one.url for one in world.known_candidates())


def test_worlds_that_share_a_database_find_different_urls() -> None:
    known = {one.url for one in World(SIZE).known_candidates()}
    worlds = [World(SIZE, new_from=number * NEW_NUMBERS) for number in (1, 2)]
    found = [{one.url for page in range(20) for one in world.links(page)} - known for world in worlds]
    assert all(found) and not found[0] & found[1]


def test_one_link_in_twenty_is_new_and_most_stay_at_home() -> None:
    world = World(SIZE)
    known = {one.url for one in world.known_candidates()}
    links = [one for _ in range(400) for one in world.links(3)]
    assert len({one.url for one in links} - known) == pytest.approx(len(links) * 0.05, rel=0.1)
    at_home = sum(1 for one in links if one.origin == candidate_of(3, 0).origin)
    assert at_home / len(links) == pytest.approx(0.8, abs=0.05)


def test_figures_of_some_workers_together() -> None:
    two = [
        Counted(2.0, 1000, 2500, cpu_seconds=0.7, own_cpu_seconds=0.2, pages_ever=1200),
        Counted(1.0, 1000, 2500, cpu_seconds=0.6, own_cpu_seconds=0.1, pages_ever=1000),
    ]
    figures = figures_of(two, server_cpu_seconds=0.8, wal_bytes=10_000_000)
    assert figures["cycles_per_second"] == pytest.approx(1500)
    assert figures["wall_ms"] == pytest.approx(1 / 1.5)
    assert figures["worker_cpu_ms"] == pytest.approx(0.5)
    assert figures["server_cpu_ms"] == pytest.approx(0.4)
    assert figures["cpu_ms"] == pytest.approx(0.9)
    assert figures["own_cpu_ms"] == pytest.approx(0.15)
    assert figures["wal_bytes_a_page"] == pytest.approx(5000)
    assert figures["new_links_a_page"] == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("pages", "new_urls", "why"),
    [(0, 0, "no page"), (100, 100, "2.0% of the links were new"), (100, 400, "8.0% of the links were new")],
    ids=["none", "too few new", "too many new"],
)
def test_what_was_not_the_work_is_not_a_measurement(pages: int, new_urls: int, why: str) -> None:
    with pytest.raises(BenchError, match=why):
        figures_of([Counted(1.0, pages, new_urls, 0.1, 0.0, pages)], 0.1, 1)


def test_settings_have_the_names_that_the_capacity_model_reads() -> None:
    assert Setting(4, 1_000_000).name == "workers_4_rows_1000000"


def test_what_was_measured_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report("cluster")
    counted = Counted(2.0, 4000, 10_000, cpu_seconds=1.6, own_cpu_seconds=0.4, pages_ever=5000)
    report.figure(Setting(4, 1_000_000).name, {**figures_of([counted], 1.4, 24_000_000)})
    report.figure("postgresql", {"version": "15.18"})
    fetchers = ("tenax", "recipe", "recipe, 64 at once")
    report.figure("page_fetcher", {name: {"urls_per_second": 1234.0, "cpu_ms": 0.5} for name in fetchers})
    for name, value in (("seconds", 10.0), ("rounds", 3), ("disk_bytes_a_url", 296.0), ("disk_bytes_a_page", 4133.0)):
        report.figure(name, value)
    report.figure("machine", {"cores": 2, "cpu": "a CPU", "python": "3.11.7", "system": "Linux 6"})
    report.at_least("cycles_per_second_4_workers", 2000.0, 1500)
    (tmp_path / "cluster.json").write_text(json.dumps(report.as_json()))
    monkeypatch.setattr(from_results, "RESULTS", tmp_path)
    shown = from_results.cluster_tables()
    assert "| 4 | 1,000,000 | 2,000 | 0.65 | 0.3 | 0.35 | 0.1 | 6,000 |" in shown
    assert "10 s each, medians of 3 interleaved rounds, PostgreSQL 15.18." in shown
    assert "A waiting URL takes 296 bytes of disk, a stored page 4,133." in shown
    assert "| `tenax page-fetcher` | 1,234 | 0.5 |" in shown
    assert "| `cycles_per_second_4_workers` | 2,000 | 1,500 | met |" in shown


def test_the_server_is_set_up_as_the_deployed_one() -> None:
    services = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]
    _, *options = services["postgres"]["command"]
    assert dict(option.removeprefix("-c").split("=") for option in options) == SETTINGS


def test_the_cost_of_a_server_is_that_of_all_its_processes() -> None:
    """The parent has waited for a child that worked, and has one that lives, in a session of its own."""
    spin = "import time\nwhile time.process_time() < 0.6: pass\n"
    hold = f"{spin}print('done', flush=True); input()"
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {spin!r}])\n"
    code += f"subprocess.run([sys.executable, '-c', {hold!r}], start_new_session=True)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"done\n"
        # Each process is counted in hundredths of a second, and a part of one may be missing.
        assert 1.15 <= cpu_of_family(parent.pid) < 2.3
        parent.communicate(b"\n")
