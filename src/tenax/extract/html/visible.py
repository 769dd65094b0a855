"""The visible text of a page: one line per block, with single spaces."""

from __future__ import annotations

from typing import Final

from tenax.extract.html.dom import Dom, join_lines, strip_controls, visible_text
from tenax.extract.html.tree import BREAK, Walk

MAX_TEXT_CHARS: Final = 2_000_000
"""Maximum text per page."""

RUN_MARK: Final = "\x01"
PARAGRAPH_MARK: Final = "\x02"
"""Marks precede each run of the walk, and separate paragraphs in a run (two line breaks in a row)."""
_REPLACED_MARKS = str.maketrans(RUN_MARK + PARAGRAPH_MARK, "\x03\x03")


def page_text(dom: Dom, max_chars: int = MAX_TEXT_CHARS) -> str:
    """The visible text of the page in document order. It never contains NUL."""
    return visible_text(dom.walk, max_chars)


def plain_text(text: str, max_chars: int = MAX_TEXT_CHARS) -> str:
    """A text/plain body as page text: with its own lines, one kind of line break, and no terminal control
    characters."""
    return strip_controls(text[:max_chars].replace("\r\n", "\n").replace("\r", "\n")).strip()


def text_with_marks(walk: Walk) -> tuple[str, list[str]]:
    """The visible text with its runs marked, and the same text split at these marks. `strip_controls` removes them."""
    text = _join_with_marks(walk, walk.fragments.copy())
    runs = text.split(RUN_MARK)[1:]
    # Few pages contain such a character themselves, and this check costs nothing.
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
    return join_lines(lines)


def _mark_paragraphs(lines: list[str]) -> None:
    """If a line continues a run after empty lines, make it a paragraph."""
    for at in [at for at, line in enumerate(lines) if line and line[0] != RUN_MARK]:
        if at and not lines[at - 1]:
            lines[at] = PARAGRAPH_MARK + lines[at]
