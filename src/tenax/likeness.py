"""How alike pages are, and what a site wants done about it: what the ledger is given to find duplicates by.

Fingerprints are made and compared in `parse`, and duplicates are found in the ledger; neither knows the other.
"""

from __future__ import annotations

from tenax.config import DuplicatesConfig, Sites
from tenax.parse import fingerprint


class PageLikeness:
    """See `tenax.ledger.Likeness` for what it promises."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self.bands = fingerprint.bands
        self.likeness = fingerprint.likeness

    def rules(self, origin: str) -> DuplicatesConfig:
        return self._sites.of_origin(origin).duplicates
