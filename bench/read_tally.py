"""Scores of an extractor by corpus, and the bars relative to the others."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench.read_corpus import Page
from bench.read_run import Reading
from bench.read_score import (
    Score,
    Shares,
    interval,
    is_same,
    percentile,
    score_of_snippets,
    score_of_texts,
    shares_of_snippets,
    shares_of_text,
)
from bench.report import Figure, Report

OURS, RIVAL = "tenax", "trafilatura"
CPU_RATIO_BAR = 0.1666
"""A sixth."""
OTHER_KINDS_BAR = 0.05


@dataclass
class Corpus:
    """One extractor on one corpus; the lists of two extractors are about the same pages, in the same order."""

    kinds: dict[str, list[Shares]] = field(default_factory=dict)
    snippets: list[Shares] = field(default_factory=list)
    metadata: dict[str, list[bool]] = field(default_factory=dict)

    @property
    def articles(self) -> Score:
        """By their text where a corpus has it, otherwise by their snippets."""
        return score_of_texts(self.kinds["article"]) if "article" in self.kinds else score_of_snippets(self.snippets)

    @property
    def article_pages(self) -> list[Shares]:
        return self.kinds.get("article") or ([] if self.kinds else self.snippets)

    def columns(self) -> dict[str, float]:
        """F1 of each kind and of the snippets, and the share that is right of each field of the metadata."""
        kinds = {kind: score_of_texts(pages).f1 for kind, pages in sorted(self.kinds.items())}
        snippets = {"snippets": score_of_snippets(self.snippets).f1} if self.snippets else {}
        return kinds | snippets | {what: _share(right) for what, right in self.metadata.items()}

    def add(self, page: Page, found: Mapping[str, object]) -> None:
        text = str(found.get("text") or "")
        if page.text:
            self.kinds.setdefault(page.kind, []).append(shares_of_text(page.text, text))
        if page.wanted or page.unwanted:
            self.snippets.append(shares_of_snippets(page.wanted, page.unwanted, text))
        for name, gold in page.metadata.items():
            self.metadata.setdefault(name, []).append(is_same(name, gold, found.get(name)))


Tally = dict[str, Corpus]
"""By name of the corpus."""


def tally(pages: Sequence[Page], reading: Reading) -> Tally:
    corpora: Tally = {}
    for number, page in enumerate(pages):
        corpora.setdefault(page.corpus, Corpus()).add(page, reading.found[number])
    return corpora


def figures_of(tallied: Tally, reading: Reading) -> dict[str, Figure]:
    corpora: dict[str, Figure] = {
        name: {
            "kinds": {kind: _score(score_of_texts(pages)) for kind, pages in sorted(one.kinds.items())},
            "snippets": _score(score_of_snippets(one.snippets)) if one.snippets else None,
            "metadata": {what: _share(right) for what, right in one.metadata.items()},
        }
        for name, one in tallied.items()
    }
    return {
        "cpu_ms": cpu_figures(reading),
        "pages_ended": len(reading.ended),
        "pages_with_errors": reading.errors,
        "corpora": corpora,
    }


def cpu_figures(reading: Reading) -> dict[str, Figure]:
    costs = list(reading.cpu_ms.values())
    return {"median": statistics.median(costs), "mean": statistics.fmean(costs), "p95": percentile(costs, 0.95)}


def judge(report: Report, tallies: Mapping[str, Tally], readings: Mapping[str, Reading]) -> None:
    """Every bar that the chosen extractors allow."""
    if OURS not in tallies:
        return
    ours = tallies[OURS]
    peers = [tallied for name, tallied in tallies.items() if name != OURS]
    report.at_most("pages_that_ended_tenax", len(readings[OURS].ended), 0)
    if peers:
        _judge_articles(report, ours, peers)
        _judge_metadata(report, ours, peers)
    if RIVAL in tallies:
        _judge_beside_rival(report, ours, tallies[RIVAL])
        # Within each pass, where the two are adjacent: the speed of the machine changes within minutes.
        pairs = zip(readings[OURS].passes, readings[RIVAL].passes, strict=True)
        ratios = [cost / theirs for cost, theirs in pairs]
        report.at_most("cpu_vs_trafilatura", statistics.median(ratios), CPU_RATIO_BAR)


def _judge_articles(report: Report, ours: Tally, peers: Sequence[Tally]) -> None:
    for name, corpus in ours.items():
        if corpus.article_pages:
            best = max(peer[name].articles.f1 for peer in peers)
            report.above(f"article_f1_over_best_peer_{name}", corpus.articles.f1 - best, 0)


def _judge_metadata(report: Report, ours: Tally, peers: Sequence[Tally]) -> None:
    gains = []
    for name, corpus in ours.items():
        for what, right in corpus.metadata.items():
            best = max(_share(peer[name].metadata[what]) for peer in peers)
            gains.append(_share(right) - best)
            report.at_least(f"{what}_over_best_peer_{name}", gains[-1], 0)
    if gains:
        report.above("metadata_over_best_peer_on_the_mean", statistics.fmean(gains), 0)


def _judge_beside_rival(report: Report, ours: Tally, rival: Tally) -> None:
    differences = {name: list(page_differences(ours[name], rival[name])) for name in ours}
    bounds = {name: interval({name: values}) for name, values in differences.items() if values}
    bounds["mean"] = interval(differences)
    report.figure("article_f1_over_trafilatura", {name: list(both) for name, both in bounds.items()})
    report.above("article_f1_over_trafilatura_at_least", bounds["mean"][0], 0)
    gains = [
        score_of_texts(shares).f1 - score_of_texts(rival[name].kinds[kind]).f1
        for name, corpus in ours.items()
        for kind, shares in corpus.kinds.items()
        if kind != "article"
    ]
    if gains:
        report.at_least("other_kinds_f1_over_trafilatura_mean", statistics.fmean(gains), OTHER_KINDS_BAR)
        report.at_least("other_kinds_f1_over_trafilatura_least", min(gains), 0)


def page_differences(ours: Corpus, rival: Corpus) -> Iterator[float]:
    for own, other in zip(ours.article_pages, rival.article_pages, strict=True):
        yield own.f1 - other.f1


def _score(score: Score) -> dict[str, Figure]:
    return {"f1": score.f1, "precision": score.precision, "recall": score.recall, "pages": score.pages}


def _share(right: Sequence[bool]) -> float:
    return sum(right) / len(right)
