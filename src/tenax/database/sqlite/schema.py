"""The database file: opened, locked, its tables created, and checked for damage, replacement and a clock that was set
back.

In a process the clock cannot jump. Between two runs it can, and all stored times are times of the wall clock. Without a
correction, tasks would not be due, hosts would back off, and robots.txt copies would count as fresh until the clock has
caught up. Backoffs keep their length: a host with an hour left has an hour left from now.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import accumulate, chain
from pathlib import Path
from typing import IO, Any

from tenax import logs
from tenax.config import DatabaseConfig
from tenax.database import rows, statements
from tenax.database.corrections import CLOCK_TOLERANCE_SECONDS, HOST_BATCH_SIZE, shift_host_times
from tenax.database.statements import load_statements
from tenax.errors import DatabaseBusy, DatabaseNotFound, DatabaseUnusable, StorageFull, TenaxError

SCHEMA_VERSION = 1
APPLICATION_ID = 0x7E7A_C001  # marks the file as a Tenax database

ROW_BATCH_SIZES = (256, 64, 16, 4, 1)
VALUE_BATCH_SIZES = (1, 17, 64, 256, 512, 1024)
DISK_FULL_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@cache
def queries() -> dict[str, str]:
    """The statements by name."""
    return load_statements("tenax.database.sqlite", "?")


@cache
def multi_row_statement(name: str, count: int) -> str:
    """The named statement, whose `VALUES (…)` is for one row, with that row repeated `count` times."""
    head, values, rest = queries()[name].partition("VALUES ")
    depths = accumulate((mark == "(") - (mark == ")") for mark in rest)
    end = next(index for index, depth in enumerate(depths) if depth == 0) + 1  # the end of the row's brackets
    row, tail = rest[:end], rest[end:]
    return head + values + ", ".join([row] * count) + tail


def write_rows(connection: sqlite3.Connection, name: str, values: Sequence[tuple[object, ...]]) -> list[Any]:
    """Write many rows by few statements, because each statement releases and takes the interpreter lock once. A
    statement without `VALUES (…)` runs once for each row.

    Returns the rows that the statement returns, if any.
    """
    if "VALUES (" not in queries()[name]:
        connection.executemany(queries()[name], values)
        return []
    at = 0
    returned: list[Any] = []
    for size in ROW_BATCH_SIZES:
        while len(values) - at >= size:
            flat = list(chain.from_iterable(values[at : at + size]))
            returned += connection.execute(multi_row_statement(name, size), flat).fetchall()
            at += size
    return returned


def select_many(connection: sqlite3.Connection, name: str, values: Sequence[int]) -> list[Any]:
    """Run a statement with one `IN (?)` for many values.

    The last value is repeated up to one of some fixed sizes. So there are few distinct statements, and each is prepared
    once.
    """
    found: list[Any] = []
    for at in range(0, len(values), VALUE_BATCH_SIZES[-1]):
        part = list(values[at : at + VALUE_BATCH_SIZES[-1]])
        size = next(size for size in VALUE_BATCH_SIZES if size >= len(part))
        found += connection.execute(
            _multi_value_statement(name, size), part + part[-1:] * (size - len(part))
        ).fetchall()
    return found


@cache
def _multi_value_statement(name: str, count: int) -> str:
    return queries()[name].replace("(?)", f"({', '.join('?' * count)})")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit on success, roll back on error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class OwnerLock:
    """The lock of the only writing process. The system releases it when the process ends, so a crash leaves no lock."""

    def __init__(self, file: Path) -> None:
        self._path = file.with_name(file.name + ".lock")
        self._handle: IO[str] | None = None

    def acquire(self) -> bool:
        handle = self._path.open("w")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.close()
            return False
        self._handle = handle
        return True

    def is_owned_by_other(self) -> bool:
        """Whether another process has the lock. Also false if this is unknown, because the lock may not be read."""
        try:
            with self._path.open() as handle:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def release(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None


@contextmanager
def lock_database(file: Path) -> Iterator[None]:
    """Hold the lock of the database for a moment, without opening the database. Raises `DatabaseBusy`."""
    lock = _acquire_lock(file)
    try:
        yield
    finally:
        lock.release()


def _acquire_lock(file: Path) -> OwnerLock:
    lock = OwnerLock(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        is_free = lock.acquire()
    except OSError as error:
        raise translate_error(error, file) from None
    if not is_free:
        raise DatabaseBusy(f"{file} is in use by another process; wait for it or stop it, or give another --dir")
    return lock


def open_for_writing(file: Path, config: DatabaseConfig) -> tuple[sqlite3.Connection, OwnerLock]:
    """Create or open the database as its only writer."""
    lock = _acquire_lock(file)
    try:
        connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False, cached_statements=256)
        _prepare(connection, file, config)
    except (sqlite3.Error, OSError) as error:
        lock.release()
        raise translate_error(error, file) from None
    except TenaxError:
        lock.release()
        raise
    return connection, lock


def open_for_reading(file: Path) -> sqlite3.Connection:
    """Open a database read-only, also while another process writes to it."""
    if not file.is_file():
        raise DatabaseNotFound(
            f"there is no crawl in {file.parent}; start one with: tenax crawl URL --dir {file.parent}"
        )
    try:
        return _connect_read_only(file, "mode=ro")
    except sqlite3.Error as error:
        if not _is_unwritable(error):
            raise translate_error(error, file) from None
    # SQLite creates two files beside the database even for reading, and may not be allowed to here.
    if OwnerLock(file).is_owned_by_other():
        raise DatabaseUnusable(f"{file} is being written, but the files beside it cannot be read; check permissions")
    wal = file.with_name(f"{file.name}-wal")
    try:
        if wal.exists() and wal.stat().st_size:
            # A crash left these files, and they are part of the database. They are read into memory. This mode has no
            # locks and needs none.
            return _connect_read_only(file, "mode=ro&vfs=unix-none", "PRAGMA locking_mode = EXCLUSIVE")
        return _connect_read_only(file, "mode=ro&immutable=1")
    except (sqlite3.Error, OSError):
        raise DatabaseUnusable(f"{file} cannot be read; check its permissions and those of its directory") from None


def _connect_read_only(file: Path, options: str, *settings: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{file.resolve().as_uri()}?{options}", uri=True, check_same_thread=False)
    try:
        for setting in (*settings, "PRAGMA temp_store = MEMORY"):
            connection.execute(setting)
        _check_identity(connection, file)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # fail here rather than in a later query
    except BaseException:
        connection.close()
        raise
    return connection


def abandon_connection(connection: sqlite3.Connection) -> None:
    """Leave the connection open until the process ends.

    Closing it would delete the WAL by its name. If the files were replaced, this would be the WAL of another database.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _prepare(connection: sqlite3.Connection, file: Path, config: DatabaseConfig) -> None:
    is_new = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if not is_new:
        _check_identity(connection, file)  # before any change
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {'FULL' if config.fsync else 'NORMAL'}")
    connection.execute(f"PRAGMA cache_size = {-config.cache_bytes // 1024}")
    connection.execute(f"PRAGMA mmap_size = {config.mmap_bytes}")
    connection.execute("PRAGMA wal_autocheckpoint = 16000")
    connection.execute("PRAGMA temp_store = MEMORY")
    if is_new:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.executescript("BEGIN;" + queries()["create"] + "COMMIT;")


