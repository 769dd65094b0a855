"""The way to the server: one connection that comes back by itself, and asyncpg's errors in our words."""

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
from tenax.database.postgres.reconnect import Breaker
from tenax.errors import ConfigError, LedgerAway, LedgerUnusable, StorageFull, TenaxError

T = TypeVar("T")
Row = Any
"""What asyncpg gives: columns by name and by place."""

log = logs.logger(__name__)

CONNECT_SECONDS = 10.0
COMMAND_SECONDS = 60.0
"""A worker that waits for longer than this for an answer gives the connection up; a person who asks may wait."""
CLOSE_SECONDS = 5.0

SESSION = {
    "application_name": "tenax",
    "jit": "off",
    # A worker that vanished or was put to sleep in the middle of a transaction must not make others wait for long.
    "idle_in_transaction_session_timeout": "15s",
    "lock_timeout": "30s",
    # How long an answer may take is ours to say: what the role is set to would end a long look again and again.
    "statement_timeout": "0",
    "tcp_keepalives_idle": "20",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "4",
}
FIXED_PLANS = {
    # Each statement of the loop has one good plan, from key to key; none may change with the statistics of the day.
    # They are made anew now and then: a table that was nearly empty when a plan was made may be large by now.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_material": "off",
}


class Connection(Protocol):
    """What we use of asyncpg's."""

    async def execute(self, query: str, *args: object) -> str: ...

    async def fetch(self, query: str, *args: object) -> list[Row]: ...

    async def fetchrow(self, query: str, *args: object) -> Row | None: ...

    async def fetchval(self, query: str, *args: object) -> Any: ...

    async def add_listener(self, channel: str, callback: Callable[..., None]) -> None: ...

    def is_closed(self) -> bool: ...

    def is_in_transaction(self) -> bool: ...

    def terminate(self) -> None: ...

    async def close(self) -> None: ...


class Lost(Exception):
    """The connection broke, or the server went away: what was asked may or may not have been done."""


class Collided(Exception):
    """The server gave up this transaction in favour of another; nothing of it is written."""


class NoText(Exception):
    """A value is no text that PostgreSQL can hold; nothing is written."""


class Address:
    """Where a ledger is: a server, a database, a schema in it. Its text shows no secret."""

    def __init__(self, url: str, schema: str) -> None:
        if find_spec("asyncpg") is None:
            raise ConfigError('PostgreSQL needs an extra: pip install "tenax[postgres]"')
        self.url = url
        self.schema = schema
        try:
            parts = urlsplit(url)
            port = parts.port or 5432
        except ValueError:
            raise _no_url() from None
        if parts.scheme not in ("postgresql", "postgres") or not parts.path.strip("/"):
            raise _no_url()
        if "@" in parts.path:  # of a password with a slash in it: half of it would be the name of a database
            raise _no_url()
        self.user = unquote(parts.username or "")
        self.database = unquote(parts.path.strip("/"))
        self.server = f"{parts.hostname or 'localhost'}:{port}"

    def __str__(self) -> str:
        return f"{self.server}/{self.database}"

    @property
    def quoted_schema(self) -> str:
        return '"' + self.schema.replace('"', '""') + '"'


def _no_url() -> ConfigError:
    return ConfigError("ledger.url is not a PostgreSQL URL; it looks like postgresql://host:5432/database")


async def connected(address: Address, settings: dict[str, str], command_seconds: float | None = None) -> Connection:
    """A new connection; raises what asyncpg raises."""
    import asyncpg

    connection: Connection = await asyncpg.connect(
        address.url,
        timeout=CONNECT_SECONDS,
        command_timeout=command_seconds,
        max_cached_statement_lifetime=0,
        server_settings=SESSION | {"search_path": address.quoted_schema} | settings,
    )
    return connection


