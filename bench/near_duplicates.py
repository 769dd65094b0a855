"""How well near-duplicates are found: edited texts against unrelated ones and pages that share boilerplate.

Texts are generated from words.txt, also transliterated to other scripts, or taken from a directory of `.jsonl` or
`.jsonl.xz` files whose rows have a `text`. An edit replaces words, drops or moves sentences, or adds boilerplate. A
pair is found when the texts share a band and their similarity reaches the threshold.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from bench.report import BenchError, Report, median, run, short, table
from tenax.text.fingerprint import (
    MIN_NEAR_SIMILARITY,
    fingerprint_bands,
    fingerprint_similarity,
    near_fingerprint,
)

SEED = 20
LENGTHS = (50, 200, 1_000, 5_000)
SHARES = (0.005, 0.02, 0.05, 0.10, 0.20)
COMMON_SHARES = (0.1, 0.3, 0.5)
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
PAIRS, QUICK_PAIRS = 40, 8
SMALL_EDIT = 0.05
"""Texts with edits up to this share count as the same; the bar on recall uses them."""
SENTENCE_WORDS = 14
FIVE_KB = 5_000
COST_BAR_MS = 0.3
# The letters of three alphabets, from the commonest to the rarest.
LATIN = "etaoinshrdlcumwfgypbvkjxqz"
CYRILLIC = "оеаинтсрвлкмдпуяыьгзбчйхжш"
ARABIC = "اليمونرتبعدهفسقكحجشطصخضذثز"
RECALL_BAR = PRECISION_BAR = 0.99

Words = list[str]


class Pair(NamedTuple):
    """Two compared texts and their origin."""

    kind: str
    share: float
    length: int
    is_near: bool
    similarity: float
    meets: bool


def main() -> None:
    run("near_duplicates", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", type=Path, help="a folder of .jsonl or .jsonl.xz files whose rows have a text")


def measure(report: Report, chosen: argparse.Namespace) -> None:
    rng = random.Random(SEED)
    report.is_partial = chosen.corpus is not None  # results on private texts are not stored
    texts = list(_real(chosen.corpus)) if chosen.corpus else list(_generated(rng))
    if len(texts) < 2 * len(LENGTHS):
        raise BenchError(f"{chosen.corpus} has too few texts")
    pairs = list(_pairs(texts, QUICK_PAIRS if chosen.quick else PAIRS, rng))
    _by_threshold(report, pairs)
    _by_edit(report, pairs)
    found = [pair for pair in pairs if _is_found(pair, MIN_NEAR_SIMILARITY)]
    small = [pair for pair in pairs if pair.is_near and pair.share <= SMALL_EDIT]
    report.figure("pairs", len(pairs))
    report.at_least("recall_of_small_edits", _mean(_is_found(pair, MIN_NEAR_SIMILARITY) for pair in small), RECALL_BAR)
    report.at_least("precision", _mean(pair.is_near for pair in found), PRECISION_BAR)
    report.below("ms_for_5_kb", _cost_ms(" ".join(rng.choices(_words(), k=FIVE_KB))[:FIVE_KB]), COST_BAR_MS)


def _pairs(texts: list[Words], count: int, rng: random.Random) -> Iterator[Pair]:
    """Every edit at every share and length, and as many unrelated pairs per length."""
    for length in LENGTHS:
        fitting = [text[:length] for text in texts if len(text) >= length]
        if len(fitting) < 3:
            continue
        for share in SHARES:
            for kind, edit in EDITS.items():
                for text in rng.choices(fitting, k=count):
                    other = rng.choice([one for one in fitting if one is not text])
                    yield _compared(kind, share, text, edit(text, other, max(1, round(share * length)), rng), True)
        for share in (0.0, *COMMON_SHARES):
            kind = "shared boilerplate" if share else "unrelated"
            for _ in range(count * len(EDITS)):
                one, other, third = rng.sample(fitting, 3)
                common = third[: round(share * length)]
                own_length = length - len(common)
                yield _compared(kind, share, common + one[:own_length], common + other[:own_length], False)


def _compared(kind: str, share: float, one: Words, other: Words, is_near: bool) -> Pair:
    first, second = near_fingerprint(" ".join(one)), near_fingerprint(" ".join(other))
    meets = not set(fingerprint_bands(first)).isdisjoint(fingerprint_bands(second))
    return Pair(kind, share, len(one), is_near, fingerprint_similarity(first, second), meets)


# ---- edits: a text, another to take words from, how many words to touch --------------------------------------


def _replaced(text: Words, other: Words, count: int, rng: random.Random) -> Words:
    edited = list(text)
    for position in rng.sample(range(len(text)), count):
        edited[position] = rng.choice(other) + "x"
    return edited


def _dropped(text: Words, _: Words, count: int, rng: random.Random) -> Words:
    start = rng.randrange(len(text) - count + 1)
    return text[:start] + text[start + count :]


def _moved(text: Words, other: Words, count: int, rng: random.Random) -> Words:
    """Move sentences to random positions."""
    edited = list(text)
    for _ in range(max(1, count // SENTENCE_WORDS)):
        size = min(SENTENCE_WORDS, count)
        start = rng.randrange(len(edited) - size + 1)
        sentence = edited[start : start + size]
        del edited[start : start + size]
        position = rng.randrange(len(edited) + 1)
        edited[position:position] = sentence
    return edited


def _padded(text: Words, other: Words, count: int, rng: random.Random) -> Words:
    """Add boilerplate before and after."""
    before = rng.randrange(count + 1)
    return other[:before] + text + other[-(count - before) :] if count > before else other[:before] + text


EDITS: dict[str, Callable[[Words, Words, int, random.Random], Words]] = {
    "words replaced": _replaced,
    "sentences dropped": _dropped,
    "sentences moved": _moved,
    "boilerplate added": _padded,
}


# ---- texts ---------------------------------------------------------------------------------------------------


def _words() -> Words:
    return (Path(__file__).parent / "words.txt").read_text(encoding="utf-8").split()


def _generated(rng: random.Random, count: int = 24) -> Iterator[Words]:
    """Words by Zipf's law, as languages use them; the same in Cyrillic, Arabic and Chinese script."""
    words = _words()
    rng.shuffle(words)  # they are sorted, so the most common would all begin alike
    chinese = [chr(0x4E00 + 37 * number) for number in range(len(words))]  # from the whole block, as in real text
    guises = [words, _spelled(words, CYRILLIC), _spelled(words, ARABIC), chinese]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    for number in range(count):
        yield rng.choices(guises[number % len(guises)], weights, k=LENGTHS[-1])


