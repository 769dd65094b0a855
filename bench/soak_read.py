"""Ten minutes of fuzzing the code that parses untrusted bytes: no crash, no hang, bounded memory and CPU.

Charset decoding, full extraction, JSON-LD, and metadata from lines of text get inputs from atheris, starting with pages
of the tests and malicious pages. An input that raises, takes more than a second of CPU or grows the process is written
to a directory; once fixed, it is added to the tests.

For a fifth of the time another fuzzer breeds documents of up to 240 kB that take much CPU per byte: see
`bench/cost_fuzz.py`. A finding becomes a line of `bench/cost_seeds.jsonl` once it is fixed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench import needs
from bench.cost_shapes import CURRENT
from bench.fuzz_targets import TARGETS
from bench.fuzz_words import SEED_BYTES, seeds
from bench.measure import end_with_parent
from bench.report import ROOT, WORKPLACE, BenchError, Report, run, say, table

MINUTES, QUICK_MINUTES = 10.0, 0.5
SHARES = {"document": 0.44, "charset": 0.12, "jsonld": 0.12, "facts": 0.12}
COST, COST_SHARE = "cost", 0.2
ENDING_SECONDS = 20
"""libFuzzer kills the process after this long on one input."""
MEGABYTES = 1_000
MOST_RESTARTS = 5
LEAST_RUNS = 100
WORKER = ROOT / "bench" / "fuzz_worker.py"
PAGES = ROOT / "tests" / "pages" / "html"
_PROGRESS = re.compile(r"^#(\d+)\s.* cov: (\d+) ", re.M)
_FOUND = re.compile(r"^FOUND (.+)$", re.M)


def main() -> None:
    run("soak_read", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, help=f"in all, otherwise {MINUTES:g} ({QUICK_MINUTES:g} when quick)")
    parser.add_argument("--target", choices=[*TARGETS, COST], help="this one alone")
    parser.add_argument("--seed", type=int, default=1, help="seed of the fuzzer, to repeat a run")
    parser.add_argument("--found", type=Path, default=WORKPLACE / "fuzz" / "found", help="directory of findings")


@dataclass
class Tried:
    """Inputs and findings of a target."""

    runs: int = 0
    reached: int = 0
    """Covered branches of `tenax.extract`."""
    found: list[str] = field(default_factory=list)

    def add(self, log: str, exit_code: int) -> None:
        counted = [(int(runs), int(reached)) for runs, reached in _PROGRESS.findall(log)]
        self.runs += max((runs for runs, _ in counted), default=0)
        self.reached = max([self.reached, *(reached for _, reached in counted)])
        self.found += _FOUND.findall(log)
        if exit_code != 0:
            self.found.append(f"the process ended with {exit_code}")


@dataclass
class Weighed:
    """Inputs and findings of the cost fuzzer."""

    runs: int = 0
    given_up: int = 0
    """Too costly, and given up within the budget."""
    worst: dict[str, float] = field(default_factory=dict)
    """CPU microseconds per byte without parsing, by mode."""
    found: list[str] = field(default_factory=list)

    def add(self, log: str, exit_code: int, current: str) -> None:
        """`log` is the output of one process, `current` its last shape."""
        lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
        self.found += [one["found"] for one in lines if "found" in one]
        if counted := [one for one in lines if "tried" in one]:
            self.runs += counted[-1]["tried"]
            self.given_up += counted[-1]["given_up"]
            for mode, cost in counted[-1]["worst_microseconds_per_byte"].items():
                self.worst[mode] = max(cost, self.worst.get(mode, 0.0))
        if exit_code != 0:
            self.found.append(f"the process ended with {exit_code} at {current}")


def measure(report: Report, chosen: argparse.Namespace) -> None:
    minutes = chosen.minutes or (QUICK_MINUTES if chosen.quick else MINUTES)
    report.is_partial = bool(chosen.minutes or chosen.target)
    shares = {chosen.target: 1.0} if chosen.target else {**SHARES, COST: COST_SHARE}
    chosen.found.mkdir(parents=True, exist_ok=True)
    tried, weighed = {}, None
    for target, share in shares.items():
        seconds = minutes * 60 * share
        if target == COST:
            weighed = _weigh(seconds, chosen.seed, chosen.found)
            _say_found(f"{COST:<10}{weighed.runs:>9,} inputs, {weighed.given_up:,} given up", weighed.found)
        else:
            python = needs.venv(".venv-fuzz", "fuzz")
            tried[target] = one = _fuzz(python, target, seconds, chosen.seed, chosen.found)
            _say_found(f"{target:<10}{one.runs:>9,} inputs, {one.reached:,} branches", one.found)
    write_report(report, tried, weighed, minutes, chosen.found)


def _say_found(line: str, found: list[str]) -> None:
    say(f"{line}, {len(found)} found")
    for one in found:
        say(f"    {one}")


def _fuzz(python: Path, target: str, seconds: float, seed: int, found: Path) -> Tried:
    """Fuzz for this long; restarts with the corpus after an input that killed the process."""
    corpus = WORKPLACE / "fuzz" / target
    shutil.rmtree(corpus, ignore_errors=True)
    corpus.mkdir(parents=True)
    for number, data in enumerate(seeds(target, PAGES)):
        (corpus / f"seed-{number}").write_bytes(data)
    tried, ends = Tried(), time.monotonic() + seconds
    for restart in range(MOST_RESTARTS):
        left = int(ends - time.monotonic())
        if left < 1:
            break
        log = corpus.with_suffix(f".{restart}.log")
        code = _work(python, target, found, corpus, log, left, seed + restart)
        tried.add(log.read_text("utf-8", "replace"), code)
        if code == 0:
            break
    return tried


def _work(python: Path, target: str, found: Path, corpus: Path, log: Path, seconds: int, seed: int) -> int:
    options = [
        f"-max_total_time={seconds}", f"-timeout={ENDING_SECONDS}", f"-rss_limit_mb={MEGABYTES}", f"-seed={seed}",
        f"-max_len={2 * SEED_BYTES}", f"-artifact_prefix={found.resolve()}/{target}-",
    ]  # fmt: skip
    command: list[str | Path] = [python, "-P", WORKER, target, found.resolve(), *options, corpus]
    return _run(command, log, seconds + 10 * ENDING_SECONDS)


def _weigh(seconds: float, seed: int, found: Path) -> Weighed:
    """Breed costly documents for this long; restarts after one that killed the process."""
    weighed, ends = Weighed(), time.monotonic() + seconds
    current = found / CURRENT
    for restart in range(MOST_RESTARTS):
        left = ends - time.monotonic()
        if left < 1:
            break
        log = WORKPLACE / "fuzz" / f"{COST}.{restart}.log"
        command: list[str | Path] = [sys.executable, "-m", "bench.cost_fuzz", f"{left:.0f}", str(seed + restart), found]
        code = _run(command, log, left + 10 * ENDING_SECONDS)
        weighed.add(log.read_text("utf-8", "replace"), code, current.read_text("utf-8") if current.exists() else "")
        if code == 0:
            break
    return weighed


def _run(command: list[str | Path], log: Path, timeout: float) -> int:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("TENAX_")}
    surroundings = inherited | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PYTHONHASHSEED": "0"}
    with log.open("wb") as out:
        return subprocess.run(
            command, check=False, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=surroundings,
            preexec_fn=end_with_parent, timeout=timeout,
        ).returncode  # fmt: skip


def write_report(report: Report, tried: dict[str, Tried], weighed: Weighed | None, minutes: float, found: Path) -> None:
    counts = [one.runs for one in (*tried.values(), weighed) if one is not None]
    if min(counts) < LEAST_RUNS:
        raise BenchError(f"too few inputs were tried for a result: see {WORKPLACE / 'fuzz'}/*.log")
    report.figure("minutes", minutes)
    if tried:
        rows = [[name, f"{one.runs:,}", f"{one.reached:,}", str(len(one.found))] for name, one in tried.items()]
        table(["target", "inputs", "branches", "found"], rows)
        for name, one in tried.items():
            report.figure(name, {"inputs": one.runs, "branches": one.reached, "found": list(one.found)})
        count = sum(len(one.found) for one in tried.values())
        report.at_most("crashes, hangs and memory eaten", count, 0)
    if weighed is not None:
        table(["way of reading", "worst µs of CPU for a byte"], [[m, f"{c:.2f}"] for m, c in weighed.worst.items()])
        report.figure(
            COST,
            {
                "inputs": weighed.runs,
                "given_up": weighed.given_up,
                "worst_microseconds_per_byte": dict(weighed.worst),
                "found": list(weighed.found),
            },
        )
        report.at_most("costs out of bounds or proportion", len(weighed.found), 0)
    if not report.ok:
        say(f"What was found is in {found}.")


if __name__ == "__main__":
    main()
