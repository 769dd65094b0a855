"""Author and date marked in the body of a page."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tenax.extract.html.dom import Dom
from tenax.extract.metadata.authors import (
    MAX_CANDIDATES,
    filter_lone_dates,
    find_author_texts,
    find_date_texts,
    find_lines_near_title,
    find_lines_with_years,
)


@pytest.mark.parametrize(
    ("html", "texts"),
    [
        ("<b class=author>C</b><b class=byline>B</b><a rel=author>R</a><b itemprop=author>M</b>", ["M", "R", "B", "C"]),
        ("<div class=Author><img><a>Ann</a><p>Editor</p></div>", ["Ann"]),
        ("<div class=author>Ann<p>Editor</p></div>", ["Ann\nEditor"]),
        ("<meta itemprop=author content=Ann>", ["Ann"]),
        ("<div class=author-bio>Ann writes</div>", []),
        ("<div class=sidebar><b class=author>Ann</b></div>", []),
        ("<footer><b class=author>Ann</b></footer>", []),
        ("<body class=has-sidebar><b class=author>Ann</b>", ["Ann"]),
        ("<div class=post-footer><b class=author>Ann</b></div>", ["Ann"]),
        ("<div class='post-footer page-footer'><b class=author>Ann</b></div>", []),
        ("<div class=Main-Nav><b class=author>Ann</b></div>", []),
        ("<div class='navigated submenu unreply'><b class=author>Ann</b></div>", ["Ann"]),
        ("<div class=sidebar><b class=author>Ann</b></div><div><b class=author>Bo</b></div>", ["Bo"]),
        ("<ul class=replies><li><b class=author>Ann</b><li><b class=author>Bo</b></ul>", []),
        ("<b class=author>" + "x" * 400 + "</b>", []),
    ],
)
def test_author_texts(html: str, texts: list[str]) -> None:
    assert list(find_author_texts(Dom(html))) == texts


@pytest.mark.parametrize(
    ("html", "texts"),
    [
        (
            "<p class=date>4</p><p class=published>3</p><time>2</time><i itemprop=datePublished>1</i>",
            ["1", "2", "3", "4"],
        ),
        ("<time datetime=2025>now</time>", ["2025"]),
        ("<time class=updated>2025</time>", []),
        ("<p class=date>no number</p>", []),
    ],
)
def test_date_texts(html: str, texts: list[str]) -> None:
    assert list(find_date_texts(Dom(html))) == texts


def test_candidates_are_limited() -> None:
    assert len(list(find_date_texts(Dom("<time>1</time>" * 500)))) == MAX_CANDIDATES


def test_large_nested_elements_are_no_bylines(within: Callable[[float], None]) -> None:
    dom = Dom("<div class='author date'>" * MAX_CANDIDATES + "<p>Ann 2025</p>" * 20_000)
    assert (list(find_author_texts(dom)), list(find_date_texts(dom))) == ([], [])
    within(3.0)


def test_find_lines_near_title() -> None:
    assert list(find_lines_near_title("A Story", "before\na story\nafter\n" + "x" * 200)) == [
        "after",
        "x" * 30,
        "before",
    ]
    assert list(find_lines_near_title("", "a\nb")) == []
    assert list(find_lines_near_title("missing", "a\nb")) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Text\n24 August 2025\n" + "in 2024 " * 20, ["24 August 2025"]),
        ("1 May 2025\n" * 9, []),
        ("1 May 2025\n2 May 1999\n3 May 2001", ["1 May 2025", "2 May 1999", "3 May 2001"]),
        ("2019 - 2021\nNo 12005, 20255", ["2019 - 2021"] * 2),
    ],
)
def test_filter_lone_dates(text: str, found: list[str]) -> None:
    assert filter_lone_dates(find_lines_with_years(text)) == found
