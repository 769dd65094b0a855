"""Connections to a Redis that may be unavailable: calls that wait for it, and calls that give up at once.

At the start there is one clear error. Each outage is logged once.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tenax.clock import Clock
from tenax.errors import ConfigError, ServerUnavailable
from tenax.logs import logger
from tenax.runtime.cancellation import preserve_cancellation
from tenax.text.sanitize import mask_server_url, mask_text

if TYPE_CHECKING:
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.retry import Retry

log = logger(__name__)

T = TypeVar("T")

# ---- calls that wait ----------------------------------------------------------------------------------------

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 15.0

_TRANSIENT_ERRORS = ("BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY", "TRYAGAIN")


def create_redis_client(
    url: str, invalid: str, answer_seconds: float = ANSWER_SECONDS, *, client_name: str | None = None
) -> Redis:
    """A client that never retries by itself, because we decide what is sent again.

    Raises `ConfigError`. `invalid` is how the error about a wrong URL begins.
    """
    library = _import_library(retries=0)
    try:
        return library.client.from_url(
            url,
            socket_timeout=answer_seconds,
            socket_connect_timeout=CONNECT_SECONDS,
            retry=library.retry,
            client_name=client_name,
        )
    except ValueError:
        raise ConfigError(
            f"{invalid} {mask_server_url(url, hides_user=True)!r}: write it as redis://host:port/number"
        ) from None


class RetryRules(NamedTuple):
    """How calls wait for an unavailable Redis."""

    delays_seconds: tuple[float, ...] = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0)
    """Waits between attempts; the last one is repeated."""
    message: str = "Redis unavailable, waiting"
    """Logged once per outage."""
    retries_all_errors: bool = False
    """Also those that waiting alone does not fix, such as a key of another type."""


DEFAULT_RETRIES = RetryRules()


class WaitingRedis:
    """Calls wait while Redis is unavailable, starting, full, or no longer the primary."""

    def __init__(self, url: str, setting: str, retries: RetryRules = DEFAULT_RETRIES) -> None:
        self.masked_url = mask_server_url(url, hides_user=True)
        self._setting = setting
        self._retries = retries
        self._is_away = False
        self.failure_count = 0
        """How often a call has failed so far."""

    async def call_once(self, work: Callable[[], Awaitable[T]]) -> T:
        """The first call.

        Raises `ServerUnavailable` if Redis does not answer or cannot serve us yet, and another `ConfigError` if waiting
        would not help.
        """
        from redis.exceptions import RedisError

        try:
            return await self.call_or_refuse(work)
        except (RedisError, OSError) as error:
            is_trusted = not isinstance(error.__context__, ssl.SSLCertVerificationError)
            kind = ServerUnavailable if is_trusted and _is_transient(error) else ConfigError
            raise kind(
                f"Redis at {self.masked_url} cannot be used: {_error_line(error)}; check `{self._setting}`"
            ) from None

    async def call_or_refuse(self, work: Callable[[], Awaitable[T]]) -> T:
        """Raises `ConfigError` when the login is refused, otherwise the library's own errors."""
        from redis.exceptions import AuthenticationError

        try:
            with preserve_cancellation():
                return await work()
        except AuthenticationError as error:
            raise ConfigError(
                f"Redis at {self.masked_url} refuses the login: {_error_line(error)}; check `{self._setting}`"
            ) from None

    async def call_with_retry(self, work: Callable[[], Awaitable[T]]) -> T:
        """Retry until Redis answers. A call that failed may still have had its effect, even more than once."""
        from redis.exceptions import RedisError

        tries, delays = 0, self._retries.delays_seconds
        while True:
            try:
                with preserve_cancellation():
                    result = await work()
            except (RedisError, OSError) as error:
                if not self._retries.retries_all_errors and not _is_transient(error):
                    raise ConfigError(f"Redis at {self.masked_url} refuses the command: {_error_line(error)}") from None
                self.failure_count += 1
                if tries:
                    self.log_outage(error)
                # The first failure may only mean that an idle connection was closed.
                await asyncio.sleep(delays[min(tries, len(delays) - 1)])
                tries += 1
            else:
                if self._is_away:
                    self._is_away = False
                    log.info("Redis available again", redis=self.masked_url)
                return result

    def log_outage(self, error: Exception) -> None:
        """Once, until it answers again."""
        if not self._is_away:
            self._is_away = True
            log.warning(self._retries.message, redis=self.masked_url, why=_error_line(error))


