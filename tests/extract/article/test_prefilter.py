"""Of long lists some items are asked about, and stand for all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tenax.extract.article.blocks import Blocks
from tenax.extract.article.features import features_of
from tenax.extract.article.hints import Hints
from tenax.extract.article.layout import Outline
from tenax.extract.article.prefilter import SAMPLE, Doubts, doubts_of, every_block
from tenax.extract.article.select import judge
from tenax.extract.html.dom import Dom
from tenax.model import PageKind
from tests.extract.markup import MARKUP

ITEMS = "".join(f"<li>Item {number} of a list of things</li>" for number in range(100))
CELLS = "".join(f"<tr><td>Cell {number}</td></tr>" for number in range(100))
COLUMNS = "".join(f"<tr><td>{'A column of a page that is laid out in a table. ' * 3}</td></tr>" for _ in range(100))


def doubts_in(html: str, *, is_article: bool = False) -> tuple[Blocks, Doubts]:
    blocks = Blocks(Dom(html).walk)
    return blocks, doubts_of(blocks, Outline(blocks, Hints()), is_article=is_article)


@pytest.mark.parametrize("is_article", [False, True])
@pytest.mark.parametrize("html", [f"<ul>{ITEMS}</ul>", f"<ol>{ITEMS}</ol>", f"<table>{CELLS}</table>"])
def test_some_items_of_a_long_list_stand_for_all(html: str, is_article: bool) -> None:
    _, doubts = doubts_in(f"<p>Before it.</p>{html}<p>After it.</p>", is_article=is_article)
    (like,) = doubts.alike
    assert len(like.asked) == SAMPLE
    assert sorted([*like.asked, *like.others]) == list(range(1, 101))
    assert list(doubts.asked) == [0, *like.asked, 101]
    # From all of it, not from its beginning.
    assert like.asked[0] == 1 and like.asked[-1] > 90


@pytest.mark.parametrize(
    "html",
    [
        "".join(f"<p>Paragraph {number} of many.</p>" for number in range(100)),
        "".join(f"<ul><li>{number} of a short list</li><li>and another</li></ul>" for number in range(50)),
        f"<table>{COLUMNS}</table>",
        "<ul>" + "".join(f"<li><h2>Heading {number}</h2></li>" for number in range(100)) + "</ul>",
    ],
    ids=["paragraphs", "short lists", "columns", "headings"],
)
def test_others_are_asked_about_each(html: str) -> None:
    blocks, doubts = doubts_in(html)
    assert list(doubts.asked) == list(range(len(blocks)))
    assert not doubts.alike


def test_who_stands_for_others_gives_them_its_score() -> None:
    blocks = Blocks(Dom(f"<ul>{ITEMS}</ul>").walk)
    outline = Outline(blocks, Hints())
    doubts = doubts_of(blocks, outline, is_article=False)
    some = judge(blocks, features_of(blocks, outline, doubts), PageKind.OTHER)
    every = judge(blocks, features_of(blocks, outline, every_block(blocks)), PageKind.OTHER)
    assert len(set(some.scores)) == 1
    assert some.scores[0] == pytest.approx(every.scores[0], abs=0.1)


def test_what_is_not_shown_is_dropped_though_others_stand_for_it() -> None:
    shown, unseen = (f"<ul {how}>{ITEMS}</ul>" for how in ("", "hidden"))
    blocks = Blocks(Dom(f"<main>{shown}</main>{unseen}").walk)
    outline = Outline(blocks, Hints())
    features = features_of(blocks, outline, doubts_of(blocks, outline, is_article=False))
    assert judge(blocks, features, PageKind.OTHER).scores[100:] == [0.0] * 100


@settings(deadline=None, max_examples=100)
@given(MARKUP)
def test_every_block_is_asked_about_or_has_a_reason_not_to(html: str) -> None:
    for is_article in (False, True):
        blocks, doubts = doubts_in(html, is_article=is_article)
        spared = [at for like in doubts.alike for at in like.others]
        assert len(spared) == len(set(spared))
        assert not {*doubts.asked} & {*doubts.clear, *spared}
        if not is_article:
            assert sorted([*doubts.asked, *spared]) == list(range(len(blocks)))
