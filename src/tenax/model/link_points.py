"""What links are worth to a URL that waits, in the points of its score."""

from __future__ import annotations

SECONDS_PER_POINT = 60.0
_POINTS_BY_LINKS = {64: 6.0, 16: 4.0, 4: 2.0}
LINK_STEPS = frozenset(_POINTS_BY_LINKS)
"""The numbers of links at which they are worth more."""


def in_link_points(in_links: int) -> float:
    """Of so many pages that link to it. In few steps, because each one moves it in the queue."""
    return next((points for least, points in _POINTS_BY_LINKS.items() if in_links >= least), 0.0)
