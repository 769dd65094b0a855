"""Draws docs/terminal.svg from a run of `tenax demo` on a terminal; run by `scripts/docs picture`.

The picture shows the live progress during the run, and the summary at its end. It is not generated with the other
parts, because its times and counts differ from run to run.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterable
from html import escape, unescape
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

PICTURE = Path(__file__).parent / "terminal.svg"
COLUMNS, ROWS = 100, 50
RULE = "┄"
"""Drawn between the live progress and the summary."""

_ERASED = re.compile(r"\r(?:\x1b\[2K)?(?:\x1b\[1A\x1b\[2K)+")
"""How a frame is erased before the next one is drawn."""
_CURSOR = re.compile(r"\x1b\[\?25[hl]")

_SUMMARY_PARAGRAPHS = 3
"""The ending, the counts, and the files. The suggested commands are left out."""

# Sizes in pixels. The width of a monospace character is 0.6 of the font size.
_FONT_SIZE, _CHARACTER_WIDTH, _LINE_HEIGHT = 14, 8.4, 20
_MARGIN, _BAR_HEIGHT = 20, 34

# A dark window, visible on light and dark pages.
_STYLE = f"""\
.window {{ fill: #161b22; stroke: #6e7681; stroke-opacity: 0.5; }}
.bar {{ stroke: #6e7681; stroke-opacity: 0.35; }}
.title {{ fill: #8b949e; font: 13px system-ui, sans-serif; text-anchor: middle; }}
.screen {{
  fill: #c9d1d9;
  font: {_FONT_SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}}
.bold {{ font-weight: bold; fill: #f0f6fc; }}
.dim {{ fill: #8b949e; }}
.red {{ fill: #ff7b72; }}
.green {{ fill: #56d364; }}
.yellow {{ fill: #e3b341; }}
.cyan {{ fill: #56d4dd; }}
.bright_black {{ fill: #6e7681; }}"""
_COLOURS = frozenset(re.findall(r"^\.(\w+) {", _STYLE, re.MULTILINE))


class Recording(NamedTuple):
    """The output of a run on a terminal, with colours as escape sequences."""

    frames: tuple[str, ...]
    """Every frame of the live progress. Output before the first frame is part of it."""
    ending: str
    """The final output."""


def main() -> int:
    PICTURE.write_text(drawn(record()), encoding="utf-8")
    sys.stdout.write(f"{PICTURE} written\n")
    return 0


def record(*arguments: str) -> Recording:
    """Run the demo with these arguments on a terminal of a fixed size."""
    with tempfile.TemporaryDirectory() as folder:
        shown = _run_on_a_terminal([sys.executable, "-m", "tenax", "demo", *arguments], folder)
    *frames, ending = _ERASED.split(_CURSOR.sub("", shown.replace("\r\n", "\n")))
    if not frames:
        raise SystemExit(f"the demo drew no progress, but said:\n{ending}")
    return Recording(tuple(frames), ending)


def _run_on_a_terminal(command: list[str], folder: str) -> str:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TENAX_", "NO_COLOR"))}
    source = str(Path(__file__).parent.parent / "src")
    surroundings = clean | {"TERM": "xterm-256color", "CALLED_AS": "tenax", "PYTHONPATH": source}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=surroundings) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the end of file of a pseudo-terminal
            while data := os.read(ours, 65536):
                shown += data
    os.close(ours)
    if process.returncode:
        raise SystemExit(f"the demo ended with exit code {process.returncode}:\n{shown.decode()}")
    return shown.decode()


def drawn(recording: Recording) -> str:
    """The picture as SVG: the command, a frame, and the summary.

    The frame at a quarter of the time is used: about half of the pages are there, because failing hosts come last.
    """
    frame = recording.frames[len(recording.frames) // 4].rstrip("\n")
    summary = "\n\n".join(recording.ending.strip("\n").split("\n\n")[:_SUMMARY_PARAGRAPHS])
    prompt, rule = Text.assemble(("$ tenax demo", "bold")), Text.assemble((RULE * COLUMNS, "bright_black"))
    screen = [prompt, *_lines(frame), Text(), rule, Text(), *_lines(summary)]
    width = round(COLUMNS * _CHARACTER_WIDTH) + 2 * _MARGIN
    height = _BAR_HEIGHT + len(screen) * _LINE_HEIGHT + 2 * _MARGIN
    rows = [_row(line, _BAR_HEIGHT + _MARGIN + (at + 0.75) * _LINE_HEIGHT) for at, line in enumerate(screen)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' role="img" aria-labelledby="title">',
            '<title id="title">tenax demo on a terminal: live progress, and the summary at the end</title>',
            f"<style>\n{_STYLE}\n</style>",
            *_window(width, height),
            '<g class="screen">',
            *(row for row in rows if row),
            "</g>\n</svg>\n",
        ]
    )


def _lines(ansi: str) -> list[Text]:
    return list(Text.from_ansi(ansi).split("\n", allow_blank=True))


def _window(width: int, height: int) -> list[str]:
    lights = [f'<circle cx="{_MARGIN + 18 * at}" cy="17" r="5.5" class="{name}"/>' for at, name in enumerate(_LIGHTS)]
    return [
        f'<rect class="window" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="9"/>',
        f'<path class="bar" d="M1 {_BAR_HEIGHT}.5H{width - 1}"/>',
        *lights,
        f'<text class="title" x="{width / 2:g}" y="22">tenax demo</text>',
    ]


_LIGHTS = ("red", "yellow", "green")


def _row(line: Text, y: float) -> str:
    """One line of the screen. Each span has a position and a width, so columns align in any font."""
    spans = []
    at = 0
    for span in line.render(_CONSOLE):
        text = span.text.rstrip("\n")
        if words := text.strip():
            x = _MARGIN + (at + cell_len(text) - cell_len(text.lstrip())) * _CHARACTER_WIDTH
            spans.append(_span(words, x, y, _classes(span.style)))
        at += cell_len(text)
    return "".join(spans)


_CONSOLE = Console(file=StringIO())


_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
"""Unlike usual ones, several of them in a row are drawn as several."""


def _span(words: str, x: float, y: float, classes: str) -> str:
    attributes = f' class="{classes}"' if classes else ""
    length = cell_len(words) * _CHARACTER_WIDTH
    return (
        f'<text x="{x:g}" y="{y:g}"{attributes} textLength="{length:g}" lengthAdjust="spacingAndGlyphs">'
        f"{escape(words).replace(' ', _NO_BREAK_SPACE)}</text>"
    )


def _classes(style: str | Style | None) -> str:
    style = style if isinstance(style, Style) else Style.parse(style or "")
    colour = _colour(style)
    if colour and colour not in _COLOURS:
        raise SystemExit(f"the demo uses the colour {colour}, for which the picture has no style")
    names = (("bold", style.bold), ("dim", style.dim), (colour, colour))
    return " ".join(name for name, applies in names if applies)


_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def _colour(style: Style) -> str:
    """Its name among the sixteen of a terminal; empty for that of plain text."""
    if style.color is None or style.color.number is None:
        return ""
    number = style.color.number
    return f"{'bright_' if number >= len(_NAMES) else ''}{_NAMES[number % len(_NAMES)]}"


def labels(lines: Iterable[str]) -> set[str]:
    """The labels in the left column of the output."""
    return {match[1] for line in lines if (match := _LABEL.match(line))}


_LABEL = re.compile(r" {1,2}([A-Za-z]+(?: [A-Za-z]+)*) {2,}\S")


def text_of(svg: str) -> list[str]:
    """The text lines of a picture."""
    lines: dict[str, str] = {}
    for x, y, words in _SPAN.findall(svg):
        column = round((float(x) - _MARGIN) / _CHARACTER_WIDTH)
        lines[y] = lines.get(y, "").ljust(column) + unescape(words).replace(_NO_BREAK_SPACE, " ")
    return list(lines.values())


_SPAN = re.compile(r'<text x="([\d.]+)" y="([\d.]+)"[^>]* textLength[^>]*>([^<]*)</text>')


if __name__ == "__main__":
    sys.exit(main())
