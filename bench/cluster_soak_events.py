"""Consumes the events of a crawl from Kafka and counts them by URL."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Set

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

READ_SECONDS = 0.2
MESSAGES_AT_ONCE = 1000
FIND_SECONDS = 20.0


class Reader:
    """Consumes a topic from its start until `close`, without pause: the test broker keeps only the latest events."""

    def __init__(self, servers: str, topic: str) -> None:
        self.event_counts: Counter[str] = Counter()
        """Events by URL."""
        self._consumer = Consumer({"bootstrap.servers": servers, "group.id": "soak", "log_level": 0})
        partitions = self._consumer.list_topics(topic, FIND_SECONDS).topics[topic].partitions
        self._consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._read, name="events", daemon=True)
        self._thread.start()

    def wait_for(self, urls: Set[str], seconds: float) -> None:
        """Return when each URL has an event, or after the timeout."""
        deadline = time.monotonic() + seconds
        while not urls <= self.event_counts.keys() and time.monotonic() < deadline:
            time.sleep(READ_SECONDS)

    def close(self) -> None:
        self._ending.set()
        self._thread.join()
        self._consumer.close()

    def _read(self) -> None:
        while not self._ending.is_set():
            for message in self._consumer.consume(MESSAGES_AT_ONCE, READ_SECONDS):
                value = message.value()
                if message.error() is None and isinstance(value, bytes):
                    self.event_counts[json.loads(value)["url"]] += 1
