"""Article text and metadata of real pages beside five other extractors: how right, and at what CPU.

All get the same HTML as text with its URL, in separate processes. CPU time is per page; one-time initialization runs
before the first page. Tenax and trafilatura alternate over several passes, and their ratio is taken within each pass.
Texts are compared with human labels: shingles of four words where a page has its full text, snippets otherwise. The
pages are not part of this project: `--corpus` names their directory.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench import needs
from bench.read_corpus import WHAT_IT_NEEDS, lay_out
from bench.read_run import Extractor, Reading, read_all, rust_python
from bench.read_tally import OURS, RIVAL, Tally, cpu_figures, figures_of, judge, tally
from bench.report import ROOT, WORKPLACE, BenchError, Report, run, say, short, table

PASSES, QUICK_PASSES = 3, 1
FLOOR = "parse"
WORDS = {
    "tenax": "Tenax",
    "trafilatura": "trafilatura",
    "trafilatura_fast": "trafilatura, fast",
    "trafilatura_precision": "trafilatura, precision",
    "rs_trafilatura": "rs-trafilatura",
    "resiliparse": "resiliparse",
    "newspaper4k": "newspaper4k",
    "readability_lxml": "readability-lxml",
    FLOOR: "parsing alone (lexbor)",
}


def main() -> None:
    run("read", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", type=Path, help="a directory of pages-NAME.jsonl or .jsonl.xz")
    parser.add_argument("--only", help=f"a part of: {','.join(WORDS)}; bars need Tenax, most of them trafilatura")
    parser.add_argument("--passes", type=int, help=f"otherwise {PASSES} ({QUICK_PASSES} when quick)")


def measure(report: Report, chosen: argparse.Namespace) -> None:
    if chosen.corpus is None:
        raise BenchError(WHAT_IT_NEEDS)
    names = _selected(chosen.only)
    report.is_partial = bool(chosen.only or chosen.passes)
    passes = chosen.passes or (QUICK_PASSES if chosen.quick else PASSES)
    extractors = _extractors(report, names)
    workplace = WORKPLACE / "read"
    workplace.mkdir(parents=True, exist_ok=True)
    file = workplace / "pages.jsonl"
    pages = lay_out(chosen.corpus, file, chosen.quick)
    readings = {name: Reading() for name in extractors}
    for name in schedule(list(extractors), passes):
        read_all(extractors[name], file, len(pages), readings[name])
        say(f"{WORDS[name]:<24} {readings[name].passes[-1]:8,.2f} CPU ms a page")
    file.unlink()
    report.figure("pages", len(pages))
    report.figure("passes", passes)
    floor = readings.pop(FLOOR, None)
    tallies = {name: tally(pages, reading) for name, reading in readings.items()}
    for name, reading in readings.items():
        report.figure(name, figures_of(tallies[name], reading))
    if floor is not None:
        report.figure(FLOOR, {"cpu_ms": cpu_figures(floor)})
        readings |= {FLOOR: floor}
    _show(tallies, readings)
    judge(report, tallies, readings)


def schedule(names: Sequence[str], passes: int) -> Iterator[str]:
    """Tenax and trafilatura in every pass, each of the others once in between."""
    both = [name for name in (OURS, RIVAL) if name in names]
    others = [name for name in names if name not in both]
    for number in range(passes):
        yield from reversed(both) if number % 2 else both
        yield from others[number::passes]


def _selected(only: str | None) -> list[str]:
    names = list(WORDS) if only is None else only.split(",")
    for name in names:
        if name not in WORDS:
            raise BenchError(f"there is no extractor {name!r}; there are {', '.join(WORDS)}")
    return names


def _extractors(report: Report, names: list[str]) -> dict[str, Extractor]:
    """The available extractors. rs-trafilatura has few wheels: the comparison runs without it."""
    found = {}
    for name in names:
        try:
            found[name] = _extractor(name)
        except BenchError as why:
            if name != "rs_trafilatura":
                raise
            say(f"without {WORDS[name]}: {why}")
            report.figure("without_rs_trafilatura", str(why))
    return found


def _extractor(name: str) -> Extractor:
    ours = {"tenax": "extract", FLOOR: "parse_only"}
    if name in ours:
        where, import_path = f"bench.read_ours:{ours[name]}", f"{ROOT / 'src'}:{ROOT}"
        return Extractor(name, WORDS[name], where, Path(sys.executable), import_path)
    provide: Callable[[], Path] = rust_python if name == "rs_trafilatura" else _readers_python
    return Extractor(name, WORDS[name], f"readers:{name}", provide(), str(ROOT / "bench" / "peers"))


def _readers_python() -> Path:
    return needs.venv(".venv-readers", "readers")


def _show(tallies: Mapping[str, Tally], readings: Mapping[str, Reading]) -> None:
    """Print cost and article scores of all, then all scores by corpus."""
    corpora = list(next(iter(tallies.values()), {}))
    rows = []
    for name, reading in readings.items():
        costs = [short(float(str(value))) for value in cpu_figures(reading).values()]
        scores = [f"{tallies[name][corpus].articles.f1:.4f}" if name in tallies else "" for corpus in corpora]
        rows.append([WORDS[name], *costs, *scores, str(len(reading.ended)), str(reading.errors)])
    table(["", "CPU ms median", "mean", "p95", *(f"articles, {name}" for name in corpora), "ended", "errors"], rows)
    for corpus in corpora:
        columns = {name: tallied[corpus].columns() for name, tallied in tallies.items()}
        head = list(next(iter(columns.values())))
        say(f"F1 and shares of right metadata, {corpus}:")
        table(["", *head], [[WORDS[name], *(f"{one[what]:.4f}" for what in head)] for name, one in columns.items()])


if __name__ == "__main__":
    main()
