"""Services that are started before their servers: they wait, are alive and not ready, and stop on a signal."""

from __future__ import annotations

import os
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.fork_server import Running
from tests.e2e.program import INLINE, ended, start, until
from tests.servers.postgres import PostgresServer
from tests.servers.processes import free_port
from tests.servers.redis import RedisServer


class Service:
    """One that runs, and what it has said so far."""

    def __init__(self, *words: str) -> None:
        self.port = free_port()
        self._process: Running = start(*words, "--metrics-port", str(self.port))
        self._lines: list[str] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def says(self, words: str) -> None:
        until(lambda: words in self.said, f"{words!r} in {self.said!r}")

    @property
    def said(self) -> str:
        return "".join(self._lines)

    def answers(self, path: str) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code

    def stop(self) -> int:
        """Its exit code."""
        if self._process.returncode is not None:
            return self._process.returncode
        os.killpg(self._process.pid, signal.SIGTERM)
        self._reading.join(60)
        return ended(self._process).code

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._lines.append(line)


@contextmanager
def waiting(*words: str) -> Iterator[Service]:
    """A service that waits for a server, and has said so."""
    service = Service(*words)
    service.says("server unavailable, waiting")
    assert service.answers("/metrics") == 200
    assert service.answers("/ready") == 503
    yield service
    assert service.stop() == 0
    assert "Traceback" not in service.said
    assert "hush" not in service.said


def test_a_worker_that_comes_before_its_servers() -> None:
    redis = RedisServer()
    with PostgresServer() as postgres:
        postgres.stop()
        words = ("worker", "--database", postgres.url(), "--redis", redis.url, *INLINE)
        with waiting(*words) as worker:
            postgres.start()
            worker.says(f"Redis at {redis.url} does not answer")
            assert worker.answers("/ready") == 503
            with redis:
                worker.says("worker started")
                assert worker.answers("/ready") == 200
                assert worker.stop() == 0
        assert "worker stopped" in worker.said
        said = [line.partition("PostgreSQL at")[2] for line in worker.said.splitlines() if "PostgreSQL at" in line]
        assert len(said) == len(set(said)), "one line for each reason, however often it was tried"


@pytest.mark.parametrize(
    "words",
    [
        ("worker", "--database", "postgresql://me:hush@127.0.0.1:{port}/a"),
        ("worker", "--database", "postgresql://me@nowhere.invalid:{port}/a"),
        ("page-fetcher", "--redis", "redis://me:hush@127.0.0.1:{port}"),
    ],
    ids=["worker", "worker without a name", "page-fetcher"],
)
def test_a_service_that_waits_ends_when_it_is_told_to(words: tuple[str, ...]) -> None:
    with waiting(*(word.format(port=free_port()) for word in words)):
        pass


def test_a_page_fetcher_that_comes_before_its_redis() -> None:
    redis = RedisServer()
    with waiting("page-fetcher", "--redis", redis.url, "--kafka", f"127.0.0.1:{free_port()}") as fetcher, redis:
        fetcher.says("page-fetcher started")
        assert fetcher.answers("/ready") == 200
        assert fetcher.stop() == 0
