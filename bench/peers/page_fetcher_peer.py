"""The page-fetcher as its specification writes it down: `python page_fetcher_peer.py CONCURRENCY`, settings as JSON.

httpx, redis.asyncio and aiokafka in one loop, run in .venv-peers without anything of Tenax. With a concurrency of 1 it
is the specification's own loop, one URL after the other; with more, as many of them share the queue and the clients.
Rate limiting is off, as for everyone; robots.txt is checked before each fetch, from a cache in memory.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

import httpx
import uvloop
from aiokafka import AIOKafkaProducer
from redis.asyncio import Redis


class Fetcher:
    def __init__(self, client: httpx.AsyncClient, redis: Redis, producer: AIOKafkaProducer, topic: str) -> None:
        self.client = client
        self.redis = redis
        self.producer = producer
        self.topic = topic
        self.robots: dict[str, RobotFileParser] = {}

    async def process(self, url: str) -> None:
        if not await self.is_allowed(url):
            return
        response = await self.client.get(url)
        response.raise_for_status()
        name = hashlib.sha256(url.encode()).hexdigest()
        content = response.text.encode()
        await self.redis.set(f"webpage:{name}", content, ex=3600)
        event = {
            "type": "webpage_fetched",
            "url": url,
            "cache_key": f"webpage:{name}",
            "status_code": response.status_code,
            "content_type": response.headers.get("content-type"),
            "content_length": len(content),
            "content_hash": hashlib.sha256(content).hexdigest(),
            "fetched_at": datetime.now(UTC).isoformat(),
        }
        await self.producer.send_and_wait(self.topic, json.dumps(event).encode(), key=name.encode())

    async def is_allowed(self, url: str) -> bool:
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self.robots:
            response = await self.client.get(f"{origin}/robots.txt")
            rules = RobotFileParser()
            rules.parse(response.text.splitlines() if response.status_code == 200 else [])
            self.robots[origin] = rules
        return self.robots[origin].can_fetch("OttoBot/1.0", url)


async def loop(fetcher: Fetcher, queue: str) -> int:
    """As the specification's main loop, until the queue stays empty for a moment."""
    count = 0
    while True:
        item = await fetcher.redis.blpop([queue], timeout=0.5)
        if item is None:
            return count
        await fetcher.process(item[1].decode())
        count += 1


async def main(settings: dict[str, Any], concurrency: int) -> None:
    redis = Redis.from_url(settings["redis_url"])
    producer = AIOKafkaProducer(bootstrap_servers=settings["kafka"], acks="all", enable_idempotence=True)
    await producer.start()
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    async with httpx.AsyncClient(
        headers={"User-Agent": "OttoBot/1.0"}, timeout=30.0, follow_redirects=True, max_redirects=5, limits=limits
    ) as client:
        fetcher = Fetcher(client, redis, producer, settings["topic"])
        started, cpu = time.perf_counter(), time.process_time()
        counts = await asyncio.gather(*(loop(fetcher, settings["queue"]) for _ in range(concurrency)))
        seconds = time.perf_counter() - started - 0.5
        cpu_seconds = time.process_time() - cpu
    await producer.stop()
    await redis.aclose()
    print(json.dumps({"urls": sum(counts), "seconds": seconds, "cpu_seconds": cpu_seconds}), flush=True)


if __name__ == "__main__":
    uvloop.run(main(json.loads(sys.argv[2]), int(sys.argv[1])))
