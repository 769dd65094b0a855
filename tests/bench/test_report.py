"""The last line of a benchmark, and its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import report as report_module
from bench.report import Report


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(report_module, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def last_line(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    loaded = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert isinstance(loaded, dict)
    return loaded


def test_every_bar_held(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    report = Report("speed")
    report.figure("pages_per_second", 1234.5678)
    report.at_least("ratio", 8, 8)
    report.at_most("bytes", 150, 150)
    report.below("seconds", 0.29, 0.3)
    assert report.finish() == 0
    line = last_line(capsys)
    assert list(line) == ["name", "figures", "bars", "ok"]
    assert line["ok"] is True
    assert line["bars"] == {
        "ratio": {"value": 8, "bar": 8, "ok": True},
        "bytes": {"value": 150, "bar": 150, "ok": True},
        "seconds": {"value": 0.29, "bar": 0.3, "ok": True},
    }
    assert json.loads((results / "speed.json").read_text()) == line


@pytest.mark.parametrize(
    ("sign", "value"),
    [("at_least", 7.99), ("at_most", 8.01), ("below", 8.0), ("above", 8.0)],
    ids=["least", "most", "below", "above"],
)
def test_one_bar_missed(sign: str, value: float, capsys: pytest.CaptureFixture[str]) -> None:
    report = Report("speed", is_quick=True)
    report.at_least("other", 2, 1)
    getattr(report, sign)("this", value, 8)
    assert report.finish() == 1
    assert last_line(capsys)["ok"] is False


def test_a_run_without_bars_is_not_a_success(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    assert Report("speed").finish() == 1
    assert last_line(capsys)["ok"] is False
    assert not results.exists()


def test_a_quick_run_leaves_the_real_result_alone(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    report = Report("speed", is_quick=True)
    report.at_least("ratio", 9, 8)
    report.finish()
    assert [file.name for file in results.iterdir()] == ["speed-quick.json"]


def test_a_part_of_a_benchmark_is_not_kept(capsys: pytest.CaptureFixture[str], results: Path) -> None:
    report = Report("speed", is_partial=True)
    report.at_least("ratio", 9, 8)
    assert report.finish() == 0
    assert last_line(capsys)["ok"] is True
    assert not results.exists()


def test_an_error_is_in_the_last_line(tmp_path: Path) -> None:
    code = (
        "from bench.report import BenchError, run\n"
        "def measure(report, chosen):\n"
        "    report.at_least('ratio', 9, 8)\n"
        "    raise BenchError('two pages are missing')\n"
        "run('broken', measure)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    line = json.loads(done.stdout.splitlines()[-1])
    assert (line["ok"], line["figures"]["error"]) == (False, "two pages are missing")
