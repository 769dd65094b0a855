"""The worst document of ten megabytes: what it costs is bounded, whatever it multiplies."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.e2e.program import ROOT, environment
from tests.hostile.documents import DOCUMENTS, MEGABYTE, SIZE, SLACK_SECONDS, TAGS

MOST_BYTES = 200 * MEGABYTE
"""Of the whole process that reads it, the document itself and Python included."""
MOST_SECONDS = 20.0
"""For it to be read twice. It takes a tenth of that, but machines differ."""
MOST_GROWTH = 9.0
"""How much more a document of four times the size may cost: four times, if that is linear; by the square, sixteen."""


@pytest.fixture(scope="module")
def costs() -> dict[str, dict[str, Any]]:
    """What each document took; one whose process was ended is missing."""
    return costs_of()


@pytest.fixture(scope="module")
def costs_in_python() -> dict[str, dict[str, Any]]:
    return costs_of("--no-native")


def costs_of(*options: str) -> dict[str, dict[str, Any]]:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.hostile.documents", *options],
        cwd=ROOT, env={**environment(), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}, stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    lines = [json.loads(line) for line in ran.stdout.decode().splitlines()]
    return {line["name"]: line for line in lines}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_worst_documents_take_little(name: str, costs: dict[str, dict[str, Any]]) -> None:
    check(name, costs)


@pytest.mark.parametrize("name", TAGS)
def test_they_take_little_without_the_native(name: str, costs_in_python: dict[str, dict[str, Any]]) -> None:
    check(name, costs_in_python)


def check(name: str, costs: dict[str, dict[str, Any]]) -> None:
    assert name in costs, "it took a minute, or two gigabytes"
    cost = costs[name]
    of_a_quarter, of_all = cost["seconds"]
    assert cost["bytes"] < MOST_BYTES
    assert cost["sent"] < 2.5 * SIZE
    assert of_all < MOST_SECONDS
    assert of_all < MOST_GROWTH * of_a_quarter + SLACK_SECONDS
