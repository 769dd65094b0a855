"""Turns given out by Redis: whoever asks, from whichever machine, all or none of them at once."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from tenax.hosts import Turn
from tenax.hosts.limiter.process import AGAIN_SECONDS, LocalTurns
from tenax.hosts.redis import keys, limiter_shares
from tenax.hosts.redis.reach import CALL_SECONDS, REST_SECONDS, Reach
from tenax.model import Company

if TYPE_CHECKING:
    from redis.asyncio import Redis

PACE_HOLDS_SECONDS = 600.0
"""So long after it was last told, the pace that a worker has learned holds for the others: it may have ended."""

SETTLE_SECONDS = REST_SECONDS + CALL_SECONDS
"""So long after its return until every worker has noticed it."""

# Times are written with all their digits: Lua's own way of writing a number would round them to seconds.
_COMMON = """
local function written(time)
  return string.format('%.17g', time)
end
local function entry_of(key)
  local found = redis.call('HMGET', key, 'free', 'taken', 'busy', 'rest', 'pace', 'pace_until', 'owner')
  local entry = {owner = found[7] or ''}
  for number, name in ipairs({'free', 'taken', 'busy', 'rest', 'pace', 'pace_until'}) do
    entry[name] = tonumber(found[number] or '0')
  end
  return entry
end
local function pace_of(entry, pace, me, now)
  if entry.pace_until <= now or entry.owner == me then return pace end
  return math.max(pace, entry.pace)
end
local function keep(key, entry, now, least)
  redis.call('HSET', key, 'free', written(entry.free), 'taken', written(entry.taken),
    'busy', written(entry.busy), 'rest', written(entry.rest),
    'pace', written(entry.pace), 'pace_until', written(entry.pace_until),
    'owner', entry.owner)
  local until_ = math.max(entry.free, entry.busy, entry.rest, entry.pace_until)
  redis.call('PEXPIRE', key, math.ceil(math.max(least, until_ - now) * 1000))
end
"""

_TAKE = (
    _COMMON
    + """
