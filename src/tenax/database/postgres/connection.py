"""A connection that reconnects by itself, the rules for when it does, and the translation of asyncpg's errors."""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

from tenax import logs
from tenax.errors import ConfigError, DatabaseUnavailable, DatabaseUnusable, StorageFull, TenaxError

T = TypeVar("T")
Row = Any
"""An asyncpg record: columns by name and by index."""

log = logs.logger(__name__)

CONNECT_SECONDS = 10.0
COMMAND_SECONDS = 60.0
"""A worker drops the connection if it has waited this long for a reply. Read-only commands have no limit."""
CLOSE_SECONDS = 5.0
MAX_FAILURES = 3
"""Consecutive failures of all connections to the server before the long pause begins."""
RETRY_SECONDS = 30.0
FIRST_PAUSE_SECONDS = 0.1
JITTER = 0.1
"""Random share that is added to each pause: workers that lose the server together must not return together."""

SESSION_SETTINGS = {
    "application_name": "tenax",
    "jit": "off",
    # A worker that vanished or was suspended in a transaction must not block others for long.
    "idle_in_transaction_session_timeout": "15s",
    "lock_timeout": "30s",
    # The client sets the time limits. A timeout of the role would end a long statement again and again.
    "statement_timeout": "0",
    "tcp_keepalives_idle": "20",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "4",
}
FIXED_PLAN_SETTINGS = {
    # Each statement of the loop has one good plan, by key look-ups, and table statistics must not change it. Plans are
    # discarded now and then, because a table that was nearly empty when a plan was made may have grown.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_material": "off",
}


class Connection(Protocol):
    """The part of asyncpg's connection that this package uses."""

    async def execute(self, query: str, *args: object) -> str: ...

    async def fetch(self, query: str, *args: object) -> list[Row]: ...

    async def fetchrow(self, query: str, *args: object) -> Row | None: ...

    async def fetchval(self, query: str, *args: object) -> Any: ...

    async def add_listener(self, channel: str, callback: Callable[..., None]) -> None: ...

    def is_closed(self) -> bool: ...

    def is_in_transaction(self) -> bool: ...

    def terminate(self) -> None: ...

    async def close(self) -> None: ...


class ConnectionLost(Exception):
    """The connection broke, or the server is unavailable. The statement may or may not have been executed."""


class TransactionConflict(Exception):
    """The server aborted this transaction because of another one. Nothing of it is written."""


class InvalidText(Exception):
    """A value is not text that PostgreSQL can store. Nothing is written."""


class Address:
    """The location of a database: server, database and schema. Its text shows no secret."""

    def __init__(self, url: str, schema: str) -> None:
        if find_spec("asyncpg") is None:
            raise ConfigError('PostgreSQL needs an extra: pip install "tenax[postgres]"')
        self.url = url
        self.schema = schema
        try:
            parts = urlsplit(url)
            port = parts.port or 5432
        except ValueError:
            raise _invalid_url_error() from None
        if parts.scheme not in ("postgresql", "postgres") or not parts.path.strip("/"):
            raise _invalid_url_error()
        if "@" in parts.path:  # a password with a slash, so that part of it would become the database name
            raise _invalid_url_error()
        self.user = unquote(parts.username or "")
        self.database = unquote(parts.path.strip("/"))
        self.server = f"{parts.hostname or 'localhost'}:{port}"

    def __str__(self) -> str:
        return f"{self.server}/{self.database}"

    @property
    def quoted_schema(self) -> str:
        return '"' + self.schema.replace('"', '""') + '"'


def _invalid_url_error() -> ConfigError:
    return ConfigError("database.url is not a PostgreSQL URL; it looks like postgresql://host:5432/database")


async def connect(address: Address, settings: dict[str, str], command_seconds: float | None = None) -> Connection:
    """A new connection. Raises what asyncpg raises."""
    import asyncpg

    connection: Connection = await asyncpg.connect(
        address.url,
        timeout=CONNECT_SECONDS,
        command_timeout=command_seconds,
        max_cached_statement_lifetime=0,
        server_settings=SESSION_SETTINGS | {"search_path": address.quoted_schema} | settings,
    )
    return connection


