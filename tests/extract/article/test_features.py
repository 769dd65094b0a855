"""The values by which blocks are scored."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tenax.extract.article.blocks import Blocks
from tenax.extract.article.features import (
    BLOCK_FEATURES,
    BOX_FEATURES,
    FRACTION_FEATURES,
    PAGE_FEATURES,
    compute_features,
    plan_scoring,
)
from tenax.extract.article.layout import HEADING_TAGS, PageLayout
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import PageHints
from tests.extract.markup import MARKUP

HINTS = PageHints(title="The key of the ferry")
PAGE = """
<p>Before it all</p><h1>The key of the ferry</h1><p>So it went, 3 days ago…</p><p>THEN it was found.</p>
<h2>Related stories</h2><p class=c><a href=/1>One</a></p><p class=c>Two @ sea:</p><p>Two @ sea:</p>
"""


def numbers_of(html: str, text: str, hints: PageHints = HINTS) -> dict[str, float]:
    """The values of the first block with this text, by name."""
    blocks = Blocks(Dom(html).walk)
    features = compute_features(blocks, PageLayout(blocks, hints))
    at = blocks.texts.index(text)
    names, numbers = (
        (*BLOCK_FEATURES, *BOX_FEATURES),
        (*features.block_values[at], *features.box_values[blocks.boxes[at]]),
    )
    return dict(zip(names, numbers, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Before it all", {"from title": -1, "from heading": -1, "before chars": -1, "after tag": 2}),
        ("The key of the ferry", {"from title": 0, "in title": 1.0, "heading level": 2, "heading": 0, "ends": 0}),
        ("So it went, 3 days ago…", {"ends": 1, "from title": 1, "pauses": 1, "after chars": 18}),
        ("THEN it was found.", {"ends": 1, "from title": 2, "strangers": 0}),
        ("Related stories", {"beginning": 3, "heading": 3, "strangers": 1, "from heading": 0}),
        ("One", {"link share": 1.0, "links": 1, "alike": 2, "heading": 3, "from heading": 1, "same text": 1}),
        ("Two @ sea:", {"ends": 0, "same text": 2, "before link share": 1.0, "after chars": 10}),
    ],
)
def test_block_values(text: str, expected: dict[str, float]) -> None:
    found = numbers_of(PAGE, text)
    assert {name: found[name] for name in expected} == expected


def test_hint_levels() -> None:
    html = "<div class=nav><div class=share><div><div class=ad><p id=comment>x</p></div></div></div></div>"
    found = numbers_of(html, "x")
    assert [found[hint] for hint in ("comment", "ad", "share", "nav", "footer")] == [3, 2, 1, 1, 0]


def test_distance_without_a_title() -> None:
    assert numbers_of("<p>x", "x", PageHints())["from title"] < -900


PROSE = "The ferry left the harbour an hour late, because nobody had found the key of it, not even the captain."
LINKS = "<ul>" + "<li><a href=/x>A link</a>" * 5 + "</ul>"


@pytest.mark.parametrize(
    ("html", "skipped"),
    [
        ("<p>Words of a paragraph, and nothing else.</p>", []),
        (f"<div>{LINKS}</div><p>{PROSE}", ["A link"] * 5),
        (f"<div>{LINKS}</div><p>{PROSE}<p>Read <a href=/x>this</a>, will you?", ["A link"] * 5),
        (
            f"<div><ul><li>By <a href=/a>Ann Lee, who writes here</a></ul></div><p>{PROSE}",
            ["By Ann Lee, who writes here"],
        ),
        (f"<div><ul><li><a href=/x>{'A long teaser. ' * 10}</a></ul></div><p>{PROSE}", []),
    ],
    ids=["prose", "a list", "a link in prose", "a word among links", "a long link"],
)
def test_skipped_blocks_have_no_values(html: str, skipped: list[str]) -> None:
    blocks = Blocks(Dom(html).walk)
    plan = plan_scoring(blocks, PageLayout(blocks, HINTS), is_article=True)
    assert [text for at, text in enumerate(blocks.texts) if at not in (*plan.scored, *plan.certain)] == skipped


@settings(deadline=None, max_examples=100)
@given(MARKUP)
def test_values_of_any_markup(html: str) -> None:
    blocks = Blocks(Dom(html).walk)
    layout = PageLayout(blocks, HINTS)
    features = compute_features(blocks, layout)
    assert all(len(row) == len(BLOCK_FEATURES) for row in features.block_values)
    assert set(features.box_values) == set(blocks.boxes)
    assert all(len(row) == len(BOX_FEATURES) for row in features.box_values.values())
    assert len(features.page_values) == len(PAGE_FEATURES)
    selective = compute_features(blocks, layout, plan_scoring(blocks, layout, is_article=True))
    assert all(not selective.block_values[at] for at in selective.plan.certain)
    # A heading that is not scored, such as a link, is no heading for the blocks after it.
    if not any(layout.block_tags[at] in HEADING_TAGS for at in selective.plan.certain):
        assert all(row in ((), whole) for row, whole in zip(selective.block_values, features.block_values, strict=True))


@settings(deadline=None, max_examples=100)
@given(MARKUP)
def test_fraction_features_are_declared(html: str) -> None:
    """Tables compare them that way, and are fast only if it is true."""
    blocks = Blocks(Dom(html).walk)
    features = compute_features(blocks, PageLayout(blocks, HINTS))
    rows = [(BLOCK_FEATURES, row) for row in features.block_values] + [
        (BOX_FEATURES, row) for row in features.box_values.values()
    ]
    for names, numbers in (*rows, (PAGE_FEATURES, features.page_values)):
        kinds = {name: type(number) for name, number in zip(names, numbers, strict=True)}
        assert kinds == {name: float if name in FRACTION_FEATURES else int for name in names}
