"""A page as its reader sees it: head, paragraphs, blocks."""

from __future__ import annotations

import pytest

from tenax.cli.output import TextStyle, display_width
from tenax.cli.views.pages import content_fields, format_blocks, format_content, wrap_text
from tenax.crawl.single_page import ExplainedBlock
from tenax.extract.document import Content
from tenax.extract.html.links import Link, Links

FULL = Content(
    media="html",
    headline="The key of the ferry",
    authors=("Ada Moll", "Tore Lind"),
    published="2026-03-04T05:06:07Z",
    site_name="The Harbour Post",
)


@pytest.fixture(autouse=True)
def _a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")


FOLDED = [
    ("one two three", 7, ["one two", "three"]),
    ("one  two", 20, ["one  two"]),
    (" one two ", 20, ["one two"]),
    ("https://a.example/long x", 8, ["https://a.example/long", "x"]),
    ("港町の船が遅れた。", 8, ["港町の船", "が遅れ", "た。"]),
    ("船 ferry 船", 6, ["船", "ferry", "船"]),
    ("العبارة غادرت", 8, ["العبارة", "غادرت"]),
    ("", 8, []),
]


@pytest.mark.parametrize(("text", "room", "lines"), FOLDED, ids=[text or "nothing" for text, *_ in FOLDED])
def test_paragraphs_fit_in_every_script(text: str, room: int, lines: list[str]) -> None:
    assert wrap_text(text, room) == lines


def test_nothing_is_lost_by_folding() -> None:
    text = "The ferry, 港町の船は、left at 5:00。 «Вот» и всё"
    for room in range(2, 40):
        assert "".join(wrap_text(text, room)).replace(" ", "") == text.replace(" ", "")


def test_a_page_on_a_terminal() -> None:
    text = "The key of the ferry\nNobody, not even the captain, had found it before noon, when the tide was out.\nSo."
    assert format_content(FULL, text, TextStyle()) == [
        "The key of the ferry",
        "Ada Moll and Tore Lind · 2026-03-04 · The Harbour Post",
        "",
        "Nobody, not even the captain, had found it before noon, when",
        "the tide was out.",
        "",
        "So.",
    ]


def test_a_page_that_says_nothing_of_itself() -> None:
    assert format_content(Content(media="html"), "So.", TextStyle()) == ["So."]
    assert format_content(Content(media="html", title="A window"), "A window\nSo.", TextStyle()) == [
        "A window",
        "",
        "So.",
    ]


def test_strangers_are_inert_and_colour_is_ours() -> None:
    evil = Content(media="html", headline="\x1b[31mred\u202e", authors=("\x1b]0;me\x07Ada",))
    lines = format_content(evil, "so\x1b[2J", TextStyle(True))
    assert lines == ["\x1b[1mred\x1b[0m", "\x1b[2mAda\x1b[0m", "", "so"]


def test_blocks_and_their_reasons() -> None:
    blocks = [
        ExplainedBlock(False, 0.0312, "in a navigation; 100 % links", "Home"),
        ExplainedBlock(
            True, 0.98, "prose in the main part", "The \x1b[2Jferry left the harbour an hour late, and so on"
        ),
    ]
    assert format_blocks(blocks, TextStyle()) == [
        "  ✗ 0.03  in a navigation; 100 % links  Home",
        "  ✓ 0.98  prose in the main part        The ferry left the…",
        "",
        "  1 of 2 blocks kept, 54 of 58 characters",
    ]
    coloured = format_blocks(blocks, TextStyle(True))
    assert coloured[0].startswith("  \x1b[31m✗\x1b[0m")
    assert coloured[1].startswith("  \x1b[32m✓\x1b[0m")


def test_wide_letters_and_long_reasons_fit_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [ExplainedBlock(True, 1.0, why, "港" * 99) for why in ("under the heading “" + "x" * 40 + "”", "hidden")]
    assert [line.count("港") for line in format_blocks(blocks, TextStyle())[:2]] == [9, 9], (
        "a little room there is always"
    )
    monkeypatch.setenv("COLUMNS", "100")
    assert all(96 <= display_width(line) <= 100 for line in format_blocks(blocks, TextStyle())[:2])


def test_a_document_for_programs() -> None:
    content = Content(
        media="html", title="So", links=Links.from_links([Link("https://a.example/")]), fingerprint=b"\x00\xff"
    )
    assert content_fields(content, "https://b.example/") == {
        "url": "https://b.example/",
        "media": "html",
        "title": "So",
        "fingerprint": "AP8=",
        "links": [
            {
                "href": "https://a.example/",
                "kind": "a",
                "is_nofollow": False,
                "text": "",
                "rel": "",
                "is_in_article": False,
            }
        ],
    }
    assert content_fields(Content(media="text"), None) == {"media": "text"}
