"""What a benchmark says: a table and bars for people, and one last line of JSON for machines.

A benchmark is a function that fills a `Report`; `run` gives it the options every benchmark has, and sees to it that
the last line is written however the measuring ends.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, TypeAlias

Number: TypeAlias = int | float
Figure: TypeAlias = Number | str | bool | list["Figure"] | dict[str, "Figure"] | None

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"
WORKPLACE = ROOT / ".bench"
"""Where benchmarks keep their sites, databases and outputs: on the disk of the clone, where an fsync is a real one."""


class BenchError(Exception):
    """The measurement is worthless, and this is why."""


@dataclass(frozen=True)
class Bar:
    """A promise and what was measured. The limit itself passes, except for `below` and `above`."""

    value: Number
    sign: str
    limit: Number

    @property
    def ok(self) -> bool:
        return {
            "≥": self.value >= self.limit,
            "≤": self.value <= self.limit,
            "<": self.value < self.limit,
            ">": self.value > self.limit,
        }[self.sign]


@dataclass
class Report:
    """Figures and bars of one run, in the order they were added."""

    name: str
    is_quick: bool = False
    is_partial: bool = False
    """Someone asked for less than the whole benchmark: the result is shown, but not kept."""
    figures: dict[str, Figure] = field(default_factory=dict)
    bars: dict[str, Bar] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True when something was promised, measured and held."""
        return bool(self.bars) and all(bar.ok for bar in self.bars.values()) and "error" not in self.figures

    def figure(self, name: str, value: Figure) -> None:
        self.figures[name] = _rounded(value)

    def at_least(self, what: str, value: Number, limit: Number) -> None:
        self.bars[what] = Bar(value, "≥", limit)

    def at_most(self, what: str, value: Number, limit: Number) -> None:
        self.bars[what] = Bar(value, "≤", limit)

    def below(self, what: str, value: Number, limit: Number) -> None:
        self.bars[what] = Bar(value, "<", limit)

    def above(self, what: str, value: Number, limit: Number) -> None:
        self.bars[what] = Bar(value, ">", limit)

    def as_json(self) -> dict[str, Figure]:
        bars: dict[str, Figure] = {
            what: {"value": _rounded(bar.value), "bar": bar.limit, "ok": bar.ok} for what, bar in self.bars.items()
        }
        return {"name": self.name, "figures": self.figures, "bars": bars, "ok": self.ok}

    def finish(self) -> int:
        """Print the bars and the line of JSON, keep the file, and give the exit code.

        A quick run is kept beside the real one, under a name that git ignores; a run with an error or without bars
        is not kept.
        """
        self.figure("machine", machine())
        if "error" in self.figures:
            say(f"error: {self.figures['error']}")
        elif self.bars:
            rows = [
                [w, short(b.value), f"{b.sign} {b.limit}", "ok" if b.ok else "MISSED"] for w, b in self.bars.items()
            ]
            table(["bar", "measured", "asked", ""], rows)
        else:
            say("No bar was judged in this run.")
        if self.bars and not self.is_partial and "error" not in self.figures:
            RESULTS.mkdir(exist_ok=True)
            file = RESULTS / f"{self.name}{'-quick' if self.is_quick else ''}.json"
            file.write_text(json.dumps(self.as_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        print(json.dumps(self.as_json(), ensure_ascii=False), flush=True)
        return 0 if self.ok else 1


def run(
    name: str,
    measure: Callable[[Report, argparse.Namespace], None],
    options: Callable[[argparse.ArgumentParser], None] | None = None,
) -> NoReturn:
    """The `main` of a benchmark: read options, measure, report, exit. SIGTERM ends it as Ctrl-C does, tidily."""
    parser = argparse.ArgumentParser(prog=name, description=sys.modules["__main__"].__doc__)
    parser.add_argument("--quick", action="store_true", help="a smaller run of the same shape")
    if options is not None:
        options(parser)
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    report = Report(name, is_quick=chosen.quick)
    try:
        measure(report, chosen)
    except BenchError as error:
        report.figure("error", str(error))
    sys.exit(report.finish())


def say(line: str) -> None:
    """A line of progress."""
    print(line, flush=True)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns wide enough for their words; numbers, which are all but the first column, to the right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    lines.insert(1, ["─" * width for width in widths])
    say("")
    for first, *rest in lines:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        say("  ".join(cells).rstrip())
    say("")


def median(values: Iterable[Number]) -> float:
    return float(statistics.median(values))


def short(value: Number) -> str:
    """A number as a person reads it: three digits that mean something."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def machine() -> dict[str, Figure]:
    """What it was measured on; figures of different machines compare as ratios only."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "cores": len(os.sched_getaffinity(0)),
        "cpu": models[0] if models else platform.machine(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
    }


def _rounded(value: Figure) -> Figure:
    """Four digits are more than any clock here can promise."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return value
