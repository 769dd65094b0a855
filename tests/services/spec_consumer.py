"""A reader of the page-fetcher's output, written from its specification alone: it imports nothing of Tenax.

It reads the topic with one client library and the pages with another, as a neighbour would.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from redis.asyncio import Redis

FIELDS = {
    "type", "url", "cache_key", "status_code", "content_type", "content_length", "content_hash", "fetched_at",
}  # fmt: skip


@dataclass(frozen=True)
class Webpage:
    """An event that satisfies the specification, and its page."""

    url: str
    status_code: int
    content_type: str | None
    fetched_at: datetime
    content: bytes
    seconds_to_live: int


async def read_webpages(servers: str, redis_url: str, topic: str, most: int, seconds: float = 60.0) -> list[Webpage]:
    """This many pages of the topic from its beginning; fewer when no more come in time."""
    consumer = AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest", enable_auto_commit=False)
    redis = Redis.from_url(redis_url)
    found: list[Webpage] = []
    await consumer.start()
    try:
        async with asyncio.timeout(seconds):
            consumer.subscribe([topic])
            while consumer.partitions_for_topic(topic) is None:
                await consumer.topics()
            partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
            consumer.unsubscribe()
            consumer.assign(partitions)
            await consumer.seek_to_beginning()
            while len(found) < most:
                message = await consumer.getone()
                found.append(await _webpage(message, redis))
    except TimeoutError:
        pass
    finally:
        await consumer.stop()
        await redis.aclose()
    return found


async def _webpage(message: Any, redis: Redis) -> Webpage:
    event = json.loads(message.value)
    assert set(event) == FIELDS
    assert event["type"] == "webpage_fetched"
    name = hashlib.sha256(event["url"].encode()).hexdigest()
    assert message.key == name.encode()
    assert event["cache_key"] == f"webpage:{name}"
    content = await redis.get(event["cache_key"])
    assert isinstance(content, bytes), f"{event['url']} was told before it was stored"
    assert len(content) == event["content_length"]
    assert hashlib.sha256(content).hexdigest() == event["content_hash"]
    fetched_at = datetime.fromisoformat(event["fetched_at"])
    assert fetched_at.tzinfo is not None
    ttl = await redis.ttl(event["cache_key"])
    return Webpage(event["url"], event["status_code"], event["content_type"], fetched_at, content, ttl)
