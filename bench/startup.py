"""The time of `tenax --help` and `import tenax`.

Wall time of whole processes, warm. `--help` goes through `scripts/tenax`, its set-up check included; the import is a
`python -c "import tenax"`, the start of Python included. The time of Python alone is reported too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.measure import interleaved
from bench.report import ROOT, BenchError, Report, median, run

RUNS, QUICK_RUNS = 15, 5
HELP_BAR_SECONDS = 0.3
IMPORT_BAR_SECONDS = 0.15


def main() -> None:
    run("startup", measure)


def measure(report: Report, chosen: argparse.Namespace) -> None:
    commands: dict[str, Sequence[str | Path]] = {
        "help": [ROOT / "scripts" / "tenax", "--help"],
        "import": [sys.executable, "-c", "import tenax"],
        "nothing": [sys.executable, "-c", "pass"],
    }
    runs = QUICK_RUNS if chosen.quick else RUNS
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():
        _seconds_of(command)  # the first one compiles and fills the disk cache
    timers = {name: (lambda _, command=command: _seconds_of(command)) for name, command in commands.items()}
    for name, taken in interleaved(timers, runs):
        seconds[name].append(taken)
    report.figure("help_seconds", median(seconds["help"]))
    report.figure("import_seconds", median(seconds["import"]))
    report.figure("python_alone_seconds", median(seconds["nothing"]))
    report.figure("runs", runs)
    report.below("help_seconds", median(seconds["help"]), HELP_BAR_SECONDS)
    report.below("import_seconds", median(seconds["import"]), IMPORT_BAR_SECONDS)


def _seconds_of(command: Sequence[str | Path]) -> float:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TENAX_")} | {
        "PYTHONPATH": str(ROOT / "src")
    }
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    taken = time.perf_counter() - started
    if done.returncode != 0:
        raise BenchError(f"{command[-1]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return taken


if __name__ == "__main__":
    main()
