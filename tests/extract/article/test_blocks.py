"""A page split into blocks, and the counts of each."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.extract.article.blocks import LONG_BLOCK_CHARS, Blocks
from tenax.extract.html.dom import Dom, strip_controls
from tenax.extract.html.tree import tag_number
from tenax.extract.html.visible import page_text
from tests.extract.markup import MARKUP


def blocks_of(html: str) -> Blocks:
    return Blocks(Dom(html).walk)


@pytest.mark.parametrize(
    ("html", "texts"),
    [
        ("", []),
        ("<p> </p><p>&nbsp;</p><div><img></div>", []),
        ("plain", ["plain"]),
        ("foo<b>bar</b> <i>baz</i>", ["foobar baz"]),
        ("<p>a</p>b<div>c<p>d</p>e</div>", ["a", "b", "c", "d", "e"]),
        ("<ul><li>a<li>b<ul><li>c</ul>d</ul>", ["a", "b", "c", "d"]),
        ("<table><tr><td>a<td>b<tr><th>c</table>", ["a", "b", "c"]),
        ("<p>a <button>b</button> c", ["a", "b", "c"]),
        ("<p>a<br>b", ["a\nb"]),
        ("<p>a<br><br>b<br>c", ["a", "b\nc"]),
        ("<p>a<br> \n <br>&nbsp;<br>b", ["a", "b"]),
        ("<p><br><br>a<br><br></p>", ["a"]),
        ("<p>a<hr>b", ["a", "b"]),
        ("<p>a <script>x</script><!-- y -->b", ["a b"]),
        ("<a href=/x>a<div>b</div>c</a>", ["a", "b", "c"]),
        ("<p>  lots\n of\t space&nbsp;here  ", ["lots of space here"]),
    ],
)
def test_split_into_blocks(html: str, texts: list[str]) -> None:
    assert blocks_of(html).texts == texts


@pytest.mark.parametrize(
    ("html", "chars", "counts"),
    [
        ("<p>no link", [0], [0]),
        ("<p>go <a>there now</a> or <a>home</a>", [13], [2]),
        ("<p>a<p><a>two  words</a><p>b", [0, 9, 0], [0, 1, 0]),
        ("<a><div>head</div><p>a teaser</p></a><p>x", [4, 8, 0], [1, 1, 0]),
        ("before <a>in <p>side</p> out</a> after", [2, 4, 3], [1, 1, 1]),
        ("<p><a></a><a><img></a>text", [0], [0]),
        ("<p><a>one</a><br><br><a>second</a>", [3, 6], [1, 1]),
        ("<p><a>a<br>b</a>", [3], [1]),
        ("<p><svg><a><text>x</text></a></svg>text", [0], [0]),
        ("<area><p>text<iframe src=/x>in</iframe>", [0], [0]),
    ],
)
def test_links(html: str, chars: list[int], counts: list[int]) -> None:
    blocks = blocks_of(html)
    assert (blocks.link_chars, blocks.link_counts) == (chars, counts)


@pytest.mark.parametrize(
    ("text", "chars", "words", "pauses"),
    [
        ("two words", 9, 2, 0),
        ("Well, yes. No? Or so!", 21, 5, 3),
        ("Page 3.14, 5", 12, 3, 0),  # a few words have no punctuation
        ("Ja, das war früher.", 19, 4, 2),
        ("日本語です。", 11, 3, 1),
        ("한국어", 6, 2, 0),
        ("ภาษาไทย", 14, 4, 0),
        ("مرحبا، كيف؟", 11, 2, 2),
    ],
)
def test_counts(text: str, chars: int, words: int, pauses: int) -> None:
    blocks = blocks_of(f"<p>{text}")
    assert (blocks.chars, blocks.words, blocks.punctuation_counts) == ([chars], [words], [pauses])


def test_prefix_sums() -> None:
    long = "x, " * 30
    blocks = blocks_of(f"<p>{long}<p>ab <a>cd</a><p>{long}<a>{long}</a><a>{long}</a>")
    assert min(len(blocks.texts[0]), len(blocks.texts[2])) >= LONG_BLOCK_CHARS
    assert blocks.chars_before == [0, 89, 94, 94 + len(blocks.texts[2])]
    assert blocks.links_before == [0, 0, 2, 2 + 89 + 89]
    assert blocks.punctuation_before == [0, 30, 30, 120]
    assert blocks.long_blocks_before == [0, 1, 1, 1]  # long, but mostly links, is no paragraph


def test_box_span() -> None:
    blocks = blocks_of("<div>a<p>b<br><br>c</p></div><section></section><main><p>d</main>")
    tags = blocks.walk.box_tags
    names = {tag_number(name): name for name in ("div", "p", "section", "main")}
    found = [(names[tag], blocks.span(box)) for box, tag in enumerate(tags) if tag in names]
    assert found == [("div", (0, 3)), ("p", (1, 3)), ("section", (3, 3)), ("main", (3, 4)), ("p", (3, 4))]


@settings(deadline=None, max_examples=150)
@given(MARKUP)
def test_any_markup_is_split_completely(html: str) -> None:
    """Every visible word is in exactly one block, in order; and all columns have the same length."""
    dom = Dom(html)
    blocks = Blocks(dom.walk)
    assert " ".join(blocks.texts).split() == page_text(dom).split()
    assert all(text.strip() == text != "" for text in blocks.texts)
    columns = (
        *(blocks.runs, blocks.boxes, blocks.link_chars, blocks.link_counts, blocks.chars, blocks.words),
        blocks.punctuation_counts,
    )
    assert {len(column) for column in columns} == {len(blocks)}
    sums = (blocks.chars_before, blocks.links_before, blocks.punctuation_before, blocks.long_blocks_before)
    assert {len(column) for column in sums} == {len(blocks) + 1}
    assert all(linked <= len(text) for linked, text in zip(blocks.link_chars, blocks.texts, strict=True))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(["one", "two words", "日本"]), min_size=1, max_size=8))
def test_blocks_of_paragraphs(texts: list[str]) -> None:
    blocks = blocks_of("".join(f"<section><p>{text}</p></section>" for text in texts))
    assert blocks.texts == texts
    assert [blocks.span(box) for box in blocks.boxes] == [(at, at + 1) for at in range(len(texts))]


def test_mark_characters_in_a_page_are_no_marks() -> None:
    blocks = blocks_of("<p>&#1;<p>a&#1;b<p>c&#2;d<br><br>e<p>\x02")
    assert [strip_controls(text) for text in blocks.texts] == ["", "ab", "cd", "e", ""]
    assert all(blocks.texts)
    assert len(blocks.runs) == 5


@settings(deadline=None, max_examples=200)
@given(MARKUP)
def test_text_without_marks_is_page_text(html: str) -> None:
    dom = Dom(html)
    assert strip_controls(Blocks(dom.walk).marked) == page_text(dom)


@settings(max_examples=50)
@given(st.lists(st.text(st.sampled_from("ab ,.?!;"), min_size=1).filter(str.strip), max_size=8))
def test_words_and_punctuation_per_block(texts: list[str]) -> None:
    texts = ["Der Fährmann, so hieß es, kam zu spät.", *texts]
    blocks = blocks_of("".join(f"<p>{text}</p>" for text in texts))
    lines = [" ".join(text.split()) for text in texts]
    assert blocks.words == [len(text.split()) for text in lines]
    assert blocks.punctuation_counts == [sum(map(text.count, ",.?")) if len(text.split()) > 3 else 0 for text in lines]


@pytest.mark.parametrize("html", ["", "<p>a<p>b", "<p>a<br><br>b<br><br>c<p>d", "<p>a\x01b\x02c"])
def test_mark_count(html: str) -> None:
    blocks = blocks_of(html)
    assert blocks.mark_count == sum(map(blocks.marked.count, "\x01\x02"))
