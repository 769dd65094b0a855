"""Hosts shared by many machines: their records and their turns in Redis, under the keys that neighbours know.

`reach` talks to Redis and notices when it is away; `turns` gives out turns by scripts that run there; `records` keeps
what the rules have learned, by comparing and setting; `presence` says which workers are alive; `shares` says how fast
each may go when not all of them reach it; `sharing` is all of that for one crawl; `visited` keeps a set of known URLs
for the database; `keys` has every name.
Nothing here decides: the rules of `tenax.hosts` do, in the process that made the visit.

While Redis is away, nothing of it is raised into a visit: records come from this process's memory, and turns are given
out here, slower by the number of workers there are, so that all of them together are never too fast. Some may reach it
while others do not: workers of one database hear of that through the database, and those who reach Redis leave the others
their share. Who cannot tell the others, or does not know how many they are, gives out none. For some seconds after its
return a turn must be free here as well as there.

A Redis that was emptied has forgotten who asked a host last: one key says since when turns are written down without a
gap. Where it is gone, every host is silent for its pace, and for as long as a request in flight may take.
"""

from tenax.hosts.redis.limiter import RedisRateLimiter
from tenax.hosts.redis.presence import Presence
from tenax.hosts.redis.reach import BestEffortRedis
from tenax.hosts.redis.records import RedisHosts
from tenax.hosts.redis.sharing import Sharing, redis_clock_offset
from tenax.hosts.redis.visited import VisitedUrls

__all__ = [
    "BestEffortRedis",
    "Presence",
    "RedisHosts",
    "RedisRateLimiter",
    "Sharing",
    "VisitedUrls",
    "redis_clock_offset",
]
