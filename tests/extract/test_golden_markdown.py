"""The Markdown of the written pages: what a CommonMark parser finds in it, compared with the golden Markdown."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.read_score import words_of
from tenax.extract.document import Content
from tests.pages.markdown_parts import PARTS, lines_of, parts_of
from tests.pages.written import read_written, written_pages

# For each part, over all pages: the ratio of golden parts that are found, and of found parts that are golden. Raise
# them when the Markdown improves, and never lower one.
FLOORS: dict[str, tuple[float, float]] = {
    "headings": (0.785, 0.896),
    "items": (0.99, 0.909),
    "cells": (0.99, 0.955),
    "code": (0.99, 0.99),
    "quotes": (0.99, 0.39),
    "links": (0.99, 0.642),
    "images": (0.99, 0.69),
}
ROUND_TRIP_FLOOR = 1.0
"""Ratio of pages whose Markdown has the same words as their article text. Raise only."""
FEWEST_OF_A_PART = {"headings": 150, "items": 60, "cells": 60, "code": 8, "quotes": 2, "links": 25, "images": 6}

PAGES = written_pages()


def golden_and_found(part: str) -> dict[str, tuple[Counter[tuple[str, ...]], Counter[tuple[str, ...]]]]:
    return {
        page.name: (
            parts_of(page.markdown, page.about.url)[part],
            parts_of(read_written(page).markdown, page.about.url)[part],
        )
        for page in PAGES
    }


@pytest.mark.parametrize("part", PARTS)
def test_part_floors(part: str) -> None:
    pairs = golden_and_found(part)
    hits = sum((golden & found).total() for golden, found in pairs.values())
    expected = sum(golden.total() for golden, _ in pairs.values())
    had = sum(found.total() for _, found in pairs.values())
    least_kept, least_clean = FLOORS[part]
    lost = {name: list(golden - found) for name, (golden, found) in pairs.items() if golden - found}
    extra = {name: list(found - golden) for name, (golden, found) in pairs.items() if found - golden}
    assert hits / expected >= least_kept, f"lost: {lost}"
    assert (hits / had if had else 0.0) >= least_clean, f"not golden: {extra}"


def says_the_same(document: Content) -> bool:
    words = words_of(document.article)
    return bool(words) and words_of("\n".join(lines_of(document.markdown))) == words


def test_markdown_has_the_words_of_the_text() -> None:
    """Through a CommonMark parser and back to words: nothing is lost, and no text becomes markup."""
    differing = [page.name for page in PAGES if not says_the_same(read_written(page))]
    assert 1 - len(differing) / len(PAGES) >= ROUND_TRIP_FLOOR, f"other words: {differing}"


def test_golden_set_has_enough_of_every_part() -> None:
    counts = dict.fromkeys(PARTS, 0)
    for page in PAGES:
        for part, found in parts_of(page.markdown, page.about.url).items():
            counts[part] += found.total()
    assert len(PAGES) >= 60
    assert not {part: count for part, count in counts.items() if count < FEWEST_OF_A_PART[part]}


def test_markdown_parts() -> None:
    markdown = "\n".join(
        (
            "# A *lamp*\n",
            "- one [link](/x)\n- two\n  1. inner\n",
            "| a | b |\n| --- | --- |\n| `c` | |\n",
            "```py\nx = 1\n```\n",
            "> said\n> twice\n",
            "![alt](i.png)",
        )
    )
    assert parts_of(markdown, "https://site.example/dir/") == {
        "headings": Counter([("h1", "A lamp")]),
        "items": Counter([("-", "one link"), ("-", "two"), ("1.", "inner")]),
        "cells": Counter([("th", "a"), ("th", "b"), ("td", "c"), ("td", "")]),
        "code": Counter([("py", "x = 1")]),
        "quotes": Counter([("said twice",)]),
        "links": Counter([("https://site.example/x",)]),
        "images": Counter([("https://site.example/dir/i.png", "alt")]),
    }
    assert lines_of(markdown) == ["A lamp", "one link", "two", "inner", "a", "b", "c", "x = 1", "said twice"]
