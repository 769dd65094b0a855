"""Millions of invisible characters: each is escaped where it is printed, and that costs little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.program import ROOT, environment
from tests.hostile.documents import MEGABYTE

MOST_BYTES = 200 * MEGABYTE
MOST_SECONDS = 10.0
"""Far more than it takes anywhere, and far less than escaping one by one took."""
CHARS = 2_000_000


@pytest.mark.parametrize("options", [("json",), ("json", "--explain"), ("text",), ("markdown",)], ids=" ".join)
@pytest.mark.parametrize("text", ["\u200b", "a\u200b"])
def test_reading_them_takes_little(text: str, options: tuple[str, ...], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<meta charset=utf-8><p>word" + text * (CHARS // len(text)), encoding="utf-8")
    with (tmp_path / "out").open("wb") as out:
        ran = subprocess.run(
            [sys.executable, "-m", "tests.hostile.cost", "read", page, "--set", "extract.max_cpu_seconds=60",
             "--format", *options],
            cwd=ROOT, env={**environment(), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}, stdout=out, stderr=subprocess.PIPE,
        )  # fmt: skip
    cost = json.loads(ran.stderr.decode().splitlines()[-1])
    assert cost["code"] == 0
    assert cost["bytes"] < MOST_BYTES
    assert cost["seconds"] < MOST_SECONDS
    shown = (tmp_path / "out").read_text(encoding="utf-8")
    assert "word" in shown
    assert "\u200b" not in shown