def _check_identity(connection: sqlite3.Connection, file: Path) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise DatabaseUnusable(f"{file} is a database, but not a Tenax database; give another --dir")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise DatabaseUnusable(
            f"{file} was written by a newer Tenax (its database has version {version}, this one knows "
            f"{SCHEMA_VERSION}); upgrade Tenax to open it"
        )
    if version < SCHEMA_VERSION:
        raise DatabaseUnusable(
            f"{file} was written by an older Tenax (its database has version {version}, this one knows "
            f"{SCHEMA_VERSION} only); resume it with that version, or start a new crawl in another --dir"
        )


def key_secret(connection: sqlite3.Connection) -> bytes:
    """The secret salt of this database's URL keys; never leaves the process."""
    secret: bytes = connection.execute(queries()["meta_get"], ("key_secret",)).fetchone()[0]
    return secret


def translate_error(error: Exception, file: Path) -> TenaxError:
    """Translate an error of SQLite or the system. Errors are translated only here."""
    if isinstance(error, OSError):
        if error.errno in DISK_FULL_ERRNOS:
            return _disk_full_error(file)
        if isinstance(error, (FileExistsError, NotADirectoryError)):
            return DatabaseUnusable(f"{file.parent} is not a directory; give another --dir")
        return DatabaseUnusable(
            f"{file} cannot be written: {os.strerror(error.errno or 0)}; check the directory's permissions"
        )
    code = getattr(error, "sqlite_errorname", "")
    if code == "SQLITE_FULL" or code == "SQLITE_IOERR_WRITE":
        return _disk_full_error(file)
    if code.startswith("SQLITE_BUSY"):
        return DatabaseBusy(
            f"another program is writing to {file}; wait for it or stop it, and run the same command again"
        )
    if _is_unwritable(error):
        return DatabaseUnusable(f"{file} cannot be written; check its permissions and those of its directory")
    if code in ("SQLITE_CORRUPT", "SQLITE_NOTADB") or code.startswith("SQLITE_CORRUPT"):
        return DatabaseUnusable(
            f"{file} is damaged or not a database ({error}); move it away to start anew, or restore a copy of it"
        )
    return DatabaseUnusable(f"{file}: {error}")


