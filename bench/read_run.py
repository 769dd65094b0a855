"""Runs one extractor over every page in its own processes; a page that kills a process is recorded and skipped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import needs
from bench.measure import end_with_parent
from bench.report import ROOT, BenchError, say

PAGE_SECONDS, PAGE_MEGABYTES = 20.0, 4000
"""Limits per page, of wall time and address space: far more than a normal page needs."""
MOST_ENDINGS = 50
"""An extractor that kills its process more often is broken here, and gives no result."""
WORKER = ROOT / "bench" / "read_worker.py"


@dataclass(frozen=True)
class Extractor:
    """The function and its environment."""

    name: str
    words: str
    where: str
    python: Path
    import_path: str


@dataclass
class Reading:
    """The results of one extractor."""

    found: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By page number, from the first successful pass."""
    times: dict[int, list[float]] = field(default_factory=dict)
    """CPU milliseconds of each pass. A page over its time limit counts with the limit."""
    ended: dict[int, str] = field(default_factory=dict)
    """Pages that killed the process, and how."""

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        for row in rows:
            number = row["page"]
            self.found.setdefault(number, dict(row))
            self.times.setdefault(number, []).append(row["cpu_ms"])

    @property
    def cpu_ms(self) -> dict[int, float]:
        """By page, the median of the passes."""
        return {number: statistics.median(times) for number, times in self.times.items()}

    @property
    def passes(self) -> list[float]:
        """The mean of all pages, pass by pass."""
        count = max(map(len, self.times.values()), default=0)
        return [
            statistics.fmean(times[min(number, len(times) - 1)] for times in self.times.values())
            for number in range(count)
        ]

    @property
    def errors(self) -> int:
        return sum("error" in row for row in self.found.values())


def read_all(extractor: Extractor, pages: Path, count: int, reading: Reading) -> None:
    """One pass. Pages that killed a process are not tried again."""
    out = pages.with_name(f"{extractor.name}.jsonl")
    out.unlink(missing_ok=True)
    first = 0
    while first < count:
        if first in reading.ended:
            first += 1
            continue
        stop = min((number for number in reading.ended if number > first), default=count)
        code = _work(extractor, pages, out, first, stop)
        done = _rows(out)
        out.unlink(missing_ok=True)
        reading.add(done)
        first = max((row["page"] + 1 for row in done), default=first)
        if first < stop:
            _note_ending(extractor, reading, first, code, _log(out))


def _note_ending(extractor: Extractor, reading: Reading, page: int, code: int, log: Path) -> None:
    if code >= 0 or len(reading.ended) >= MOST_ENDINGS:
        raise BenchError(f"{extractor.words} stopped at page {page} with exit code {code}: see {log}")
    reading.ended[page] = signal.Signals(-code).name
    reading.found[page] = {}
    if -code == signal.SIGALRM:
        reading.times[page] = [PAGE_SECONDS * 1000]
    say(f"{extractor.words}: page {page} went over {PAGE_SECONDS:g} s or {PAGE_MEGABYTES:,} MB ({-code})")


def _work(extractor: Extractor, pages: Path, out: Path, first: int, stop: int) -> int:
    limits = [str(first), str(stop), str(PAGE_SECONDS), str(PAGE_MEGABYTES)]
    command: list[str | Path] = [extractor.python, "-P", WORKER, extractor.where, pages, out, *limits]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("TENAX_")}
    with _log(out).open("wb") as log:
        return subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=inherited | {"PYTHONPATH": extractor.import_path, "PYTHONHASHSEED": "0"},
            preexec_fn=end_with_parent,
        ).returncode


def _log(out: Path) -> Path:
    return out.with_suffix(".log")


def _rows(out: Path) -> list[dict[str, Any]]:
    """Complete lines: the last may be cut off by a kill."""
    if not out.exists():
        return []
    lines = out.read_text("utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def rust_python() -> Path:
    """A Python 3.12, the only one that rs-trafilatura has a wheel for: on PATH, or among those that pyenv keeps."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which("python3.12")
    candidates = [*([Path(on_path)] if on_path else []), *sorted(kept.glob("3.12.*/bin/python3.12"), reverse=True)]
    for python in candidates:
        # What pyenv puts on PATH answers only if that version is switched on.
        if subprocess.run([python, "-I", "-c", ""], check=False, capture_output=True).returncode == 0:
            return needs.venv(".venv-readers-rust", "readers-rust", python)
    raise BenchError("rs-trafilatura has a wheel for Python 3.12 only, and there is none here")
