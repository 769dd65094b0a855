"""Page layout: hints, statistics, the position of the prose and the title."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tenax.extract.article.blocks import Blocks
from tenax.extract.article.class_hints import HINT_BIT, HINT_NAMES
from tenax.extract.article.layout import CONTROL_TAG, H1, LI, OTHER_TAG, PAGE_FEATURES, PageLayout, box_distances
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import PageHints
from tenax.extract.html.tree import tag_number
from tests.extract.markup import MARKUP

PROSE = "The ferry left the harbour an hour late, because nobody, not even the captain, had found the key."


def laid_out(html: str, hints: PageHints | None = None) -> tuple[Blocks, PageLayout]:
    blocks = Blocks(Dom(html).walk)
    return blocks, PageLayout(blocks, hints or PageHints())


def box_of(blocks: Blocks, text: str) -> int:
    return blocks.boxes[blocks.texts.index(text)]


def hint_names(bits: int) -> set[str]:
    return {name for name in HINT_NAMES if bits & HINT_BIT[name]}


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<div>x", set()),
        ("<div class='site-Nav'>x", {"nav"}),
        ("<div id=footer>x", {"footer"}),
        ("<div itemprop=articleBody>x", {"article", "content"}),
        ("<div class='sidebar related'>x", {"side", "related"}),
        ("<nav>x", {"nav"}),
        ("<aside class=ads>x", {"side", "ad"}),
        ("<div role=navigation>x", {"nav"}),
        ("<div role=unheard-of>x", set()),
        ("<div hidden>x", {"unshown"}),
        ("<div aria-hidden=true>x", {"unshown"}),
        ("<div aria-hidden=false>x", set()),
        ("<div style='color: red; DISPLAY : none'>x", {"unshown"}),
        ("<div style='visibility:hidden'>x", {"unshown"}),
        ("<div style='display: block'>x", set()),
        ("<div class=unshown>x", set()),
        ("<div class id style>x", set()),
    ],
)
def test_box_hints(html: str, expected: set[str]) -> None:
    blocks, layout = laid_out(html)
    assert hint_names(layout.own_hints[box_of(blocks, "x")]) == expected


def test_hints_are_inherited() -> None:
    blocks, layout = laid_out("<nav><div><div><div class=share><p>x</p></div></div></div></nav><p>y</p>")
    box = box_of(blocks, "x")
    assert hint_names(layout.own_hints[box]) == set()
    assert hint_names(layout.nearby_hints(box)) == {"share"}
    assert hint_names(layout.inherited_hints[box]) == {"share", "nav"}
    assert layout.inherited_hints[box_of(blocks, "y")] == 0


def test_box_stats() -> None:
    blocks, layout = laid_out(f"<div><p>{PROSE}</p><p>go <a href=/x>home</a></p></div><p>{'x' * 94}")
    whole = len(PROSE) + 7 + 94
    inner = box_of(blocks, PROSE)
    around = blocks.walk.box_parents[inner]
    assert layout.box_stats[inner] == (len(PROSE), 0.0, 1, 1, len(PROSE) / whole, 4 / len(PROSE))
    chars = len(PROSE) + 7
    assert layout.box_stats[around] == (chars, 4 / chars, 1, 2, chars / whole, 4 / chars)


def test_wrapper_box_has_the_same_stats() -> None:
    blocks, layout = laid_out(f"<section><div><p>{PROSE}</p></div></section><p>more</p>")
    box = box_of(blocks, PROSE)
    parents = blocks.walk.box_parents
    assert layout.box_stats[box] == layout.box_stats[parents[box]] == layout.box_stats[parents[parents[box]]]
    assert layout.box_stats[box] != layout.box_stats[0]


def test_text_boxes() -> None:
    blocks, layout = laid_out("<div><p></p></div><section><p>x</p></section>")
    empty = [box for box, tag in enumerate(blocks.walk.box_tags) if tag == tag_number("div")]
    assert not set(empty) & set(layout.text_boxes)
    assert layout.text_boxes == sorted(layout.text_boxes)


@pytest.mark.parametrize("name", ["main", "article", "div", "td"])
def test_top_box_has_the_prose(name: str) -> None:
    page = "<table><tr>{}</table>" if name == "td" else "<nav><a>Home</a></nav><div>{}</div><footer>Imprint</footer>"
    links = "".join(f"<p><a href=/{n}>{PROSE}</a></p>" for n in range(9))
    blocks, layout = laid_out(page.format(f"<{name} id=it>" + f"<p>{PROSE}</p>" * 4 + f"</{name}><div>{links}</div>"))
    assert blocks.walk.box_nodes[layout.length_top].attributes.get("id") == "it"
    assert blocks.walk.box_nodes[layout.rule_top].attributes.get("id") == "it"


TITLE = PageHints(title="The key of the ferry")


@pytest.mark.parametrize(
    ("html", "title_at", "h1_at"),
    [
        ("<p>a<p>b", -1, -1),
        ("<p>a<h1>Another thing</h1>", 1, 1),
        ("<p>The key of the ferry<p>b", 0, -1),
        ("<p>The key of the ferry<h2>The key of the ferry</h2>", 1, -1),
        ("<h1>Harbour Post</h1><h2>THE KEY of the ferry</h2>", 1, 0),
        ("<h1>The key of the ferry, found at last</h1>", 0, 0),
        ("<h3>The key of the</h3>", 0, -1),
        ("<h3>The key</h3>", -1, -1),  # less than half of it
    ],
)
def test_title_block(html: str, title_at: int, h1_at: int) -> None:
    _, layout = laid_out(html, TITLE)
    assert (layout.title_block, layout.h1_block) == (title_at, h1_at)


def test_short_title_is_ignored() -> None:
    assert laid_out("<p>Home<p>b", PageHints(title="Home"))[1].title_block == -1


def test_block_tags() -> None:
    _, layout = laid_out("<h1>a</h1><ul><li>b</ul><button>c</button><menu>d</menu>")
    assert layout.block_tags == [H1, LI, CONTROL_TAG, OTHER_TAG]


def page_numbers(html: str, hints: PageHints | None = None) -> dict[str, float]:
    return dict(zip(PAGE_FEATURES, laid_out(html, hints)[1].page_values, strict=True))


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        (PageHints(), {"is root": 1, "has query": 0, "og article": 0, "path year": 0}),
        (PageHints(og_type="article"), {"og article": 1, "og product": 0}),
        (PageHints(ld_types="WebPage NewsArticle"), {"ld article": 1, "ld product": 0}),
        (PageHints(ld_types="Product Offer"), {"ld product": 1, "ld article": 0}),
        (PageHints(ld_types="QAPage"), {"ld forum": 1, "ld faq": 0}),
        (
            PageHints(path="/2024/05/a-b-c/", query="p=1"),
            {"is root": 0, "path year": 1, "path depth": 4, "slug chars": 5, "slug dashes": 2, "has query": 1},
        ),
    ],
)
def test_page_values_from_hints(hints: PageHints, expected: dict[str, float]) -> None:
    found = page_numbers("<p>x", hints)
    assert {name: found[name] for name in expected} == expected


def test_page_values_from_blocks() -> None:
    found = page_numbers("<h1>head</h1><ul><li>item<li><a>item</a></ul><div class=product>1234</div>")
    assert found["page chars"] == 16
    assert found["page blocks"] == 4
    assert found["page link share"] == 0.25
    assert found["li share"] == 0.5
    assert found["h1 count"] == 1
    assert found["product share"] == 0.25


def test_box_distances() -> None:
    #     0 - 1 - 2
    #       \ 3 - 4
    parents = [0, 0, 1, 0, 3]
    assert box_distances(2, parents, [0, 1, 2, 3, 4]) == {2: (0, 0), 1: (1, 0), 0: (2, 0), 3: (2, 1), 4: (2, 2)}


@settings(deadline=None, max_examples=100)
@given(MARKUP)
def test_layout_of_any_markup(html: str) -> None:
    blocks, layout = laid_out(html, TITLE)
    boxes = len(blocks.walk.box_tags)
    assert {len(column) for column in (layout.own_hints, layout.inherited_hints, layout.depth, layout.styles)} == {
        boxes
    }
    assert len(layout.block_tags) == len(blocks)
    assert len(layout.page_values) == len(PAGE_FEATURES)
    assert set(blocks.boxes) <= set(layout.text_boxes)
    for box in layout.text_boxes:
        own, near, above = layout.own_hints[box], layout.nearby_hints(box), layout.inherited_hints[box]
        assert own | near == near
        assert near | above == above
        assert layout.box_stats[box][3] == blocks.span(box)[1] - blocks.span(box)[0]


def test_hint_share_counts_nested_boxes_once() -> None:
    html = "<p>outside</p><ul class=list><li class=item><p class=card>inside</p></li></ul><p class=price>7777</p>"
    _, layout = laid_out(html)
    found = dict(zip(PAGE_FEATURES, layout.page_values, strict=True))
    assert (found["list share"], found["product share"]) == (6 / 17, 4 / 17)
    _, layout = laid_out("<html class=forum><p class=thread>all of it</p>")
    assert dict(zip(PAGE_FEATURES, layout.page_values, strict=True))["forum share"] == 1.0
