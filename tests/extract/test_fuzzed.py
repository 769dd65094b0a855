"""What a fuzzer kept, and what it begins with: read within the limits, with every promise kept.

A file is named after its target and why it was kept: `crash`, `hang` or `memory` until it was mended, or `reached` when
it came through branches that no input before it had.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from bench.fuzz_targets import TARGETS
from bench.fuzz_words import SEED_BYTES, mutated, seeds
from bench.soak_read import COST_SHARE, PAGES, SHARES

FUZZED = Path(__file__).parent / "fuzzed"
KEPT = sorted(FUZZED.iterdir())


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.name)
def test_what_was_kept_is_read(file: Path, within: Callable[[float], None]) -> None:
    target, _, _ = file.name.partition("-")
    TARGETS[target](file.read_bytes())
    within(3.0)


@pytest.mark.parametrize(
    "body",
    [b"<p>" + b"x<br><br>" * 15_000, b"<div class='author date'>" * 40 + b"<p>Ann 2020</p>" * 5_000],
    ids=["one run of too many blocks", "nested bylines"],
)
def test_what_is_too_long_to_keep_is_read(body: bytes, within: Callable[[float], None]) -> None:
    TARGETS["document"](b"\0" + body)
    within(10.0)


@pytest.mark.parametrize("target", TARGETS)
def test_what_the_fuzzer_begins_with_is_harmless(target: str) -> None:
    given = seeds(target, PAGES)
    assert all(len(data) <= 2 * SEED_BYTES for data in given)
    for data in given:
        TARGETS[target](data)


def test_every_target_has_its_share_of_the_time() -> None:
    assert SHARES.keys() == TARGETS.keys()
    assert sum(SHARES.values()) + COST_SHARE == pytest.approx(1.0)


def test_a_mutation_is_another_input_of_at_most_that_size() -> None:
    made = {mutated(b"<p>text</p>", 100, Random(seed)) for seed in range(200)}
    assert max(map(len, made)) <= 100
    assert len(made) > 150
    assert mutated(b"<p>text</p>", 100, Random(7)) == mutated(b"<p>text</p>", 100, Random(7))
