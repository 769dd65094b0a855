"""How alike pages are, and what a site wants done about it: what the database is given to find duplicates by.

Fingerprints are made and compared in `parse`, and duplicates are found in the database; neither knows the other.
"""

from __future__ import annotations

from tenax.config import DuplicatesConfig, Sites
from tenax.extract.text.fingerprint import fingerprint_bands, fingerprint_similarity


class PageSimilarity:
    """See `tenax.database.Similarity` for what it promises."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites

    def rules(self, origin: str) -> DuplicatesConfig:
        return self._sites.for_origin(origin).duplicates

    def bands(self, fingerprint: bytes) -> tuple[int, ...]:
        return fingerprint_bands(fingerprint)

    def similarity(self, one: bytes, other: bytes) -> float:
        return fingerprint_similarity(one, other)


def page_similarity(one: bytes, other: bytes) -> float:
    """Of two fingerprints, from 0 to 1."""
    return fingerprint_similarity(one, other)
