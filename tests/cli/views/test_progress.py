"""The picture of a running crawl."""

from __future__ import annotations

import io

import msgspec
import pytest
from rich.console import Console

from tenax.cli.views.progress import LiveView, sparkline
from tenax.model import HostBackoff, Progress

NOW = 1_750_000_000.0


BUSY = Progress(
    now=NOW,
    elapsed_seconds=102.0,
    pages=1204,
    pages_per_second=12.34,
    waiting=3400,
    in_flight=8,
    hosts_active=6,
    backing_off=(HostBackoff("https://slow.example", NOW + 43, "rate limited\x1b[2J " + "and a long story " * 10),),
    hosts_backing_off=3,
    failures={"timeout_total": 12, "not_found": 3},
    wire_bytes=18_234_000,
)


def lines_of(progress: Progress, columns: int) -> list[str]:
    console = Console(file=io.StringIO(), width=columns, force_terminal=False)
    picture = LiveView(["https://example.org/a/very/long/path/to/begin/with"], "tenax-example.org", console=console)
    with console.capture() as capture:
        console.print(picture.render(progress))
    return capture.get().splitlines()


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_lines_fit_and_the_height_is_the_same(columns: int) -> None:
    lines = lines_of(BUSY, columns)
    assert len(lines) == 11
    assert max(len(line) for line in lines) <= columns


def test_it_shows_what_matters() -> None:
    text = "\n".join(lines_of(BUSY, 100))
    for part in ("1,204", "12.3/s", "3,400 waiting", "8 in flight", "18.2 MB received", "6 active   3 backing off"):
        assert part in text
    for part in ("https://slow.example  0:43  rate limited", "and 2 more", "12 timed out   3 not found", "1:42"):
        assert part in text
    assert "Ctrl-C finishes" in text
    assert "\x1b" not in text


def test_a_crawl_that_is_stopping_says_so() -> None:
    assert "press Ctrl-C again" in "\n".join(lines_of(msgspec.structs.replace(BUSY, is_stopping=True), 100))


def test_nothing_to_show_yet_is_fine() -> None:
    text = "\n".join(lines_of(Progress(now=NOW, elapsed_seconds=0.0), 80))
    assert "0 waiting" in text
    assert "failures   none" in text


def test_it_leaves_the_terminal_as_it_was() -> None:
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True)
    picture = LiveView(["https://example.org"], "out", console=console)
    picture.begin(["resuming: 120 pages done"])
    picture.draw(BUSY)
    picture.end()
    picture.end()
    written = file.getvalue()
    assert "resuming: 120 pages done" in written
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")


def test_how_far_it_is_shows_without_colour() -> None:
    """An empty bar is not a full one, also where NO_COLOR is set."""
    empty, half, full = (
        "\n".join(lines_of(Progress(now=NOW, elapsed_seconds=0.0, pages=done, waiting=10 - done), 80))
        for done in (0, 5, 10)
    )
    assert [text.count("━") for text in (empty, half, full)] == [0, 12, 24]
    assert [text.count("─") for text in (empty, half, full)] == [24, 12, 0]


def test_sparkline() -> None:
    assert sparkline([]) == ""
    assert sparkline([0.0, 0.0]) == ""
    assert sparkline([0.0, 5.0, 10.0]) == "▁▅█"
