"""The Markdown of the pages written for us: what a CommonMark parser finds in it, and what in the golden one."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.read_score import words_of
from tenax.extract.document import Content
from tests.pages.markdown_parts import PARTS, lines_of, parts_of
from tests.pages.written import read_written, written_pages

# Of each part, over all pages: the share of the golden ones that is found, and the share of the found ones that is
# golden. Raise them when the Markdown gets better, and never lower one.
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
"""Share of pages whose Markdown says the same words as their clean text. Raised, never lowered."""
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
def test_parts_stay_as_whole(part: str) -> None:
    pairs = golden_and_found(part)
    hits = sum((golden & found).total() for golden, found in pairs.values())
    wanted = sum(golden.total() for golden, _ in pairs.values())
    had = sum(found.total() for _, found in pairs.values())
    least_kept, least_clean = FLOORS[part]
    lost = {name: list(golden - found) for name, (golden, found) in pairs.items() if golden - found}
    extra = {name: list(found - golden) for name, (golden, found) in pairs.items() if found - golden}
    assert hits / wanted >= least_kept, f"lost: {lost}"
    assert (hits / had if had else 0.0) >= least_clean, f"not golden: {extra}"


def says_the_same(document: Content) -> bool:
    words = words_of(document.article)
    return bool(words) and words_of("\n".join(lines_of(document.markdown))) == words


def test_markdown_says_what_the_text_says() -> None:
    """Through a CommonMark parser and back to words: nothing is lost in it, and nothing becomes a mark."""
    differing = [page.name for page in PAGES if not says_the_same(read_written(page))]
    assert 1 - len(differing) / len(PAGES) >= ROUND_TRIP_FLOOR, f"other words: {differing}"


def test_the_golden_set_has_enough_of_every_part() -> None:
    counts = dict.fromkeys(PARTS, 0)
    for page in PAGES:
        for part, found in parts_of(page.markdown, page.about.url).items():
            counts[part] += found.total()
    assert len(PAGES) >= 60
    assert not {part: count for part, count in counts.items() if count < FEWEST_OF_A_PART[part]}


def test_parts_of_a_markdown() -> None:
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
