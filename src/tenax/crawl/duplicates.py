"""How alike pages are, and what a site wants done about it: what the ledger is given to find duplicates by.

Fingerprints are made and compared in `parse`, and duplicates are found in the ledger; neither knows the other.
"""

from __future__ import annotations

from tenax.config import DuplicatesConfig, Sites
from tenax.extract.text.fingerprint import bands, likeness


class PageLikeness:
    """See `tenax.database.Likeness` for what it promises."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites

    def rules(self, origin: str) -> DuplicatesConfig:
        return self._sites.of_origin(origin).duplicates

    def bands(self, fingerprint: bytes) -> tuple[int, ...]:
        return bands(fingerprint)

    def likeness(self, one: bytes, other: bytes) -> float:
        return likeness(one, other)


def likeness_of(one: bytes, other: bytes) -> float:
    """Of two fingerprints, from 0 to 1."""
    return likeness(one, other)
