"""Output to files and standard output: tables, wrapping, colour, JSON. I/O errors become errors of one line."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TextIO

import msgspec

from tenax.errors import SinkError, StorageFull
from tenax.logs import sanitize_text
from tenax.text.sanitize import escape_json, escape_pieces

STANDARD_OUTPUT = "standard output"
DEFAULT_ADVICE = "; choose another with -o"


@contextmanager
def translate_os_errors(target: str, advice: str = "") -> Iterator[None]:
    """Translate I/O errors of this output. `BrokenPipeError` is not translated."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull(f"{target}: the disk is full; the crawl itself is unharmed") from None
        raise SinkError(f"{target}: cannot be written: {error.strerror or error}{advice}") from None


@contextmanager
def open_output(output: str | None, advice: str = DEFAULT_ADVICE) -> Iterator[TextIO]:
    """Open the file; None: standard output. `advice` is added to error messages."""
    if output is None:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", errors="replace")
        yield sys.stdout
        return
    with translate_output_errors(output, advice), Path(output).open("w", encoding="utf-8", newline="") as file:
        yield file


def translate_output_errors(output: str | None, advice: str = DEFAULT_ADVICE) -> AbstractContextManager[None]:
    """Translate I/O errors of this file; None: of standard output."""
    return translate_os_errors(output or STANDARD_OUTPUT, advice)


_PIECE_CHARS = 16_384


class TextStyle:
    """Terminal colours. There are none for files, or with NO_COLOR (https://no-color.org)."""

    def __init__(self, is_coloured: bool = False) -> None:
        self._is_coloured = is_coloured

    @classmethod
    def for_stream(cls, stream: TextIO) -> TextStyle:
        return cls(stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")

    def bold(self, text: str) -> str:
        return self._apply_code("1", text)

    def dim(self, text: str) -> str:
        return self._apply_code("2", text)

    def green(self, text: str) -> str:
        return self._apply_code("32", text)

    def yellow(self, text: str) -> str:
        return self._apply_code("33", text)

    def red(self, text: str) -> str:
        return self._apply_code("31", text)

    def cyan(self, text: str) -> str:
        return self._apply_code("36", text)

    def _apply_code(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._is_coloured and text else text


def print_lines(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Print lines. Characters outside the encoding of the stream are replaced."""
    print_pieces((piece for line in lines for piece in _split_line(line)), stream)


def print_pieces(pieces: Iterable[str], stream: TextIO | None = None) -> None:
    """Print pieces of text that contain their own line ends. Otherwise like `print_lines`."""
    stream = stream or sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    with translate_os_errors(STANDARD_OUTPUT):
        for piece in pieces:
            stream.write(piece.encode(encoding, "replace").decode(encoding))
        stream.flush()


def _split_line(line: str) -> Iterator[str]:
    """Split a line into pieces. It may be a whole page, and each write copies its text several times."""
    for at in range(0, len(line), _PIECE_CHARS):
        yield line[at : at + _PIECE_CHARS]
    yield "\n"


def terminal_width() -> int:
    """Columns of the terminal, from 60 to 160."""
    return max(60, min(shutil.get_terminal_size((100, 24)).columns, 160))


def display_width(text: str) -> int:
    """The number of columns of the text: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def truncate_middle(text: str, max_width: int) -> str:
    """Cut the middle to fit `max_width` columns, because URLs differ at their ends."""
    if display_width(text) <= max_width:
        return text
    left = (max_width - 1) // 2
    right = max_width - 1 - left
    return f"{_take_columns(text, left)}…{_take_columns(text[::-1], right)[::-1]}"


def _take_columns(text: str, max_width: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += display_width(char)
        if used > max_width:
            return text[:index]
    return text


def wrap_paragraph(text: str, indent: str, max_width: int | None = None) -> list[str]:
    """Wrap a paragraph. Each line starts with `indent`; a long URL is never split."""
    return textwrap.wrap(
        text, max_width or terminal_width(), initial_indent=indent, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def format_pairs(rows: Iterable[tuple[str, str]], style: TextStyle, *, indent: str = "  ") -> list[str]:
    """Names on the left, values on the right. An empty name continues the row above."""
    rows = list(rows)
    room = max((display_width(name) for name, _ in rows), default=0)
    return [f"{indent}{style.dim(name)}{' ' * (room - display_width(name))}  {value}".rstrip() for name, value in rows]


def wrap_list(name: str, parts: Iterable[str], max_width: int) -> list[tuple[str, str]]:
    """Rows for `format_pairs`: the parts joined by commas, on as many lines as needed."""
    lines: list[str] = []
    for part in parts:
        if lines and display_width(lines[-1]) + display_width(part) + 3 <= max_width:
            lines[-1] += f", {part}"
            continue
        if lines:
            lines[-1] += ","
        lines.append(part)
    return [("" if index else name, line) for index, line in enumerate(lines)]


def format_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], style: TextStyle, *, right_aligned: Iterable[int] = ()
) -> list[str]:
    """Columns below a dim heading. `right_aligned` are the indexes of columns with numbers."""
    right_aligned = set(right_aligned)
    cells = [list(head), *[list(row) for row in rows]]
    rooms = [max(display_width(row[index]) for row in cells) for index in range(len(head))]

    def line(row: Sequence[str]) -> str:
        padded = []
        for index, cell in enumerate(row):
            space = " " * (rooms[index] - display_width(cell))
            padded.append(space + cell if index in right_aligned else cell + space)
        return "  " + "  ".join(padded).rstrip()

    return [style.dim(line(cells[0])), *[line(row) for row in cells[1:]]]


def to_json(value: object, *, indent: int = 2) -> str:
    """A value as JSON, indented, or on one line (`indent=0`). Control characters are escaped."""
    return escape_json(_encode_json(value, indent)).decode()


def print_json(value: Mapping[str, object] | Sequence[object]) -> None:
    """Print a value piece by piece, to avoid several copies of a large page in memory."""
    print_pieces(_json_pieces(value))


def _json_pieces(value: Mapping[str, object] | Sequence[object]) -> Iterator[str]:
    """The output of `to_json`, one part of the value after another."""
    named = isinstance(value, Mapping)
    opened, closed = "{}" if named else "[]"
    parts = value.items() if isinstance(value, Mapping) else (("", one) for one in value)
    yield opened
    for number, (name, part) in enumerate(parts):
        yield ",\n  " if number else "\n  "
        if named:
            yield f"{to_json(name)}: "
        for piece in escape_pieces(_encode_json(part, 2).replace(b"\n", b"\n  ")):  # in texts, line ends are escaped
            yield piece.decode()
    yield f"\n{closed}\n" if value else f"{closed}\n"


def _encode_json(value: object, indent: int) -> bytes:
    document = msgspec.json.encode(value)
    return msgspec.json.format(document, indent=indent) if indent else document


__all__ = [
    "TextStyle",
    "format_pairs",
    "format_table",
    "print_lines",
    "print_pieces",
    "sanitize_text",
    "truncate_middle",
    "wrap_paragraph",
]
