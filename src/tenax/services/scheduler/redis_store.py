"""Marks and the queue in Redis: check, send and mark in one script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenax.events import url_hash
from tenax.runtime.redis import WaitingRedis, close_clients, create_redis_client
from tenax.services.scheduler import Seed, SendResult, SendStatus

if TYPE_CHECKING:
    from redis.asyncio import Redis

SETTING_NAME = "page_fetcher.redis_url"
RECHECK_SECONDS = 60.0
"""A seed that is still in the queue is checked again after this time, or after its interval if that is shorter."""

_SEND_SCRIPT = """
-- queue, then a mark for each URL | for each: URL, interval in ms, whether it is urgent
local found = {}
for i = 2, #KEYS do
  local at = (i - 2) * 3
  local url, every = ARGV[at + 1], ARGV[at + 2]
  local left = redis.call('PTTL', KEYS[i])
  if left > 0 then
    found[#found + 1] = {1, left}
  elseif redis.call('LPOS', KEYS[1], url) then
    found[#found + 1] = {2, 0}
  else
    redis.call(ARGV[at + 3] == '1' and 'LPUSH' or 'RPUSH', KEYS[1], url)
    redis.call('SET', KEYS[i], '1', 'PX', every)
    found[#found + 1] = {0, tonumber(every)}
  end
end
return found
"""


class RedisSeedQueue:
    def __init__(self, redis: Redis, connection: WaitingRedis, queue: str) -> None:
        self._redis = redis
        self._connection = connection
        self._queue = queue
        self._send = redis.register_script(_SEND_SCRIPT)

    @classmethod
    async def open(cls, url: str, queue: str) -> RedisSeedQueue:
        """Raises `ConfigError` if Redis cannot be used as configured."""
        redis, connection = create_redis_client(url, f"invalid `{SETTING_NAME}`"), WaitingRedis(url, SETTING_NAME)
        try:
            await connection.call_once(lambda: redis.exists(queue))
        except BaseException:
            await close_clients(redis)
            raise
        return cls(redis, connection, queue)

    async def send(self, seeds: Sequence[Seed]) -> list[SendResult]:
        keys = [self._queue, *(f"crawler_scheduler:sent:{url_hash(seed.url)}" for seed in seeds)]
        args: list[str | int] = []
        for seed in seeds:
            args += [seed.url, int(seed.every_seconds * 1000), int(seed.is_urgent)]
        answers = await self._connection.call_with_retry(lambda: self._send(keys=keys, args=args))
        return [_send_result(seed, how, left_ms) for seed, (how, left_ms) in zip(seeds, answers, strict=True)]

    async def close(self) -> None:
        await close_clients(self._redis)


def _send_result(seed: Seed, status: int, left_ms: int) -> SendResult:
    sending = SendStatus(status)
    if sending is SendStatus.STILL_QUEUED:
        return SendResult(sending, min(RECHECK_SECONDS, seed.every_seconds))
    return SendResult(sending, left_ms / 1000)
