"""Scores of extracted text: shingles, snippets, metadata, and confidence intervals."""

from __future__ import annotations

import random
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

SHINGLE_WORDS = 4
RESAMPLES = 2000
SEED = 20260401
METADATA = ("title", "authors", "date", "image")

# Scripts without spaces: each character counts as a word. Kana, CJK ideographs, Hangul, Thai.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0e7f"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


class Shares(NamedTuple):
    """True positives, false positives and false negatives of one page; of shingles they sum to 1."""

    hit: float
    extra: float
    missed: float

    @property
    def f1(self) -> float:
        whole = 2 * self.hit + self.extra + self.missed
        return 2 * self.hit / whole if whole else 0.0


class Score(NamedTuple):
    f1: float
    precision: float
    recall: float
    pages: int


def words_of(text: str) -> list[str]:
    return _WORD.findall(text)


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Every run of four words, with how often it stands there; a shorter text is one shingle."""
    words = words_of(text)
    if not words:
        return Counter()
    starts = range(max(1, len(words) - SHINGLE_WORDS + 1))
    return Counter(tuple(words[start : start + SHINGLE_WORDS]) for start in starts)


def shares_of_text(gold: str, got: str) -> Shares:
    wanted, found = shingles(gold), shingles(got)
    hit = (wanted & found).total()
    whole = wanted.total() + found.total() - hit
    if not whole:
        return Shares(0.0, 0.0, 0.0)
    return Shares(hit / whole, (found.total() - hit) / whole, (wanted.total() - hit) / whole)


def shares_of_snippets(wanted: Iterable[str], unwanted: Iterable[str], got: str) -> Shares:
    """Counts, not shares: a wanted snippet is a hit, an unwanted one is extra."""
    flat = _flat(got)
    found = [_flat(snippet).strip() in flat for snippet in wanted]
    extra = sum(_flat(snippet).strip() in flat for snippet in unwanted)
    return Shares(sum(found), extra, len(found) - sum(found))


def score_of_texts(pages: Sequence[Shares]) -> Score:
    """Precision and recall are means over the pages that have one, and F1 is made of the two means."""
    precision = _mean([page.hit / (page.hit + page.extra) for page in pages if page.hit + page.extra])
    recall = _mean([page.hit / (page.hit + page.missed) for page in pages if page.hit + page.missed])
    return Score(_f1(precision, recall), precision, recall, len(pages))


def score_of_snippets(pages: Sequence[Shares]) -> Score:
    """Every snippet has the same weight."""
    hit, extra, missed = (sum(column) for column in zip(*pages, strict=True)) if pages else (0.0, 0.0, 0.0)
    precision = hit / (hit + extra) if hit + extra else 0.0
    recall = hit / (hit + missed) if hit + missed else 0.0
    return Score(_f1(precision, recall), precision, recall, len(pages))


def is_same(name: str, gold: Any, got: Any) -> bool:
    """Whether a field of the metadata is right: dates by their day, authors as a set, titles by their words."""
    if not got:
        return False
    if name == "date":
        return str(gold)[:10] == str(got)[:10]
    if name == "authors":
        return _people(gold) == _people(got)
    if name == "image":
        return str(gold).strip() == str(got).strip()
    return [word.casefold() for word in words_of(str(gold))] == [word.casefold() for word in words_of(str(got))]


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[max(int(len(values) * share) - 1, 0)]


def interval(differences: Mapping[str, Sequence[float]], resamples: int = RESAMPLES) -> tuple[float, float]:
    """The 95 % interval of resampled means. Each corpus is resampled separately, and all have the same weight.

    Seeded: the same differences always give the same interval.
    """
    corpora = [list(values) for values in differences.values() if values]
    if not corpora:
        return 0.0, 0.0
    dice = random.Random(SEED)
    means = sorted(_mean([_mean(dice.choices(one, k=len(one))) for one in corpora]) for _ in range(resamples))
    return means[int(resamples * 0.025)], means[min(int(resamples * 0.975), resamples - 1)]


def _mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else 0.0


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _people(names: str | Iterable[str]) -> set[str]:
    return {_flat(name).strip().casefold() for name in ([names] if isinstance(names, str) else names)}
