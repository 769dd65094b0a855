"""The visible text of a page: one line per block, single spaces within."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from tenax.extract.html.dom import Dom
from tenax.extract.html.node import Node
from tenax.extract.html.walk import BREAK, Walk

MAX_TEXT_CHARS: Final = 2_000_000
"""Text kept of one page at most."""
ASCII_WHEN_LOWER: Final = "\u0130\u212a"
"""The characters beyond ASCII that are ASCII in lower case: a dotted I and the sign of Kelvin."""

# A page's text ends in terminals and logs too: no escape may survive. Tabs and line breaks are handled elsewhere.
_CONTROLS = bytes([*range(0x09), *range(0x0E, 0x20), 0x7F])
_REPEATED_SPACES = re.compile("  +")

RUN_MARK: Final = "\x01"
PARAGRAPH_MARK: Final = "\x02"
"""Stand in a marked text before each run of the walk, and within one where the page breaks lines twice in a row."""
_REPLACED_MARKS = str.maketrans(RUN_MARK + PARAGRAPH_MARK, "\x03\x03")


def page_text(dom: Dom, max_chars: int = MAX_TEXT_CHARS) -> str:
    """What a reader sees of the page, in document order, NULs never included."""
    return _join_visible(dom.walk, max_chars)


def visible_text(root: Node, max_chars: int = MAX_TEXT_CHARS) -> str:
    """The same of what is below one node."""
    return _join_visible(Walk(root), max_chars)


def plain_text(text: str, max_chars: int = MAX_TEXT_CHARS) -> str:
    """A text/plain body as a page's text: its own lines, one kind of line break, nothing that steers a terminal."""
    return strip_controls(text[:max_chars].replace("\r\n", "\n").replace("\r", "\n")).strip()


def collapse_spaces(text: str) -> str:
    """The text with single spaces for all its white space, none at its ends; most short texts are so already."""
    # Of all white space only the space is printable.
    if text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text
    return " ".join(text.split())


def strip_controls(text: str) -> str:
    """The text without control characters other than white space."""
    # By bytes: in UTF-8 these controls are single bytes and part of nothing else. No regular expression is as quick.
    encoded = text.encode("utf-8", "replace")
    kept = encoded.translate(None, _CONTROLS)
    if len(kept) != len(encoded):
        text = kept.decode("utf-8")
    return text.replace("\x9b", "") if "\x9b" in text else text


def text_with_marks(walk: Walk) -> tuple[str, list[str]]:
    """The visible text with its runs marked, and cut at these marks; `strip_controls` takes them out."""
    text = _join_with_marks(walk, walk.fragments.copy())
    runs = text.split(RUN_MARK)[1:]
    # Few pages hold such a character of their own: that is known by now, at no cost.
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
    """Of a line that goes on with a run after empty ones, make a paragraph."""
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
    # Looked for from the end, because Python does that a third quicker; many pages have none.
    if raw.rfind("  ") >= 0:
        raw = _REPEATED_SPACES.sub(" ", raw)
    return raw.replace(BREAK, "\n")
