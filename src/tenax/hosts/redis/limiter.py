"""The rate limiter in Redis, for workers on any machine: takes all permits of a request at once, or none.

It is here and not in `hosts.limiter`, because it needs the number of workers, and the connection reports outages to it.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from tenax.hosts import Permit
from tenax.hosts.limiter.process import MIN_RETRY_SECONDS, ProcessRateLimiter
from tenax.hosts.redis import keys, limiter_shares
from tenax.model import Peers
from tenax.runtime.redis import CALL_SECONDS, RETRY_SECONDS, BestEffortRedis

if TYPE_CHECKING:
    from redis.asyncio import Redis

PACE_TTL_SECONDS = 600.0
"""How long the pace set by a worker applies to others after its last update; that worker may have ended."""

SETTLE_SECONDS = RETRY_SECONDS + CALL_SECONDS
"""How long it takes after Redis returns until every worker has noticed."""

# Times are written with all digits: Lua's default number format would round them to seconds.
_COMMON = """
local function format_time(time)
  return string.format('%.17g', time)
end
local function read_entry(key)
  local found = redis.call('HMGET', key, 'free', 'taken', 'busy', 'backoff', 'pace', 'pace_until', 'owner')
  local entry = {owner = found[7] or ''}
  for number, name in ipairs({'free', 'taken', 'busy', 'backoff', 'pace', 'pace_until'}) do
    entry[name] = tonumber(found[number] or '0')
  end
  return entry
end
local function effective_pace(entry, pace, me, now)
  if entry.pace_until <= now or entry.owner == me then return pace end
  return math.max(pace, entry.pace)
end
local function write_entry(key, entry, now, least)
  redis.call('HSET', key, 'free', format_time(entry.free), 'taken', format_time(entry.taken),
    'busy', format_time(entry.busy), 'backoff', format_time(entry.backoff),
    'pace', format_time(entry.pace), 'pace_until', format_time(entry.pace_until),
    'owner', entry.owner)
  local until_ = math.max(entry.free, entry.busy, entry.backoff, entry.pace_until)
  redis.call('PEXPIRE', key, math.ceil(math.max(least, until_ - now) * 1000))
end
"""

_ACQUIRE = (
    _COMMON
    + """
