"""Trains the extraction tables on labelled pages, and scores them on sites outside the training set.

Features and labels come from the extraction code, the trees from LightGBM in its own environment. Pages are split by
site into five folds; each fold is scored with trees of the other four, then all pages are used for the final tables.
These are written beside the other outputs, and into the source only on request. The same pages and code give identical
tables, byte for byte. The pages are not part of this project: `--corpus` names their directory, as for `scripts/bench
read`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from array import array
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from bench import needs
from bench.learn_rows import KIND_ORDER, KINDS, lay_out_rows, parsed, rows_of
from bench.learn_tables import Tables, kept_tables, kinds_tables, same_trees, store
from bench.measure import end_with_parent
from bench.read_corpus import WHAT_IT_NEEDS, Page, lay_out
from bench.read_score import score_of_snippets, score_of_texts
from bench.read_tally import Corpus
from bench.report import ROOT, WORKPLACE, BenchError, Figure, Report, run, say, table
from tenax.extract.article import page_type, select
from tenax.extract.article.layout import CONTROL_TAG
from tenax.model import PageKind

ARTICLES_BAR, OTHERS_BAR, SNIPPETS_BAR = 0.945, 0.743, 0.93
"""Slightly below the scores of the shipped tables: a lower score is a regression."""
SHIPPED = ROOT / "src" / "tenax" / "extract" / "article"


def main() -> None:
    run("learn", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", type=Path, help="a directory of pages-NAME.jsonl or .jsonl.xz")
    parser.add_argument(
        "--out", type=Path, default=WORKPLACE / "learn", help="where the tables go (default: %(default)s)"
    )
    parser.add_argument("--install", action="store_true", help="also write them into the source")


def measure(report: Report, chosen: argparse.Namespace) -> None:
    if chosen.corpus is None:
        raise BenchError(WHAT_IT_NEEDS.replace("read needs", "learn needs", 1))
    if chosen.install and chosen.quick:
        raise BenchError("tables of a quick run are made of a tenth of the pages: they are not for the source")
    chosen.out.mkdir(parents=True, exist_ok=True)
    python = needs.venv(".venv-learn", "learn")
    file = chosen.out / "pages.jsonl"
    pages = lay_out(chosen.corpus, file, chosen.quick)
    report.figure("pages", len(pages))
    report.figure("blocks", lay_out_rows(pages, file, chosen.out))
    _learn(python, chosen.out)
    _judge(report, _scored(pages, file, chosen.out / "unseen.f32"))
    _export(report, pages, chosen.out, chosen.install)
    for scratch in ("pages.jsonl", "blocks.f32", "labels.f64", "pages.f64", "unseen.f32"):
        (chosen.out / scratch).unlink()


def _learn(python: Path, out: Path) -> None:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [python, ROOT / "bench" / "peers" / "learn_trees.py", out]
    done = subprocess.run(command, check=False, env=inherited, preexec_fn=end_with_parent)
    if done.returncode != 0:
        raise BenchError(f"learning ended with {done.returncode}: see the lines above")


def _scored(pages: Sequence[Page], file: Path, answers: Path) -> dict[str, Corpus]:
    """Extract every page with trees that were not trained on its site."""
    scores = array("f")
    scores.frombytes(answers.read_bytes())
    left = iter(scores)
    corpora: dict[str, Corpus] = {}
    for page, row in zip(pages, rows_of(file), strict=True):
        one = parsed(row["html"], row["url"])
        own = list(islice(left, len(one.blocks)))
        seen = [0.0 if tag == CONTROL_TAG else score for tag, score in zip(one.layout.block_tags, own, strict=True)]
        kept = select.select_by_scores(seen, one.blocks, one.features).kept
        text = select.article_text(one.blocks, kept)
        corpora.setdefault(page.corpus, Corpus()).add(page, {"text": text})
    return corpora


def _judge(report: Report, corpora: Mapping[str, Corpus]) -> None:
    """Articles and other kinds by their text, and pages without one by their snippets; each bar is about the worst."""
    rows, lowest = [], {"articles": 1.0, "other_kinds": 1.0, "snippets": 1.0}
    for name, corpus in corpora.items():
        found = figures_of(corpus)
        for what, f1 in found.items():
            lowest[what] = min(lowest[what], f1)
        by_kind: dict[str, Figure] = {kind: score_of_texts(some).f1 for kind, some in sorted(corpus.kinds.items())}
        report.figure(name, {**found, "kinds": by_kind})
        rows.append([name, *(f"{found[what]:.4f}" if what in found else "" for what in lowest)])
    say("F1 on sites outside the training set:")
    table(["", *(what.replace("_", " ") for what in lowest)], rows)
    measured = {what for corpus in corpora.values() for what in figures_of(corpus)}
    bars = {"articles": ARTICLES_BAR, "other_kinds": OTHERS_BAR, "snippets": SNIPPETS_BAR}
    for what in bars:
        if what in measured:
            report.at_least(f"{what}_f1", lowest[what], bars[what])


def figures_of(corpus: Corpus) -> dict[str, float]:
    """Scores of a corpus: F1 of articles, mean F1 of other kinds, and F1 of snippets where there is no text."""
    found = {}
    if "article" in corpus.kinds:
        found["articles"] = score_of_texts(corpus.kinds["article"]).f1
    if others := [score_of_texts(some).f1 for kind, some in corpus.kinds.items() if kind != "article"]:
        found["other_kinds"] = sum(others) / len(others)
    if corpus.snippets and not corpus.kinds:
        found["snippets"] = score_of_snippets(corpus.snippets).f1
    return found


def _export(report: Report, pages: Sequence[Page], out: Path, is_installing: bool) -> None:
    kept, of_kinds = (json.loads((out / f"{name}.model.json").read_text("utf-8")) for name in ("kept", "kinds"))
    right = [
        KIND_ORDER[guess] == KINDS.get(page.kind, PageKind.OTHER)
        for guess, page in zip(of_kinds["unseen"], pages, strict=True)
    ]
    report.figure("kinds_right", sum(right) / len(right))
    made: dict[str, Tables] = {
        select.TABLES_FILE: kept_tables(kept),
        page_type.TABLES_FILE: kinds_tables(of_kinds["trees"]),
    }
    for name, tables in made.items():
        count = sum(len(one["trees"]) for one in tables.values())
        shipped: dict[str, Any] = json.loads((SHIPPED / name).read_text("utf-8"))
        same = same_trees(tables, shipped)
        report.figure(name.replace(".", "_"), {"trees": count, "as_shipped": same})
        for directory in (out, SHIPPED) if is_installing else (out,):
            store(tables, directory / name)
        say(f"{out / name}: {count} trees, {same} of them as in the source")


if __name__ == "__main__":
    main()
