"""Finds duplicates: the index keys of a page, and the original among the pages that have these keys.

The index holds only originals, so a duplicate never refers to a duplicate. A page has 17 keys: one for its whole text,
and 16 for the bands of its fingerprint. Each key holds a few pages at most, the first that were stored. So a band
shared by a million pages of one template costs no more than any other band. A page that is not added under that key has
other keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tenax.config import DuplicatesConfig, Sites
from tenax.database import Similarity
from tenax.model import Page
from tenax.text.fingerprint import fingerprint_bands, fingerprint_similarity

MAX_PAGES_PER_KEY = 8
"""Maximum pages under one key."""
MAX_COMPARED_PAGES = 32
"""Maximum pages that one page is compared with: those that share the most keys with it."""


class DuplicateKeys(NamedTuple):
    """The values a page is compared by."""

    keys: tuple[int, ...]
    content_hash: bytes
    fingerprint: bytes
    """Empty when the page is too short for a similarity comparison."""
    rules: DuplicatesConfig


class Original(NamedTuple):
    """A page that other pages may be duplicates of."""

    record_id: int
    url: str
    content_hash: bytes
    fingerprint: bytes


class DuplicateMatch(NamedTuple):
    """The page that a page is a duplicate of."""

    record_id: int
    url: str
    similarity: float


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


def make_duplicate_keys(page: Page, origin: str, similarity: Similarity | None) -> DuplicateKeys | None:
    """The keys of the page; None if it is not compared, because it has no text or the search is off."""
    if similarity is None or not page.text:
        return None
    rules = similarity.rules(origin)
    if not rules.find:
        return None
    fingerprint = page.fingerprint if page.words >= rules.min_words else b""
    content_hash = bytes.fromhex(page.content_hash)
    return DuplicateKeys(index_keys(content_hash, fingerprint, similarity), content_hash, fingerprint, rules)


def index_keys(content_hash: bytes, fingerprint: bytes, similarity: Similarity) -> tuple[int, ...]:
    """The keys of a page in the index, as signed 64-bit numbers."""
    return (int.from_bytes(content_hash[:8], signed=True), *similarity.bands(fingerprint))


class DuplicateSearch:
    """Compares the pages of one group, in the order their visits ended, with stored pages and with each other."""

    def __init__(self, similarity: Similarity | None, page_keys: Sequence[DuplicateKeys | None] = ()) -> None:
        """`page_keys` has one entry per visit of the group; None for pages that are not compared."""
        self._similarity = similarity
        self._page_keys = page_keys
        self._pages_by_key: dict[int, list[int]] = {}
        self._originals: dict[int, Original] = {}

    @property
    def keys(self) -> list[int]:
        """The keys to look up in the index, unsorted."""
        return [key for one in self._page_keys if one is not None for key in one.keys]

    def load_index_rows(self, index_rows: Iterable[tuple[int, int]]) -> list[int]:
        """Load index rows (key, record id). Returns the ids of the pages to fetch."""
        for key, record_id in index_rows:
            self._pages_by_key.setdefault(key, []).append(record_id)
        if not self._pages_by_key:
            return []
        wanted = {record_id for one in self._page_keys if one is not None for record_id in self._most_similar_ids(one)}
        return sorted(wanted)

    def load_originals(self, originals: Iterable[Original]) -> None:
        self._originals.update((one.record_id, one) for one in originals)

    def find_match(self, number: int, record_id: int) -> DuplicateMatch | None:
        """The earliest page that is the same or nearly the same as the page of that visit."""
        mine = self._page_keys[number] if self._page_keys else None
        if mine is None or not self._pages_by_key or self._similarity is None:
            return None
        for candidate in sorted(self._most_similar_ids(mine)):
            other = self._originals.get(candidate)
            if other is None or candidate == record_id:
                continue
            if other.content_hash == mine.content_hash:
                return DuplicateMatch(candidate, other.url, 1.0)
            if not mine.fingerprint:
                continue
            similarity = self._similarity.similarity(mine.fingerprint, other.fingerprint)
            if similarity >= mine.rules.min_similarity:
                return DuplicateMatch(candidate, other.url, similarity)
        return None

    def remove_original(self, record_id: int, content_hash: bytes, fingerprint: bytes) -> list[tuple[int, int]]:
        """The stored page is no longer an original. Returns the rows to delete from the index."""
        assert self._similarity is not None
        self._originals.pop(record_id, None)
        keys = index_keys(content_hash, fingerprint, self._similarity)
        for key in keys:
            if record_id in (holders := self._pages_by_key.get(key, [])):
                holders.remove(record_id)
        return [(key, record_id) for key in keys]

    def add_original(self, number: int, record_id: int, url: str) -> list[tuple[int, int]]:
        """The page of that visit is an original. Returns the rows to add to the index."""
        mine = self._page_keys[number]
        assert mine is not None
        self._originals[record_id] = Original(record_id, url, mine.content_hash, mine.fingerprint)
        entered = []
        for key in mine.keys:
            holders = self._pages_by_key.get(key)
            if holders is None:
                self._pages_by_key[key] = [record_id]
            elif len(holders) < MAX_PAGES_PER_KEY and record_id not in holders:
                holders.append(record_id)
            else:
                continue
            entered.append((key, record_id))
        return entered

    def page_rules(self, number: int) -> DuplicatesConfig | None:
        mine = self._page_keys[number] if self._page_keys else None
        return mine.rules if mine is not None else None

    def _most_similar_ids(self, mine: DuplicateKeys) -> Sequence[int]:
        """The record ids that share the most keys with this page."""
        shared: dict[int, int] = {}
        for holders in filter(None, map(self._pages_by_key.get, mine.keys)):
            for record_id in holders:
                shared[record_id] = shared.get(record_id, 0) + 1
        if len(shared) <= MAX_COMPARED_PAGES:
            return list(shared)
        return _top_by_count(shared, MAX_COMPARED_PAGES)


def _top_by_count(shared: Mapping[int, int], count: int) -> list[int]:
    """The ids with the highest counts. Of equal counts, the earliest ids."""
    return sorted(shared, key=lambda record_id: (-shared[record_id], record_id))[:count]
