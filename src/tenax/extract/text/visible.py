"""The visible text of a page: one line per block, single spaces within."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from tenax.extract.html.dom import Dom
from tenax.extract.html.tree import BREAK, Node, Walk

MAX_TEXT_CHARS: Final = 2_000_000
"""Maximum text per page."""

# Text is also shown in terminals and logs: escapes are removed. Tabs and line breaks are handled separately.
_CONTROLS = bytes([*range(0x09), *range(0x0E, 0x20), 0x7F])
_REPEATED_SPACES = re.compile("  +")

RUN_MARK: Final = "\x01"
PARAGRAPH_MARK: Final = "\x02"
"""Marks precede each run of the walk, and separate paragraphs within a run (two line breaks in a row)."""
_REPLACED_MARKS = str.maketrans(RUN_MARK + PARAGRAPH_MARK, "\x03\x03")


def page_text(dom: Dom, max_chars: int = MAX_TEXT_CHARS) -> str:
    """The visible text of the page in document order; never contains NUL."""
    return _join_visible(dom.walk, max_chars)


def visible_text(root: Node, max_chars: int = MAX_TEXT_CHARS) -> str:
    """The visible text below one node."""
    return _join_visible(Walk(root), max_chars)


def plain_text(text: str, max_chars: int = MAX_TEXT_CHARS) -> str:
    """A text/plain body as page text: its own lines, one kind of line break, no terminal control characters."""
    return strip_controls(text[:max_chars].replace("\r\n", "\n").replace("\r", "\n")).strip()


def collapse_spaces(text: str) -> str:
    """The text with white space collapsed to single spaces and stripped; most short texts need no change."""
    # Of all white space only the space is printable.
    if text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text
    return " ".join(text.split())


def strip_controls(text: str) -> str:
    """The text without control characters other than white space."""
    # On bytes: in UTF-8 these controls are single bytes and part of no other character. Faster than a regular
    # expression.
    encoded = text.encode("utf-8", "replace")
    kept = encoded.translate(None, _CONTROLS)
    if len(kept) != len(encoded):
        text = kept.decode("utf-8")
    return text.replace("\x9b", "") if "\x9b" in text else text


def text_with_marks(walk: Walk) -> tuple[str, list[str]]:
    """The visible text with its runs marked, and the same split at these marks; `strip_controls` removes them."""
    text = _join_with_marks(walk, walk.fragments.copy())
    runs = text.split(RUN_MARK)[1:]
    # Few pages contain such a character themselves; this check costs nothing.
    if len(runs) > len(walk.run_starts) or (PARAGRAPH_MARK in text and PARAGRAPH_MARK in "".join(walk.fragments)):
        text = _join_with_marks(walk, [fragment.translate(_REPLACED_MARKS) for fragment in walk.fragments])
        runs = text.split(RUN_MARK)[1:]
    return text, runs


def _join_with_marks(walk: Walk, fragments: list[str]) -> str:
    for start in walk.run_starts:
        fragments[start] = RUN_MARK + fragments[start].lstrip()
    lines = list(map(str.strip, "".join(fragments).split(BREAK)))
    if walk.line_breaks > 1:
        _mark_paragraphs(lines)
    return _join_lines(lines)


def _mark_paragraphs(lines: list[str]) -> None:
    """Make a paragraph of a line that continues a run after empty lines."""
    for at in [at for at, line in enumerate(lines) if line and line[0] != RUN_MARK]:
        if at and not lines[at - 1]:
            lines[at] = PARAGRAPH_MARK + lines[at]


def _join_visible(walk: Walk, max_chars: int) -> str:
    return strip_controls(_join_lines(map(str.strip, "".join(walk.fragments).split(BREAK))))[:max_chars]


def _join_lines(lines: Iterable[str]) -> str:
    """Drop empty lines and collapse white space within the others, by whole-string passes."""
    raw = BREAK.join(filter(None, lines))
    for blank in "\n\t\r\f\v\xa0\x1c\x1d\x1e\x1f":
        if blank in raw:
            raw = raw.replace(blank, " ")
    # Searched from the end, which Python does a third faster; many pages have none.
    if raw.rfind("  ") >= 0:
        raw = _REPEATED_SPACES.sub(" ", raw)
    return raw.replace(BREAK, "\n")
