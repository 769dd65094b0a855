"""Reads the status of a queue from Redis. Read-only, without waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenax.config import PageFetcherConfig
from tenax.hosts.redis import keys
from tenax.services.page_fetcher.intake import OriginCache
from tenax.services.page_fetcher.status import (
    MAX_COUNTED_URLS,
    FetcherStatus,
    HostStatus,
    QueueStatus,
    count_by_host,
    decode_host_record,
    format_time,
    host_status,
    sort_hosts,
    summarize_queue,
)
from tenax.services.redis_connection import RedisConnection, await_reply, close_clients, create_redis_client

if TYPE_CHECKING:
    from redis.asyncio import Redis

SETTING_NAME = "page_fetcher.redis_url"
MAX_HOSTS = 1000
"""Hosts shown: those that back off first, then those with the most URLs."""
_BATCH_SIZE = 1000


async def read_queue_status(config: PageFetcherConfig) -> QueueStatus:
    """Raises `ConfigError` when Redis cannot be used as named, or does not answer."""
    redis = create_redis_client(config.redis_url, SETTING_NAME)
    try:
        return await RedisConnection(config.redis_url, SETTING_NAME).call_once(lambda: _read_status(redis, config))
    finally:
        await close_clients(redis)


async def _read_status(redis: Redis, config: PageFetcherConfig) -> QueueStatus:
    queue = config.input_queue
    async with redis.pipeline(transaction=False) as pipe:
        pipe.time()
        pipe.llen(queue)
        pipe.llen(config.dlq_queue)
        pipe.hlen(f"{queue}:attempts")
        pipe.get(f"{queue}:last_activity")
        pipe.smembers(f"{queue}:processing")
        replies = await pipe.execute()
    (seconds, micros), length, dead, retried, activity, names = replies
    now = seconds + micros / 1e6
    fetchers = tuple([await _fetcher_status(redis, queue, name.decode()) for name in sorted(names)])
    counted_urls, hosts = await _host_statuses(redis, queue, now)
    last = float(activity) if activity else None
    idle = max(now - last, 0.0) if last is not None else None
    return QueueStatus(
        summary=summarize_queue(queue, length, counted_urls, fetchers, hosts, idle),
        queue=queue,
        queue_length=length,
        counted_urls=counted_urls,
        in_flight=sum(fetcher.in_flight for fetcher in fetchers),
        dead_letters=dead,
        retried=retried,
        last_activity=format_time(last) if last is not None else None,
        fetchers=fetchers,
        hosts=hosts[:MAX_HOSTS],
    )


async def _fetcher_status(redis: Redis, queue: str, name: str) -> FetcherStatus:
    async with redis.pipeline(transaction=False) as pipe:
        pipe.llen(f"{queue}:processing:{name}")
        pipe.hmget(keys.worker(name), "lastHeartbeat", "currentUrl")
        claimed, (beat, url) = await pipe.execute()
    at = format_time(int(beat) / 1000) if beat else None
    return FetcherStatus(name, beat is not None, claimed, at, url.decode("utf-8", "replace") if url else "")


async def _host_statuses(redis: Redis, queue: str, now: float) -> tuple[int, tuple[HostStatus, ...]]:
    """How many items were examined, and their hosts."""
    origins, found, examined = OriginCache(), count_by_host(()), 0
    while examined < MAX_COUNTED_URLS:
        items: list[Any] = await await_reply(redis.lrange(queue, examined, examined + _BATCH_SIZE - 1))
        found.update(count_by_host(map(origins.find_origin, items)))
        examined += len(items)
        if len(items) < _BATCH_SIZE:
            break
    # All of them: otherwise some hosts that back off would be missing.
    names, hosts = list(found), list[HostStatus]()
    for first in range(0, len(names), _BATCH_SIZE):
        async with redis.pipeline(transaction=False) as pipe:
            for origin in names[first : first + _BATCH_SIZE]:
                pipe.hget(keys.circuit(origin), f"record:{keys.origin_scheme(origin)}")
            blobs = await pipe.execute()
        origins_of = zip(names[first : first + _BATCH_SIZE], blobs, strict=True)
        hosts += [host_status(origin, found[origin], decode_host_record(blob), now) for origin, blob in origins_of]
    return examined, sort_hosts(hosts)
