"""Detects the language of a text: by its script if that is enough, otherwise by common words. The declaration of the
page is a hint."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Final, Literal, TypeAlias

from tenax.extract.language.words import (
    ARABIC,
    CYRILLIC,
    DEVANAGARI,
    DISTINCTIVE_LETTERS,
    LATIN,
    SIMILAR_LANGUAGES,
    SINGLE_LANGUAGE_RANGES,
)
from tenax.model import Value

Source: TypeAlias = Literal["detected", "declared", "both", "none"]

SAMPLE_CHARS: Final = 1_000
"""Length of the sample, which is from the middle of a text, because menus are at the ends."""
SHORT_SAMPLE_CHARS: Final = 400
LIKELY_CONFIDENCE: Final = 0.3
"""Enough for a short sample that agrees with the declaration of the page."""
SURE_CONFIDENCE: Final = 0.6
"""From this confidence on, the text overrides the declaration of the page."""
DECLARED_CONFIDENCE: Final = 0.9
"""The confidence in a declaration that the text neither supports nor contradicts."""
_HALF_CONFIDENCE_LEAD: Final = 1.5
"""If the second language has this many words fewer, the confidence is one half: the result is right three times in
four."""
_USUAL_COMMON_WORD_SHARE: Final = 0.2
"""At least this ratio of the words of an ordinary text are common words. With fewer, it may be in another language."""
_NON_LATIN_SHARE: Final = 0.3
"""If this ratio of a text is in another script, that script decides, because names and brands are Latin everywhere."""
_KANA_SHARE: Final = 0.05
_MAX_WORD_COUNT: Final = 5
"""A word counts at most this often: if every line of a list repeats a word, this is no further evidence."""

_MIN_SCRIPT_CHARS: Final = 40
"""From this length on, a text in another script contradicts the page, whichever language of that script it is."""
_ALWAYS_LATIN: Final = LATIN.keys() - {"az", "ms", "sr", "uz"}
_NEVER_LATIN: Final = (CYRILLIC.keys() | ARABIC.keys() | DEVANAGARI.keys()) - LATIN.keys()

_TAG = re.compile(r"[a-z]{2,3}(?:[-_][a-z0-9]{2,8})*", re.IGNORECASE)
# In Python the vowel signs of Devanagari are not letters, and would split its words.
_DEVANAGARI_WORD = re.compile(r"[\u0900-\u0963]+")
_WORD = re.compile(r"\w+")
_WORD_BYTES: Final = bytes(point if _WORD.match(chr(point)) else ord(" ") for point in range(256))
_FIRST_NON_LATIN: Final = "\u0370"
SCRIPT_RANGES: Final = (
    (0x0400, 0x052F, "cyrillic"),
    (0x0600, 0x077F, "arabic"),
    (0x0900, 0x097F, "devanagari"),
    (0x3040, 0x30FF, "ja"),
    (0x3400, 0x9FFF, "zh"),
    (0xAC00, 0xD7AF, "ko"),
    *SINGLE_LANGUAGE_RANGES,
)
"""The first and last letter of each script."""

DetectSample: TypeAlias = Callable[[str], tuple[str, float]]
Evidence: TypeAlias = Mapping[str, tuple[tuple[str, float], ...]]


class Language(Value, frozen=True):
    """A language and the confidence in it."""

    tag: str = ""
    """In BCP 47, such as `en` or `pt-BR`. There is a region only if the page declares it. Empty: unknown."""
    confidence: float = 0.0
    """From 0 to 1."""
    source: Source = "none"


def detect_sample(sample: str) -> tuple[str, float]:
    """The most likely language of a lower-case sample, empty for none; and the confidence."""
    tag, confidence = _score_sample(sample)
    return tag, round(confidence, 3)


def detect_language(text: str, declared: str | None = None, detect: DetectSample = detect_sample) -> Language:
    """The language of a text. If the text is certain, it decides; otherwise the page does. The cost does not depend on
    the length of the text."""
    declared_tag = _clean_tag(declared)
    primary = declared_tag.partition("-")[0]
    if declared_tag:
        tag, confidence = detect(_sample(text, SHORT_SAMPLE_CHARS))
        if confidence >= LIKELY_CONFIDENCE and _is_same_language(tag, primary):
            return _confirmed_language(declared_tag, confidence)
    tag, confidence = detect(_sample(text, SAMPLE_CHARS))
    if not declared_tag:
        return Language(tag, confidence, "detected") if tag else Language()
    if _is_same_language(tag, primary):
        return _confirmed_language(declared_tag, confidence)
    if confidence >= SURE_CONFIDENCE or (
        tag in _NEVER_LATIN and primary in _ALWAYS_LATIN and len(text) >= _MIN_SCRIPT_CHARS
    ):
        return Language(tag, confidence, "detected")
    return Language(declared_tag, round(DECLARED_CONFIDENCE * (1 - confidence), 3), "declared")


def _is_same_language(tag: str, primary: str) -> bool:
    return tag == primary or any(tag in group and primary in group for group in SIMILAR_LANGUAGES)


def _confirmed_language(declared_tag: str, confidence: float) -> Language:
    return Language(declared_tag, round(1 - (1 - confidence) * (1 - DECLARED_CONFIDENCE), 3), "both")


def _sample(text: str, chars: int) -> str:
    start = max(0, (len(text) - chars) // 2)
    return text[start : start + chars].lower()


def _clean_tag(declared: str | None) -> str:
    """`en-GB` for ` EN_gb `; empty for an invalid tag."""
    return _parse_tag(declared.strip()[:40]) if declared else ""


@lru_cache(maxsize=256)
def _parse_tag(written: str) -> str:
    """The tag, cached because all pages of a site use the same one."""
    if not _TAG.fullmatch(written):
        return ""
    primary, *rest = written.lower().replace("_", "-").split("-")
    return "-".join([primary, *(part.upper() if len(part) == 2 else part.title() for part in rest)])


def _score_sample(sample: str) -> tuple[str, float]:
    scripts = {} if sample.isascii() else _count_scripts(sample)
    letters = sum(scripts.values())
    if not letters or letters < _NON_LATIN_SHARE * (len(sample) - sample.count(" ")):
        return _score_words(sample, evidence_by_script()["latin"])
    kana, han = scripts.pop("ja", 0), scripts.pop("zh", 0)
    # Japanese always uses kana, Chinese never does.
    scripts["ja" if kana >= _KANA_SHARE * (kana + han) else "zh"] = kana + han
    # Of equal languages, the last one by name: the sets used for counting have a different order in every process.
    count, script = max((count, script) for script, count in scripts.items())
    if script in evidence_by_script():
        return _score_words(sample, evidence_by_script()[script])
    return script, count / (letters + 2)  # a script is certain, but one letter is not a text


def _count_scripts(sample: str) -> dict[str, int]:
    """The number of letters per script, without Latin. Each distinct letter is looked up once."""
    counts: dict[str, int] = {}
    for character in set(sample):
        if character >= _FIRST_NON_LATIN and (script := _find_script(ord(character))):
            counts[script] = counts.get(script, 0) + sample.count(character)
    return counts


@lru_cache(maxsize=4096)
def _find_script(point: int) -> str:
    """The name of a script, or its language if there is only one; empty for unknown scripts."""
    return next((script for first, last, script in SCRIPT_RANGES if first <= point <= last), "")


def _score_words(sample: str, evidence: Evidence) -> tuple[str, float]:
    """The score of each language. A common word or typical letter counts for the languages that have it, divided by
    their number."""
    words = _split_words(sample, evidence)
    scores: dict[str, float] = {}
    seen = 0
    for word, times in Counter(filter(evidence.__contains__, words)).items():
        if times > _MAX_WORD_COUNT:
            times = _MAX_WORD_COUNT
        seen += times
        for language, weight in evidence[word]:
            scores[language] = scores.get(language, 0.0) + weight * times
    # In the same order on every machine, so that the sums are equal.
    for letter in () if sample.isascii() else sorted(letter_evidence().keys() & set(sample)):
        for language, weight in letter_evidence()[letter]:
            scores[language] = scores.get(language, 0.0) + weight * min(sample.count(letter), _MAX_WORD_COUNT)
    if not scores:
        return "", 0.0
    # Of equal scores the first one, which then has no lead.
    best = max(scores, key=scores.__getitem__)
    second, first = sorted((0.0, *scores.values()))[-2:]
    ahead = first - second
    known = min(1.0, seen / (_USUAL_COMMON_WORD_SHARE * len(words))) if words else 0.0
    return best, ahead / (ahead + _HALF_CONFIDENCE_LEAD) * known


def _split_words(sample: str, evidence: Evidence) -> list[str]:
    if sample.isascii():
        return sample.encode().translate(_WORD_BYTES).decode().split()  # same as the pattern, in a third of the time
    return (_DEVANAGARI_WORD if evidence is evidence_by_script()["devanagari"] else _WORD).findall(sample)


def _build_evidence(lists: Mapping[str, str]) -> Evidence:
    """The languages of a word, and their weights."""
    speakers: dict[str, list[str]] = {}
    found: dict[str, tuple[tuple[str, float], ...]] = {}
    for language, words in lists.items():
        for word in set(words.split()):
            speakers.setdefault(word, []).append(language)
    # Equal values share one object, because less memory to read is faster.
    shared: dict[object, tuple[tuple[str, float], ...]] = {}
    pairs: dict[tuple[str, float], tuple[str, float]] = {}
    for word, languages in speakers.items():
        weights = tuple(
            pairs.setdefault(pair, pair) for pair in ((language, 1 / len(languages)) for language in languages)
        )
        found[word] = shared.setdefault(weights, weights)
    return found


@cache
def letter_evidence() -> Evidence:
    return _build_evidence({language: " ".join(letters) for language, letters in DISTINCTIVE_LETTERS.items()})


@cache
def evidence_by_script() -> Mapping[str, Evidence]:
    lists = {"latin": LATIN, "cyrillic": CYRILLIC, "arabic": ARABIC, "devanagari": DEVANAGARI}
    return {script: _build_evidence(words) for script, words in lists.items()}
