"""Long pages: native code and Python truncate them alike."""

from __future__ import annotations

import pytest
from selectolax.lexbor import LexborNode

from tenax.extract.article.blocks import MAX_BLOCKS, Blocks
from tenax.extract.document import Content, ExtractOptions, extract_with_dom
from tenax.extract.html.dom import Dom
from tenax.extract.html.text_limit import MIN_TEXT_CHARS, truncate_text
from tenax.extract.html.tree import MAX_BOXES

SHORT = {
    "one text": ("<p>0123456789abcdefghij<p>later", 18, "<p>0123456789abcdefgh</p><p></p>"),
    "all of it": ("<p>0123456789abcdefghij", 20, "<p>0123456789abcdefghij</p>"),
    "letters of several bytes": ("<p>日本語のé文章です長い👩👩<p>later", 12, "<p>日本語のé文章です長い👩</p><p></p>"),
    "short texts": ("<p>a<b>b</b>c", 2 * MIN_TEXT_CHARS, "<p>a<b>b</b></p>"),
    "blank ones": ("<p>a</p> <p>b</p> <p>c", 2 * MIN_TEXT_CHARS, "<p>a</p> <p>b</p> <p></p>"),
    "what is not seen": ("<script>ab</script><p>a<style>b</style>", MIN_TEXT_CHARS, "<p>a<style>b</style></p>"),
    "without scripts": ("<p>a<noscript>b</noscript>c", MIN_TEXT_CHARS, "<p>a<noscript></noscript></p>"),
    "links stay": ("<p>a<a href=x>b</a> <img src=y>", MIN_TEXT_CHARS, '<p>a<a href="x"></a><img src="y"></p>'),
}


@pytest.mark.parametrize("with_native", [True, False], ids=["native", "python"])
@pytest.mark.parametrize("name", SHORT)
def test_truncate_text(name: str, with_native: bool) -> None:
    html, max_chars, expected = SHORT[name]
    dom = Dom(html)
    assert dom.root is not None
    is_cut = truncate_text(dom.root, max_chars, with_native=with_native)
    [body] = dom.select("body")
    assert isinstance(body, LexborNode)
    assert body.html == f"<body>{expected}</body>"
    assert is_cut == (name not in ("all of it", "what is not seen"))


LONG = {
    "paragraphs": "".join(f"<p>x{n} and words" for n in range(60_000)),
    "empty boxes": "<div></div>" * MAX_BOXES + "<p>the end",
    "boxes in links": "<a href=/a>one<p>two" * 30_000,
    "cells": "<table>" + "<tr><td>x<td>y" * 30_000,
    "nested boxes": ("<div>a<div>b<ul><li>c</ul>d</div>e</div>") * 20_000,
    "boxes and line breaks": "<p>a<br><br>b<div>c<br>d</div>" * 30_000,
    "emphasis": "<p>" + "<b>x</b> and <i>y</i>" * 60_000,
    "one paragraph": "<p>" + "word " * 600_000,
    "another script": "<p>" + "日本語の文章、です。" * 250_000,
    "noscript": "<noscript>" + "<p>words of it" * 60_000 + "</noscript>",
    "images": "<p>words" + "<img src=/a.png alt=x>and" * 100_000,
}


def read(html: str, *, with_native: bool) -> Content:
    return extract_with_dom(
        html.encode(), "text/html; charset=utf-8", now=1.7e9, options=ExtractOptions(with_native=with_native)
    )[0]


@pytest.mark.parametrize("html", LONG.values(), ids=LONG)
def test_long_pages_are_equal_in_native_code_and_python(html: str) -> None:
    by_native, in_python = read(html, with_native=True), read(html, with_native=False)
    assert by_native == in_python
    assert by_native.truncated_reason


def test_boxes_beyond_the_limit_are_not_scored() -> None:
    html = "<p>first</p>" + "<div></div>" * MAX_BOXES + "<p>last</p><td>one<p>two"
    blocks = Blocks(Dom(html).walk)
    assert blocks.texts == ["first"]
    assert blocks.is_truncated
    assert len(blocks.walk.box_tags) == MAX_BOXES
    content = read(html, with_native=True)
    assert content.text == "first\nlast\none\ntwo"
    assert content.truncated_reason == "read to block 1"


@pytest.mark.parametrize(("more", "is_cut"), [(0, False), (1, True), (2, True)])
def test_one_block_over_the_limit_is_reported(more: int, is_cut: bool) -> None:
    html = "<p>some words" * (MAX_BLOCKS + more)
    assert Blocks(Dom(html).walk).is_truncated == is_cut
    assert bool(read(html, with_native=True).truncated_reason) == is_cut
