"""Hints from names and first words."""

from __future__ import annotations

import re

import pytest

from tenax.extract.article.class_hints import (
    BEGINNING_PATTERNS,
    HINT_BIT,
    HINT_NAMES,
    NO_BEGINNING,
    ROLE_HINTS,
    TAG_HINTS,
    classify_beginning,
    find_name_hints,
)


@pytest.mark.parametrize(
    ("name", "hints"),
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
def test_name_hints(name: str, hints: set[str]) -> None:
    found = find_name_hints(name)
    assert {hint for hint in HINT_NAMES if found & HINT_BIT[hint]} == hints
    assert find_name_hints(name) == found  # cached, and the same


def test_long_name_is_read_in_part() -> None:
    assert find_name_hints("x " * 150 + "nav") == 0
    assert find_name_hints("x " * 140 + "nav") == HINT_BIT["nav"]


def test_name_cache_is_limited() -> None:
    for number in range(20_001):
        find_name_hints(f"nav n{number}")
    assert find_name_hints("nav n0") == HINT_BIT["nav"]


def test_each_hint_has_its_own_bit() -> None:
    assert sum(HINT_BIT.values()) == (1 << len(HINT_NAMES)) - 1
    assert {*TAG_HINTS.values(), *ROLE_HINTS.values()} <= set(HINT_NAMES)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", NO_BEGINNING),
        ("the ferry left", NO_BEGINNING),
        ("share", 1),
        ("  » share this", 1),
        ("shared by all", NO_BEGINNING),
        ("newsletter", 2),
        ("related stories", 3),
        ("lesen sie auch", 3),
        ("читайте также", 3),
        ("12 comments", 4),
        ("(3 replies)", 4),
        ("about the author", 5),
        ("by ann lee", 6),
        ("bypass the valve", NO_BEGINNING),
        ("photo: ann lee", 7),
        ("© 2025", 8),
        ("anzeige", 9),
        ("tags: rope", 10),
        ("load more", 11),
        ("references", 12),
        ("a share of it", NO_BEGINNING),
    ],
)
def test_beginnings(text: str, number: int) -> None:
    assert classify_beginning(text) == number


def test_every_beginning_is_one_group() -> None:
    """The numbers are learned features: a group inside a pattern would shift them."""
    assert [re.compile(pattern).groups for pattern in BEGINNING_PATTERNS] == [0] * 12