def _spelled(words: Words, alphabet: str) -> Words:
    """Transliterate to another script by letter frequency."""
    translation = str.maketrans(LATIN, alphabet)
    return [word.translate(translation) for word in words]


def _real(folder: Path) -> Iterator[Words]:
    """A text without spaces is cut into characters, as the fingerprint does."""
    for file in sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.xz")]):
        packed = file.read_bytes()
        rows = (lzma.decompress(packed) if file.suffix == ".xz" else packed).splitlines()
        for text in (json.loads(row).get("text") for row in rows):
            if isinstance(text, str) and text.strip():
                words = text.split()
                yield words if len(text) < 15 * len(words) else [*text]


# ---- report --------------------------------------------------------------------------------------------------


def _by_threshold(report: Report, pairs: list[Pair]) -> None:
    rows, figures = [], []
    for threshold in THRESHOLDS:
        found = [pair for pair in pairs if _is_found(pair, threshold)]
        recalls = [_mean(_is_found(p, threshold) for p in pairs if p.is_near and p.share == share) for share in SHARES]
        precision = _mean(pair.is_near for pair in found)
        rows.append([f"{threshold:.1f}", *map(_percent, recalls), _percent(precision)])
        figures.append([threshold, *recalls, precision])
    table(["similarity", *(f"recall at {share:.1%}" for share in SHARES), "precision"], rows)
    report.figure("by_threshold", [list(row) for row in figures])


def _by_edit(report: Report, pairs: list[Pair]) -> None:
    rows = []
    for kind in dict.fromkeys(pair.kind for pair in pairs):
        for length in LENGTHS:
            of_kind = [pair for pair in pairs if pair.kind == kind and abs(pair.length - length) <= length / 4]
            if of_kind:
                met, found = (
                    _mean(pair.meets for pair in of_kind),
                    _mean(_is_found(p, MIN_NEAR_SIMILARITY) for p in of_kind),
                )
                like = median(pair.similarity for pair in of_kind)
                rows.append([f"{kind}, {length} words", _percent(met), _percent(found), short(like)])
    table(["kind of pair", "share a band", "found", "median similarity"], rows)


def _is_found(pair: Pair, threshold: float) -> bool:
    return pair.meets and pair.similarity >= threshold


def _mean(values: Iterator[bool]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 0.0


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _cost_ms(text: str, rounds: int = 50) -> float:
    """Minimum CPU time of many runs: other processes only add to it."""
    taken = []
    for _ in range(rounds):
        started = time.process_time()
        near_fingerprint(text)
        taken.append(time.process_time() - started)
    return min(taken) * 1_000


if __name__ == "__main__":
    main()
