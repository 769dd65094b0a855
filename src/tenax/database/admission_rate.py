"""Limits how fast the pages of one host may fill the frontier: URLs over the rate become due later, none is lost."""

from __future__ import annotations


class AdmissionRate:
    """Gives new URLs their earliest time: at most `per_second` for each source."""

    def __init__(self, per_second: float, max_sources: int = 10_000) -> None:
        self._gap_seconds = 1 / per_second if per_second else 0.0
        self._max_sources = self._prune_size = max_sources
        self._free_at: dict[int, float] = {}

    def due_time(self, source: int, now: float) -> float:
        if not self._gap_seconds:
            return now
        # A burst of one second is allowed; after that, one per gap.
        due = max(self._free_at.get(source, 0.0), now - 1.0) + self._gap_seconds
        if source not in self._free_at and len(self._free_at) >= self._prune_size:
            self._free_at = {kept: at for kept, at in self._free_at.items() if at > now}
            # The entries left are still in use. Raise the limit, so that not every new source scans them all.
            self._prune_size = max(self._max_sources, 2 * len(self._free_at))
        self._free_at[source] = due
        return max(due, now)