def _is_transient(error: Exception) -> bool:
    """Whether the same command may succeed later: Redis is unavailable, full, starting, read-only or not the
    primary."""
    from redis.exceptions import ConnectionError as Disconnected
    from redis.exceptions import TimeoutError as Silent

    if isinstance(error, (Disconnected, Silent, OSError)):
        return True
    return any(word in str(error) for word in _TRANSIENT_ERRORS) or type(error).__name__ in (
        "OutOfMemoryError",
        "ReadOnlyError",
    )


def _error_line(error: Exception) -> str:
    """The message of the error in one line."""
    return mask_text(str(error) or type(error).__name__).splitlines()[0].rstrip(".")


async def close_clients(*clients: Redis) -> None:
    """Close the connections of these clients. Errors are ignored."""
    from redis.exceptions import RedisError

    for client in clients:
        with suppress(RedisError, OSError):  # Redis may be unavailable
            await client.aclose()


async def await_reply(answer: Any) -> Any:
    """The result of a method whose type in the library may or may not be awaitable."""
    return await answer


class _Library(NamedTuple):
    client: type[Redis]
    pool: type[BlockingConnectionPool]
    retry: Retry


def _import_library(retries: int) -> _Library:
    """Raises `ConfigError` when it is not installed."""
    try:
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError:
        raise ConfigError('Redis needs an extra: pip install "tenax[redis]"') from None
    return _Library(Redis, BlockingConnectionPool, Retry(NoBackoff(), retries))


# ---- calls that give up -------------------------------------------------------------------------------------

MAX_FAILURES = 5
"""Consecutive failures before Redis is not called for a while."""
RETRY_SECONDS = 10.0
CALL_SECONDS = 2.0
"""Time limit of a call, and so the longest wait of a visit."""
OPEN_SECONDS = 5.0
CONNECTIONS = 64
CLOCK_SAMPLES = 8
LOCAL_LIMITS = "using slower local rate limits"