local now, me, again_least, least = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local slower = tonumber(ARGV[6])
local entries, again = {}, now
local count = (#KEYS - 1) / 2
local since = redis.call('HMGET', KEYS[#KEYS], 'at', 'is_lost')
if not since[1] then
  since = {written(now), ARGV[5]}
  redis.call('HSET', KEYS[#KEYS], 'at', since[1], 'is_lost', since[2])
end
for number = 1, count do
  local pace, busy = tonumber(ARGV[5 + 2 * number]) * slower, tonumber(ARGV[6 + 2 * number])
  local entry = entry_of(KEYS[number])
  entries[number] = entry
  if entry.taken < tonumber(since[1]) then
    -- Nobody can say who came before: a pace of silence, and where turns were lost, time for one to be answered.
    entry.free = math.max(entry.free, since[1] + pace + (since[2] == '1' and busy or 0))
  end
  if math.max(entry.free, entry.busy, entry.rest) > now then
    local answered = math.min(entry.busy, now + math.max(pace, again_least))
    again = math.max(again, entry.free, entry.rest, answered)
  end
end
if again > now then return written(again) end
for number = 1, count do
  local pace, busy = tonumber(ARGV[5 + 2 * number]), tonumber(ARGV[6 + 2 * number])
  local entry = entries[number]
  entry.free = now + pace_of(entry, pace, me, now) * slower
  entry.taken = now
  entry.busy = busy > 0 and now + busy or 0
  keep(KEYS[number], entry, now, least)
  local lock = KEYS[count + number]
  if lock ~= '' and busy > 0 then redis.call('SET', lock, me, 'PX', math.ceil(busy * 1000)) end
end
return '0'
"""
)

_END = (
    _COMMON
    + """
local answered, me, least, slower = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local count = #KEYS / 2
for number = 1, count do
  local entry = entry_of(KEYS[number])
  local pace = pace_of(entry, tonumber(ARGV[4 + number]), me, answered) * slower
  entry.free = math.max(answered, entry.taken) + pace
  entry.busy = 0
  keep(KEYS[number], entry, answered, least)
  local lock = KEYS[count + number]
  if lock ~= '' and redis.call('GET', lock) == me then redis.call('DEL', lock) end
end
return 1
"""
)

_HOLD = (
    _COMMON
    + """
local until_, now, me = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local pace, holds, least = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local entry = entry_of(KEYS[1])
entry.rest = math.max(entry.rest, until_)
if entry.owner == me or entry.pace_until <= now or entry.pace <= pace then
  entry.pace, entry.owner = pace, me
  entry.pace_until = math.max(until_, now) + holds + 2 * pace
end
keep(KEYS[1], entry, now, least)
return 1
"""
)


class RedisTurns:
    """`SharedTurns` in Redis. Needs no clock of the server: everyone hands in the time that they agree on."""

    def __init__(
        self,
        reach: Reach,
        worker_id: str,
        workers: Callable[[], int],
        company: Callable[[], Company] | None = None,
    ) -> None:
        """`workers` tells how many share the turns, as far as was last known; 0: too little is known to say.
        `company` tells what is known of them besides, through the ledger they share; None: they share none.
        """
        self._reach = reach
        self._worker_id = worker_id
        self._workers = workers
        self._company: Callable[[], Company | None] = company or (lambda: None)
        self._own = LocalTurns()
        self._has_asked = False
        """Redis has given us an answer before: when it knows of no turn at all, it has forgotten them."""
        self._scripts = {name: reach.client.register_script(text) for name, text in _SCRIPTS.items()}

    async def take(self, turns: Sequence[Turn], now: float) -> float:
        paced = [turn for turn in turns if turn.pace_seconds > 0]
        if not paced:
            return now
        if self._is_settling(now) and (again := self._own.take(self._slowed(paced), now)) > now:
            return again
        arguments = [part for turn in paced for part in (repr(turn.pace_seconds), repr(turn.busy_seconds))]
        told = await self._run(
            "take",
            [*_names(paced), keys.TURNS_SINCE],
            [
                repr(now), self._worker_id, AGAIN_SECONDS, keys.TURN_SECONDS, int(self._has_asked),
                repr(limiter_shares.together(self._company(), now)), *arguments,
            ],
        )  # fmt: skip
        if told is None:
            return self._take_here(paced, now)
        self._has_asked = True
        again = float(told)
        if again > now:
            return again
        # Known here too, should Redis go away before it has passed.
        self._own.take(self._slowed(paced), now)
        return now

    async def end(self, turns: Sequence[Turn], answered_at: float) -> None:
        held = [turn for turn in turns if turn.pace_seconds > 0 and turn.busy_seconds > 0]
        if not held:
            return
        paces = [repr(turn.pace_seconds) for turn in held]
        self._own.end(self._slowed(held), answered_at)
        slower = repr(limiter_shares.together(self._company(), answered_at))
        await self._run("end", _names(held), [repr(answered_at), self._worker_id, keys.TURN_SECONDS, slower, *paces])

    async def hold(self, key: str, until: float, now: float, pace_seconds: float = 0.0) -> None:
        self._own.hold(key, until, now, pace_seconds)
        await self._run(
            "hold",
            [keys.turn(key)],
            [repr(until), repr(now), self._worker_id, repr(pace_seconds), PACE_HOLDS_SECONDS, keys.TURN_SECONDS],
        )

    async def close(self) -> None:
        self._own.close()

    async def _run(self, name: str, names: list[str], arguments: list[Any]) -> Any:
        script = self._scripts[name]

        def ask(redis: Redis) -> Awaitable[Any]:
            return cast(Awaitable[Any], script(keys=names, args=arguments, client=redis))

        return await self._reach.call(ask)

    def _is_settling(self, now: float) -> bool:
        """Redis was away a moment ago, and others may not know yet that it is back: they give out turns themselves."""
        returned_at = self._reach.returned_at
        return not self._reach.is_away and returned_at is not None and now < returned_at + SETTLE_SECONDS

    def _take_here(self, turns: Sequence[Turn], now: float) -> float:
        """We are cut off: at a pace that stays right whoever else is, once the others know."""
        alone_from = limiter_shares.alone_from(self._company(), now)
        if not self._workers() or alone_from == math.inf:
            return now + REST_SECONDS  # at what pace, nobody knows
        slow = self._slowed(turns)
        # What others did just before, nobody can say now: a whole pace of silence first.
        silent_until = max(alone_from, self._reach.away_since + max(turn.pace_seconds for turn in slow))
        return silent_until if now < silent_until else self._own.take(slow, now)

    def _slowed(self, turns: Sequence[Turn]) -> list[Turn]:
        """As one who is cut off takes them."""
        slower = max(limiter_shares.alone(self._workers(), self._company()), 1)
        return [msgspec.structs.replace(turn, pace_seconds=turn.pace_seconds * slower) for turn in turns]


def _names(turns: Sequence[Turn]) -> list[str]:
    return [*(keys.turn(turn.key) for turn in turns), *(keys.lock(turn.key) for turn in turns)]


_SCRIPTS = {"take": _TAKE, "end": _END, "hold": _HOLD}
