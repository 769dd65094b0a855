"""A broker that speaks Kafka's protocol: librdkafka's own cluster for tests, which real clients connect to over TCP.

Debian and PyPI ship no Kafka broker. Where a real one is available, `TENAX_TEST_KAFKA=host:port` names it and the same
tests run against that; a test that takes brokers down needs the one that is ours.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import confluent_kafka
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

_PRODUCER = 0


class KafkaBroker:
    """One broker, with topics of any number of partitions."""

    def __init__(self, partitions: int = 4) -> None:
        self._partitions = partitions
        self._real = os.environ.get("TENAX_TEST_KAFKA", "")
        self.servers = self._real
        """The address for clients: `host:port`."""

    @property
    def is_ours(self) -> bool:
        return not self._real

    def __enter__(self) -> KafkaBroker:
        if self._real:
            return self
        self._library = _library()
        words = ctypes.create_string_buffer(512)
        self._handle = self._library.rd_kafka_new(_PRODUCER, None, words, len(words))
        if not self._handle:
            raise RuntimeError(f"no Kafka handle: {words.value.decode()}")
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._handle, 1)
        bootstraps: bytes = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster)
        self.servers = bootstraps.decode()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._real:
            self._library.rd_kafka_mock_cluster_destroy(self._cluster)
            self._library.rd_kafka_destroy(self._handle)

    def create(self, topic: str) -> None:
        if not self._real:
            self._library.rd_kafka_mock_topic_create(self._cluster, topic.encode(), self._partitions, 1)

    def down(self) -> None:
        """Break all connections and accept none; written data stays."""
        self._library.rd_kafka_mock_broker_set_down(self._cluster, 1)

    def up(self) -> None:
        self._library.rd_kafka_mock_broker_set_up(self._cluster, 1)

    def fail_next(self, api_key: int, *errors: int) -> None:
        """The next requests of this kind (0 is Produce) are answered with these errors of Kafka's protocol."""
        codes = (ctypes.c_int * len(errors))(*errors)
        self._library.rd_kafka_mock_push_request_errors_array(
            self._cluster, ctypes.c_int16(api_key), ctypes.c_size_t(len(errors)), codes
        )


READ_SECONDS = 60.0


def read(
    servers: str, topic: str, most: int, is_enough: Callable[[list[tuple[bytes, bytes]]], bool] = lambda _: False
) -> list[tuple[bytes, bytes]]:
    """Keys and values in a topic from its beginning, each partition in its order: so many, or enough. Fewer after a
    minute."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": topic, "log_level": 0})
    partitions = consumer.list_topics(topic, READ_SECONDS).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
    found: list[tuple[bytes, bytes]] = []
    end = time.monotonic() + READ_SECONDS
    while len(found) < most and not is_enough(found) and time.monotonic() < end:
        for message in consumer.consume(500, 0.05):
            key, value = message.key(), message.value()
            if message.error() is None and isinstance(key, bytes) and isinstance(value, bytes):
                found.append((key, value))
    consumer.close()
    return found


def _library() -> ctypes.CDLL:
    """The librdkafka of the installed client."""
    folder = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
    library = ctypes.CDLL(str(next(folder.glob("librdkafka*.so*"))))
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    signatures: dict[str, tuple[object, list[object]]] = {
        "rd_kafka_new": (pointer, [ctypes.c_int, pointer, text, ctypes.c_size_t]),
        "rd_kafka_destroy": (None, [pointer]),
        "rd_kafka_mock_cluster_new": (pointer, [pointer, ctypes.c_int]),
        "rd_kafka_mock_cluster_destroy": (None, [pointer]),
        "rd_kafka_mock_cluster_bootstraps": (text, [pointer]),
        "rd_kafka_mock_topic_create": (ctypes.c_int, [pointer, text, ctypes.c_int, ctypes.c_int]),
        "rd_kafka_mock_broker_set_down": (ctypes.c_int, [pointer, ctypes.c_int32]),
        "rd_kafka_mock_broker_set_up": (ctypes.c_int, [pointer, ctypes.c_int32]),
        "rd_kafka_mock_push_request_errors_array": (None, [pointer, ctypes.c_int16, ctypes.c_size_t, pointer]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