class Link:
    """One connection, used by one task at a time."""

    def __init__(
        self, address: Address, settings: dict[str, str], *, is_patient: bool, breaker: Breaker | None = None
    ) -> None:
        """`is_patient`: wait for a server that is away, as long as it takes; else raise."""
        self.address = address
        self._settings = settings
        self._is_patient = is_patient
        self._breaker = breaker or Breaker()
        self._has_served = False
        """Something was asked through this connection, and answered."""
        self._greet: Callable[[Connection], Awaitable[None]] | None = None
        self._turn = asyncio.Lock()
        self._connection: Connection | None = None
        self._is_closed = asyncio.Event()
        self.is_away = False
        """The server did not answer when it was last spoken to."""

    async def open(self) -> None:
        """The first connection. Raises `LedgerAway` when nobody answers, and what else a person must know."""
        try:
            await self._connect()
        except Exception as error:
            raise translated(error, self.address) from None

    async def greet_with(self, greet: Callable[[Connection], Awaitable[None]]) -> None:
        """Let this be the first to speak on every connection, beginning with the one there is."""
        self._greet = greet
        await self.ask(greet)

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Connection]:
        """The connection, for as long as this lasts. Raises `Lost`, `Collided`, `NoText`, or our own errors."""
        async with self._turn:
            db = await self._alive()
            try:
                yield db
            except BaseException as error:
                await self._recover(db)
                told = _told(error, self.address)
                if isinstance(told, Lost) and not self._has_served:
                    self._failed(told)
                if isinstance(told, (Lost, asyncio.CancelledError)):
                    self._drop()  # what was asked may have been done: whoever greets the next one finds out
                if told is error:
                    raise
                raise told from None
            self._served()

    async def ask(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Do something that may be done twice."""
        while True:
            try:
                async with self.use() as db:
                    return await work(db)
            except (Lost, Collided) as error:
                if not self._is_patient:
                    raise LedgerUnusable(f"PostgreSQL at {self.address} does not answer: {error}") from None

    async def close(self, *, is_gone: bool = False) -> None:
        """Whoever still waits for the server is told. `is_gone`: it does not answer, so nothing more is said to it."""
        self._is_closed.set()
        if is_gone:
            self._drop()
        with suppress(Exception):
            async with asyncio.timeout(CLOSE_SECONDS), self._turn:
                if self._connection is not None:
                    await self._connection.close()
        self._drop()

    async def _alive(self) -> Connection:
        loop = asyncio.get_running_loop()
        while True:
            if self._is_closed.is_set():
                raise LedgerUnusable("the ledger is closed")
            if self._connection is not None and not self._connection.is_closed():
                return self._connection
            if self._is_patient and (wait := self._breaker.wait_seconds(loop.time())):
                self.is_away = True
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._is_closed.wait()
                continue
            try:
                return await self._connect()
            except Exception as error:
                told = translated(error, self.address)
                if not self._is_patient or not isinstance(_told(error, self.address), Lost):
                    raise told from None
                self._failed(told)

    async def _connect(self) -> Connection:
        db = await connected(self.address, self._settings, COMMAND_SECONDS if self._is_patient else None)
        try:
            if self._greet is not None:
                await self._greet(db)
        except BaseException:
            db.terminate()
            raise
        self._has_served = self.is_away = False
        self._connection = db
        return db

    def _failed(self, why: Exception) -> None:
        if not self._breaker.is_away:
            log.warning("PostgreSQL is away, waiting for it", server=str(self.address), why=str(why))
        self._breaker.failed(asyncio.get_running_loop().time(), random.random())
        self.is_away = True

    def _served(self) -> None:
        if self._breaker.is_away:
            log.info("PostgreSQL is back", server=str(self.address))
        self._breaker.answered()
        self._has_served = True

    async def _recover(self, db: Connection) -> None:
        """Leave no transaction open behind an error."""
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


def _told(error: BaseException, address: Address) -> BaseException:
    """An error of asyncpg as the rest of this package knows it."""
    from asyncpg import exceptions as pg

    match error:
        case TenaxError() | Lost() | Collided() | NoText() | asyncio.CancelledError():
            return error
        case (
            OSError() | TimeoutError() | EOFError()
            | pg.PostgresConnectionError() | pg.AdminShutdownError() | pg.CrashShutdownError()
            | pg.CannotConnectNowError() | pg.TooManyConnectionsError() | pg.IdleInTransactionSessionTimeoutError()
            | pg.ReadOnlySQLTransactionError() | pg.OutOfMemoryError() | pg.InternalClientError()
        ):  # fmt: skip
            return Lost(_words(error))
        case (
            pg.DeadlockDetectedError() | pg.SerializationError() | pg.LockNotAvailableError() | pg.QueryCanceledError()
        ):
            return Collided(_words(error))
        case UnicodeEncodeError() | pg.CharacterNotInRepertoireError() | pg.UntranslatableCharacterError():
            return NoText()
        case pg.InterfaceError() if isinstance(error.__cause__, UnicodeEncodeError):
            return NoText()
        case pg.InterfaceError() if "connection" in str(error):
            return Lost(_words(error))
        case pg.PostgresError() | pg.InterfaceError():
            return translated(error, address)
        case _:
            return error


def translated(error: BaseException, address: Address) -> TenaxError:
    """An error of the server or of the way to it, as one line for a person; it shows no password."""
    from asyncpg import exceptions as pg

    match error:
        case TenaxError():
            return error
        case pg.InvalidPasswordError() | pg.InvalidAuthorizationSpecificationError():
            return LedgerUnusable(
                f"PostgreSQL at {address.server} does not let {address.user!r} in: "
                "check the user and the password in ledger.url"
            )
        case pg.InvalidCatalogNameError():
            return LedgerUnusable(
                f"there is no database {address.database!r} at {address.server}; create it: createdb {address.database}"
            )
        case pg.InsufficientPrivilegeError():
            return LedgerUnusable(f"PostgreSQL at {address}: {_words(error)}; grant it to {address.user!r}")
        case pg.DiskFullError():
            return StorageFull(
                f"the disk of PostgreSQL at {address.server} is full; everything committed is safe: "
                "free some space and run the same command again"
            )
        case socket.gaierror():
            return LedgerAway(f"there is no server {address.server.rpartition(':')[0]!r}; check ledger.url")
        case ssl.SSLError():
            return LedgerUnusable(f"PostgreSQL at {address.server}: TLS failed ({error.reason}); check ledger.url")
        case ConnectionError() if "SSL upgrade" in str(error):
            return LedgerUnusable(f"PostgreSQL at {address.server} offers no TLS; check sslmode in ledger.url")
        case OSError() | TimeoutError():
            return LedgerAway(f"PostgreSQL at {address.server} does not answer: {_words(error)}; is it running?")
        case (
            pg.CannotConnectNowError() | pg.TooManyConnectionsError() | pg.ConnectionDoesNotExistError()
            | pg.ConnectionFailureError() | pg.AdminShutdownError() | pg.CrashShutdownError()
        ):  # fmt: skip
            return LedgerAway(f"PostgreSQL at {address.server} lets nobody in at the moment: {_words(error)}")
        case pg.PostgresError() if "startup parameter" in str(error):
            return LedgerUnusable(
                f"what answers at {address.server} is a pooler of connections, such as PgBouncer; "
                "ledger.url must name the PostgreSQL server itself"
            )
        case pg.ClientConfigurationError() | ValueError():
            return _no_url()
        case _:
            return LedgerUnusable(f"PostgreSQL at {address}: {_words(error)}")


def _words(error: BaseException) -> str:
    """What went wrong in a few words on one line."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, OSError) and error.errno is not None:
        return (error.strerror or type(error).__name__).lower()
    return " ".join(str(error).split()) or type(error).__name__
