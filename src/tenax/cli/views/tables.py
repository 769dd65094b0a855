"""Lines for a terminal or a file: columns that meet, a little colour where it is wanted, text of strangers inert."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from tenax.cli.output import STANDARD_OUTPUT, told_plainly
from tenax.logs import plain

__all__ = ["Ink", "pairs", "plain", "shortened", "show", "show_pieces", "table", "wrapped"]

_PIECE_CHARS = 16_384


class Ink:
    """Colour, or none of it when the reader is a file or asked for none (https://no-color.org)."""

    def __init__(self, is_coloured: bool = False) -> None:
        self._is_coloured = is_coloured

    @classmethod
    def on(cls, stream: TextIO) -> Ink:
        return cls(stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")

    def bold(self, text: str) -> str:
        return self._with("1", text)

    def dim(self, text: str) -> str:
        return self._with("2", text)

    def good(self, text: str) -> str:
        return self._with("32", text)

    def warm(self, text: str) -> str:
        return self._with("33", text)

    def bad(self, text: str) -> str:
        return self._with("31", text)

    def cool(self, text: str) -> str:
        return self._with("36", text)

    def _with(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._is_coloured and text else text


def show(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Print lines whatever the terminal's encoding; what it cannot show is replaced, never a crash."""
    show_pieces((piece for line in lines for piece in _cut(line)), stream)


def show_pieces(pieces: Iterable[str], stream: TextIO | None = None) -> None:
    """The same of pieces of text, of which some end lines."""
    stream = stream or sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    with told_plainly(STANDARD_OUTPUT):
        for piece in pieces:
            stream.write(piece.encode(encoding, "replace").decode(encoding))
        stream.flush()


def _cut(line: str) -> Iterator[str]:
    """A line and its end. It may be a whole page: what is written at once is held in several copies meanwhile."""
    for at in range(0, len(line), _PIECE_CHARS):
        yield line[at : at + _PIECE_CHARS]
    yield "\n"


def columns() -> int:
    """The width to fill: the terminal's, within reason."""
    return max(60, min(shutil.get_terminal_size((100, 24)).columns, 160))


def width(text: str) -> int:
    """Columns the text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def shortened(text: str, room: int) -> str:
    """The text in at most `room` columns; the middle gives way, because URLs differ at their ends."""
    if width(text) <= room:
        return text
    left = (room - 1) // 2
    right = room - 1 - left
    return f"{_head(text, left)}…{_head(text[::-1], right)[::-1]}"


def _head(text: str, room: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += width(char)
        if used > room:
            return text[:index]
    return text


def wrapped(text: str, indent: str, room: int | None = None) -> list[str]:
    """A paragraph in lines that all start with `indent`; a long URL is never cut in two."""
    return textwrap.wrap(
        text, room or columns(), initial_indent=indent, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def pairs(rows: Iterable[tuple[str, str]], ink: Ink, *, indent: str = "  ") -> list[str]:
    """Names on the left, values on the right; a row without a name goes on with the one above."""
    rows = list(rows)
    room = max((width(name) for name, _ in rows), default=0)
    return [f"{indent}{ink.dim(name)}{' ' * (room - width(name))}  {value}".rstrip() for name, value in rows]


def spread(name: str, parts: Iterable[str], room: int) -> list[tuple[str, str]]:
    """Rows for `pairs`: the parts one after the other with commas, in as many lines as they need."""
    lines: list[str] = []
    for part in parts:
        if lines and width(lines[-1]) + width(part) + 3 <= room:
            lines[-1] += f", {part}"
            continue
        if lines:
            lines[-1] += ","
        lines.append(part)
    return [("" if index else name, line) for index, line in enumerate(lines)]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], ink: Ink, *, right: Iterable[int] = ()) -> list[str]:
    """Columns under a dim head; those in `right` are numbers and stand to the right."""
    right = set(right)
    cells = [list(head), *[list(row) for row in rows]]
    rooms = [max(width(row[index]) for row in cells) for index in range(len(head))]

    def line(row: Sequence[str]) -> str:
        padded = []
        for index, cell in enumerate(row):
            space = " " * (rooms[index] - width(cell))
            padded.append(space + cell if index in right else cell + space)
        return "  " + "  ".join(padded).rstrip()

    return [ink.dim(line(cells[0])), *[line(row) for row in cells[1:]]]
