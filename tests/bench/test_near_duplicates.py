"""The edits that near-duplicates are measured by touch as much of a text as they say."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from bench.near_duplicates import EDITS, _generated, _pairs

TEXT = [f"t{number}" for number in range(200)]
OTHER = [f"o{number}" for number in range(200)]


@pytest.mark.parametrize(
    ("kind", "lost", "gained"),
    [("words replaced", 20, 20), ("sentences dropped", 20, 0), ("sentences moved", 0, 0), ("boilerplate added", 0, 20)],
)
@pytest.mark.parametrize("seed", range(5))
def test_an_edit_touches_as_many_words_as_asked(kind: str, lost: int, gained: int, seed: int) -> None:
    edited = EDITS[kind](TEXT, OTHER, 20, random.Random(seed))
    assert edited != TEXT
    assert (Counter(TEXT) - Counter(edited)).total() == lost
    assert (Counter(edited) - Counter(TEXT)).total() == gained


def test_pairs_are_near_or_not_by_how_they_were_made() -> None:
    rng = random.Random(1)
    pairs = list(_pairs([text[:300] for text in _generated(rng, count=8)], count=1, rng=rng))
    assert {pair.kind for pair in pairs if pair.is_near} == EDITS.keys()
    assert {pair.kind for pair in pairs if not pair.is_near} == {"unrelated", "shared boilerplate"}
    assert {pair.length for pair in pairs} == {50, 200}