local now, me, min_retry, least = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local slower = tonumber(ARGV[6])
local entries, retry_at = {}, now
local count = (#KEYS - 1) / 2
local since = redis.call('HMGET', KEYS[#KEYS], 'at', 'is_lost')
if not since[1] then
  since = {format_time(now), ARGV[5]}
  redis.call('HSET', KEYS[#KEYS], 'at', since[1], 'is_lost', since[2])
end
for number = 1, count do
  local pace, busy = tonumber(ARGV[5 + 2 * number]) * slower, tonumber(ARGV[6 + 2 * number])
  local entry = read_entry(KEYS[number])
  entries[number] = entry
  if entry.taken < tonumber(since[1]) then
    -- Earlier permits are unknown: wait a pace, and where permits were lost, also for a request to be answered.
    entry.free = math.max(entry.free, since[1] + pace + (since[2] == '1' and busy or 0))
  end
  if math.max(entry.free, entry.busy, entry.backoff) > now then
    local answered = math.min(entry.busy, now + math.max(pace, min_retry))
    retry_at = math.max(retry_at, entry.free, entry.backoff, answered)
  end
end
if retry_at > now then return format_time(retry_at) end
for number = 1, count do
  local pace, busy = tonumber(ARGV[5 + 2 * number]), tonumber(ARGV[6 + 2 * number])
  local entry = entries[number]
  entry.free = now + effective_pace(entry, pace, me, now) * slower
  entry.taken = now
  entry.busy = busy > 0 and now + busy or 0
  write_entry(KEYS[number], entry, now, least)
  local lock = KEYS[count + number]
  if lock ~= '' and busy > 0 then redis.call('SET', lock, me, 'PX', math.ceil(busy * 1000)) end
end
return '0'
"""
)

_RELEASE = (
    _COMMON
    + """
local answered, me, least, slower = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local count = #KEYS / 2
for number = 1, count do
  local entry = read_entry(KEYS[number])
  local pace = effective_pace(entry, tonumber(ARGV[4 + number]), me, answered) * slower
  entry.free = math.max(answered, entry.taken) + pace
  entry.busy = 0
  write_entry(KEYS[number], entry, answered, least)
  local lock = KEYS[count + number]
  if lock ~= '' and redis.call('GET', lock) == me then redis.call('DEL', lock) end
end
return 1
"""
)

_BACK_OFF = (
    _COMMON
    + """
local until_, now, me = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local pace, holds, least = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local entry = read_entry(KEYS[1])
entry.backoff = math.max(entry.backoff, until_)
if entry.owner == me or entry.pace_until <= now or entry.pace <= pace then
  entry.pace, entry.owner = pace, me
  entry.pace_until = math.max(until_, now) + holds + 2 * pace
end
write_entry(KEYS[1], entry, now, least)
return 1
"""
)


class RedisRateLimiter:
    """A `RateLimiter` in Redis. The clock of the server is not used: workers pass the time that they agree on."""

    def __init__(
        self,
        connection: BestEffortRedis,
        worker_id: str,
        workers: Callable[[], int],
        peers: Callable[[], Peers] | None = None,
    ) -> None:
        """`workers` returns the last known number of workers that share the limit; 0: unknown. `peers` returns what the
        shared database knows about them; None: they share no database."""
        self._connection = connection
        self._worker_id = worker_id
        self._workers = workers
        self._peers: Callable[[], Peers | None] = peers or (lambda: None)
        self._local_limiter = ProcessRateLimiter()
        self._has_answered = False
        """Redis has replied before. If it has no permits now, it has lost them."""
        self._scripts = {name: connection.client.register_script(text) for name, text in _SCRIPTS.items()}

    async def acquire(self, permits: Sequence[Permit], now: float) -> float:
        paced = [permit for permit in permits if permit.pace_seconds > 0]
        if not paced:
            return now
        if self._is_settling(now):
            retry_at = await self._local_limiter.acquire(self._slow_permits(paced), now)
            if retry_at > now:
                return retry_at
        arguments = [part for permit in paced for part in (repr(permit.pace_seconds), repr(permit.busy_seconds))]
        answer = await self._run_script(
            "acquire",
            [*_redis_keys(paced), keys.RATE_LIMITS_SINCE],
            [
                repr(now), self._worker_id, MIN_RETRY_SECONDS, keys.PERMIT_SECONDS, int(self._has_answered),
                repr(limiter_shares.connected_pace_factor(self._peers(), now)), *arguments,
            ],
        )  # fmt: skip
        if answer is None:
            return await self._acquire_locally(paced, now)
        self._has_answered = True
        retry_at = float(answer)
        if retry_at > now:
            return retry_at
        # Also recorded locally, in case Redis becomes unavailable before the permit expires.
        await self._local_limiter.acquire(self._slow_permits(paced), now)
        return now

    async def release(self, permits: Sequence[Permit], answered_at: float) -> None:
        timed = [permit for permit in permits if permit.pace_seconds > 0 and permit.busy_seconds > 0]
        if not timed:
            return
        paces = [repr(permit.pace_seconds) for permit in timed]
        await self._local_limiter.release(self._slow_permits(timed), answered_at)
        slower = repr(limiter_shares.connected_pace_factor(self._peers(), answered_at))
        await self._run_script(
            "release", _redis_keys(timed), [repr(answered_at), self._worker_id, keys.PERMIT_SECONDS, slower, *paces]
        )

    async def back_off(self, key: str, until: float, now: float, pace_seconds: float = 0.0) -> None:
        await self._local_limiter.back_off(key, until, now, pace_seconds)
        await self._run_script(
            "back_off",
            [keys.rate_limit(key)],
            [repr(until), repr(now), self._worker_id, repr(pace_seconds), PACE_TTL_SECONDS, keys.PERMIT_SECONDS],
        )

    async def close(self) -> None:
        await self._local_limiter.close()

    async def _run_script(self, name: str, names: list[str], arguments: list[Any]) -> Any:
        script = self._scripts[name]

        def ask(redis: Redis) -> Awaitable[Any]:
            return cast(Awaitable[Any], script(keys=names, args=arguments, client=redis))

        return await self._connection.call(ask)

    def _is_settling(self, now: float) -> bool:
        """Whether Redis has just returned. Other workers may not know this yet, and still give out permits locally."""
        returned_at = self._connection.returned_at
        return not self._connection.is_unavailable and returned_at is not None and now < returned_at + SETTLE_SECONDS

    async def _acquire_locally(self, permits: Sequence[Permit], now: float) -> float:
        """Without Redis: at a pace that is safe whichever other workers are cut off, and only when they know."""
        alone_from = limiter_shares.isolated_start_at(self._peers(), now)
        if not self._workers() or alone_from == math.inf:
            return now + RETRY_SECONDS  # the safe pace is unknown
        slow = self._slow_permits(permits)
        # The latest requests of other workers are unknown, so wait a whole pace first.
        silent_until = max(alone_from, self._connection.unavailable_since + max(permit.pace_seconds for permit in slow))
        return silent_until if now < silent_until else await self._local_limiter.acquire(slow, now)

    def _slow_permits(self, permits: Sequence[Permit]) -> list[Permit]:
        """The permits at the pace of a worker that is cut off."""
        slower = max(limiter_shares.isolated_pace_factor(self._workers(), self._peers()), 1)
        return [msgspec.structs.replace(permit, pace_seconds=permit.pace_seconds * slower) for permit in permits]


def _redis_keys(permits: Sequence[Permit]) -> list[str]:
    return [*(keys.rate_limit(permit.key) for permit in permits), *(keys.lock(permit.key) for permit in permits)]


_SCRIPTS = {"acquire": _ACQUIRE, "release": _RELEASE, "back_off": _BACK_OFF}
