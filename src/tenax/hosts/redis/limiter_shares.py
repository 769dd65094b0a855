"""How fast a worker may go while some of them reach Redis and some do not. Pure.

Of N workers, each that is cut off from Redis goes alone, at N times the pace; those who reach it share the rest: at
N / (N - k) times the pace when k are cut off. All together keep the pace. Who is cut off is told through the database,
the second way between them, and goes alone only when each of the others has heard of it, or has heard nothing for so
long that it takes all of them for cut off.
"""

from __future__ import annotations

import math

from tenax.model import Peers

PEERS_TTL_SECONDS = 5.0
"""What the database said is believed for so long. It is asked every second; a busy one may take some to answer."""
ANNOUNCE_SECONDS = 8.0
"""After so long everyone has heard what the database was told: nobody believes older news, and a call to Redis that was
begun with those has ended. What is left is for clocks that differ a little."""


def connected_pace_factor(peers: Peers | None, now: float) -> float:
    """By how much the pace grows for one who reaches Redis."""
    if peers is None:
        return 1.0
    if now > peers.checked_at + PEERS_TTL_SECONDS:
        return float(max(peers.workers, 1))  # for all that is known, the others are cut off by now
    return max(peers.workers, 1) / max(peers.workers - peers.without_redis, 1)


def isolated_pace_factor(seen: int, peers: Peers | None) -> int:
    """By how much it grows for one who is cut off; 0: nobody can say. `seen` is how many were last seen in Redis.

    Never less than the others reckon with: of those that Redis and the database know, the larger number.
    """
    return max(seen, peers.workers) if seen and peers is not None else seen


def isolated_start_at(peers: Peers | None, now: float) -> float:
    """From when on one who is cut off may go alone; never, as long as the others may not know of it.

    Who shares no database with the others (None) cannot tell them: right when Redis is away from all of them.
    """
    if peers is None:
        return -math.inf
    if peers.reported_at is None or now > peers.checked_at + PEERS_TTL_SECONDS:
        return math.inf
    return peers.reported_at + ANNOUNCE_SECONDS
