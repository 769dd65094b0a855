"""What is known of hosts, in Redis: each change is computed here by the rules, and kept if nobody was faster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import msgspec

from tenax.hosts.memory import MemoryHosts
from tenax.hosts.redis import keys
from tenax.hosts.redis.reach import Reach
from tenax.model import HostRecord, RobotsCopy

if TYPE_CHECKING:
    from redis.asyncio import Redis

TRIES = 50
"""Of a change that others keep overtaking; then the last word stands, which is never more than a pace wrong.

Tried again at once: the answer to the last try has the newest version, and who waits has an old one for sure.
"""
MOST_VERSIONS = 20_000

_encode = msgspec.json.Encoder().encode
_decode_record = msgspec.json.Decoder(HostRecord).decode
_decode_robots = msgspec.json.Decoder(RobotsCopy).decode
_STATES = {"closed": "closed", "open": "open", "half_open": "half-open"}

# KEYS: circuit. ARGV: scheme, version we know, record, seconds to live, then the breaker in plain words.
_KEEP = """
local version = redis.call('HGET', KEYS[1], 'version:' .. ARGV[1]) or '0'
if ARGV[2] ~= '' and version ~= ARGV[2] then
  return {version, redis.call('HGET', KEYS[1], 'record:' .. ARGV[1]) or ''}
end
local newer = string.format('%d', tonumber(version) + 1)
redis.call('HSET', KEYS[1], 'record:' .. ARGV[1], ARGV[3], 'version:' .. ARGV[1], newer, 'state', ARGV[5],
  'failureCount', ARGV[6], 'successCount', ARGV[7])
if ARGV[8] ~= '' then redis.call('HSET', KEYS[1], 'lastFailureAt', ARGV[8]) end
redis.call('EXPIRE', KEYS[1], ARGV[4])
return {newer}
"""


class RedisHosts:
    """`Hosts` that all workers share. What is in hand here stands in front, and in for it while Redis is away."""

    def __init__(self, reach: Reach, near: MemoryHosts | None = None) -> None:
        self._reach = reach
        self._near = near if near is not None else MemoryHosts()
        self._versions: dict[str, str] = {}
        self._robots_known: dict[str, RobotsCopy] = {}
        self._keep = reach.client.register_script(_KEEP)
        reach.on_return(self._bring_up_to_date)

    async def adopt(self, record: HostRecord) -> HostRecord:
        near = self._near.adopt(record)
        shared = await self._read(record.origin)
        if shared is None:
            return near
        if shared.next_at < near.next_at:
            # Learned while Redis was away, or came with the claim: not what that version stands for.
            self._versions.pop(record.origin, None)
            return near
        if shared.robots is None and near.robots is not None:
            shared = msgspec.structs.replace(shared, robots=near.robots)
        self._near.put(shared)
        return shared

    def get(self, origin: str) -> HostRecord | None:
        return self._near.get(origin)

    async def learn(self, origin: str, fallback: HostRecord, rule: Callable[[HostRecord], HostRecord]) -> HostRecord:
        before = self._near.get(origin) or fallback
        after = rule(before)
        for number in range(TRIES):
            is_kept, newer = await self._kept(after, is_last_word=number == TRIES - 1)
            if is_kept:
                break
            if newer is not None:
                # Another worker has learned something meanwhile: what we saw happened to the host as it is now.
                after = rule(_joined(newer, before))
        self._near.put(after)
        await self._keep_robots(after)
        return after

    def release(self, origin: str) -> None:
        self._near.release(origin)

    def is_busy(self, origin: str) -> bool:
        return self._near.is_busy(origin)

    def records(self) -> Iterator[HostRecord]:
        """Every record held here, in no order."""
        return self._near.records()

    async def _read(self, origin: str) -> HostRecord | None:
        scheme = keys.scheme_of(origin)

        async def ask(redis: Redis) -> list[Any]:
            async with redis.pipeline(transaction=False) as asked:
                asked.hmget(keys.circuit(origin), f"record:{scheme}", f"version:{scheme}")
                asked.hget(keys.robots_copy(origin), scheme)
                return await asked.execute()

        told = await self._reach.call(ask)
        if told is None:
            return None
        (blob, version), robots_blob = told
        self._know(origin, version.decode() if version else "0")
        record = _decoded(blob, origin)
        if record is None or not robots_blob:
            return record
        robots = _decode_robots(robots_blob)
        self._robots_known[origin] = robots
        return msgspec.structs.replace(record, robots=robots)

    async def _kept(self, record: HostRecord, is_last_word: bool) -> tuple[bool, HostRecord | None]:
        """Whether Redis has it now, or is away; else the record that somebody else was faster with, if one is left."""
        origin = record.origin
        failed_at = str(int(record.recent_failures[-1] * 1000)) if record.recent_failures else ""
        arguments: list[str | bytes | int] = [
            keys.scheme_of(origin),
            "" if is_last_word else self._versions.get(origin, "0"),
            _encode(msgspec.structs.replace(record, robots=None)),
            keys.RECORD_SECONDS,
            _STATES[record.breaker],
            record.failures_in_a_row,
            record.probes_passed,
            failed_at,
        ]

        def ask(redis: Redis) -> Awaitable[Any]:
            return cast(Awaitable[Any], self._keep(keys=[keys.circuit(origin)], args=arguments, client=redis))

        told = await self._reach.call(ask)
        if told is None:
            return True, None
        self._know(origin, told[0].decode())
        if len(told) == 1:
            return True, None
        # When nothing is there, it was flushed, or forgotten for its age: ours is what there is to know.
        return False, _decoded(told[1], origin)

    async def _keep_robots(self, record: HostRecord) -> None:
        origin, robots = record.origin, record.robots
        if robots is None or self._robots_known.get(origin) == robots:
            return
        self._robots_known[origin] = robots
        if len(self._robots_known) > MOST_VERSIONS:
            del self._robots_known[next(iter(self._robots_known))]

        async def ask(redis: Redis) -> object:
            async with redis.pipeline(transaction=False) as told:
                told.hset(keys.robots_copy(origin), keys.scheme_of(origin), _encode(robots))
                told.expire(keys.robots_copy(origin), keys.ROBOTS_COPY_SECONDS)
                told.set(keys.robots_text(origin), robots.text, ex=keys.ROBOTS_TEXT_SECONDS)
                if record.crawl_delay_seconds is not None:
                    told.set(keys.delay(origin), repr(record.crawl_delay_seconds), ex=keys.ROBOTS_TEXT_SECONDS)
                return await told.execute()

        await self._reach.call(ask)

    async def _bring_up_to_date(self) -> None:
        """Redis is back: what was learned without it is told to the others, host by host as they are visited."""
        self._versions.clear()
        self._robots_known.clear()

    def _know(self, origin: str, version: str) -> None:
        self._versions.pop(origin, None)
        self._versions[origin] = version
        if len(self._versions) > MOST_VERSIONS:
            del self._versions[next(iter(self._versions))]


def _decoded(blob: bytes | None, origin: str) -> HostRecord | None:
    if not blob:
        return None
    try:
        record = _decode_record(blob)
    except msgspec.MsgspecError:
        return None  # of another version, or not ours at all
    return record if record.origin == origin else None


def _joined(newer: HostRecord, ours: HostRecord) -> HostRecord:
    """Their record with our robots.txt, which is kept elsewhere; of two turns that are owed, the later."""
    return msgspec.structs.replace(
        newer,
        robots=ours.robots,
        next_at=max(newer.next_at, ours.next_at),
        crawl_delay_seconds=ours.crawl_delay_seconds,
    )
