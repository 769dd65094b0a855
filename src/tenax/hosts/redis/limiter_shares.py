"""The pace of each worker while only some of them reach Redis. Pure.

Suppose that k of N workers are cut off from Redis. Each of these works alone, at N times the pace. The others share the
rest, at N / (N - k) times the pace. All workers together keep the pace. A cut-off worker announces its state through
the database. It works alone only when each other worker either knows this, or has had no news for so long that it
assumes all others to be cut off.
"""

from __future__ import annotations

import math

from tenax.model import Peers

PEERS_TTL_SECONDS = 5.0
"""How long the state read from the database is valid. It is read every second; a busy server may take longer."""
ANNOUNCE_SECONDS = 8.0
"""After this time all workers know what was announced: older states have expired, and calls to Redis that began with
them have ended. There is a margin for small clock differences."""


def connected_pace_factor(peers: Peers | None, now: float) -> float:
    """The pace factor of a worker that reaches Redis."""
    if peers is None:
        return 1.0
    if now > peers.checked_at + PEERS_TTL_SECONDS:
        return float(max(peers.workers, 1))  # by now, assume that all others are cut off
    return max(peers.workers, 1) / max(peers.workers - peers.without_redis, 1)


def isolated_pace_factor(seen: int, peers: Peers | None) -> int:
    """The pace factor of a worker that is cut off; 0: unknown. `seen` is the number of workers last seen in Redis.

    The larger of two numbers is used, that of Redis and that of the database. So the factor is never less than the
    others assume.
    """
    return max(seen, peers.workers) if seen and peers is not None else seen


def isolated_start_at(peers: Peers | None, now: float) -> float:
    """When a worker that is cut off may work alone; never while the others may not know that it is cut off.

    A worker without a shared database (`peers` is None) cannot announce this. Working alone is then correct only if
    Redis is unavailable to all.
    """
    if peers is None:
        return -math.inf
    if peers.reported_at is None or now > peers.checked_at + PEERS_TTL_SECONDS:
        return math.inf
    return peers.reported_at + ANNOUNCE_SECONDS
