"""Hosts shared by many machines: their records and rate limits in Redis.

`connection` calls Redis and detects outages. `limiter` gives out permits by scripts that run in Redis. `records` stores
host records by compare-and-set. `limiter_shares` computes the pace of each worker when not all of them reach Redis.
`sharing` combines these for one crawl, counts live workers and keeps a set of known URLs for the database. `keys` has
every key name. Nothing here decides: the rules of `tenax.hosts` do, in the process that made the visit.

While Redis is unavailable, no error reaches a visit. Records come from the memory of this process. Permits are given
out locally, slower by the number of workers, so that all workers together never exceed the rate. Some workers may reach
Redis while others do not. Workers of one database learn this through the database, and those that reach Redis leave the
others their share. A worker that cannot inform the others, or does not know their number, gives out no permits. For
some seconds after Redis returns, a permit must be free both locally and in Redis.

A Redis that was emptied has lost the recent requests. One key stores the time since when permits are recorded without a
gap. If this key is missing, every host is left alone for its pace, and for as long as a request in flight may take.
"""

from tenax.hosts.redis.limiter import RedisRateLimiter
from tenax.hosts.redis.records import RedisHosts
from tenax.hosts.redis.sharing import Presence, Sharing, VisitedUrls, redis_clock_offset
from tenax.runtime.redis import BestEffortRedis

__all__ = [
    "BestEffortRedis",
    "Presence",
    "RedisHosts",
    "RedisRateLimiter",
    "Sharing",
    "VisitedUrls",
    "redis_clock_offset",
]
