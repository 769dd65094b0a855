"""Some items of a long list are scored, and represent all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tenax.extract.article.blocks import Blocks
from tenax.extract.article.features import (
    LIST_SAMPLE_SIZE,
    ScoringPlan,
    compute_features,
    plan_scoring,
    plan_scoring_all,
)
from tenax.extract.article.layout import PageLayout
from tenax.extract.article.select import select_blocks
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import PageHints
from tenax.model import PageKind
from tests.extract.markup import MARKUP

ITEMS = "".join(f"<li>Item {number} of a list of things</li>" for number in range(100))
CELLS = "".join(f"<tr><td>Cell {number}</td></tr>" for number in range(100))
COLUMNS = "".join(f"<tr><td>{'A column of a page that is laid out in a table. ' * 3}</td></tr>" for _ in range(100))


def doubtful_blocks(html: str, *, is_article: bool = False) -> tuple[Blocks, ScoringPlan]:
    blocks = Blocks(Dom(html).walk)
    return blocks, plan_scoring(blocks, PageLayout(blocks, PageHints()), is_article=is_article)


@pytest.mark.parametrize("is_article", [False, True])
@pytest.mark.parametrize("html", [f"<ul>{ITEMS}</ul>", f"<ol>{ITEMS}</ol>", f"<table>{CELLS}</table>"])
def test_long_list_is_sampled(html: str, is_article: bool) -> None:
    _, plan = doubtful_blocks(f"<p>Before it.</p>{html}<p>After it.</p>", is_article=is_article)
    (sample,) = plan.sampled_lists
    assert len(sample.sampled) == LIST_SAMPLE_SIZE
    assert sorted([*sample.sampled, *sample.unsampled]) == list(range(1, 101))
    assert list(plan.scored) == [0, *sample.sampled, 101]
    # Sampled from the whole list, not from its beginning.
    assert sample.sampled[0] == 1 and sample.sampled[-1] > 90


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
def test_other_lists_are_not_sampled(html: str) -> None:
    blocks, plan = doubtful_blocks(html)
    assert list(plan.scored) == list(range(len(blocks)))
    assert not plan.sampled_lists


def test_sampled_score_applies_to_all_items() -> None:
    blocks = Blocks(Dom(f"<ul>{ITEMS}</ul>").walk)
    layout = PageLayout(blocks, PageHints())
    plan = plan_scoring(blocks, layout, is_article=False)
    some = select_blocks(blocks, compute_features(blocks, layout, plan), PageKind.OTHER)
    every = select_blocks(blocks, compute_features(blocks, layout, plan_scoring_all(blocks)), PageKind.OTHER)
    assert len(set(some.scores)) == 1
    assert some.scores[0] == pytest.approx(every.scores[0], abs=0.1)


def test_hidden_items_of_a_sampled_list_are_dropped() -> None:
    shown, unseen = (f"<ul {how}>{ITEMS}</ul>" for how in ("", "hidden"))
    blocks = Blocks(Dom(f"<main>{shown}</main>{unseen}").walk)
    layout = PageLayout(blocks, PageHints())
    features = compute_features(blocks, layout, plan_scoring(blocks, layout, is_article=False))
    assert select_blocks(blocks, features, PageKind.OTHER).scores[100:] == [0.0] * 100


@settings(deadline=None, max_examples=100)
@given(MARKUP)
def test_every_block_is_scored_or_planned(html: str) -> None:
    for is_article in (False, True):
        blocks, plan = doubtful_blocks(html, is_article=is_article)
        unsampled = [at for sample in plan.sampled_lists for at in sample.unsampled]
        assert len(unsampled) == len(set(unsampled))
        assert not {*plan.scored} & {*plan.certain, *unsampled}
        if not is_article:
            assert sorted([*plan.scored, *unsampled]) == list(range(len(blocks)))
