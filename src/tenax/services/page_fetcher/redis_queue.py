"""The Redis lists of the page-fetcher: queue, claims, dead letters and pages. Also their status, which is only read."""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from tenax.config import PageFetcherConfig
from tenax.errors import ConfigError
from tenax.hosts.redis import keys
from tenax.runtime.redis import (
    ANSWER_SECONDS,
    WaitingRedis,
    await_reply,
    close_clients,
    create_redis_client,
)
from tenax.services.page_fetcher import DeadLetterItem, QueueSizes, QueueWindow, WorkerStatus
from tenax.services.page_fetcher import redis_scripts as scripts
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

if TYPE_CHECKING:
    from redis.asyncio import Redis


SETTING_NAME = "page_fetcher.redis_url"
INVALID_URL = f"invalid `{SETTING_NAME}`"
TOMBSTONE_TTL_SECONDS = 86_400
SETTLED_TTL_SECONDS = 86_400
ATTEMPTS_TTL_SECONDS = 7 * 86_400
"""How long attempts are kept after the last attempt of any URL."""
_REMOVED_MARKER = b"\0tenax: taken"
"""Replaces an item while a script removes it from the middle of the queue."""


def worker_name() -> str:
    """A name that no other process has or had."""
    return f"page-fetcher-{platform.node()}-{os.getpid()}-{secrets.token_hex(4)}"


class RedisQueue:
    """Implements `Queue`. Created by `open`."""

    def __init__(self, redis: Redis, blocking_redis: Redis, config: PageFetcherConfig, worker: str) -> None:
        self._connection = WaitingRedis(config.redis_url, SETTING_NAME)
        self._redis = redis
        self._blocking_redis = blocking_redis
        """A client with its own connection, because a blocking call holds a connection for seconds."""
        self._worker = worker
        self._ttl_seconds = config.cache_ttl_seconds
        self._dead_after_ms = int(config.dead_after_seconds * 1000)
        self._queue = config.input_queue
        self._dead_letters = config.dlq_queue
        self._reasons = f"{config.dlq_queue}:reasons"
        self._holders_key = f"{config.input_queue}:processing"
        self._attempts = f"{config.input_queue}:attempts"
        self._activity = f"{config.input_queue}:last_activity"
        self._own_list = self._worker_list_key(worker)
        self._settled_key = f"{self._own_list}:settled"
        self._settle_count = 0
        """Calls of `settle` so far. Redis recognizes a repeated call by its number."""
        self._peek = redis.register_script(scripts.PEEK)
        self._take = redis.register_script(scripts.TAKE)
        self._settle = redis.register_script(scripts.SETTLE)
        self._set_attempts = redis.register_script(scripts.SET_ATTEMPTS)
        self._heartbeat = redis.register_script(scripts.HEARTBEAT)
        self._list_dead_workers = redis.register_script(scripts.LIST_DEAD_WORKERS)
        self._recover = redis.register_script(scripts.RECOVER)
        self._unregister = redis.register_script(scripts.UNREGISTER)

    @classmethod
    async def open(cls, config: PageFetcherConfig, worker: str) -> RedisQueue:
        """Raises `ConfigError` if Redis cannot be used as configured."""
        redis = create_redis_client(config.redis_url, INVALID_URL)
        waiting = create_redis_client(config.redis_url, INVALID_URL, config.poll_timeout_seconds + ANSWER_SECONDS)
        queue = cls(redis, waiting, config, worker)
        try:
            await queue._connection.call_once(queue._check_types)
            await queue._connection.call_once(lambda: queue._heartbeat_once(""))
        except BaseException:
            await queue.close()
            raise
        return queue

    @property
    def failure_count(self) -> int:
        return self._connection.failure_count

    async def peek(self, offset: int, limit: int) -> QueueWindow:
        length, *items = await self._connection.call_with_retry(
            lambda: self._peek(keys=[self._queue], args=[offset, limit])
        )
        return QueueWindow(items, length)

    async def take(self, offset: int, limit: int, items: Sequence[bytes]) -> list[bytes]:
        taken: list[bytes] = await self._connection.call_with_retry(
            lambda: self._take(
                keys=[self._queue, self._own_list, self._holders_key],
                args=[self._worker, offset, limit, _REMOVED_MARKER, *items],
            )
        )
        return taken

    async def wait_for_items(self, seconds: float) -> bool:
        async def work() -> bool:
            timeout = cast(int, seconds)  # Redis accepts fractions, the type in the library does not
            # Moved from the head to the head, so that the item stays in its place. If it moved to our list after this
            # process had given up waiting, it would belong to nobody, and a call to a slow Redis cannot be cancelled.
            item = await await_reply(self._blocking_redis.blmove(self._queue, self._queue, timeout, "LEFT", "LEFT"))
            return item is not None

        return await self._connection.call_with_retry(work)

    async def settle(
        self,
        done: Sequence[bytes] = (),
        to_back: Sequence[bytes] = (),
        dead_letters: Sequence[DeadLetterItem] = (),
        to_front: Sequence[bytes] = (),
    ) -> None:
        dead_letter_parts = [part for dead_letter in dead_letters for part in dead_letter]
        self._settle_count += 1
        counts = len(done), len(to_back), len(to_front)
        args: list[bytes | int] = [
            self._settle_count,
            SETTLED_TTL_SECONDS,
            *counts,
            *done,
            *to_back,
            *to_front,
            *dead_letter_parts,
        ]
        keys = [
            self._queue,
            self._own_list,
            self._dead_letters,
            self._reasons,
            self._attempts,
            self._activity,
            self._settled_key,
        ]
        await self._connection.call_with_retry(lambda: self._settle(keys=keys, args=args))

    async def set_attempts(self, item: bytes, attempts: int) -> None:
        await self._connection.call_with_retry(
            lambda: self._set_attempts(keys=[self._attempts], args=[item, attempts, ATTEMPTS_TTL_SECONDS])
        )

    async def attempts(self, items: Sequence[bytes]) -> list[int]:
        if not items:
            return []
        found = await self._connection.call_with_retry(
            lambda: await_reply(self._redis.hmget(self._attempts, list(items)))
        )
        return [int(count) if count is not None and count.isdigit() else 0 for count in found]

    async def store_pages(self, pages: Sequence[tuple[str, bytes]]) -> None:
        async def work() -> None:
            async with self._redis.pipeline(transaction=False) as pipe:
                for key, body in pages:
                    pipe.set(key, body, ex=self._ttl_seconds)
                await pipe.execute()

        await self._connection.call_with_retry(work)

    async def send_heartbeat(self, url: str) -> WorkerStatus:
        return WorkerStatus(await self._connection.call_with_retry(lambda: self._heartbeat_once(url)))

    async def restore_claims(self, items: Sequence[bytes]) -> None:
        if items:
            await self._connection.call_with_retry(lambda: await_reply(self._redis.rpush(self._own_list, *items)))

    async def recover_dead_workers(self) -> int:
        names = await self._connection.call_with_retry(
            lambda: self._list_dead_workers(keys=[self._holders_key], args=[worker_key("")])
        )
        count = 0
        for name in sorted(found.decode() for found in names):
            if name != self._worker:
                count += max(await self._recover_worker(name), 0)
        return count

    async def claimed_items(self) -> list[bytes]:
        found: list[bytes] = await self._connection.call_with_retry(
            lambda: await_reply(self._redis.lrange(self._own_list, 0, -1))
        )
        return found

    async def sizes(self) -> QueueSizes:
        async def work() -> QueueSizes:
            async with self._redis.pipeline(transaction=False) as pipe:
                pipe.llen(self._queue)
                pipe.llen(self._dead_letters)
                return QueueSizes(*await pipe.execute())

        return await self._connection.call_with_retry(work)

    async def unregister(self) -> int:
        keys = [
            self._queue, self._own_list, worker_key(self._worker), "crawler:active_workers", self._holders_key,
            self._settled_key,
        ]  # fmt: skip
        count: int = await self._connection.call_with_retry(lambda: self._unregister(keys=keys, args=[self._worker]))
        return count

    async def close(self) -> None:
        await close_clients(self._redis, self._blocking_redis)

    # -- one call -------------------------------------------------------------------------------------------

    async def _check_types(self) -> None:
        """Raises `ConfigError` for a key of another type, because writes to that key would fail."""
        kinds = {
            self._queue: "list", self._dead_letters: "list", self._reasons: "hash", self._holders_key: "set",
            self._attempts: "hash", self._activity: "string",
        }  # fmt: skip
        async with self._redis.pipeline(transaction=False) as pipe:
            for key in kinds:
                pipe.type(key)
            found = [kind.decode() for kind in await pipe.execute()]
        for (key, kind), is_kind in zip(kinds.items(), found, strict=True):
            if is_kind not in (kind, "none"):
                raise ConfigError(
                    f"{key!r} in Redis at {self._connection.masked_url} is not a {kind} but a {is_kind}; "
                    "rename it, or name another"
                )

    async def _heartbeat_once(self, url: str) -> int:
        tombstone = _tombstone_key(self._holders_key, self._worker)
        fields = ["status", "active" if url else "idle", "currentUrl", url]
        status: int = await self._heartbeat(
            keys=[worker_key(self._worker), "crawler:active_workers", self._holders_key, tombstone],
            args=[self._worker, self._dead_after_ms, *fields],
        )
        return status

    async def _recover_worker(self, name: str) -> int:
        keys = [
            self._queue, self._worker_list_key(name), worker_key(name), "crawler:active_workers", self._holders_key,
            _tombstone_key(self._holders_key, name),
        ]  # fmt: skip
        count: int = await self._connection.call_with_retry(
            lambda: self._recover(keys=keys, args=[name, TOMBSTONE_TTL_SECONDS])
        )
        return count

    def _worker_list_key(self, worker: str) -> str:
        return f"{self._holders_key}:{worker}"


