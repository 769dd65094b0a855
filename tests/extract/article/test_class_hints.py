"""What names and first words say about a part of a page."""

from __future__ import annotations

import re

import pytest

from tenax.extract.article.class_hints import (
    BEGINNING_PATTERNS,
    BIT,
    MARKS,
    ROLES,
    TAGS,
    UNSAID,
    beginning_of,
    marks_of,
)


@pytest.mark.parametrize(
    ("name", "marks"),
    [
        ("", set()),
        ("xyzzy", set()),
        ("article-Body__text", {"article", "content"}),
        ("articleBody", {"article", "content"}),
        ("NAV", {"nav"}),
        ("main-nav", {"nav", "content"}),
        ("subnavigation", {"nav"}),
        ("footer", {"footer"}),
        ("football", set()),
        ("site_FooterBox", {"footer"}),
        ("ad ads", {"ad"}),
        ("adapter", set()),
        ("comments-area", {"comment"}),
        ("share-buttons", {"share"}),
        ("shareholder", {"share"}),
        ("product-card", {"product", "list"}),
        ("sr-only", {"hidden"}),
        ("col-12 w-100", set()),
        ("日本", set()),
        ("unshown", set()),
    ],
)
def test_marks_of_names(name: str, marks: set[str]) -> None:
    found = marks_of(name)
    assert {mark for mark in MARKS if found & BIT[mark]} == marks
    assert marks_of(name) == found  # remembered, and the same


def test_a_name_of_any_length_is_read_in_part() -> None:
    assert marks_of("x " * 150 + "nav") == 0
    assert marks_of("x " * 140 + "nav") == BIT["nav"]


def test_names_are_forgotten_before_they_fill_the_memory() -> None:
    for number in range(20_001):
        marks_of(f"nav n{number}")
    assert marks_of("nav n0") == BIT["nav"]


def test_each_mark_has_a_bit_of_its_own() -> None:
    assert sum(BIT.values()) == (1 << len(MARKS)) - 1
    assert {*TAGS.values(), *ROLES.values()} <= set(MARKS)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", UNSAID),
        ("the ferry left", UNSAID),
        ("share", 1),
        ("  » share this", 1),
        ("shared by all", UNSAID),
        ("newsletter", 2),
        ("related stories", 3),
        ("lesen sie auch", 3),
        ("читайте также", 3),
        ("12 comments", 4),
        ("(3 replies)", 4),
        ("about the author", 5),
        ("by ann lee", 6),
        ("bypass the valve", UNSAID),
        ("photo: ann lee", 7),
        ("© 2025", 8),
        ("anzeige", 9),
        ("tags: rope", 10),
        ("load more", 11),
        ("references", 12),
        ("a share of it", UNSAID),
    ],
)
def test_beginnings(text: str, number: int) -> None:
    assert beginning_of(text) == number


def test_every_beginning_is_one_group() -> None:
    """The numbers are features that were learned: a group inside a pattern would shift them."""
    assert [re.compile(pattern).groups for pattern in BEGINNING_PATTERNS] == [0] * 12
