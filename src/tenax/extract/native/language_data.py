"""Words, letters and scripts of languages as data for language.c, from `tenax.extract.language.detect`.

All numbers are little-endian. First come the names of languages and scripts, sorted; the rest refers to them by index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import pack

from tenax.extract.language.detect import SCRIPT_RANGES, Evidence, evidence_by_script, letter_evidence

NameNumbers = Mapping[str, int]


def pack_language_data() -> bytes:
    """The data for `native_set_languages`."""
    by_script = evidence_by_script()
    numbers = {name: number for number, name in enumerate(sorted(_collect_names()))}
    asked_by_name = (numbers[name] for name in ("latin", "devanagari", "ja", "zh"))
    return b"".join((
        pack("<H", len(numbers)),
        *map(_pack_word, numbers),
        pack("<4H", *asked_by_name),
        _pack_ranges(numbers),
        pack("<H", len(by_script)),
        *(pack("<H", numbers[script]) + _pack_words(evidence, numbers) for script, evidence in by_script.items()),
        _pack_letters(letter_evidence(), numbers),
    ))  # fmt: skip


def _collect_names() -> set[str]:
    by_script = evidence_by_script()
    names = {*by_script, *(script for _, _, script in SCRIPT_RANGES)}
    for evidence in (*by_script.values(), letter_evidence()):
        names.update(language for speakers in evidence.values() for language, _ in speakers)
    return names


def _pack_ranges(numbers: NameNumbers) -> bytes:
    packed = (pack("<IIH", first, last, numbers[script]) for first, last, script in SCRIPT_RANGES)
    return pack("<H", len(SCRIPT_RANGES)) + b"".join(packed)


def _pack_words(evidence: Evidence, numbers: NameNumbers) -> bytes:
    packed = (_pack_word(word) + _pack_languages(evidence[word], numbers) for word in sorted(evidence))
    return pack("<H", len(evidence)) + b"".join(packed)


def _pack_letters(evidence: Evidence, numbers: NameNumbers) -> bytes:
    packed = (pack("<I", ord(letter)) + _pack_languages(evidence[letter], numbers) for letter in sorted(evidence))
    return pack("<H", len(evidence)) + b"".join(packed)


def _pack_languages(languages: Iterable[tuple[str, float]], numbers: NameNumbers) -> bytes:
    """Without weights: they follow from the number of languages."""
    spoken = [numbers[language] for language, _ in languages]
    return pack(f"<B{len(spoken)}H", len(spoken), *spoken)


def _pack_word(word: str) -> bytes:
    encoded = word.encode()
    return pack("<B", len(encoded)) + encoded