def worker_key(worker: str) -> str:
    return f"crawler:worker:{worker}"


def _tombstone_key(holders: str, worker: str) -> str:
    return f"{holders}:{worker}:given_up"


MAX_HOSTS = 1000
"""Maximum number of hosts shown: first those that back off, then those with the most URLs."""
_BATCH_SIZE = 1000


async def read_queue_status(config: PageFetcherConfig) -> QueueStatus:
    """Raises `ConfigError` if Redis cannot be used as configured, or does not answer."""
    redis = create_redis_client(config.redis_url, INVALID_URL)
    try:
        return await WaitingRedis(config.redis_url, SETTING_NAME).call_once(lambda: _read_status(redis, config))
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
        summary=summarize_queue(queue, length, counted_urls, fetchers=fetchers, hosts=hosts, idle_seconds=idle),
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
    # All hosts, because otherwise some that back off would be missing.
    names, hosts = list(found), list[HostStatus]()
    for first in range(0, len(names), _BATCH_SIZE):
        async with redis.pipeline(transaction=False) as pipe:
            for origin in names[first : first + _BATCH_SIZE]:
                pipe.hget(keys.circuit(origin), f"record:{keys.origin_scheme(origin)}")
            blobs = await pipe.execute()
        origins_of = zip(names[first : first + _BATCH_SIZE], blobs, strict=True)
        hosts += [host_status(origin, found[origin], decode_host_record(blob), now) for origin, blob in origins_of]
    return examined, sort_hosts(hosts)
