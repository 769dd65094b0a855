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
_SPACES = re.compile("  +")

RUN: Final = "\x01"
PARAGRAPH: Final = "\x02"
"""Stand in a marked text before each run of the walk, and within one where the page breaks lines twice in a row."""
_OTHERS_OF_THE_KIND = str.maketrans(RUN + PARAGRAPH, "\x03\x03")


def page_text(dom: Dom, max_chars: int = MAX_TEXT_CHARS) -> str:
    """What a reader sees of the page, in document order, NULs never included."""
    return _shown(dom.walk, max_chars)


def visible_text(root: Node, max_chars: int = MAX_TEXT_CHARS) -> str:
    """The same of what is below one node."""
    return _shown(Walk(root), max_chars)


def plain_text(text: str, max_chars: int = MAX_TEXT_CHARS) -> str:
    """A text/plain body as a page's text: its own lines, one kind of line break, nothing that steers a terminal."""
    return inert(text[:max_chars].replace("\r\n", "\n").replace("\r", "\n")).strip()


def one_line(text: str) -> str:
    """The text with single spaces for all its white space, none at its ends; most short texts are so already."""
    # Of all white space only the space is printable.
    if text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text
    return " ".join(text.split())


def inert(text: str) -> str:
    """The text without control characters other than white space."""
    # By bytes: in UTF-8 these controls are single bytes and part of nothing else. No regular expression is as quick.
    encoded = text.encode("utf-8", "replace")
    kept = encoded.translate(None, _CONTROLS)
    if len(kept) != len(encoded):
        text = kept.decode("utf-8")
    return text.replace("\x9b", "") if "\x9b" in text else text


def marked_text(walked: Walk) -> tuple[str, list[str]]:
    """The visible text with its runs marked, and cut at these marks; `inert` takes them out."""
    text = _marked(walked, walked.fragments.copy())
    runs = text.split(RUN)[1:]
    # Few pages hold such a character of their own: that is known by now, at no cost.
    if len(runs) > len(walked.run_starts) or (PARAGRAPH in text and PARAGRAPH in "".join(walked.fragments)):
        text = _marked(walked, [fragment.translate(_OTHERS_OF_THE_KIND) for fragment in walked.fragments])
        runs = text.split(RUN)[1:]
    return text, runs


def _marked(walked: Walk, fragments: list[str]) -> str:
    for start in walked.run_starts:
        fragments[start] = RUN + fragments[start].lstrip()
    lines = list(map(str.strip, "".join(fragments).split(BREAK)))
    if walked.line_breaks > 1:
        _mark_paragraphs(lines)
    return _tidy(lines)


def _mark_paragraphs(lines: list[str]) -> None:
    """Of a line that goes on with a run after empty ones, make a paragraph."""
    for at in [at for at, line in enumerate(lines) if line and line[0] != RUN]:
        if at and not lines[at - 1]:
            lines[at] = PARAGRAPH + lines[at]


def _shown(walked: Walk, max_chars: int) -> str:
    return inert(_tidy(map(str.strip, "".join(walked.fragments).split(BREAK))))[:max_chars]


def _tidy(lines: Iterable[str]) -> str:
    """Drop empty lines and collapse white space within the others, by whole-string passes."""
    raw = BREAK.join(filter(None, lines))
    for blank in "\n\t\r\f\v\xa0\x1c\x1d\x1e\x1f":
        if blank in raw:
            raw = raw.replace(blank, " ")
    # Looked for from the end, because Python does that a third quicker; many pages have none.
    if raw.rfind("  ") >= 0:
        raw = _SPACES.sub(" ", raw)
    return raw.replace(BREAK, "\n")
