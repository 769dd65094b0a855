"""Every Redis key with its lifetime and purpose. Pure.

Other programs around a crawler use the same names. So they can read our keys, and we can read theirs.
"""

from __future__ import annotations

from typing import Final

ACTIVE_WORKERS: Final = "crawler:active_workers"
"""A set of worker ids."""
RATE_LIMITS_SINCE: Final = "crawler:rate_limit:since"
"""The time since when permits are recorded without a gap, and whether some were lost before. Never expires: if the key
is missing, Redis has lost all keys."""
PAGES_CRAWLED: Final = "crawler:stats:pages_crawled"
PAGES_FAILED: Final = "crawler:stats:pages_failed"
BYTES_DOWNLOADED: Final = "crawler:stats:bytes_downloaded"
VISITED: Final = "crawler:visited_urls"
"""A set of URL keys, in front of the database."""

PERMIT_SECONDS: Final = 60.0
"""A permit expires after this time, or when it is free again, whichever is later."""
RECORD_SECONDS: Final = 3600
ROBOTS_TEXT_SECONDS: Final = 3600
ROBOTS_COPY_SECONDS: Final = 86_400
WORKER_SECONDS: Final = 120
HEARTBEAT_SECONDS: Final = 30.0
VISITED_SECONDS: Final = 86_400


def origin_domain(origin: str) -> str:
    """The host of an origin, with its port if it is not the default. This is the name used in keys."""
    return origin.partition("://")[2]


def origin_scheme(origin: str) -> str:
    return origin.partition("://")[0]


def rate_limit(key: str) -> str:
    """The Redis key of a permit key such as `host https://a.example` or `address 93.184.216.34`."""
    kind, _, name = key.partition(" ")
    return f"rate_limit:{origin_domain(name)}" if kind == "host" else f"rate_limit:{kind}:{name}"


def lock(key: str) -> str:
    """The lock of a worker that has a request to the host in flight."""
    kind, _, name = key.partition(" ")
    return f"crawler:domain:{origin_domain(name)}:lock" if kind == "host" else ""


def circuit(origin: str) -> str:
    """The state of a host: fields such as `record:https`, and the breaker as plain fields."""
    return f"circuit:{origin_domain(origin)}"


def robots_copy(origin: str) -> str:
    return f"robots:{origin_domain(origin)}"


def robots_text(origin: str) -> str:
    return f"crawler:domain:{origin_domain(origin)}:robots"


def delay(origin: str) -> str:
    return f"crawler:domain:{origin_domain(origin)}:delay"


def worker(worker_id: str) -> str:
    return f"crawler:worker:{worker_id}"
