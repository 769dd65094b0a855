"""Events to a Redis stream: in order, at least once.

Each entry has the fields `seq`, `url` and `event`, the page as a line of JSON. While Redis is unavailable, full or
starting, events wait in the database, for as long as it takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tenax.errors import ConfigError, SinkError
from tenax.events import encode_page_line
from tenax.logs import logger
from tenax.model import Cursor, Event
from tenax.runtime.cancellation import preserve_cancellation
from tenax.text.sanitize import mask_server_url, mask_text

if TYPE_CHECKING:
    from redis.asyncio import Redis

log = logger(__name__)

ANSWER_SECONDS = 15.0
CONNECT_SECONDS = 5.0
RETRY_DELAYS_SECONDS = (0.1, 0.5, 1.0, 2.0, 5.0)
"""Waits between attempts to write to Redis."""
MAX_BATCH_BYTES = 4 * 1024 * 1024
"""About how much is sent at once. Redis holds a batch twice, and serves no other client meanwhile."""

Entry = dict[bytes | bytearray | memoryview | str | int | float, bytes | bytearray | memoryview | str | int | float]
"""The type that the library uses."""


class RedisSink:
    """Appends to one stream."""

    name = "redis"

    def __init__(self, url: str, stream: str, with_text: bool, max_entries: int = 0) -> None:
        """`max_entries`: about how many entries the stream keeps; 0: all. Raises `ConfigError` for an invalid URL."""
        self._redis = _create_client(url)
        self._masked_url = mask_server_url(url, hides_user=True)
        self._stream = stream
        self._with_text = with_text
        self._max_entries = max_entries or None
        self._is_away = False

    async def open(self, cursor: Cursor, is_behind: bool) -> None:
        from redis.exceptions import AuthenticationError, RedisError

        try:
            with preserve_cancellation():
                kind = await self._redis.type(self._stream)
        except AuthenticationError as error:
            raise ConfigError(
                f"Redis at {self._masked_url} refuses the login: {_error_text(error)}; check `events.redis`"
            ) from None
        except (RedisError, OSError) as error:
            self._log_unavailable(error)
            return
        kind = kind.decode() if isinstance(kind, bytes) else kind
        if kind not in ("stream", "none"):
            raise SinkError(
                f"{self._stream!r} in Redis at {self._masked_url} is not a stream but a {kind}; "
                "use another events.redis_stream"
            )

    async def write(self, events: Sequence[Event]) -> Cursor:
        for portion in _split_batches([self._build_entry(event) for event in events]):
            await self._add_entries(portion)
        return Cursor(seq=events[-1].seq)

    async def close(self) -> None:
        from redis.exceptions import RedisError

        with suppress(RedisError, OSError):  # the connection may be broken
            await self._redis.aclose()

    async def _add_entries(self, entries: Sequence[Entry]) -> None:
        """Append all entries or none. Retry until Redis acknowledges them."""
        from redis.exceptions import RedisError

        tries = 0
        while True:
            try:
                with preserve_cancellation():
                    async with self._redis.pipeline(transaction=True) as pipe:
                        for entry in entries:
                            pipe.xadd(self._stream, entry, maxlen=self._max_entries, approximate=True)
                        await pipe.execute()
            except (RedisError, OSError) as error:
                if tries:  # the first failure may only mean that an idle connection was closed
                    self._log_unavailable(error)
                await asyncio.sleep(RETRY_DELAYS_SECONDS[min(tries, len(RETRY_DELAYS_SECONDS) - 1)])
                tries += 1
            else:
                if self._is_away:
                    self._is_away = False
                    log.info("Redis available again", redis=self._masked_url)
                return

    def _build_entry(self, event: Event) -> Entry:
        line = encode_page_line(event.page, event.seq, self._with_text)
        return {"seq": event.seq, "url": event.page.url.encode("utf-8", "surrogatepass"), "event": line}

    def _log_unavailable(self, error: Exception) -> None:
        """Log once per outage."""
        if not self._is_away:
            self._is_away = True
            log.warning("Redis unavailable, events queued", redis=self._masked_url, why=_error_text(error))


def _split_batches(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """The entries in order, in batches of about `MAX_BATCH_BYTES`."""
    portion: list[Entry] = []
    size = 0
    for entry in entries:
        line = entry["event"]
        assert isinstance(line, bytes)
        if portion and size + len(line) > MAX_BATCH_BYTES:
            yield portion
            portion, size = [], 0
        portion.append(entry)
        size += len(line)
    if portion:
        yield portion


def _create_client(url: str) -> Redis:
    try:
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError:
        raise ConfigError('Redis needs an extra: pip install "tenax[redis]"') from None
    try:
        return Redis.from_url(
            url,
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=CONNECT_SECONDS,
            retry=Retry(NoBackoff(), 0),
            client_name="tenax",
        )
    except ValueError:
        raise ConfigError(
            f"invalid `events.redis` {mask_server_url(url, hides_user=True)!r}: write it as redis://host:port/number"
        ) from None


def _error_text(error: Exception) -> str:
    """The message of the error in one line."""
    return mask_text(str(error) or type(error).__name__).splitlines()[0].rstrip(".")
