"""Events to Kafka: acknowledged by every replica, in order for each URL, at least once.

The producer is librdkafka's. It is idempotent: retries neither duplicate nor reorder messages. While no broker is
available, events wait in the database, for as long as it takes. If a run was killed after it had sent events and before
it moved its cursor, the events are sent again; readers recognize them by `seq`.

Batches are compressed with gzip, the one codec that every Kafka client has, in any language. It costs more than others,
and runs in librdkafka's own thread.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tenax.errors import ConfigError
from tenax.events import encode_page_line, url_hash
from tenax.logs import logger
from tenax.model import Cursor, Event, Page
from tenax.text.sanitize import mask_text, mask_url

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer
    from confluent_kafka import Message as Delivered

log = logger(__name__)

POLL_SECONDS = 0.1
METADATA_TIMEOUT_SECONDS = 5.0
RETRY_DELAYS_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Waits between attempts after a refusal that an operator can correct."""
MAX_MESSAGE_BYTES = 1_000_000
"""The brokers' default limit. The rest of a megabyte is for the headers."""
GZIP_LEVEL = 1
"""The fastest level. The default level costs three times as much and gains little."""
MAX_SMALL_TEXT_CHARS = 1000
"""Characters of title and description in the event of a page that is too large for Kafka."""
_SERVERS_PATTERN = re.compile(r"[\w.\[\]:-]+:[0-9]{1,5}(,[\w.\[\]:-]+:[0-9]{1,5})*")


class Message(NamedTuple):
    key: bytes
    value: bytes


class KafkaProducer:
    """Sends messages, and tracks which of them every replica has. For one event loop."""

    def __init__(self, servers: str, max_message_bytes: int = MAX_MESSAGE_BYTES, compression: str = "gzip") -> None:
        """`compression` must be a codec that every reader has. Some readers have only gzip."""
        _check_servers(servers)
        from confluent_kafka import KafkaException, Producer

        self.servers = servers
        self._loop = asyncio.get_running_loop()
        settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "acks": "all",
            "message.timeout.ms": 0,  # wait for an unavailable broker
            "message.max.bytes": max_message_bytes,
            "linger.ms": 2,
            "compression.type": compression,
            **({"compression.level": GZIP_LEVEL} if compression == "gzip" else {}),
            "client.id": "tenax",
            "allow.auto.create.topics": True,
        }
        try:
            self._producer: Producer = Producer({**settings, "error_cb": self._on_error, "logger": _NULL_LOGGER})
        except KafkaException as error:
            raise ConfigError(
                f"Kafka cannot be used as {mask_url(servers)!r}: {mask_text(error.args[0].str())}"
            ) from None
        self._stop_requested = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="kafka", daemon=True)
        self._is_unavailable = False
        self._error_lock = threading.Lock()
        self._thread.start()

    async def check_broker(self) -> bool:
        """Whether a broker answers now. Logs a warning if none does, because everything else only waits."""
        from confluent_kafka import KafkaException

        try:
            await asyncio.to_thread(self._producer.list_topics, None, METADATA_TIMEOUT_SECONDS)
        except KafkaException as error:
            self._on_error(error.args[0])
            return False
        return True

    async def send(self, topic: str, messages: Sequence[tuple[bytes, bytes]]) -> list[KafkaError | None]:
        """Send the messages in order. The result for each is None when every replica has it, or why it will never be
        accepted."""
        batch = _Batch(self._loop, len(messages))
        for number, (key, value) in enumerate(messages):
            await self._produce(topic, key, value, batch, number)
        return await batch.done

    async def _produce(self, topic: str, key: bytes, value: bytes, batch: _Batch, number: int) -> None:
        from confluent_kafka import KafkaException

        def on_delivery(error: KafkaError | None, message: Delivered) -> None:
            if error is None and self._is_unavailable:
                self._is_unavailable = False
                log.info("Kafka available again", servers=self.servers)
            batch.record_delivery(number, error)

        while True:
            try:
                self._producer.produce(topic, value, key, on_delivery=on_delivery)
                return
            except BufferError:
                # librdkafka's queue is full: Kafka is slower than this process, or is unavailable.
                await asyncio.sleep(POLL_SECONDS)
            except KafkaException as error:
                batch.record_delivery(number, error.args[0])
                return

    async def close(self) -> None:
        """End now. Messages that were not acknowledged may or may not arrive."""
        self._stop_requested.set()
        await asyncio.to_thread(self._thread.join)
        self._producer.purge()
        await asyncio.to_thread(self._producer.flush, 1.0)

    def _poll(self) -> None:
        while not self._stop_requested.is_set():
            self._producer.poll(POLL_SECONDS)

    def _on_error(self, error: KafkaError) -> None:
        """Called for every broken connection, also from the thread. Logged once per outage."""
        with self._error_lock:
            if self._is_unavailable:
                return
            self._is_unavailable = True
        log.warning("Kafka unavailable, events queued", servers=self.servers, why=error.str())


