"""Marks and the queue in Redis: sent, marked and looked for in one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenax.events.page_line import url_hash
from tenax.services.redis_connection import RedisLink, closed, redis_at
from tenax.services.scheduler import Seed, Sending, Sent

if TYPE_CHECKING:
    from redis.asyncio import Redis

KNOB = "page_fetcher.redis_url"
AGAIN_SECONDS = 60.0
"""One that waits in the queue is looked at again after this time, or after its interval if that is shorter."""

_SEND = """
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


class RedisMarks:
    def __init__(self, redis: Redis, link: RedisLink, queue: str) -> None:
        self._redis = redis
        self._link = link
        self._queue = queue
        self._send = redis.register_script(_SEND)

    @classmethod
    async def open(cls, url: str, queue: str) -> RedisMarks:
        """Raises `ConfigError` when Redis cannot be used as it is named."""
        redis, link = redis_at(url, KNOB), RedisLink(url, KNOB)
        try:
            await link.first(lambda: redis.exists(queue))
        except BaseException:
            await closed(redis)
            raise
        return cls(redis, link, queue)

    async def send(self, seeds: Sequence[Seed]) -> list[Sent]:
        keys = [self._queue, *(f"crawler_scheduler:sent:{url_hash(seed.url)}" for seed in seeds)]
        args: list[str | int] = []
        for seed in seeds:
            args += [seed.url, int(seed.every_seconds * 1000), int(seed.is_urgent)]
        answers = await self._link.patiently(lambda: self._send(keys=keys, args=args))
        return [_sent(seed, how, left_ms) for seed, (how, left_ms) in zip(seeds, answers, strict=True)]

    async def close(self) -> None:
        await closed(self._redis)


def _sent(seed: Seed, how: int, left_ms: int) -> Sent:
    sending = Sending(how)
    if sending is Sending.WAITING:
        return Sent(sending, min(AGAIN_SECONDS, seed.every_seconds))
    return Sent(sending, left_ms / 1000)
