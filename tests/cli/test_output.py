"""Lines that meet and fit."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from tenax.cli import output
from tenax.cli.output import TextStyle


def test_a_file_gets_no_colour() -> None:
    assert TextStyle.for_stream(io.StringIO()).red("text") == "text"
    assert TextStyle(True).red("text") == "\x1b[31mtext\x1b[0m"


@given(st.text(alphabet=st.characters(categories=["L", "N", "P"]), max_size=60), st.integers(4, 40))
def test_shortened_text_fits(text: str, room: int) -> None:
    short = output.truncate_middle(text, room)
    assert output.display_width(short) <= room
    assert short == text or "…" in short


def test_shortened_keeps_both_ends() -> None:
    assert output.truncate_middle("https://example.org/a/very/long/path/page.html", 21) == "https://ex…/page.html"


def test_columns_meet_although_characters_are_wide() -> None:
    lines = output.format_table(("host", "n"), [["例え.jp", "1"], ["a.example", "12"]], TextStyle(), right_aligned=(1,))
    assert lines == ["  host        n", "  例え.jp     1", "  a.example  12"]


def test_pairs_stand_under_each_other() -> None:
    assert output.format_pairs([("a", "1"), ("long", "2"), ("", "3")], TextStyle()) == [
        "  a     1",
        "  long  2",
        "        3",
    ]


def test_a_url_is_never_cut_by_wrapping() -> None:
    url = "https://example.org/" + "x" * 100
    assert any(url in line for line in output.wrap_paragraph(f"found on {url} yesterday", "    ", 40))


def test_what_a_stream_cannot_show_is_replaced() -> None:
    written = io.BytesIO()
    narrow = io.TextIOWrapper(written, encoding="ascii")
    output.print_lines(["✓ café"], narrow)
    assert written.getvalue() == b"? caf?\n"


def test_a_long_row_goes_on_in_the_next_line() -> None:
    rows = output.wrap_list("found", ["1 seed", "18 by links", "13 by sitemaps"], 22)
    assert rows == [("found", "1 seed, 18 by links,"), ("", "13 by sitemaps")]
    assert output.wrap_list("found", [], 22) == []