class _Batch:
    """Messages that are sent together. The producer's thread completes the batch."""

    def __init__(self, loop: asyncio.AbstractEventLoop, count: int) -> None:
        self._loop = loop
        self._pending_count = count
        self._lock = threading.Lock()
        self._errors: list[KafkaError | None] = [None] * count
        self.done: asyncio.Future[list[KafkaError | None]] = loop.create_future()
        if not count:
            self.done.set_result([])

    def record_delivery(self, number: int, error: KafkaError | None) -> None:
        with self._lock:
            self._errors[number] = error
            self._pending_count -= 1
            is_last = self._pending_count == 0
        if is_last and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._finish)

    def _finish(self) -> None:
        if not self.done.done():
            self.done.set_result(self._errors)


class KafkaSink:
    """Writes every page to one topic, keyed by the hash of the URL, so that the events of a URL stay in order."""

    name = "kafka"

    def __init__(
        self,
        servers: str,
        topic: str,
        with_text: bool,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        compression: str = "gzip",
    ) -> None:
        """Raises `ConfigError` at once if these servers are invalid, even if the sink is never opened."""
        _check_servers(servers)
        self._compression = compression
        self._servers = servers
        self._topic = topic
        self._with_text = with_text
        self._max_message_bytes = max_message_bytes
        self._producer: KafkaProducer | None = None

    async def open(self, cursor: Cursor, is_behind: bool) -> None:
        self._producer = KafkaProducer(self._servers, self._max_message_bytes, self._compression)
        await self._producer.check_broker()

    async def write(self, events: Sequence[Event]) -> Cursor:
        assert self._producer is not None
        messages = [self._build_message(event.page, event.seq, self._with_text) for event in events]
        tries = 0
        while failed := await self._first_failure(messages):
            number, error = failed
            if _is_too_large(error):
                log.warning(
                    "page too large for Kafka, sent without text",
                    url=events[number].page.url,
                    bytes=len(messages[number].value),
                )
                messages[number] = self._build_message(
                    _truncate_page(events[number].page), events[number].seq, with_text=False
                )
            else:
                log.error("event refused by Kafka, will be retried", topic=self._topic, why=error.str())
                await asyncio.sleep(RETRY_DELAYS_SECONDS[min(tries, len(RETRY_DELAYS_SECONDS) - 1)])
                tries += 1
            # From the first failure on, so that an older event of a URL never comes after a newer one.
            messages, events = messages[number:], events[number:]
        return Cursor(seq=events[-1].seq)

    async def close(self) -> None:
        if self._producer is not None:
            await self._producer.close()
            self._producer = None

    async def _first_failure(self, messages: Sequence[Message]) -> tuple[int, KafkaError] | None:
        """The first message that was not accepted, and why."""
        assert self._producer is not None
        errors = await self._producer.send(self._topic, messages)
        return next(((number, error) for number, error in enumerate(errors) if error is not None), None)

    def _build_message(self, page: Page, seq: int, with_text: bool) -> Message:
        return Message(url_hash(page.url).encode(), encode_page_line(page, seq, with_text))


def _check_servers(servers: str) -> None:
    if find_spec("confluent_kafka") is None:
        raise ConfigError('Kafka needs an extra: pip install "tenax[kafka]"')
    if not _SERVERS_PATTERN.fullmatch(servers):
        raise ConfigError(
            f"invalid Kafka servers {mask_url(servers)!r}: write brokers as host:port, separated by commas"
        )


def _is_too_large(error: KafkaError) -> bool:
    from confluent_kafka import KafkaError as Codes

    return error.code() == Codes.MSG_SIZE_TOO_LARGE


def _truncate_page(page: Page) -> Page:
    """A page that any broker accepts: without its texts, and with other fields shortened to what identifies it."""
    return msgspec.structs.replace(
        page,
        text="",
        title=page.title[:MAX_SMALL_TEXT_CHARS],
        description=page.description[:MAX_SMALL_TEXT_CHARS],
        headline=page.headline[:MAX_SMALL_TEXT_CHARS],
        abstract=page.abstract[:MAX_SMALL_TEXT_CHARS],
        authors=(),
        keywords=(),
        links=(),
        chain=(),
    )


# librdkafka logs every broken connection. `_on_error` logs what operators need.
_NULL_LOGGER = logging.getLogger("tenax.kafka.librdkafka")
_NULL_LOGGER.addHandler(logging.NullHandler())
_NULL_LOGGER.propagate = False

__all__ = ["KafkaProducer", "KafkaSink", "Message"]
