"""Reads the status of a queue from Redis. Changes nothing there, and waits for nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenax.config import PageFetcherConfig
from tenax.hosts.redis import keys
from tenax.services.page_fetcher.intake import Origins
from tenax.services.page_fetcher.status import (
    LOOKED_AT,
    FetcherStatus,
    HostStatus,
    QueueStatus,
    counted,
    decoded,
    host_status,
    in_order,
    sentence_of,
    written,
)
from tenax.services.redis_connection import RedisLink, closed, redis_at, said

if TYPE_CHECKING:
    from redis.asyncio import Redis

KNOB = "page_fetcher.redis_url"
MOST_HOSTS = 1000
"""Hosts that are shown: those that are left alone first, then those with the most URLs."""
_STEP = 1000


async def queue_status(config: PageFetcherConfig) -> QueueStatus:
    """Raises `ConfigError` when Redis cannot be used as it is named, or does not answer."""
    redis = redis_at(config.redis_url, KNOB)
    try:
        return await RedisLink(config.redis_url, KNOB).first(lambda: _read(redis, config))
    finally:
        await closed(redis)


async def _read(redis: Redis, config: PageFetcherConfig) -> QueueStatus:
    queue = config.input_queue
    async with redis.pipeline(transaction=False) as pipe:
        pipe.time()
        pipe.llen(queue)
        pipe.llen(config.dlq_queue)
        pipe.hlen(f"{queue}:attempts")
        pipe.get(f"{queue}:last_activity")
        pipe.smembers(f"{queue}:processing")
        told = await pipe.execute()
    (seconds, micros), length, dead, retried, activity, names = told
    now = seconds + micros / 1e6
    fetchers = tuple([await _fetcher(redis, queue, name.decode()) for name in sorted(names)])
    looked_at, hosts = await _hosts(redis, queue, now)
    last = float(activity) if activity else None
    idle = max(now - last, 0.0) if last is not None else None
    return QueueStatus(
        sentence=sentence_of(queue, length, looked_at, fetchers, hosts, idle),
        queue=queue,
        queue_length=length,
        looked_at=looked_at,
        in_flight=sum(fetcher.held for fetcher in fetchers),
        dead_letters=dead,
        retried=retried,
        last_activity=written(last) if last is not None else None,
        fetchers=fetchers,
        hosts=hosts[:MOST_HOSTS],
    )


async def _fetcher(redis: Redis, queue: str, name: str) -> FetcherStatus:
    async with redis.pipeline(transaction=False) as pipe:
        pipe.llen(f"{queue}:processing:{name}")
        pipe.hmget(keys.worker(name), "lastHeartbeat", "currentUrl")
        held, (beat, url) = await pipe.execute()
    at = written(int(beat) / 1000) if beat else None
    return FetcherStatus(name, beat is not None, held, at, url.decode("utf-8", "replace") if url else "")


async def _hosts(redis: Redis, queue: str, now: float) -> tuple[int, tuple[HostStatus, ...]]:
    """How many items were looked at, and the hosts among them."""
    origins, found, looked = Origins(), counted(()), 0
    while looked < LOOKED_AT:
        items: list[Any] = await said(redis.lrange(queue, looked, looked + _STEP - 1))
        found.update(counted(map(origins.of, items)))
        looked += len(items)
        if len(items) < _STEP:
            break
    # All of them: of one that was not looked at nobody could say that it is left alone.
    names, hosts = list(found), list[HostStatus]()
    for first in range(0, len(names), _STEP):
        async with redis.pipeline(transaction=False) as pipe:
            for origin in names[first : first + _STEP]:
                pipe.hget(keys.circuit(origin), f"record:{keys.scheme_of(origin)}")
            blobs = await pipe.execute()
        origins_of = zip(names[first : first + _STEP], blobs, strict=True)
        hosts += [host_status(origin, found[origin], decoded(blob), now) for origin, blob in origins_of]
    return looked, in_order(hosts)
