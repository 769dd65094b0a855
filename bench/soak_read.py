"""Ten minutes of a coverage-guided fuzzer at what reads the bytes of strangers: no crash, no hang, no memory eaten.

Charset decoding, the whole reading of a page, JSON-LD, and the facts taken from lines of text are each given inputs
that atheris makes, beginning with pages of the tests and pages written in bad faith. An input that raises, takes more
than a second of CPU or grows the process is written to a directory; once mended it belongs to the tests.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench import needs
from bench.fuzz_targets import TARGETS
from bench.fuzz_words import SEED_BYTES, seeds
from bench.measure import end_with_parent
from bench.report import ROOT, WORKPLACE, BenchError, Report, run, say, table

MINUTES, QUICK_MINUTES = 10.0, 0.5
SHARES = {"document": 0.55, "charset": 0.15, "jsonld": 0.15, "facts": 0.15}
ENDING_SECONDS = 20
"""After so long on one input, code that never returns to the interpreter is ended by libFuzzer."""
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
    parser.add_argument("--target", choices=list(TARGETS), help="this one alone")
    parser.add_argument("--seed", type=int, default=1, help="of the fuzzer's choices, so that a run can be repeated")
    parser.add_argument("--found", type=Path, default=WORKPLACE / "fuzz" / "found", help="where what was found is kept")


@dataclass
class Tried:
    """What a target was given and made of it."""

    runs: int = 0
    reached: int = 0
    """Branches of `tenax.parse` that some input came through."""
    found: list[str] = field(default_factory=list)

    def add(self, log: str, exit_code: int) -> None:
        counted = [(int(runs), int(reached)) for runs, reached in _PROGRESS.findall(log)]
        self.runs += max((runs for runs, _ in counted), default=0)
        self.reached = max([self.reached, *(reached for _, reached in counted)])
        self.found += _FOUND.findall(log)
        if exit_code != 0:
            self.found.append(f"the process ended with {exit_code}")


def measure(report: Report, chosen: argparse.Namespace) -> None:
    minutes = chosen.minutes or (QUICK_MINUTES if chosen.quick else MINUTES)
    report.is_partial = bool(chosen.minutes or chosen.target)
    shares = {chosen.target: 1.0} if chosen.target else SHARES
    python = needs.venv(".venv-fuzz", "fuzz")
    chosen.found.mkdir(parents=True, exist_ok=True)
    tried = {}
    for target, share in shares.items():
        tried[target] = one = _fuzz(python, target, minutes * 60 * share, chosen.seed, chosen.found)
        say(f"{target:<10}{one.runs:>9,} inputs, {one.reached:,} branches, {len(one.found)} found")
        for line in one.found:
            say(f"    {line}")
    _tell(report, tried, minutes, chosen.found)


def _fuzz(python: Path, target: str, seconds: float, seed: int, found: Path) -> Tried:
    """Fuzz for so long; after an input that ended the process, again, with what was learnt so far."""
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
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("TENAX_")}
    surroundings = inherited | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PYTHONHASHSEED": "0"}
    with log.open("wb") as out:
        return subprocess.run(
            command, check=False, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=surroundings,
            preexec_fn=end_with_parent, timeout=seconds + 10 * ENDING_SECONDS,
        ).returncode  # fmt: skip


def _tell(report: Report, tried: dict[str, Tried], minutes: float, found: Path) -> None:
    least = min(tried.values(), key=lambda one: one.runs)
    if least.runs < LEAST_RUNS:
        raise BenchError(f"too few inputs were tried to tell anything: see {WORKPLACE / 'fuzz'}/*.log")
    rows = [[name, f"{one.runs:,}", f"{one.reached:,}", str(len(one.found))] for name, one in tried.items()]
    table(["target", "inputs", "branches", "found"], rows)
    report.figure("minutes", minutes)
    for name, one in tried.items():
        report.figure(name, {"inputs": one.runs, "branches": one.reached, "found": list(one.found)})
    count = sum(len(one.found) for one in tried.values())
    if count:
        say(f"What was found is in {found}.")
    report.at_most("crashes, hangs and memory eaten", count, 0)


if __name__ == "__main__":
    main()
