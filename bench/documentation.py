"""Documentation of a dozen generators: which words, lines of code and inline code of each page are kept.

The expected content is the element that the generator writes the content into, less permalinks and navigation.
trafilatura reads the same pages in the same run. Pages come from Debian packages, which are downloaded once.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import needs
from bench.documentation_gold import Gold, gold_of, markdown_code
from bench.documentation_sets import SETS, DocumentationSet, files_of
from bench.read_run import Extractor, Reading, read_all
from bench.read_score import words_of
from bench.report import ROOT, WORKPLACE, Figure, Report, run, say, table

PAGES, QUICK_PAGES = 80, 8
"""Of each generator."""
MIN_WORDS = 60
"""A shorter body is a list of links or a stub."""
MAX_BYTES = 2_000_000
RECALL_BAR, SET_RECALL_BAR, PRECISION_BAR = 0.985, 0.95, 0.97
CODE_LINES_BAR, INLINE_CODE_BAR = 0.99, 0.98
BEHIND_BAR = 0.005
OURS, RIVAL = "tenax", "trafilatura"


def main() -> None:
    run("documentation", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", help=f"a part of: {','.join(one.name for one in SETS)}")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="print the N pages of lowest recall")


@dataclass(frozen=True)
class Page:
    source: str
    file: Path
    gold: Gold


@dataclass
class Scores:
    """Of one extractor on the pages of one generator. Recall and precision are means over the pages."""

    recall: list[float] = field(default_factory=list)
    precision: list[float] = field(default_factory=list)
    code: list[int] = field(default_factory=lambda: [0, 0])
    """Lines that were kept as lines, and all."""
    inline: list[int] = field(default_factory=lambda: [0, 0])

    def add(self, gold: Gold, found: Mapping[str, object]) -> None:
        text, markdown = str(found.get("text") or ""), str(found.get("markdown") or "")
        words = Counter(words_of(text))
        common = (gold.words & words).total()
        self.recall.append(common / gold.words.total())
        self.precision.append(common / words.total() if words else 0.0)
        kept = Counter(line.strip() for line in text.split("\n"))
        self.code[0] += (Counter(gold.code_lines) & kept).total()
        self.code[1] += len(gold.code_lines)
        self.inline[0] += (gold.inline_code & markdown_code(markdown)).total()
        self.inline[1] += gold.inline_code.total()

    def figures(self) -> dict[str, float]:
        return {
            "recall": statistics.fmean(self.recall),
            "precision": statistics.fmean(self.precision),
            "code_lines": self.code[0] / max(1, self.code[1]),
            "inline_code": self.inline[0] / max(1, self.inline[1]),
        }


def measure(report: Report, chosen: argparse.Namespace) -> None:
    names = chosen.only.split(",") if chosen.only else [one.name for one in SETS]
    report.is_partial = bool(chosen.only)
    workplace = WORKPLACE / "documentation"
    workplace.mkdir(parents=True, exist_ok=True)
    file = workplace / "pages.jsonl"
    pages = lay_out([one for one in SETS if one.name in names], file, QUICK_PAGES if chosen.quick else PAGES)
    say(f"{len(pages)} pages of {len(names)} generators")
    readings = {name: _read(extractor, file, len(pages)) for name, extractor in _extractors().items()}
    scores = {name: _score(pages, reading) for name, reading in readings.items()}
    report.figure("pages", len(pages))
    for name, by_set in scores.items():
        report.figure(name, {source: dict[str, Figure](one.figures()) for source, one in by_set.items()})
    _show(scores)
    _judge(report, scores)
    for number in _worst(pages, readings[OURS], chosen.worst):
        say(f"{_recall(pages[number].gold, readings[OURS].found[number]):.3f}  {pages[number].file}")


def lay_out(sets: Sequence[DocumentationSet], file: Path, count: int) -> list[Page]:
    """Write the pages to one file, one per line, in the order of the list that is returned."""
    pages = []
    with file.open("w", encoding="utf-8") as out:
        for one in sets:
            found = 0
            for source in files_of(one):
                if found == count:
                    break
                if source.stat().st_size > MAX_BYTES:
                    continue
                html = source.read_text(encoding="utf-8", errors="replace")
                gold = gold_of(html, one)
                if gold is None or gold.words.total() < MIN_WORDS:
                    continue
                found += 1
                pages.append(Page(one.name, source, gold))
                url = f"https://{one.name}.example/{source.relative_to(source.parents[1])}"
                out.write(json.dumps({"url": url, "html": html}) + "\n")
    return pages


def _extractors() -> dict[str, Extractor]:
    rival = needs.venv(".venv-readers", "readers")
    return {
        OURS: Extractor(OURS, "Tenax", "bench.read_ours:extract", Path(sys.executable), f"{ROOT / 'src'}:{ROOT}"),
        RIVAL: Extractor(RIVAL, RIVAL, "readers:trafilatura_markdown", rival, str(ROOT / "bench" / "peers")),
    }


def _read(extractor: Extractor, file: Path, count: int) -> Reading:
    reading = Reading()
    read_all(extractor, file, count, reading)
    say(f"{extractor.words:<12} {reading.passes[-1]:8,.2f} CPU ms a page")
    return reading


def _score(pages: Sequence[Page], reading: Reading) -> dict[str, Scores]:
    scores: dict[str, Scores] = {}
    for number, page in enumerate(pages):
        scores.setdefault(page.source, Scores()).add(page.gold, reading.found[number])
    return scores


def _worst(pages: Sequence[Page], reading: Reading, count: int) -> list[int]:
    return sorted(range(len(pages)), key=lambda number: _recall(pages[number].gold, reading.found[number]))[:count]


def _recall(gold: Gold, found: Mapping[str, object]) -> float:
    return (gold.words & Counter(words_of(str(found.get("text") or "")))).total() / gold.words.total()


def _show(scores: Mapping[str, Mapping[str, Scores]]) -> None:
    head = ["generator", "pages"]
    rows = []
    for source, ours in scores[OURS].items():
        both = zip(ours.figures().values(), scores[RIVAL][source].figures().values(), strict=True)
        rows.append([source, str(len(ours.recall)), *(f"{a:.3f} / {b:.3f}" for a, b in both)])
    table([*head, *(f"{what}, Tenax / {RIVAL}" for what in ("recall", "precision", "code lines", "inline code"))], rows)


def _judge(report: Report, scores: Mapping[str, Mapping[str, Scores]]) -> None:
    ours = {source: one.figures() for source, one in scores[OURS].items()}
    rival = {source: one.figures() for source, one in scores[RIVAL].items()}
    everything = [one.code for one in scores[OURS].values()], [one.inline for one in scores[OURS].values()]
    code, inline = (sum(kept for kept, _ in parts) / max(1, sum(all_ for _, all_ in parts)) for parts in everything)
    report.at_least("recall", statistics.fmean(one["recall"] for one in ours.values()), RECALL_BAR)
    report.at_least("lowest_recall", min(one["recall"] for one in ours.values()), SET_RECALL_BAR)
    report.at_least("precision", statistics.fmean(one["precision"] for one in ours.values()), PRECISION_BAR)
    report.at_least("code_lines", code, CODE_LINES_BAR)
    report.at_least("inline_code", inline, INLINE_CODE_BAR)
    behind = max(rival[source]["recall"] - one["recall"] for source, one in ours.items())
    report.at_most("behind_trafilatura", behind, BEHIND_BAR)


if __name__ == "__main__":
    main()
