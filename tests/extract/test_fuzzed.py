"""The corpus and the seeds of the fuzzer: extraction stays within its limits and keeps every promise.

A file is named after its target and why it was kept: `crash`, `hang` or `memory` until it was fixed, or `reached` when
it covered branches that no input before it had.
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
def test_corpus_is_extracted(file: Path, within: Callable[[float], None]) -> None:
    target, _, _ = file.name.partition("-")
    TARGETS[target](file.read_bytes())
    within(3.0)


@pytest.mark.parametrize(
    "body",
    [b"<p>" + b"x<br><br>" * 15_000, b"<div class='author date'>" * 40 + b"<p>Ann 2020</p>" * 5_000],
    ids=["one run of too many blocks", "nested bylines"],
)
def test_generated_long_inputs_are_extracted(body: bytes, within: Callable[[float], None]) -> None:
    TARGETS["document"](b"\0" + body)
    within(10.0)


@pytest.mark.parametrize("target", TARGETS)
def test_seeds_are_extracted(target: str) -> None:
    given = seeds(target, PAGES)
    assert all(len(data) <= 2 * SEED_BYTES for data in given)
    for data in given:
        TARGETS[target](data)


def test_every_target_gets_time() -> None:
    assert SHARES.keys() == TARGETS.keys()
    assert sum(SHARES.values()) + COST_SHARE == pytest.approx(1.0)


def test_mutation_respects_the_size_limit() -> None:
    made = {mutated(b"<p>text</p>", 100, Random(seed)) for seed in range(200)}
    assert max(map(len, made)) <= 100
    assert len(made) > 150
    assert mutated(b"<p>text</p>", 100, Random(7)) == mutated(b"<p>text</p>", 100, Random(7))
