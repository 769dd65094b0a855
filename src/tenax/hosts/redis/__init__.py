"""Hosts shared by many machines: their records and their turns in Redis, under the keys that neighbours know.

`reach` talks to Redis and notices when it is away; `turns` gives out turns by scripts that run there; `records` keeps
what the rules have learned, by comparing and setting; `presence` says which workers are alive; `keys` has every name.
Nothing here decides: the rules of `tenax.hosts` do, in the process that made the visit.

While Redis is away, nothing of it is raised into a visit: records come from this process's memory, and turns are given
out here, slower by the number of workers that were last seen, so that all of them together are never too fast.
"""

from tenax.hosts.redis.presence import Presence
from tenax.hosts.redis.reach import Reach
from tenax.hosts.redis.records import RedisHosts
from tenax.hosts.redis.turns import RedisTurns

__all__ = ["Presence", "Reach", "RedisHosts", "RedisTurns"]
