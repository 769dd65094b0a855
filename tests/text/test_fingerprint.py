"""Fingerprints: equal for equal texts, similar for similar ones, and the same in every process."""

from __future__ import annotations

import hashlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.text.fingerprint import (
    MAX_CHARS,
    MIN_NEAR_SIMILARITY,
    content_hash,
    fingerprint_bands,
    fingerprint_similarity,
    near_fingerprint,
)

VOCABULARY = [f"word{number}" for number in range(2_000)]


PROSE = """
the river had risen over night and nobody could say when bridge would open again because water kept coming from hills
where snow melted very fast people of both villages met at mill they gave each other bread blankets vegetables some
drove cattle up valley before morning mayor promised help but only two boats came back with doctor just in time
"""


def words(count: int, seed: int) -> list[str]:
    return random.Random(seed).choices(VOCABULARY, k=count)


def similarity(one: list[str], other: list[str], space: str = " ") -> float:
    return fingerprint_similarity(near_fingerprint(space.join(one)), near_fingerprint(space.join(other)))


def test_equal_text_has_equal_hash() -> None:
    assert content_hash("é") == hashlib.sha256("é".encode()).hexdigest()
    assert content_hash("") == hashlib.sha256(b"").hexdigest()
    assert content_hash("\ud800") == content_hash("?")


def test_fingerprint_is_stable() -> None:
    """Stored fingerprints are compared with those of later crawls: changing this breaks every database."""
    text = near_fingerprint("The cat sat on the mat, and the dog lay down beside it.")
    assert hashlib.sha256(text).hexdigest() == "d0db95ebe5f9ab5a69bc63ef5364babdc7e571bddbfb10ebdafbd7a680082d74"
    text = near_fingerprint("今天的天气很好，我们决定去公园散步。Größe “und” Länge")
    assert hashlib.sha256(text).hexdigest() == "eb2c2b3e0148f1103969cbf6723e063f8f326adece790ec2635aedd1bf0a23ce"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("One, two; three - four?", "one two three four"),
        ("“Größe” – und Länge…", "größe und länge"),
        ("قال، ثم ذهب؟", "قال ثم ذهب"),
        ("今天的天气，很好。", "今天的天气很好"),
        ("Он ушёл – «домой»…", "он ушёл домой"),
        ("पुल बंद रहा।", "पुल बंद रहा"),
        ("one two", "one   two\n"),
    ],
)
def test_case_spaces_and_punctuation_are_ignored(one: str, other: str) -> None:
    assert near_fingerprint(one) == near_fingerprint(other) != b""


@pytest.mark.parametrize("text", ["", " \n", "?! – …", "、。"])
def test_text_without_words_is_similar_to_nothing(text: str) -> None:
    assert near_fingerprint(text) == b""
    assert fingerprint_bands(b"") == ()
    assert fingerprint_similarity(b"", b"") == fingerprint_similarity(b"", near_fingerprint("a word")) == 0.0


@pytest.mark.parametrize("count", [50, 200, 2_000])
def test_small_edit_is_similar_and_other_text_is_not(count: int) -> None:
    text = words(count, seed=1)
    edited = [*text[: count // 2], "changed", *text[count // 2 + 1 :]]
    assert similarity(text, edited) >= MIN_NEAR_SIMILARITY
    assert not set(fingerprint_bands(near_fingerprint(" ".join(text)))).isdisjoint(
        fingerprint_bands(near_fingerprint(" ".join(edited)))
    )
    assert similarity(text, words(count, seed=2)) < 0.1


@pytest.mark.parametrize("count", [*range(60, 800, 20), *range(800, 3_000, 100)])
def test_slightly_longer_text_is_similar_at_any_length(count: int) -> None:
    """The shorter a text, the more of its windows count, in steps: texts on two sides of a step are still similar."""
    text = random.Random(3).choices(PROSE.split(), k=count)
    longer = [*text, *random.Random(5).choices(PROSE.split(), k=max(1, count // 50))]
    assert similarity(text, longer) >= MIN_NEAR_SIMILARITY
    assert not set(fingerprint_bands(near_fingerprint(" ".join(text)))).isdisjoint(
        fingerprint_bands(near_fingerprint(" ".join(longer)))
    )


@pytest.mark.parametrize("alphabet", ["0123456789", "aeiou", "отсе", "αειο", "ال", "ഒരു"])
def test_text_without_anchors_has_windows(alphabet: str) -> None:
    text = ["".join(random.Random(seed).choices(alphabet, k=6)) for seed in range(300)]
    assert similarity(text, [*text[:150], *text[151:]]) >= MIN_NEAR_SIMILARITY
    assert similarity(text, text[::-1]) < MIN_NEAR_SIMILARITY


def test_second_script_counts() -> None:
    boilerplate = "All rights are reserved by the publisher and nothing may be copied without asking. " * 4
    one, other = ("".join(map(chr, random.Random(seed).choices(range(0x4E00, 0x9F00), k=200))) for seed in (1, 2))
    assert (
        fingerprint_similarity(near_fingerprint(boilerplate + one), near_fingerprint(boilerplate + other))
        < MIN_NEAR_SIMILARITY
    )


def test_scripts_without_spaces() -> None:
    text = [chr(0x4E00 + point) for point in random.Random(4).choices(range(3_000), k=400)]
    edited = [*text[:200], "\u9f00", "\u9f01", *text[202:]]
    assert MIN_NEAR_SIMILARITY < similarity(text, edited, space="") < 1
    assert similarity(text, text[::-1], space="") < 0.1


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.8])
def test_similarity_estimates_common_windows(kept: float) -> None:
    """Two texts with a common part; the mean over many is right, though each is only an estimate."""
    estimates = []
    for seed in range(30):
        common, one, other = words(300, seed), words(600, 1_000 + seed), words(600, 2_000 + seed)
        own = round(300 * (1 - kept) / (2 * kept))
        estimates.append(similarity(common + one[:own], common + other[:own]))
    assert sum(estimates) / len(estimates) == pytest.approx(kept, abs=0.05)


@pytest.mark.parametrize("text", ["one", "one two", "one two three", "one two three four"])
def test_text_shorter_than_a_window_is_similar_to_itself_only(text: str) -> None:
    assert fingerprint_similarity(near_fingerprint(text), near_fingerprint(text.upper())) == 1.0
    assert fingerprint_similarity(near_fingerprint(text), near_fingerprint(f"no{text}")) == 0.0


def test_text_beyond_the_limit_is_ignored() -> None:
    text = "word " * (MAX_CHARS // 5)
    assert near_fingerprint(text + "and more of it") == near_fingerprint(text)


@given(st.text(max_size=200))
def test_any_text_is_similar_to_itself(text: str) -> None:
    fingerprint = near_fingerprint(text)
    assert len(fingerprint) in (0, 128)
    assert fingerprint_similarity(fingerprint, fingerprint) == float(bool(fingerprint))
    assert all(-(2**63) <= band < 2**63 for band in fingerprint_bands(fingerprint))
