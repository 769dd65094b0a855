"""A connection to a Redis that may be unavailable. At the start there is one clear error; later, calls are retried
until Redis answers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from tenax.errors import ConfigError, ServerUnavailable
from tenax.logs import logger
from tenax.runtime.cancellation import preserve_cancellation
from tenax.text.sanitize import mask_server_url, mask_text

if TYPE_CHECKING:
    from redis.asyncio import Redis

log = logger(__name__)

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 15.0
RETRY_DELAYS_SECONDS = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0)
"""Waits between attempts while Redis is unavailable."""

_TRANSIENT_ERRORS = ("BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY", "TRYAGAIN")

T = TypeVar("T")


def create_redis_client(url: str, setting: str, answer_seconds: float = ANSWER_SECONDS) -> Redis:
    """A client that never retries by itself, because we decide what is sent again. Raises `ConfigError`."""
    try:
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError:
        raise ConfigError('Redis needs an extra: pip install "tenax[redis]"') from None
    try:
        return Redis.from_url(
            url, socket_timeout=answer_seconds, socket_connect_timeout=CONNECT_SECONDS, retry=Retry(NoBackoff(), 0)
        )
    except ValueError:
        raise ConfigError(
            f"invalid `{setting}` {mask_server_url(url, hides_user=True)!r}: write it as redis://host:port/number"
        ) from None


class RedisConnection:
    """Calls wait while Redis is unavailable, starting, full, or no longer the primary."""

    def __init__(self, url: str, setting: str) -> None:
        self.masked_url = mask_server_url(url, hides_user=True)
        self._setting = setting
        self._is_away = False
        self.failure_count = 0
        """How often a call has failed so far."""

    async def call_once(self, work: Callable[[], Awaitable[T]]) -> T:
        """The first call.

        Raises `ServerUnavailable` if Redis does not answer or cannot serve us yet, and another `ConfigError` if waiting
        would not help.
        """
        from redis.exceptions import AuthenticationError, RedisError

        try:
            with preserve_cancellation():
                return await work()
        except AuthenticationError as error:
            raise ConfigError(
                f"Redis at {self.masked_url} refuses the login: {_error_text(error)}; check `{self._setting}`"
            ) from None
        except (RedisError, OSError) as error:
            is_trusted = not isinstance(error.__context__, ssl.SSLCertVerificationError)
            kind = ServerUnavailable if is_trusted and _is_transient(error) else ConfigError
            raise kind(
                f"Redis at {self.masked_url} cannot be used: {_error_text(error)}; check `{self._setting}`"
            ) from None

    async def call_with_retry(self, work: Callable[[], Awaitable[T]]) -> T:
        """Retry until Redis answers. A call that failed may still have had its effect, even more than once."""
        from redis.exceptions import RedisError

        tries = 0
        while True:
            try:
                with preserve_cancellation():
                    result = await work()
            except (RedisError, OSError) as error:
                if not _is_transient(error):
                    raise ConfigError(f"Redis at {self.masked_url} refuses the command: {_error_text(error)}") from None
                self.failure_count += 1
                if tries:
                    self._log_unavailable(error)
                # The first failure may only mean that an idle connection was closed.
                await asyncio.sleep(RETRY_DELAYS_SECONDS[min(tries, len(RETRY_DELAYS_SECONDS) - 1)])
                tries += 1
            else:
                if self._is_away:
                    self._is_away = False
                    log.info("Redis available again", redis=self.masked_url)
                return result

    def _log_unavailable(self, error: Exception) -> None:
        if not self._is_away:
            self._is_away = True
            log.warning("Redis unavailable, waiting", redis=self.masked_url, why=_error_text(error))


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


async def close_clients(*clients: Redis) -> None:
    """Close the connections of these clients. Errors are ignored."""
    from redis.exceptions import RedisError

    for client in clients:
        with suppress(RedisError, OSError):
            await client.aclose()


async def await_reply(answer: Any) -> Any:
    """The result of a method whose type in the library may or may not be awaitable."""
    return await answer


def _error_text(error: Exception) -> str:
    """The message of the error in one line."""
    return mask_text(str(error) or type(error).__name__).splitlines()[0].rstrip(".")
