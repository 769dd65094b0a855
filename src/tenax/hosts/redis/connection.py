"""All calls to Redis go through this module. It detects when Redis becomes unavailable and when it returns."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from tenax.clock import Clock
from tenax.errors import ConfigError, ServerUnavailable
from tenax.logs import logger
from tenax.runtime.cancellation import preserve_cancellation
from tenax.text.sanitize import mask_server_url, mask_text

if TYPE_CHECKING:
    from redis.asyncio import Redis

log = logger(__name__)

T = TypeVar("T")

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
        self.client: Redis = _make_client(url, call_seconds)

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
        from redis.exceptions import RedisError

        with suppress(RedisError, OSError):  # Redis may be unavailable
            await self.client.aclose()

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
            raise ConfigError(f"what answers at {shown} is no Redis; check the address") from None
        except (RedisError, OSError, TimeoutError) as error:
            if isinstance(error.__context__, ssl.SSLCertVerificationError):
                raise ConfigError(f"Redis at {shown} cannot be trusted: {_error_text(error)}") from None
            raise ServerUnavailable(
                f"Redis at {shown} does not answer: {_error_text(error)}; check the address"
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
                    why=_error_text(error),
                )

    async def _on_available(self) -> None:
        self._is_unavailable = False
        self.returned_at = self._clock.now()
        if self._fallback_note:
            log.info("Redis available again", redis=mask_server_url(self.url, hides_user=True))
        for callback in self._return_callbacks:
            await callback()


def _make_client(url: str, call_seconds: float) -> Redis:
    try:
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError:
        raise ConfigError('Redis needs an extra: pip install "tenax[redis]"') from None
    try:
        # A call waits if all connections are in use. The other kind of pool would raise, as if Redis were unavailable.
        pool = BlockingConnectionPool.from_url(
            url,
            timeout=call_seconds,
            socket_connect_timeout=call_seconds,
            socket_timeout=call_seconds,
            retry=Retry(NoBackoff(), 1),
            health_check_interval=30,
            max_connections=CONNECTIONS,
            client_name="tenax",
        )
        return Redis.from_pool(pool)
    except ValueError:  # its text quotes the port, which may be part of a password
        raise ConfigError(
            f"{mask_server_url(url, hides_user=True)!r} is no address of a Redis; it looks like redis://host:6379/0"
        ) from None


def _error_text(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return mask_text(str(error)).rstrip(".").rpartition(". ")[2] or type(error).__name__
