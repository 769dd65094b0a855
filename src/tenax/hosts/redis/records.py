"""Host records in Redis: a change is stored if no other worker was faster."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

import msgspec

from tenax.hosts.records import MemoryHosts
from tenax.hosts.redis import keys
from tenax.model import HostRecord, RobotsCopy
from tenax.runtime.redis import BestEffortRedis

if TYPE_CHECKING:
    from redis.asyncio import Redis

MAX_TRIES = 50
"""Maximum attempts to make a change while other workers are faster. Then the change is stored in any case, which is
wrong by a pace at most.

Attempts follow each other at once: the reply to each has the newest version, which would become outdated by waiting.
"""
MAX_VERSIONS = 20_000
_NO_VERSION = ("0", "")

_encode = msgspec.json.Encoder().encode
_decode_record = msgspec.json.Decoder(HostRecord).decode
_decode_robots = msgspec.json.Decoder(RobotsCopy).decode
_BREAKER_STATES = {"closed": "closed", "open": "open", "half_open": "half-open"}

# KEYS: circuit, robots copy, robots text, delay. ARGV: scheme, known version, record, TTL, the breaker's fields (4);
# then our robots.txt, if it differs from the stored one: its fingerprint, copy, text, delay, TTLs (2).
_STORE = """
local version = redis.call('HGET', KEYS[1], 'version:' .. ARGV[1]) or '0'
if ARGV[2] ~= '' and version ~= ARGV[2] then
  local found = redis.call('HMGET', KEYS[1], 'record:' .. ARGV[1], 'robots:' .. ARGV[1])
  return {version, found[1] or '', found[2] or ''}
end
local newer = string.format('%d', tonumber(version) + 1)
redis.call('HSET', KEYS[1], 'record:' .. ARGV[1], ARGV[3], 'version:' .. ARGV[1], newer, 'state', ARGV[5],
  'failureCount', ARGV[6], 'successCount', ARGV[7])
if ARGV[8] ~= '' then redis.call('HSET', KEYS[1], 'lastFailureAt', ARGV[8]) end
if ARGV[9] then
  redis.call('HSET', KEYS[1], 'robots:' .. ARGV[1], ARGV[9])
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[10])
  redis.call('EXPIRE', KEYS[2], ARGV[13])
  redis.call('SET', KEYS[3], ARGV[11], 'EX', ARGV[14])
  if ARGV[12] ~= '' then redis.call('SET', KEYS[4], ARGV[12], 'EX', ARGV[14]) end
