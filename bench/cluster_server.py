"""The PostgreSQL server of the cluster benchmark: durable commits, CPU and disk use measured."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure import TICKS_A_SECOND
from bench.report import BenchError, median

if TYPE_CHECKING:
    from tests.servers.postgres import PostgresServer

DISK = Path("/var/tmp")
"""On a real disk, so that fsync is real; readable by the user that PostgreSQL runs as."""
SETTINGS = {
    "jit": "off",
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "autovacuum_naptime": "10s",
    "max_connections": "200",
}
"""The settings of deploy/compose.yaml."""
DURABLE = ("fsync", "synchronous_commit", "full_page_writes")
STORED = ("record", "visit", "content", "outbox")
"""The tables with a row per page."""


@contextmanager
def serving() -> Iterator[Server]:
    from tests.servers.postgres import PostgresServer

    with PostgresServer(is_durable=True, folder=DISK, **SETTINGS) as server:
        yield Server(server)


class Server:
    """A PostgreSQL server with measurements."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._pid = int(server.psql("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)"))
        self._empty_bytes = self.database_bytes("template1")
        self.version = server.psql("SHOW server_version").split()[0]
        self.durable = {name: server.psql(f"SHOW {name}") for name in DURABLE}
        if set(self.durable.values()) != {"on"}:
            raise BenchError(f"commits must be durable, but PostgreSQL has {self.durable}")

    def create(self, database: str) -> str:
        """Create an empty database and return its URL."""
        return self._server.create(database)

    def tidy(self, database: str) -> None:
        """Finish background work of the fill before measuring."""
        self._server.psql("VACUUM ANALYZE", database)
        self._server.psql("CHECKPOINT", database)

    def database_bytes(self, database: str) -> int:
        return int(self._server.psql(f"SELECT pg_database_size('{database}')"))

    def bytes_of_urls(self, database: str) -> int:
        """For a database without visits."""
        return self.database_bytes(database) - self._empty_bytes

    def bytes_of(self, database: str, *tables: str) -> int:
        """Includes indexes and TOAST."""
        sizes = " + ".join(f"pg_total_relation_size('tenax.{table}')" for table in tables)
        return int(self._server.psql(f"SELECT {sizes}", database))

    def pages(self, database: str) -> int:
        return int(self._server.psql("SELECT count(*) FROM tenax.record WHERE content_id IS NOT NULL", database))

    def wal_bytes(self) -> int:
        """WAL bytes written since the start."""
        return int(self._server.psql("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"))

    def cpu_seconds(self) -> float:
        """CPU of the server and all its processes, including ended ones."""
        return cpu_of_family(self._pid)


def fsync_ms() -> float:
    """Median time of an fsync of one block on this disk."""
    with tempfile.TemporaryFile(dir=DISK) as file:
        return median(_kept_in(file.fileno()) for _ in range(50)) * 1000


def _kept_in(file: int) -> float:
    os.write(file, bytes(8192))
    began = time.perf_counter()
    os.fdatasync(file)
    return time.perf_counter() - began


def cpu_of_family(pid: int) -> float:
    """CPU seconds of a process and its children, including ended children that were waited for.

    Each PostgreSQL process leads its own session, so children are found by their parent id.
    """
    while True:
        ended = _ticks(pid)[2:]
        living = 0
        for entry in os.scandir("/proc"):
            with suppress(OSError, IndexError, ValueError):
                if _fields(int(entry.name))[1] == str(pid):
                    living += sum(_ticks(int(entry.name)))
        own = _ticks(pid)
        if own[2:] == ended:  # else a child ended meanwhile and was counted twice or not at all
            return (sum(own) + living) / TICKS_A_SECOND


def _fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _ticks(pid: int) -> list[int]:
    """User and system time of the process and of children it waited for."""
    return [int(field) for field in _fields(pid)[11:15]]