class PostgresConnection:
    """One connection, used by one task at a time."""

    def __init__(
        self, address: Address, settings: dict[str, str], *, should_wait: bool, breaker: Breaker | None = None
    ) -> None:
        """`should_wait`: wait without a limit while the server is unavailable; otherwise raise."""
        self.address = address
        self._settings = settings
        self._should_wait = should_wait
        self._breaker = breaker or Breaker()
        self._has_answered = False
        """A statement got a reply on the current connection."""
        self._on_connect: Callable[[Connection], Awaitable[None]] | None = None
        self._lock = asyncio.Lock()
        self._connection: Connection | None = None
        self._is_closed = asyncio.Event()
        self.is_unavailable = False
        """The server did not answer the last attempt."""

    async def open(self) -> None:
        """Connect. Raises `DatabaseUnavailable` if the server does not answer, or another `TenaxError`."""
        try:
            await self._connect()
        except Exception as error:
            raise translate_error(error, self.address) from None

    async def set_on_connect(self, on_connect: Callable[[Connection], Awaitable[None]]) -> None:
        """Call this first on every new connection, and once on the current one."""
        self._on_connect = on_connect
        await self.run_idempotent(on_connect)

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Connection]:
        """Use the connection exclusively.

        Raises `ConnectionLost`, `TransactionConflict`, `InvalidText`, or a `TenaxError`.
        """
        async with self._lock:
            db = await self._ensure_connected()
            try:
                yield db
            except BaseException as error:
                await self._rollback(db)
                translated = _classify_error(error, self.address)
                if isinstance(translated, ConnectionLost) and not self._has_answered:
                    self._on_failure(translated)
                if isinstance(translated, (ConnectionLost, asyncio.CancelledError)):
                    self._drop()  # the statement may have been executed; `on_connect` of the next connection finds out
                if translated is error:
                    raise
                raise translated from None
            self._on_success()

    async def run_idempotent(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run work that may be executed twice."""
        while True:
            try:
                async with self.use() as db:
                    return await work(db)
            except (ConnectionLost, TransactionConflict) as error:
                if not self._should_wait:
                    raise DatabaseUnusable(f"PostgreSQL at {self.address} does not answer: {error}") from None

    async def close(self, *, is_unresponsive: bool = False) -> None:
        """End all waiting calls. `is_unresponsive`: the server does not answer, so do not wait for it."""
        self._is_closed.set()
        if is_unresponsive:
            self._drop()
        with suppress(Exception):
            async with asyncio.timeout(CLOSE_SECONDS), self._lock:
                if self._connection is not None:
                    await self._connection.close()
        self._drop()

    async def _ensure_connected(self) -> Connection:
        loop = asyncio.get_running_loop()
        while True:
            if self._is_closed.is_set():
                raise DatabaseUnusable("the database is closed")
            if self._connection is not None and not self._connection.is_closed():
                return self._connection
            if self._should_wait and (wait := self._breaker.wait_seconds(loop.time())):
                self.is_unavailable = True
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._is_closed.wait()
                continue
            try:
                return await self._connect()
            except Exception as error:
                translated = translate_error(error, self.address)
                if not self._should_wait or not isinstance(_classify_error(error, self.address), ConnectionLost):
                    raise translated from None
                self._on_failure(translated)

    async def _connect(self) -> Connection:
        db = await connect(self.address, self._settings, COMMAND_SECONDS if self._should_wait else None)
        try:
            if self._on_connect is not None:
                await self._on_connect(db)
        except BaseException:
            db.terminate()
            raise
        self._has_answered = self.is_unavailable = False
        self._connection = db
        return db

    def _on_failure(self, why: Exception) -> None:
        if not self._breaker.is_unavailable:
            log.warning("PostgreSQL unavailable, waiting", server=str(self.address), why=str(why))
        self._breaker.record_failure(asyncio.get_running_loop().time(), random.random())
        self.is_unavailable = True

    def _on_success(self) -> None:
        if self._breaker.is_unavailable:
            log.info("PostgreSQL available again", server=str(self.address))
        self._breaker.record_success()
        self._has_answered = True

    async def _rollback(self, db: Connection) -> None:
        """Roll back an open transaction after an error."""
        if db.is_closed() or not db.is_in_transaction():
            return
        try:
            async with asyncio.timeout(5.0):
                await db.execute("ROLLBACK")
        except Exception:
            db.terminate()
        except BaseException:
            db.terminate()
            raise

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


def _classify_error(error: BaseException, address: Address) -> BaseException:
    """Translate an asyncpg error for the rest of this package."""
    from asyncpg import exceptions as pg

    match error:
        case TenaxError() | ConnectionLost() | TransactionConflict() | InvalidText() | asyncio.CancelledError():
            return error
        case (
            OSError() | TimeoutError() | EOFError()
            | pg.PostgresConnectionError() | pg.AdminShutdownError() | pg.CrashShutdownError()
            | pg.CannotConnectNowError() | pg.TooManyConnectionsError() | pg.IdleInTransactionSessionTimeoutError()
            | pg.ReadOnlySQLTransactionError() | pg.OutOfMemoryError() | pg.InternalClientError()
        ):  # fmt: skip
            return ConnectionLost(_error_text(error))
        case (
            pg.DeadlockDetectedError() | pg.SerializationError() | pg.LockNotAvailableError() | pg.QueryCanceledError()
        ):
            return TransactionConflict(_error_text(error))
        case UnicodeEncodeError() | pg.CharacterNotInRepertoireError() | pg.UntranslatableCharacterError():
            return InvalidText()
        case pg.InterfaceError() if isinstance(error.__cause__, UnicodeEncodeError):
            return InvalidText()
        case pg.InterfaceError() if "connection" in str(error):
            return ConnectionLost(_error_text(error))
        case pg.PostgresError() | pg.InterfaceError():
            return translate_error(error, address)
        case _:
            return error


def translate_error(error: BaseException, address: Address) -> TenaxError:
    """Translate an error of the server or the connection into one line for users, without passwords."""
    from asyncpg import exceptions as pg

    match error:
        case TenaxError():
            return error
        case pg.InvalidPasswordError() | pg.InvalidAuthorizationSpecificationError():
            return DatabaseUnusable(
                f"PostgreSQL at {address.server} does not let {address.user!r} in: "
                "check the user and the password in database.url"
            )
        case pg.InvalidCatalogNameError():
            return DatabaseUnusable(
                f"there is no database {address.database!r} at {address.server}; create it: createdb {address.database}"
            )
        case pg.InsufficientPrivilegeError():
            return DatabaseUnusable(f"PostgreSQL at {address}: {_error_text(error)}; grant it to {address.user!r}")
        case pg.DiskFullError():
            return StorageFull(
                f"the disk of PostgreSQL at {address.server} is full; everything committed is safe: "
                "free some space and run the same command again"
            )
        case socket.gaierror():
            return DatabaseUnavailable(f"there is no server {address.server.rpartition(':')[0]!r}; check database.url")
        case ssl.SSLError():
            return DatabaseUnusable(f"PostgreSQL at {address.server}: TLS failed ({error.reason}); check database.url")
        case ConnectionError() if "SSL upgrade" in str(error):
            return DatabaseUnusable(f"PostgreSQL at {address.server} offers no TLS; check sslmode in database.url")
        case OSError() | TimeoutError():
            return DatabaseUnavailable(
                f"PostgreSQL at {address.server} does not answer: {_error_text(error)}; is it running?"
            )
        case (
            pg.CannotConnectNowError() | pg.TooManyConnectionsError() | pg.ConnectionDoesNotExistError()
            | pg.ConnectionFailureError() | pg.AdminShutdownError() | pg.CrashShutdownError()
        ):  # fmt: skip
            return DatabaseUnavailable(
                f"PostgreSQL at {address.server} accepts no connections at the moment: {_error_text(error)}"
            )
        case pg.PostgresError() if "startup parameter" in str(error):
            return DatabaseUnusable(
                f"what answers at {address.server} is a pooler of connections, such as PgBouncer; "
                "database.url must name the PostgreSQL server itself"
            )
        case pg.ClientConfigurationError() | ValueError():
            return _invalid_url_error()
        case _:
            return DatabaseUnusable(f"PostgreSQL at {address}: {_error_text(error)}")


def _error_text(error: BaseException) -> str:
    """The error in a few words on one line."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, OSError) and error.errno is not None:
        return (error.strerror or type(error).__name__).lower()
    return " ".join(str(error).split()) or type(error).__name__


class Breaker:
    """Counts connections that failed or got no reply. Shared by all connections of one database."""

    def __init__(self, retry_seconds: float = RETRY_SECONDS) -> None:
        self._retry_seconds = retry_seconds
        self._failures = 0
        self._next_try_at = 0.0

    @property
    def is_unavailable(self) -> bool:
        """The last attempt failed."""
        return self._failures > 0

    def wait_seconds(self, now: float) -> float:
        """How long to wait before the next attempt."""
        return max(self._next_try_at - now, 0.0)

    def record_failure(self, now: float, jitter: float) -> None:
        self._failures += 1
        pause = (
            FIRST_PAUSE_SECONDS * 2 ** (self._failures - 1) if self._failures < MAX_FAILURES else self._retry_seconds
        )
        self._next_try_at = now + pause * (1 + JITTER * jitter)

    def record_success(self) -> None:
        self._failures = 0
        self._next_try_at = 0.0
