"""A minute of the fuzzer of cost: no small document takes long to read, whatever is repeated in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

from bench.cost_fuzz import Cost, overrun
from bench.cost_shapes import (
    CURRENT,
    MOST_RUNS,
    MOST_UNIT_CHARS,
    Run,
    Shape,
    kept_shapes,
    mutated,
    random_shape,
    shape_in,
)
from tenax.crawl.single_page import MAX_CPU_SECONDS
from tests.e2e.program import ROOT, environment

DOCUMENTS = 250
SEED = 1
"""The documents are the same in every run."""


def test_no_document_of_the_fuzzer_takes_long(tmp_path: Path) -> None:
    """In a process of its own, which the system ends if need be. Found is only what takes several times as long as it
    may, or grows by the square: that says something on a slow machine too."""
    command: list[str | Path] = [sys.executable, "-m", "bench.cost_fuzz", f"{DOCUMENTS}x", str(SEED), tmp_path]
    ran = subprocess.run(
        command, cwd=ROOT, env={**environment(), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}, stdout=subprocess.PIPE
    )
    assert ran.returncode == 0, f"it was ended by {(tmp_path / CURRENT).read_text('utf-8')}"
    *found, summary = [json.loads(line) for line in ran.stdout.decode().splitlines()]
    assert found == []
    assert summary["tried"] > DOCUMENTS
    assert 0 < summary["given_up"] < summary["tried"] / 2, "most documents are read, or nothing was tried"


def test_a_shape_is_made_at_any_size() -> None:
    shape = Shape("html", (Run("<table>", 0), Run("<td>%d", 1), Run("é", 3)))
    assert shape.made(0) == "<table><td>0é".encode()
    assert shape.made(150).startswith(b"<table><td>0<td>1<td>2")
    for made in (shape, *kept_shapes(), *map(random_shape, map(Random, range(200)))):
        assert len(made.made(20_000)) < 30_000
        assert made.made(40_000) == shape_in(made.line()).made(40_000)


def test_a_mutation_is_another_shape_that_is_no_larger_than_it_may() -> None:
    kept = kept_shapes()
    made = {mutated(kept[seed % len(kept)], kept, Random(seed)) for seed in range(500)}
    assert len(made) > 400
    for shape in made:
        assert len(shape.runs) <= MOST_RUNS
        assert any(run.share for run in shape.runs)
        assert all(0 < len(run.text) <= MOST_UNIT_CHARS for run in shape.runs)


def test_what_takes_longer_than_it_may_is_found() -> None:
    page, feed = Shape("html", (Run("x", 1),)), Shape("feed", (Run("x", 1),))
    assert overrun(page, "read", Cost(MAX_CPU_SECONDS + 0.6, 0.0, "too costly to read: …")) is None
    assert overrun(page, "read", Cost(MAX_CPU_SECONDS + 3, 1.0)) is not None
    assert overrun(feed, "native", Cost(MAX_CPU_SECONDS + 3, 0.0)) is None, "a list has five times as long"