class BestEffortRedis:
    """One Redis. While it is unavailable, `call` returns None and raises nothing."""

    def __init__(
        self, url: str, clock: Clock, call_seconds: float = CALL_SECONDS, fallback_note: str = LOCAL_LIMITS
    ) -> None:
        """`fallback_note` describes the effect of an outage in the log; empty: another component logs it."""
        self.url = url
        self._fallback_note = fallback_note
        self._clock = clock
        self._call_seconds = call_seconds
        self._failures = 0
        self._retry_at = 0.0
        self._is_unavailable = False
        self.unavailable_since = 0.0
        """When an outage was last detected."""
        self.returned_at: float | None = None
        """When the return of Redis was last detected; None if there was no outage."""
        self._is_probing = False
        """One call checks whether Redis is back; other calls return at once."""
        self._return_callbacks: list[Callable[[], Awaitable[None]]] = []
        self.client: Redis = _create_pooled_client(url, call_seconds)

    @classmethod
    async def open(
        cls, url: str, clock: Clock, call_seconds: float = CALL_SECONDS, fallback_note: str = LOCAL_LIMITS
    ) -> BestEffortRedis:
        """Raises `ServerUnavailable` if Redis does not answer, and another `ConfigError` if waiting would not help."""
        reach = cls(url, clock, call_seconds, fallback_note)
        try:
            await reach._ping()
        except BaseException:
            await reach.close()
            raise
        return reach

    @property
    def is_unavailable(self) -> bool:
        return self._is_unavailable

    def on_return(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Call this each time Redis returns, before any other call."""
        self._return_callbacks.append(callback)

    async def call(self, ask: Callable[[Redis], Awaitable[T]]) -> T | None:
        """The reply of Redis; None if Redis is unavailable, or is not called for a while after failures."""
        if self._clock.now() < self._retry_at or self._is_probing:
            return None
        from redis.exceptions import RedisError

        self._is_probing = self._failures >= MAX_FAILURES
        try:
            with preserve_cancellation():
                async with asyncio.timeout(self._call_seconds):
                    answer = await ask(self.client)
        except (RedisError, OSError, TimeoutError) as error:
            self._on_failure(error)
            return None
        finally:
            self._is_probing = False
        self._failures = 0
        if self._is_unavailable:
            await self._on_available()
        return answer

    async def clock_offset_seconds(self) -> float | None:
        """How far the clock of the server is ahead of ours; None without a reply.

        Workers with different clocks would request hosts too early. The quickest of several samples is the most exact.
        """
        samples: list[tuple[float, float]] = []
        for _ in range(CLOCK_SAMPLES):
            before = self._clock.now()
            answer: Any = await self.call(lambda redis: redis.time())
            after = self._clock.now()
            if answer is not None:
                samples.append((after - before, float(answer[0]) + float(answer[1]) / 1e6 - (before + after) / 2))
        return min(samples)[1] if samples else None

    async def close(self) -> None:
        await close_clients(self.client)

    async def _ping(self) -> None:
        from redis.exceptions import AuthenticationError, InvalidResponse, RedisError, ResponseError

        shown = mask_server_url(self.url, hides_user=True)
        try:
            with preserve_cancellation():
                async with asyncio.timeout(OPEN_SECONDS):
                    await self.client.ping()
        except AuthenticationError:
            raise ConfigError(f"Redis at {shown} does not know this user and password") from None
        except ResponseError as error:
            raise ConfigError(f"Redis at {shown} refuses us: {error}") from None
        except InvalidResponse:
            raise ConfigError(f"what answers at {shown} is not Redis; check the address") from None
        except (RedisError, OSError, TimeoutError) as error:
            if isinstance(error.__context__, ssl.SSLCertVerificationError):
                raise ConfigError(f"Redis at {shown} cannot be trusted: {_last_sentence(error)}") from None
            raise ServerUnavailable(
                f"Redis at {shown} does not answer: {_last_sentence(error)}; check the address"
            ) from None

    def _on_failure(self, error: BaseException) -> None:
        self._failures += 1
        if self._failures >= MAX_FAILURES:
            self._retry_at = self._clock.now() + RETRY_SECONDS
        if not self._is_unavailable:
            self._is_unavailable = True
            self.unavailable_since = self._clock.now()
            if self._fallback_note:
                log.warning(
                    f"Redis unavailable, {self._fallback_note}",
                    redis=mask_server_url(self.url, hides_user=True),
                    why=_last_sentence(error),
                )

    async def _on_available(self) -> None:
        self._is_unavailable = False
        self.returned_at = self._clock.now()
        if self._fallback_note:
            log.info("Redis available again", redis=mask_server_url(self.url, hides_user=True))
        for callback in self._return_callbacks:
            await callback()


def _create_pooled_client(url: str, call_seconds: float) -> Redis:
    library = _import_library(retries=1)
    try:
        # A call waits if all connections are in use. The other kind of pool would raise, as if Redis were unavailable.
        pool = library.pool.from_url(
            url,
            timeout=call_seconds,
            socket_connect_timeout=call_seconds,
            socket_timeout=call_seconds,
            retry=library.retry,
            health_check_interval=30,
            max_connections=CONNECTIONS,
            client_name="tenax",
        )
        return library.client.from_pool(pool)
    except ValueError:  # its text quotes the port, which may be part of a password
        raise ConfigError(
            f"{mask_server_url(url, hides_user=True)!r} is not the address of a Redis; it looks like redis://host:6379/0"
        ) from None


def _last_sentence(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return mask_text(str(error)).rstrip(".").rpartition(". ")[2] or type(error).__name__