end
redis.call('EXPIRE', KEYS[1], ARGV[4])
return {newer}
"""


class RedisHosts:
    """`Hosts` shared by all workers, with a local copy that replaces it while Redis is unavailable."""

    def __init__(self, connection: BestEffortRedis, local_hosts: MemoryHosts | None = None) -> None:
        self._connection = connection
        self._local_hosts = local_hosts if local_hosts is not None else MemoryHosts()
        self._versions: dict[str, tuple[str, str]] = {}
        """The known state of each host in Redis: version of the record, fingerprint of the robots.txt."""
        self._store_script = connection.client.register_script(_STORE)
        connection.on_return(self._forget_versions)

    async def acquire(self, record: HostRecord) -> HostRecord:
        local = self._local_hosts.acquire(record)
        shared = await self._read(record.origin)
        if shared is None:
            return local
        if shared.next_at < local.next_at:
            # The record was updated while Redis was unavailable, or came with the claim. It does not correspond to that
            # version.
            self._versions.pop(record.origin, None)
            return local
        if shared.robots is None and local.robots is not None:
            shared = msgspec.structs.replace(shared, robots=local.robots)
        self._local_hosts.put(shared)
        return shared

    def get(self, origin: str) -> HostRecord | None:
        return self._local_hosts.get(origin)

    async def store(self, before: HostRecord, after: HostRecord, attempt: int = 0) -> HostRecord | None:
        for number in range(attempt, MAX_TRIES):
            is_stored, newer = await self._try_store(after, is_forced=number == MAX_TRIES - 1)
            if is_stored:
                break
            if newer is not None:
                return _newest_record(newer, before)
        self._local_hosts.put(after)
        return None

    def release(self, origin: str) -> None:
        self._local_hosts.release(origin)

    async def _read(self, origin: str) -> HostRecord | None:
        scheme = keys.origin_scheme(origin)

        async def ask(redis: Redis) -> list[Any]:
            # In one transaction: the robots.txt must belong to the record.
            async with redis.pipeline(transaction=True) as pipeline:
                pipeline.hmget(keys.circuit(origin), f"record:{scheme}", f"version:{scheme}")
                pipeline.hget(keys.robots_copy(origin), scheme)
                return await pipeline.execute()

        answer = await self._connection.call(ask)
        if answer is None:
            return None
        (blob, version), robots_blob = answer
        record, robots = _decode_host_record(blob, origin), _decode_robots_copy(robots_blob)
        # A record expires sooner than its robots.txt, and the fingerprint with it.
        self._set_version(
            origin, version.decode() if version else "0", _robots_fingerprint(robots) if record is not None else ""
        )
        return msgspec.structs.replace(record, robots=robots) if record is not None else None

    async def _try_store(self, record: HostRecord, is_forced: bool) -> tuple[bool, HostRecord | None]:
        """True if the record is stored, or Redis is unavailable. Otherwise the record of a faster worker, if there is
        one."""
        origin = record.origin
        failed_at = str(int(record.recent_failures[-1] * 1000)) if record.recent_failures else ""
        version, known_fingerprint = self._versions.get(origin, _NO_VERSION)
        names = [keys.circuit(origin), keys.robots_copy(origin), keys.robots_text(origin), keys.delay(origin)]
        arguments: list[str | bytes | int] = [
            keys.origin_scheme(origin),
            "" if is_forced else version,
            _encode(msgspec.structs.replace(record, robots=None)),
            keys.RECORD_SECONDS,
            _BREAKER_STATES[record.breaker],
            record.failures_in_a_row,
            record.probes_passed,
            failed_at,
            *_robots_arguments(record, known_fingerprint),
        ]

        def ask(redis: Redis) -> Awaitable[Any]:
            return cast(Awaitable[Any], self._store_script(keys=names, args=arguments, client=redis))

        answer = await self._connection.call(ask)
        if answer is None:
            return True, None
        if len(answer) == 1:
            self._set_version(origin, answer[0].decode(), _robots_fingerprint(record.robots) or known_fingerprint)
            return True, None
        if answer[2].decode() != known_fingerprint:
            return False, await self._read(origin)
        self._set_version(origin, answer[0].decode(), known_fingerprint)
        # There is no record, so Redis was flushed or the record expired. Ours is the newest.
        return False, _decode_host_record(answer[1], origin)

    async def _forget_versions(self) -> None:
        """Forget all versions after an outage. Records that changed meanwhile are written at their next visits."""
        self._versions.clear()

    def _set_version(self, origin: str, version: str, robots_fingerprint: str) -> None:
        self._versions.pop(origin, None)
        self._versions[origin] = (version, robots_fingerprint)
        if len(self._versions) > MAX_VERSIONS:
            del self._versions[next(iter(self._versions))]


def _robots_arguments(record: HostRecord, known_fingerprint: str) -> list[str | bytes | int]:
    """The script arguments for our robots.txt; none if Redis has this robots.txt."""
    robots, delay = record.robots, record.crawl_delay_seconds
    if robots is None or _robots_fingerprint(robots) == known_fingerprint:
        return []
    delay_text = repr(delay) if delay is not None else ""
    return [
        _robots_fingerprint(robots),
        _encode(robots),
        robots.text,
        delay_text,
        keys.ROBOTS_COPY_SECONDS,
        keys.ROBOTS_TEXT_SECONDS,
    ]


def _robots_fingerprint(robots: RobotsCopy | None) -> str:
    """A short value that differs between copies of a robots.txt, which may have half a million characters."""
    if robots is None:
        return ""
    return f"{robots.verdict} {robots.fetched_at!r} {robots.expires_at!r} {crc32(robots.text.encode()):08x}"


def _decode_host_record(blob: bytes | None, origin: str) -> HostRecord | None:
    if not blob:
        return None
    try:
        record = _decode_record(blob)
    except msgspec.MsgspecError:
        return None  # another version, or not ours
    return record if record.origin == origin else None


def _decode_robots_copy(blob: bytes | None) -> RobotsCopy | None:
    try:
        return _decode_robots(blob) if blob else None
    except msgspec.MsgspecError:
        return None


def _newest_record(theirs: HostRecord, ours: HostRecord) -> HostRecord:
    """The newer record. Theirs has no robots.txt if ours is still current; then ours is added.

    `next_at` only grows, so the later one is newer.
    """
    if theirs.next_at < ours.next_at:
        return ours
    return theirs if theirs.robots is not None else msgspec.structs.replace(theirs, robots=ours.robots)