def _is_unwritable(error: Exception) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"))


def _disk_full_error(file: Path) -> StorageFull:
    return StorageFull(
        f"the disk that holds {file.parent} is full; everything committed is safe: "
        "free some space and run the same command again"
    )


CHECKS = statements.CHECKS | {
    "hosts whose count of waiting tasks is wrong":
        "SELECT count(*) FROM host h WHERE waiting <> (SELECT count(*) FROM queue q WHERE q.host_id = h.id)",
}  # fmt: skip
MAX_REPORTED_DAMAGES = 10
"""Limit on reported damages of a file."""


def find_problems(db: sqlite3.Connection) -> list[str]:
    """All problems in words. Reads one consistent snapshot, also while a crawl writes."""
    try:
        found = [
            f"the file is damaged: {line}" for (line,) in db.execute(f"PRAGMA integrity_check({MAX_REPORTED_DAMAGES})")
        ]
    except sqlite3.DatabaseError as error:  # too damaged to continue
        return [f"the file is damaged: {error}"]
    if found != ["the file is damaged: ok"]:
        return found
    found = []
    db.execute("BEGIN")
    try:
        for description, sql in CHECKS.items():
            if count := db.execute(sql).fetchone()[0]:
                found.append(f"{count} {description}")
        tallies = dict(db.execute("SELECT name, count FROM tally").fetchall())
        for name, sql in statements.COUNT_QUERIES.items():
            recorded, counted = tallies.get(name, 0), db.execute(sql).fetchone()[0]
            if recorded != counted:
                found.append(statements.describe_miscount(name, recorded, counted))
    finally:
        db.execute("ROLLBACK")
    return found


class FileIdentity:
    """Device and inode of some files, when they were created."""

    def __init__(self, *files: Path) -> None:
        self._identities = {file: _identity(file) for file in files}

    @classmethod
    def from_database_file(cls, file: Path) -> FileIdentity:
        """The database, its WAL and its lock. All of them exist after the first write."""
        return cls(file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}.lock"))

    def find_lost_file(self) -> str:
        """The first file that was deleted, moved or replaced since then; empty if none was."""
        return next((str(file) for file, known in self._identities.items() if _is_lost(file, known)), "")


def _is_lost(file: Path, known: tuple[int, int]) -> bool:
    try:
        return _identity(file) != known
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False  # unknown, because there is no permission or no reply


def _identity(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_dev, found.st_ino


LAST_TIME_KEY = "seen_at"
"""The meta key of the latest time seen by a run."""
SAVE_TIME_INTERVAL_SECONDS = CLOCK_TOLERANCE_SECONDS / 2

_log = logs.logger(__name__)


def correct_clock_rollback(db: sqlite3.Connection, now: float) -> None:
    """If `now` is before the latest time seen, shift times in the future. Store `now`."""
    sql = queries()
    seen = db.execute(sql["meta_get"], (LAST_TIME_KEY,)).fetchone()
    ahead = float(seen[0]) - now if seen else 0.0
    with transaction(db):
        if ahead > CLOCK_TOLERANCE_SECONDS:
            _log.warning("clock set back since last run, shifting stored times", seconds=int(ahead))
            db.execute(sql["queue_shift_due"], {"now_ms": rows.milliseconds(now), "ahead_ms": rows.milliseconds(ahead)})
            db.execute(sql["hosts_shift_ready"], {"now": now, "ahead": ahead})
            _shift_hosts(db, ahead, now)
        db.execute(sql["meta_put"], (LAST_TIME_KEY, repr(now).encode()))


def _shift_hosts(db: sqlite3.Connection, offset_seconds: float, now: float) -> None:
    sql, last = queries(), 0
    while found := db.execute(sql["hosts_after"], (last, HOST_BATCH_SIZE)).fetchall():
        last = found[-1][0]
        shifted = []
        for host_id, origin, state, robots in found:
            record = shift_host_times(rows.decode_host_record(origin, state, robots), offset_seconds, now)
            copy = rows.encode(record.robots) if record.robots is not None else None
            shifted.append((rows.encode_host_state(record), copy, host_id))
        db.executemany(sql["host_replace_state"], shifted)
