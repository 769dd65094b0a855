"""A parser whose nodes have another layout is read correctly or refused, and never crashes the process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.program import ROOT, environment
from tests.extract.native.parser_layouts import DIFFERENCES, HARMLESS, MIXED_LAYOUTS, layouts

NAMES = [name for name, _ in layouts()]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of each layout. Those after a crash are missing."""
    library = tmp_path_factory.mktemp("parser") / "fake_parser.so"
    source = Path(__file__).with_name("fake_parser.c")
    warnings = ("-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Werror")
    subprocess.run(["cc", *warnings, "-shared", "-fPIC", "-O1", source, "-o", library], check=True)
    ran = subprocess.run(
        [sys.executable, "-m", "tests.extract.native.parser_layouts", library],
        cwd=ROOT, env={**environment(), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}, stdout=subprocess.PIPE, check=False,
    )  # fmt: skip
    return dict(map(json.loads, ran.stdout.decode().splitlines()))


@pytest.mark.parametrize("name", NAMES)
def test_layout_is_read_or_refused(name: str, outcomes: dict[str, str]) -> None:
    assert name in outcomes, "the process crashed"
    outcome, _, _ = outcomes[name].partition(":")
    difference, _, _ = name.partition(",")
    if difference in DIFFERENCES:
        is_read = difference in HARMLESS
    else:
        is_read = difference != "text out of reach"
    assert outcome == ("read" if is_read else "does not fit this selectolax")


def test_layouts_are_many() -> None:
    assert len(NAMES) == len(set(NAMES)) > MIXED_LAYOUTS + 60
