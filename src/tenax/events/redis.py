"""Events to a Redis stream: in order, at least once.

Each entry has the fields `seq`, `url` and `event`, the page as a line of JSON. While Redis is unavailable, full or
starting, events wait in the database, for as long as it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tenax.errors import SinkError
from tenax.events import encode_page_line
from tenax.model import Cursor, Event
from tenax.runtime.redis import RetryRules, WaitingRedis, close_clients, create_redis_client

RETRIES = RetryRules((0.1, 0.5, 1.0, 2.0, 5.0), "Redis unavailable, events queued", retries_all_errors=True)
MAX_BATCH_BYTES = 4 * 1024 * 1024
"""About how much is sent at once. Redis holds a batch twice, and serves no other client meanwhile."""

Entry = dict[bytes | bytearray | memoryview | str | int | float, bytes | bytearray | memoryview | str | int | float]
"""The type that the library uses."""


class RedisSink:
    """Appends to one stream."""

    name = "redis"

    def __init__(self, url: str, stream: str, with_text: bool, max_entries: int = 0) -> None:
        """`max_entries`: about how many entries the stream keeps; 0: all. Raises `ConfigError` for an invalid URL."""
        self._redis = create_redis_client(url, "invalid `events.redis`", client_name="tenax")
        self._connection = WaitingRedis(url, "events.redis", RETRIES)
        self._stream = stream
        self._with_text = with_text
        self._max_entries = max_entries or None

    async def open(self, cursor: Cursor, is_behind: bool) -> None:
        from redis.exceptions import RedisError

        try:
            kind = await self._connection.call_or_refuse(lambda: self._redis.type(self._stream))
        except (RedisError, OSError) as error:
            self._connection.log_outage(error)
            return
        kind = kind.decode() if isinstance(kind, bytes) else kind
        if kind not in ("stream", "none"):
            raise SinkError(
                f"{self._stream!r} in Redis at {self._connection.masked_url} is not a stream but a {kind}; "
                "use another events.redis_stream"
            )

    async def write(self, events: Sequence[Event]) -> Cursor:
        for portion in _split_batches([self._build_entry(event) for event in events]):
            await self._add_entries(portion)
        return Cursor(seq=events[-1].seq)

    async def close(self) -> None:
        await close_clients(self._redis)

    async def _add_entries(self, entries: Sequence[Entry]) -> None:
        """Append all entries or none. Retry until Redis acknowledges them."""

        async def add() -> None:
            async with self._redis.pipeline(transaction=True) as pipe:
                for entry in entries:
                    pipe.xadd(self._stream, entry, maxlen=self._max_entries, approximate=True)
                await pipe.execute()

        await self._connection.call_with_retry(add)

    def _build_entry(self, event: Event) -> Entry:
        line = encode_page_line(event.page, event.seq, self._with_text)
        return {"seq": event.seq, "url": event.page.url.encode("utf-8", "surrogatepass"), "event": line}


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
