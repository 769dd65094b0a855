"""A worker that is stopped for so long that others bury it, and then goes on: it writes nothing and joins anew."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from tenax.crawl.location import Location
from tenax.crawl.wiring import open_database
from tenax.database import PageFilter
from tests.e2e.cluster import Cluster, stopped
from tests.e2e.program import until

PATHS = ["/", *(f"/{number}" for number in range(5))]
SHORT = (
    *("--set", "database.heartbeat_seconds=0.3", "--set", "database.dead_after_seconds=4"),
    # In Redis the permit of a request without an answer lasts as long as a fetch may take, unless several may
    # overlap. Here only the lease in the database matters.
    *("--set", "politeness.connections_per_host=2", "--set", "discovery.sources=links"),
)


class Asked(NamedTuple):
    origin: str
    worker: str
    """As it calls itself."""
    path: str


class Hosts:
    """Three of them, with the same pages. Where the front page of the first leads to, answers wait to be let go."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answers = threading.Event()
        self.servers: list[ThreadingHTTPServer] = []

    @property
    def ports(self) -> list[int]:
        return [server.server_port for server in self.servers]

    @property
    def origins(self) -> list[str]:
        return [f"http://{server.server_address[0]!s}:{server.server_port}" for server in self.servers]

    def pages_asked(self, worker: str, since: int = 0) -> list[str]:
        """Pages that this worker asked for, from so many requests on."""
        return sorted(one.origin + one.path for one in self.asked[since:] if one.worker == worker and one.path in PATHS)


def page(path: str) -> bytes:
    links = "".join(f'<a href="{other}">on</a>' for other in PATHS)
    return f"<title>Page {path}</title>{'<p>Enough words to be a page of its own.' * 20}{links}".encode()


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    hosts = Hosts()

    class Host(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = Asked(f"http://{self.headers['Host']}", self.headers["User-Agent"], self.path)
            hosts.asked.append(asked)
            if asked.origin == hosts.origins[0] and asked.path in PATHS[1:]:
                hosts.answers.wait(60)
            body = page(self.path)
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...

    with ExitStack() as stack:
        for address in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
            server = stack.enter_context(ThreadingHTTPServer((address, 0), Host))
            server.daemon_threads = True
            thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            hosts.servers.append(server)
        stack.callback(hosts.answers.set)
        yield hosts


async def stored(url: str) -> tuple[list[str], int, list[str]]:
    """Each page in the database, the number of events, and what contradicts itself."""
    database = await open_database(Location(server=url), read_only=True)
    try:
        urls = [found.url async for found in database.pages(PageFilter())]
        return sorted(urls), len(await database.events(0, 1000)), await database.find_problems()
    finally:
        await database.close()


def test_a_worker_that_wakes_after_its_death(postgres: str, redis: str, tmp_path: Path, hosts: Hosts) -> None:
    cluster = Cluster(postgres, redis, tmp_path)
    first, second, third = hosts.origins
    names = [("--set", f"fetch.user_agent={name}") for name in ("sleeper", "other")]
    slowly, quickly = [("--set", f"politeness.rate_per_second={rate}") for rate in (3, 20)]
    sleeper = cluster.worker(*hosts.ports, options=(*SHORT, *slowly, *names[0]))
    cluster.ask("seed", f"{first}/", f"{second}/")
    # A visit of the first host is in flight, and the second is due soon: both are in its memory.
    until(lambda: len(hosts.pages_asked("sleeper")) >= 4 and cluster.status().pages >= 3, "the middle of a crawl")
    os.killpg(sleeper.pid, signal.SIGSTOP)
    before = len(hosts.asked)
    hosts.answers.set()

    other = cluster.worker(*hosts.ports, options=(*SHORT, *quickly, *names[1]))
    until(lambda: (status := cluster.status()).workers == 1 and not status.waiting, "the other to visit what is left")
    asked = hosts.pages_asked("other")
    left = {origin + path for origin in (first, second) for path in PATHS} - set(hosts.pages_asked("sleeper"))
    assert len(asked) == len(set(asked))
    assert set(asked) > left, "also what was in flight"

    os.killpg(sleeper.pid, signal.SIGCONT)
    cluster.has_workers(2)
    assert stopped(other)[0].code == 0
    cluster.ask("seed", f"{third}/")
    until(lambda: not cluster.status().waiting, "the one that woke to go on")
    [end] = stopped(sleeper)
    assert end.code == 0, end.err
    assert "lease lost, visit discarded" in end.err
    assert "worker lease expired, re-registering" in end.err
    assert hosts.pages_asked("sleeper", since=before) == sorted(third + path for path in PATHS), "only what is its own"
    pages = sorted(origin + path for origin in hosts.origins for path in PATHS)
    assert asyncio.run(stored(cluster.database)) == (pages, len(pages), [])
