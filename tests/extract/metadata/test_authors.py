"""Author names, separated from the text around them."""

from __future__ import annotations

import pytest

from tenax.extract.metadata.authors import (
    _BYLINE,
    _BYLINE_FIRST_CHARS,
    choose_authors,
    find_byline,
    is_byline_label,
    parse_authors,
    parse_names,
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ann Lee", ["Ann Lee"]),
        ("By Ann Lee", ["Ann Lee"]),
        ("Written by: Ann Lee | The Site", ["Ann Lee"]),
        ("Von Ann Lee und Bo Ek", ["Ann Lee", "Bo Ek"]),
        ("Ann Lee, Bo Ek and Cy Dow", ["Ann Lee", "Bo Ek", "Cy Dow"]),
        ("Ann Lee; Bo Ek", ["Ann Lee", "Bo Ek"]),
        ("Ann Lee, MD", ["Ann Lee"]),
        ("Ann Lee, Senior Reporter", ["Ann Lee"]),
        ("Lee, Ann", ["Ann Lee"]),
        ("Ann Lee\nFounder at Acme", ["Ann Lee"]),
        ("Ann Lee (http://h.example/)", ["Ann Lee"]),
        ("Ann (Guha) Lee", ["Ann (Guha) Lee"]),
        ("Ann Lee 25 Aug 2025", ["Ann Lee"]),
        ("Posted on September 21, 2020 by Ann Lee", ["Ann Lee"]),
        ("Ursula von der Leyen", ["Ursula von der Leyen"]),
        ("Von der Leyen", ["Von der Leyen"]),
        ("Di Maio", ["Di Maio"]),
        ("作者：张三", ["张三"]),
        ("sean_g", ["sean_g"]),
        ("Share", []),
        ("Admin", []),
        ("by", []),
        ("ann@h.example", []),
        ("https://h.example/ann", []),
        ("12:30", []),
        ("Updated January 08", []),
        ("This is a sentence about something else entirely", []),
        ("", []),
    ],
)
def test_parse_names(text: str, names: list[str]) -> None:
    assert list(parse_names(text)) == names


def test_names_are_unique() -> None:
    assert parse_authors(["Ann Lee", "ANN LEE", "Bo Ek"]) == ("Ann Lee", "Bo Ek")


@pytest.mark.parametrize(
    ("sources", "chosen"),
    [
        ([["The Site"], ["Ann Lee"]], ("Ann Lee",)),
        ([["Redaktion"], ["Ann Lee"]], ("Ann Lee",)),
        ([["The Site", "Ann Lee"]], ("Ann Lee",)),
        ([["The Site"], ["Share"]], ("The Site",)),
        ([["News Desk"], []], ("News Desk",)),
        ([["Share"], ["Admin"]], ()),
    ],
)
def test_person_wins_over_site(sources: list[list[str]], chosen: tuple[str, ...]) -> None:
    assert choose_authors(sources, ["The Site"]) == chosen


def test_find_byline() -> None:
    assert find_byline(["25 August", "By Ann Lee", "By Bo Ek"]) == "Ann Lee"
    assert find_byline(["Byron was here", "byte by byte"]) == ""
    assert find_byline(["Автор: Ann Lee"]) == "Ann Lee"
    assert is_byline_label("Verfasst von") and not is_byline_label("Est. reading time")


def test_byline_first_chars_are_complete() -> None:
    endings = ("ritten by", "osted by", "ext by", "ext von", "y", "on", "utor:", "uthor:", "ar", "or", "i", "oor", "v",
             "екст:", "втор:")  # fmt: skip
    letters = {chr(code) for code in range(0x110000) for rest in endings if _BYLINE.match(f"{chr(code)}{rest} Ann")}
    assert letters == _BYLINE_FIRST_CHARS


@pytest.mark.parametrize(
    "text", ["by " * 100_000, "a, " * 100_000, "a and " * 100_000, " " * 1_000_000, "(" * 1_000_000]
)
def test_long_text_is_truncated(text: str) -> None:
    assert len(parse_authors([text])) <= 20
