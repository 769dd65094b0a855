"""Page similarity and the duplicate settings of each site, as the database uses them to find duplicates.

`extract` computes and compares fingerprints, the database finds duplicates; neither imports the other.
"""

from __future__ import annotations

from tenax.config import DuplicatesConfig, Sites
from tenax.extract.text.fingerprint import fingerprint_bands, fingerprint_similarity


class PageSimilarity:
    """Implements `tenax.database.Similarity`."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites

    def rules(self, origin: str) -> DuplicatesConfig:
        return self._sites.for_origin(origin).duplicates

    def bands(self, fingerprint: bytes) -> tuple[int, ...]:
        return fingerprint_bands(fingerprint)

    def similarity(self, one: bytes, other: bytes) -> float:
        return fingerprint_similarity(one, other)


def page_similarity(one: bytes, other: bytes) -> float:
    """The similarity of two fingerprints, from 0 to 1."""
    return fingerprint_similarity(one, other)
