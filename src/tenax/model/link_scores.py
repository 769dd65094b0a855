"""Score points of a waiting URL for the links to it."""

from __future__ import annotations

SECONDS_PER_POINT = 60.0
_POINTS_BY_LINKS = {64: 6.0, 16: 4.0, 4: 2.0}
LINK_STEPS = frozenset(_POINTS_BY_LINKS)
"""Numbers of links at which the points increase."""


def in_link_points(in_links: int) -> float:
    """Points for this many linking pages. In few steps, because each step moves the URL in the queue."""
    return next((points for least, points in _POINTS_BY_LINKS.items() if in_links >= least), 0.0)
