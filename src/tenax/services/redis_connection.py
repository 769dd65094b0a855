"""A Redis that may be away: opened with one clear line when it cannot be used, and waited for ever after."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from tenax.errors import ConfigError, ServerAway
from tenax.logs import logger
from tenax.runtime.cancellation import heeding_cancel
from tenax.text.masking import mask_server_url, mask_text

if TYPE_CHECKING:
    from redis.asyncio import Redis

log = logger(__name__)

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 15.0
PAUSES_SECONDS = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0)
"""Between tries while it is away."""

_PASSING = ("BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY", "TRYAGAIN")

T = TypeVar("T")


def redis_at(url: str, knob: str, answer_seconds: float = ANSWER_SECONDS) -> Redis:
    """A client that sends nothing twice by itself: what is sent again is for us to decide. Raises `ConfigError`."""
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
            f"`{knob}` cannot be {mask_server_url(url, hides_user=True)!r}: write it as redis://host:port/number"
        ) from None


class RedisLink:
    """Calls that wait for as long as Redis is away, starting, full, or no longer the one that is written to."""

    def __init__(self, url: str, knob: str) -> None:
        self.where = mask_server_url(url, hides_user=True)
        self._knob = knob
        self._is_away = False
        self.troubles = 0
        """How often a call has failed so far."""

    async def first(self, work: Callable[[], Awaitable[T]]) -> T:
        """The first call of all. Raises `ServerAway` when Redis does not answer or cannot serve us yet, and another
        `ConfigError` when waiting would not help: whoever starts us should hear that the name is wrong."""
        from redis.exceptions import AuthenticationError, RedisError

        try:
            with heeding_cancel():
                return await work()
        except AuthenticationError as error:
            raise ConfigError(
                f"Redis at {self.where} does not let us in: {_why(error)}; check `{self._knob}`"
            ) from None
        except (RedisError, OSError) as error:
            is_trusted = not isinstance(error.__context__, ssl.SSLCertVerificationError)
            kind = ServerAway if is_trusted and _passes(error) else ConfigError
            raise kind(f"Redis at {self.where} cannot be used: {_why(error)}; check `{self._knob}`") from None

    async def patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Try until it answers. What was asked for at a bad moment may have happened all the same, more than once."""
        from redis.exceptions import RedisError

        tries = 0
        while True:
            try:
                with heeding_cancel():
                    result = await work()
            except (RedisError, OSError) as error:
                if not _passes(error):
                    raise ConfigError(f"Redis at {self.where} refuses what we ask of it: {_why(error)}") from None
                self.troubles += 1
                if tries:
                    self._troubled(error)
                # The first time it may only be a connection that was closed while nobody used it.
                await asyncio.sleep(PAUSES_SECONDS[min(tries, len(PAUSES_SECONDS) - 1)])
                tries += 1
            else:
                if self._is_away:
                    self._is_away = False
                    log.info("Redis is back", redis=self.where)
                return result

    def _troubled(self, error: Exception) -> None:
        if not self._is_away:
            self._is_away = True
            log.warning("Redis is away; everything waits for it", redis=self.where, why=_why(error))


def _passes(error: Exception) -> bool:
    """Whether Redis will take it later: it is away, full, starts, cannot write, or another is written to."""
    from redis.exceptions import ConnectionError as Disconnected
    from redis.exceptions import TimeoutError as Silent

    if isinstance(error, (Disconnected, Silent, OSError)):
        return True
    return any(word in str(error) for word in _PASSING) or type(error).__name__ in ("OutOfMemoryError", "ReadOnlyError")


async def closed(*clients: Redis) -> None:
    """Let go of their connections; a server that does not even take that changes nothing."""
    from redis.exceptions import RedisError

    for client in clients:
        with suppress(RedisError, OSError):
            await client.aclose()


async def said(answer: Any) -> Any:
    """The library gives some of its answers a type that may or may not be waited for."""
    return await answer


def _why(error: Exception) -> str:
    """In one line."""
    return mask_text(str(error) or type(error).__name__).splitlines()[0].rstrip(".")
