"""Of long lists some items are asked about, and stand for all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tenax.extract.article.blocks import Blocks
from tenax.extract.article.features import compute_features
from tenax.extract.article.hints import PageHints
from tenax.extract.article.layout import PageLayout
from tenax.extract.article.prefilter import LIST_SAMPLE_SIZE, ScoringPlan, plan_scoring, plan_scoring_all
from tenax.extract.article.select import select_blocks
from tenax.extract.html.dom import Dom
from tenax.model import PageKind
from tests.extract.markup import MARKUP

ITEMS = "".join(f"<li>Item {number} of a list of things</li>" for number in range(100))
CELLS = "".join(f"<tr><td>Cell {number}</td></tr>" for number in range(100))
COLUMNS = "".join(f"<tr><td>{'A column of a page that is laid out in a table. ' * 3}</td></tr>" for _ in range(100))


def doubts_in(html: str, *, is_article: bool = False) -> tuple[Blocks, ScoringPlan]:
    blocks = Blocks(Dom(html).walk)
    return blocks, plan_scoring(blocks, PageLayout(blocks, PageHints()), is_article=is_article)


@pytest.mark.parametrize("is_article", [False, True])
@pytest.mark.parametrize("html", [f"<ul>{ITEMS}</ul>", f"<ol>{ITEMS}</ol>", f"<table>{CELLS}</table>"])
def test_some_items_of_a_long_list_stand_for_all(html: str, is_article: bool) -> None:
    _, doubts = doubts_in(f"<p>Before it.</p>{html}<p>After it.</p>", is_article=is_article)
    (like,) = doubts.sampled_lists
    assert len(like.sampled) == LIST_SAMPLE_SIZE
    assert sorted([*like.sampled, *like.unsampled]) == list(range(1, 101))
    assert list(doubts.scored) == [0, *like.sampled, 101]
    # From all of it, not from its beginning.
    assert like.sampled[0] == 1 and like.sampled[-1] > 90


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
    assert list(doubts.scored) == list(range(len(blocks)))
    assert not doubts.sampled_lists


def test_who_stands_for_others_gives_them_its_score() -> None:
    blocks = Blocks(Dom(f"<ul>{ITEMS}</ul>").walk)
    outline = PageLayout(blocks, PageHints())
    doubts = plan_scoring(blocks, outline, is_article=False)
    some = select_blocks(blocks, compute_features(blocks, outline, doubts), PageKind.OTHER)
    every = select_blocks(blocks, compute_features(blocks, outline, plan_scoring_all(blocks)), PageKind.OTHER)
    assert len(set(some.scores)) == 1
    assert some.scores[0] == pytest.approx(every.scores[0], abs=0.1)


def test_what_is_not_shown_is_dropped_though_others_stand_for_it() -> None:
    shown, unseen = (f"<ul {how}>{ITEMS}</ul>" for how in ("", "hidden"))
    blocks = Blocks(Dom(f"<main>{shown}</main>{unseen}").walk)
    outline = PageLayout(blocks, PageHints())
    features = compute_features(blocks, outline, plan_scoring(blocks, outline, is_article=False))
    assert select_blocks(blocks, features, PageKind.OTHER).scores[100:] == [0.0] * 100


@settings(deadline=None, max_examples=100)
@given(MARKUP)
def test_every_block_is_asked_about_or_has_a_reason_not_to(html: str) -> None:
    for is_article in (False, True):
        blocks, doubts = doubts_in(html, is_article=is_article)
        spared = [at for like in doubts.sampled_lists for at in like.unsampled]
        assert len(spared) == len(set(spared))
        assert not {*doubts.scored} & {*doubts.certain, *spared}
        if not is_article:
            assert sorted([*doubts.scored, *spared]) == list(range(len(blocks)))
