"""Many workers on PostgreSQL and Redis: the same crawl as on one machine, whatever happens to one of them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tenax.demo import Site
from tests.e2e.cluster import FAST, Cluster, result_of, stopped
from tests.e2e.program import INLINE, Demo, serving, tenax, until
from tests.servers.processes import free_port

RUDE = Site(hosts=6, pages_per_host=24, behaviours="quick")
SLOWLY = ("--set", "politeness.rate_per_second=20")
LINKS_ONLY = ("--set", "discovery.sources=links")
"""For who counts requests, or serves the same whatever he is asked for."""


@pytest.fixture
def cluster(postgres: str, redis: str, tmp_path: Path) -> Cluster:
    home = tmp_path / "elsewhere"
    home.mkdir()
    return Cluster(postgres, redis, home)


@pytest.fixture
def calm_site(tmp_path: Path) -> Iterator[Demo]:
    """A site of our own, whose log holds this crawl only."""
    with serving(Site(hosts=3, pages_per_host=24, behaviours="none"), tmp_path / "log") as demo:
        yield demo


def port_of(url: str) -> int:
    return urlsplit(url).port or 80


def holds_once(cluster: Cluster, pages: set[str]) -> bool:
    """Each of these pages exactly once, and nothing else; and the database is sound."""
    found = result_of("--database", cluster.database, cwd=cluster.home)
    assert cluster.ask("db", "check").startswith("No problems found in ")
    outcomes = {name: count for name, count in found.outcomes.items() if name != "missed"}
    return set(found.pages) == pages and outcomes == {"fetched": len(pages)}


def test_workers_bring_what_one_machine_brings(cluster: Cluster, tmp_path: Path) -> None:
    """The site starts again for each of both: some of its behaviours depend on request counts."""
    port = free_port()
    with serving(RUDE, tmp_path / "log1", port) as demo:
        alone = tenax("crawl", *demo.seeds, *FAST, *INLINE, "--dir", tmp_path / "out")
        assert alone.code == 0, alone.err
    with serving(RUDE, tmp_path / "log2", port) as demo:
        workers = [cluster.worker(port) for _ in range(3)]
        cluster.ask("seed", *demo.seeds)
        cluster.done()
        ends = stopped(*workers)
    assert [end.code for end in ends] == [0, 0, 0], ends
    wanted, found = result_of("--dir", tmp_path / "out"), result_of("--database", cluster.database, cwd=cluster.home)
    assert set(found.pages) == demo.pages
    assert found == wanted


def test_one_crawl_alone_on_servers(cluster: Cluster, calm_site: Demo, tmp_path: Path) -> None:
    servers = ("--database", cluster.database, "--redis", cluster.hosts)
    answer = tenax("crawl", *calm_site.seeds, *FAST, *INLINE, *servers, cwd=cluster.home)
    assert answer.code == 0, answer.err
    assert "Crawl complete: nothing is left to visit." in answer.out
    assert "a%20secret" not in answer.out + answer.err
    assert list(cluster.home.iterdir()) == [], "no files, where no directory is named"
    assert holds_once(cluster, calm_site.pages)
    out = tmp_path / "files"
    again = tenax("crawl", *calm_site.seeds, *FAST, *INLINE, *servers, "--dir", out, cwd=cluster.home)
    assert again.code == 0
    assert "this crawl is complete: 72 pages stored" in again.err
    assert len((out / "pages.jsonl").read_bytes().splitlines()) == 72


def test_kill_9_of_a_worker_loses_nothing(cluster: Cluster, calm_site: Demo) -> None:
    short = (*SLOWLY, "--set", "database.heartbeat_seconds=0.3", "--set", "database.dead_after_seconds=4")
    cluster.ask("db", "init")
    killed, other = (cluster.worker(port_of(calm_site.seeds[0]), options=short) for _ in range(2))
    cluster.has_workers(2)
    cluster.ask("seed", *calm_site.seeds)
    until(lambda: len(calm_site.requests()) >= 24, "the middle of the crawl")
    [end] = stopped(killed, by=signal.SIGKILL)
    assert end.code == -signal.SIGKILL
    cluster.has_workers(1)
    cluster.ask("recover")  # else within a minute
    cluster.done()
    assert stopped(other)[0].code == 0
    assert holds_once(cluster, calm_site.pages)


def test_what_a_dead_worker_held_is_freed_by_hand(cluster: Cluster, calm_site: Demo) -> None:
    short = ("--set", "database.heartbeat_seconds=0.3", "--set", "database.dead_after_seconds=4")
    killed = cluster.worker(port_of(calm_site.seeds[0]), options=(*SLOWLY, *short))
    cluster.ask("seed", *calm_site.seeds)
    until(lambda: calm_site.requests(), "a first visit")
    stopped(killed, by=signal.SIGKILL)
    cluster.has_workers(0)
    assert cluster.ask("recover") == "1 dead worker found; their tasks were released.\n"
    assert cluster.ask("recover") == "No dead workers found.\n"
    assert cluster.ask("db", "check").startswith("No problems found in ")


def test_a_worker_that_leaves_finishes_what_it_began(cluster: Cluster, calm_site: Demo) -> None:
    """SIGTERM in the middle: what was asked for is stored, and the next worker need not wait for anything."""
    port = port_of(calm_site.seeds[0])
    leaving = cluster.worker(port, options=("--set", "politeness.rate_per_second=3", *LINKS_ONLY))
    cluster.ask("seed", *calm_site.seeds)
    until(lambda: len(calm_site.requests()) >= 24, "the middle of the crawl")
    [end] = stopped(leaving)
    assert end.code == 0, end.err
    assert "worker stopped" in end.err
    left = cluster.status()
    assert left.waiting > 0
    assert left.workers == 0
    assert left.outcomes["fetched"] == sum(line.path != "/robots.txt" for line in calm_site.requests())
    assert "No dead workers found" in cluster.ask("recover")
    assert "Resume with:  python -m tenax worker --database" in cluster.ask("status")
    other = cluster.worker(port, options=SLOWLY)
    cluster.done()
    assert stopped(other)[0].code == 0
    assert holds_once(cluster, calm_site.pages)


BODY = b"<title>A page</title>" + b"<p>Enough words to be a page of its own. " * 20 + b"<a href=/slow>on</a>"


@pytest.fixture
def sluggard() -> Iterator[tuple[int, list[str]]]:
    """The port of a site whose `/slow` hangs until it is asked for a second time; and what it was asked."""
    asked: list[str] = []
    is_asked_again = threading.Event()

    class Sluggard(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            if self.path == "/slow" and asked.count("/slow") == 1:
                is_asked_again.wait(60)
                return
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(BODY)))
            self.end_headers()
            self.wfile.write(BODY)

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Sluggard) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server.server_port, asked
        is_asked_again.set()
        server.shutdown()
        thread.join()


def test_a_visit_that_hangs_is_left_to_another_worker(cluster: Cluster, sluggard: tuple[int, list[str]]) -> None:
    port, asked = sluggard
    leaving = cluster.worker(port, options=("--set", "worker.grace_seconds=0.5", *LINKS_ONLY))
    cluster.ask("seed", f"http://127.0.0.1:{port}/")
    until(lambda: "/slow" in asked, "a visit that hangs")
    [end] = stopped(leaving)
    assert end.code == 0, end.err
    assert "visits did not end in time, left to other workers count=1" in end.err
    assert cluster.status().waiting == 1
    other = cluster.worker(port, options=LINKS_ONLY)
    cluster.done()
    assert stopped(other)[0].code == 0
    assert asked.count("/slow") == 2
    assert holds_once(cluster, {f"http://127.0.0.1:{port}/", f"http://127.0.0.1:{port}/slow"})


def test_hosts_that_come_later_lose_no_links(cluster: Cluster, tmp_path: Path) -> None:
    """Its hosts link to each other: a page that is read by rules which do not know them yet would lose such links."""
    with serving(Site(hosts=4, pages_per_host=24, behaviours="none"), tmp_path / "log") as demo:
        workers = [cluster.worker(port_of(demo.seeds[0]), options=SLOWLY) for _ in range(2)]
        for seed in demo.seeds:
            cluster.ask("seed", seed)
        cluster.done()
        ends = stopped(*workers)
    assert [end.code for end in ends] == [0, 0]
    found = result_of("--database", cluster.database, cwd=cluster.home)
    assert set(found.pages) >= demo.pages, "and perhaps guessed pages of lists"


def test_a_private_address_is_said_to_be_closed_to_workers(cluster: Cluster, calm_site: Demo) -> None:
    said = cluster.ask("seed", calm_site.seeds[0])
    assert said.startswith("1 URL added.\n")
    assert f"Workers refuse {calm_site.origins[0]}, unless their guard.allow_networks" in said
    worker = cluster.worker(80)
    cluster.done()
    assert stopped(worker)[0].code == 0
    assert calm_site.requests() == []
    assert "is not allowed" in cluster.ask("explain", calm_site.seeds[0])
    assert "1 refused: address or port not allowed" in cluster.ask("status")
    assert cluster.ask("dead-letters", "replay", calm_site.seeds[0]).startswith("1 URL will be visited again.")
    port = port_of(calm_site.seeds[0])
    worker = cluster.worker(port)
    until(lambda: cluster.status().pages, "the page, once the guard is open to it")
    assert stopped(worker)[0].code == 0
    open_to_us = ("--set", "guard.allow_networks=127.0.0.0/8", "--set", f"guard.ports={port}")
    assert "refuse" not in cluster.ask("seed", calm_site.seeds[1], *open_to_us)
