"""Feeds of all formats, well-formed and not, beside feedparser: agreement and CPU time.

feedparser is the reference: Tenax is compared with its result of the same run, file by file. Both get the same bytes,
URL and type, in separate processes. CPU time is per file, the minimum over the passes. The feeds are not part of this
project: `--corpus` names their directory.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench import needs
from bench.feeds_corpus import WHAT_IT_NEEDS, lay_out
from bench.measure import interleaved
from bench.read_run import Extractor, Reading, read_all
from bench.report import ROOT, WORKPLACE, BenchError, Figure, Report, run, say, short, table

PASSES, QUICK_PASSES = 5, 2
BAR_AGREEMENT, BAR_CPU = 0.99, 0.333
ASPECTS = ("entries", "links", "titles", "dates")
WORDS = {"tenax": "Tenax", "feedparser": "feedparser", "feedparser_plain": "feedparser, without its sanitizer"}


def main() -> None:
    run("feeds", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", type=Path, help="a directory with feeds.jsonl or feeds.jsonl.xz")
    parser.add_argument("--differences", action="store_true", help="list each file with differences")


def measure(report: Report, chosen: argparse.Namespace) -> None:
    if chosen.corpus is None:
        raise BenchError(WHAT_IT_NEEDS)
    compare(report, chosen.corpus, is_quick=chosen.quick, names_differences=chosen.differences)


def compare(report: Report, corpus: Path, *, is_quick: bool, names_differences: bool = False) -> None:
    workplace = WORKPLACE / "feeds"
    workplace.mkdir(parents=True, exist_ok=True)
    file = workplace / "feeds.jsonl"
    names, large = lay_out(corpus, file, is_quick)
    passes = QUICK_PASSES if is_quick else PASSES
    readings = {one.name: Reading() for one in _readers()}
    count = len(names) + len(large)
    contestants = {one.name: partial(_one_pass, one, file, count, readings[one.name]) for one in _readers()}
    for name, cost in interleaved(contestants, passes):
        say(f"{WORDS[name]:<36} {cost:8,.3f} CPU ms a file")
    file.unlink()
    report.figure("files", len(names))
    report.figure("passes", passes)
    differing = differences(names, readings["tenax"].found, readings["feedparser"].found)
    report.figure("agreement", {what: 1 - len(files) / len(names) for what, files in differing.items()})
    report.figure("cpu_ms", {name: _mean(reading, range(len(names))) for name, reading in readings.items()})
    report.figure("large", _large(len(names), large, readings))
    _show(report, differing if names_differences else {})
    _judge(report)


def _readers() -> list[Extractor]:
    python = needs.venv(".venv-feeds", "feeds")
    peers = str(ROOT / "bench" / "peers")
    ours = f"{ROOT / 'src'}:{ROOT}"
    return [
        Extractor("tenax", WORDS["tenax"], "bench.feeds_ours:parsed", Path(sys.executable), ours),
        Extractor("feedparser", WORDS["feedparser"], "feeds:parsed", python, peers),
        Extractor("feedparser_plain", WORDS["feedparser_plain"], "feeds:parsed_plainly", python, peers),
    ]


def _one_pass(reader: Extractor, file: Path, count: int, reading: Reading, _number: int) -> float:
    """Gives the mean cost of a file so far."""
    read_all(reader, file, count, reading)
    return sum(reading.cpu_ms.values()) / len(reading.cpu_ms)


def _mean(reading: Reading, files: Sequence[int]) -> float:
    return sum(reading.cpu_ms[number] for number in files) / len(files)


# ---- agreement -------------------------------------------------------------------------------------------


def differences(
    names: Sequence[str], ours: Mapping[int, Mapping[str, Any]], theirs: Mapping[int, Mapping[str, Any]]
) -> dict[str, list[str]]:
    """Files with differences: per aspect of entries, in any of them, and in the feed's own fields."""
    found: dict[str, list[str]] = {what: [] for what in (*ASPECTS, "all four", "all four and the feed's own")}
    for number, name in enumerate(names):
        one, other = ours.get(number, {}), theirs.get(number, {})
        differing = [what for what in ASPECTS if _aspect(one, what) != _aspect(other, what)]
        for what in differing:
            found[what].append(name)
        if differing:
            found["all four"].append(name)
        if differing or one.get("of_feed") != other.get("of_feed"):
            found["all four and the feed's own"].append(name)
    return found


def _aspect(answer: Mapping[str, Any], what: str) -> object:
    """A missing answer agrees with nothing."""
    if "links" not in answer:
        return object()
    return len(answer["links"]) if what == "entries" else answer[what]


# ---- report -----------------------------------------------------------------------------------------------


def _large(first: int, large: Sequence[tuple[str, int]], readings: Mapping[str, Reading]) -> dict[str, Figure]:
    """CPU milliseconds for each megabyte; whether all of an honest feed's entries were found alike."""
    figures: dict[str, Figure] = {}
    for number, (name, length) in enumerate(large, first):
        costs: dict[str, Figure] = {who: one.cpu_ms[number] * 1e6 / length for who, one in readings.items()}
        same = readings["tenax"].found[number].get("links") == readings["feedparser"].found[number].get("links")
        figures[name] = {"megabytes": length / 1e6, "same_links": same, "cpu_ms_a_megabyte": costs}
    return figures


def _show(report: Report, differing: Mapping[str, Sequence[str]]) -> None:
    for name in differing.get("all four and the feed's own", ()):
        say(f"{name}: {', '.join(what for what in ASPECTS if name in differing[what]) or 'the feed itself'}")
    agreement, costs, large = (report.figures[name] for name in ("agreement", "cpu_ms", "large"))
    assert isinstance(agreement, dict) and isinstance(costs, dict) and isinstance(large, dict)
    table(["agree on", "share of files"], [[what, f"{float(str(share)):.4f}"] for what, share in agreement.items()])
    rows = [["a file of the corpus, CPU ms", *(short(float(str(cost))) for cost in costs.values())]]
    for name, figures in large.items():
        assert isinstance(figures, dict)
        each = figures["cpu_ms_a_megabyte"]
        assert isinstance(each, dict)
        rows.append([f"{name}, CPU ms a MB", *(short(float(str(cost))) for cost in each.values())])
    table(["", *(WORDS[name] for name in costs)], rows)


def _judge(report: Report) -> None:
    agreement, costs = report.figures["agreement"], report.figures["cpu_ms"]
    assert isinstance(agreement, dict) and isinstance(costs, dict)
    for what in (*ASPECTS, "all four"):
        report.at_least(f"files that agree on {what}", float(str(agreement[what])), BAR_AGREEMENT)
    least = min(float(str(costs[name])) for name in costs if name != "tenax")
    report.at_most("CPU a file, of feedparser's least", float(str(costs["tenax"])) / least, BAR_CPU)


if __name__ == "__main__":
    main()
