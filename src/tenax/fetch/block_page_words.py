"""Finds the phrases and headlines of block pages in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from tenax.fetch.block_page_signatures import HEADLINES, PHRASES, BlockKind

_STRAIGHT_QUOTES: Final = (("’", "'"), ("‘", "'"), ("“", '"'), ("”", '"'), ("„", '"'), ("\xa0", " "))
_PUNCTUATION: Final = ".,!?:;\"'()…–"
_TITLE_SEPARATORS: Final = re.compile(r" [-–—|·:•] |[|·•]")
# Scripts without spaces between words in which we have phrases.
_UNSPACED_SCRIPT: Final = re.compile("[\u3040-\u9fff\uac00-\ud7af]")


def fold_text(text: str) -> str:
    """Normalized like the signatures: lower case, straight quotes."""
    text = text.lower()
    if not text.isascii():
        for mark, straight in _STRAIGHT_QUOTES:
            if mark in text:
                text = text.replace(mark, straight)
    return text


def headline_parts(headline: str) -> tuple[str, ...]:
    """A folded headline and its parts between separators, without surrounding dots and exclamation marks."""
    whole = headline[:300]
    return tuple(part.strip(" .…!*[]") for part in (whole, *_TITLE_SEPARATORS.split(whole)))


def headline_kind(parts: Iterable[str]) -> BlockKind | None:
    return next((HEADLINES[part] for part in parts if part in HEADLINES), None)


def find_phrases(text: str) -> list[tuple[str, BlockKind]]:
    """The phrases in a folded text. Few words are the key of a phrase, so few phrases are searched for."""
    keys = _PHRASES_BY_WORD.keys() & set(_split_words(text))
    found = [entry for key in sorted(keys) for entry in _PHRASES_BY_WORD[key] if entry[0] in text]
    if not text.isascii() and _UNSPACED_SCRIPT.search(text):
        found += [entry for entry in _UNSPACED_PHRASES if entry[0] in text]
    return found


def _split_words(text: str) -> list[str]:
    # `replace` is several times faster here than a regular expression.
    for mark in _PUNCTUATION:
        if mark in text:
            text = text.replace(mark, " ")
    return text.split()


def _index_phrases(entries: Iterable[tuple[str, BlockKind]]) -> dict[str, list[tuple[str, BlockKind]]]:
    """Phrases by their key word: the longest of each, because long words are rare."""
    found: dict[str, list[tuple[str, BlockKind]]] = {}
    for entry in entries:
        found.setdefault(max(_split_words(entry[0]), key=len), []).append(entry)
    return found


_UNSPACED_PHRASES: Final = tuple(entry for entry in PHRASES if _UNSPACED_SCRIPT.search(entry[0]))
_PHRASES_BY_WORD: Final = _index_phrases(entry for entry in PHRASES if not _UNSPACED_SCRIPT.search(entry[0]))
