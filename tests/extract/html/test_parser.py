"""The tree is built piece by piece as in one go, and no page costs more than a page may."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

import pytest
from selectolax.lexbor import LexborHTMLParser

from bench.fuzz_words import mutated, seeds
from bench.soak_read import PAGES
from tenax.extract import extract_content
from tenax.extract.budget import CpuBudget, ExtractLimitExceeded
from tenax.extract.document import extract_with_dom
from tenax.extract.html import parser
from tenax.extract.html.dom import Dom
from tenax.extract.html.parser import MAX_ATTRIBUTES, MAX_DEPTH, PIECE_BYTES, parse

HTML = "text/html; charset=utf-8"


def whole(html: bytes) -> str | None:
    return LexborHTMLParser(html, options=parser._OPTIONS).html


def valid(html: bytes) -> bytes:
    """As every page is when it is parsed: UTF-8."""
    return html.decode("utf-8", "replace").encode()


# ---- the same tree ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", sorted(PAGES.glob("*.html")), ids=lambda file: file.name)
def test_a_page_in_pieces_is_the_page_in_one_go(file: Path) -> None:
    html = valid(file.read_bytes())
    assert parse(html).tree.html == whole(html)


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_a_piece_may_end_anywhere(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "PIECE_BYTES", size)
    monkeypatch.setattr(parser, "MIN_PIECE_BYTES", 1)
    random = Random(size)
    pages = [valid(data[1:]) for data in seeds("document", PAGES)]
    for html in [*pages, *(valid(mutated(random.choice(pages), 8192, random)) for _ in range(100))]:
        assert parse(html).tree.html == whole(html)


@pytest.mark.parametrize("doctype", ["", "<!doctype html>", "<!DOCTYPE html PUBLIC '-//W3C//DTD HTML 3.2//EN'>"])
def test_quirks_are_those_of_the_page(doctype: str) -> None:
    """Whether a table ends a paragraph depends on them, and a document that was used before must not pass them on."""
    html = f"{doctype}<p>a<table><td>b".encode()
    for _ in range(2):
        assert parse(html).tree.html == whole(html)


def test_documents_outlive_the_parser_that_made_them() -> None:
    doms = [parse(f"<p title=t{n}>text {n}".encode()).tree for n in range(20)]
    assert [dom.css("p")[0].html for dom in doms] == [f'<p title="t{n}">text {n}</p>' for n in range(20)]


def test_another_lexbor_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "_OPEN_ELEMENTS", parser._FORMATTING)
    with pytest.raises(ImportError, match="another lexbor"):
        parser._check_layout()


# ---- what would cost too much -----------------------------------------------------------------------------

DEEP, TIME, ATTRIBUTES = "nest more than", "s of CPU used up parsing", "attributes"
SHAPES: Final[dict[str, tuple[bytes, str]]] = {
    "options in svg": (b"<svg>" + b"<option>" * 40_000 + b"</x>" * 40_000, DEEP),
    "closed divs in svg": (b"<svg><p>" + b"<div/>" * 290_000, DEEP),
    "rows that do not end": (b"<table><tr><td>" + (b"<div>" * 400 + b"</tbody>") * 600, DEEP),
    "forms that do not end": ((b"<form>" + b"<div>" * 201 + b"</form>") * 700, DEEP),
    "html again and again": (
        b"".join(b"<html a%d=1 b%d=2 c%d=3>" % (n, n, n) for n in range(40_000)),
        TIME,
    ),
    "ruby": (b"<rt>" * 100_000 + b"<rb>" * 100_000 + b"<rp>" * 100_000, DEEP),
    "option groups": (b"<optgroup>" * 100_000 + b"<option>" * 100_000, DEEP),
    "links in links": (b"<a><div>" * 50_000, DEEP),
    "divs": (b"<div>" * 300_000 + b"</div>" * 300_000, DEEP),
    "divs and end tags of nothing": (b"<div>" * 100_000 + b"</x>" * 100_000, DEEP),
    "lists": (b"<ul><li>" * 100_000, DEEP),
    "templates": (b"<template>" * 50_000, DEEP),
    "a tag of attributes": (b"<p " + b" ".join(b"a%d=1" % n for n in range(100_000)) + b">", ATTRIBUTES),
    "the same attribute": (b"<p " + b"a " * 4_000_000 + b">", ATTRIBUTES),
    "attributes behind quotes": (b"<p " + b"".join(b"a%d='>'" % n for n in range(100_000)) + b">", ATTRIBUTES),
    "an end tag of attributes": (b"<p>x</p " + b" ".join(b"a%d" % n for n in range(100_000)) + b">", ATTRIBUTES),
}
ATTRIBUTE_NAMES: Final = b" ".join(b"a%d" % n for n in range(600))
LARGE: Final[dict[str, bytes]] = {
    "formatting": b"".join(b"<b id=%d><p>" % n for n in range(20_000)),
    "formatting in pieces": b"<p>" + b"".join(b"<b id=%d>" % n for n in range(9_000)) + b"<p>x" * 20_000,
    "formatting with attributes": b"<p><b " + ATTRIBUTE_NAMES + b">" + b"<p>x" * 3_000,
    "formatting that ends": (b"<p><b " + ATTRIBUTE_NAMES + b">" + b"<p>x" * 300 + b"</b>") * 40,
    "formatting, each with attributes": b"<p>" + b"<b a b c d e f g h i j k l m>" * 35 + b"<p>x" * 20_000,
    "names": b"".join(b"<p a%d>" % n for n in range(400_000)),
    "paragraphs": b"<p>x" * 2_500_000,
    "comments": b"<!---->" * 1_400_000,
}


@pytest.mark.parametrize(("html", "why"), SHAPES.values(), ids=SHAPES)
def test_a_hostile_page_is_given_up_with_its_reason(html: bytes, why: str, within: Callable[[float], None]) -> None:
    with pytest.raises(ExtractLimitExceeded, match=f"^too costly to read: .*{why}"):
        parse(html, CpuBudget(time.thread_time, 2.0 if why == TIME else 60.0))
    within(20.0)


@pytest.mark.parametrize("html", LARGE.values(), ids=LARGE)
def test_of_a_page_with_too_many_elements_the_first_are_parsed(html: bytes, within: Callable[[float], None]) -> None:
    parsed = parse(html, CpuBudget(time.thread_time, 60.0))
    assert parsed.tree.body is not None
    assert 0 < (parsed.truncated_at or 0) < len(html)
    within(20.0)


@pytest.mark.parametrize(
    "html",
    [
        b"<p>x" * 100_000,
        b"<table>" + b"<tr><td><div>x" * 50_000,
        b"<select>" + b"<option>x" * 150_000,
        b"<img src='data:image/png;base64," + b"A" * 9_000_000 + b"'>",
        b"<p title='" + b"a > b " * 1_000_000 + b"'>x",
        b"<script>" + b"if (a<b) c = '<div a b c d>'; " * 300_000 + b"</script>",
        b"<!--" + b" a" * 4_000_000,
        b"".join(b"<p " + b" ".join(b"a%d=1" % n for n in range(400)) + b">" for _ in range(200)),
        b"<div>" * (MAX_DEPTH - 10) + b"text",
        b"&amp;" * 1_000_000,
    ],
    ids=lambda html: html[:24].decode(),
)
def test_what_is_only_large_is_parsed(html: bytes, within: Callable[[float], None]) -> None:
    parsed = parse(html, CpuBudget(time.thread_time, 60.0))
    assert parsed.tree.root is not None
    assert parsed.truncated_at is None
    within(20.0)


def test_the_time_is_looked_at_all_along() -> None:
    """By a clock that is turned with every look: a page is given up when it has used up its time, wherever that is."""
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1
        return float(looks)

    html = b"<p>words of a page" * 100_000
    parse(html, CpuBudget(clock, 1e9))
    assert looks * parser.CHECK_EVERY_BYTES >= len(html)
    with pytest.raises(
        ExtractLimitExceeded, match=f"parsing {10 * parser.CHECK_EVERY_BYTES:,} of its {len(html):,} bytes"
    ):
        parse(html, CpuBudget(clock, 9.5))


def test_the_more_is_open_the_smaller_are_the_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So no piece costs much, whatever it holds: bytes times what is open has a bound."""
    monkeypatch.setattr(parser, "MAX_DEPTH", 10**9)
    monkeypatch.setattr(parser, "MAX_TREE_BYTES", 10**9)
    sizes: list[tuple[int, int]] = []
    process = parser._lexbor.lxb_html_parse_chunk_process

    def spied(handle: int, at: int, size: int) -> int:
        seen: list[parser._Parser] = [one for one in made if one.handle == handle]
        sizes.append((size, seen[0].open_elements.value + seen[0].formatting.value))
        answer: int = process(handle, at, size)
        return answer

    made = [parser._Parser()]
    monkeypatch.setattr(parser, "_spare_parsers", [made[0]])
    monkeypatch.setattr(parser._lexbor, "lxb_html_parse_chunk_process", spied)
    parse(b"<div>" * 20_000 + b"".join(b"<b a%d>" % n for n in range(500)))
    assert max(size for size, _ in sizes) == PIECE_BYTES
    assert max(size * count for size, count in sizes) <= parser._PIECE_STEPS
    assert sizes[-2][0] < 100


@pytest.mark.parametrize("tag", ["a href", "b class", "code class", "font style"])
def test_a_long_attribute_is_not_copied_all_over_the_page(tag: str) -> None:
    html = f"<p><{tag}='{'x ' * 200_000}'>".encode() + b"<p>y" * 50_000
    dom = Dom(html)
    assert len(dom.select(tag.partition(" ")[0])) < 100
    short = Dom(f"<p><{tag}='x'>".encode() + b"<p>y" * 1_000)
    assert len(short.select(tag.partition(" ")[0])) == 1_001


def test_a_tag_that_is_too_crowded_is_found_wherever_pieces_end() -> None:
    for before in range(0, PIECE_BYTES, 911):
        with pytest.raises(ExtractLimitExceeded):
            parse(b"x" * before + b"<p " + b" ".join(b"a%d" % n for n in range(6 * MAX_ATTRIBUTES)) + b">")


def test_after_a_hostile_page_the_next_one_is_parsed() -> None:
    for _ in range(10):
        with pytest.raises(ExtractLimitExceeded):
            parse(b"<div>" * 20_000)
        assert parse(b"<p>x").tree.html == "<html><head></head><body><p>x</p></body></html>"


# ---- what is read of it -----------------------------------------------------------------------------------


@pytest.mark.parametrize("with_kernel", [True, False], ids=["kernel", "python"])
@pytest.mark.parametrize(
    "html",
    [
        b"<div>" * 9_900 + b"<p>words here, and more of them" * 5_000,
        b"<div class='author date'>" * 9_900 + b"<p>Ann Lee 2020" * 5_000,
        b"<ul><li>word" * 4_900 + b"<p>x" * 2_000,
        b"<blockquote>" * 9_900 + b"<p>words of a text, here they are." * 5_000,
        b"<span>" * 9_900 + b"<p>words <b>here</b>" * 3_000,
        b"<a href=/x><object>" * 4_900 + b"words",
        b"<table><tr><td>" * 2_400 + b"<p>x" * 3_000,
        (b"<div>" * 9_000 + b"word" + b"</div>" * 9_000) * 3,
    ],
    ids=lambda html: html[:20].decode(),
)
def test_a_deep_tree_is_read_to_its_end(html: bytes, with_native: bool, within: Callable[[float], None]) -> None:
    content, _ = extract_with_dom(html, HTML, url="https://e.test/", now=1.7e9, with_native=with_native)
    assert content.text
    within(30.0)


def test_inline_code_is_kept_however_much_formatting_there_is() -> None:
    paragraphs = "".join(
        f"<p>Call <code class=x>run_{n}()</code> with <span class=y>care</span>, as <em class=z>it</em> says, and mind "
        f"the <strong class=w>order</strong> of its arguments, <a href=/{n}>which matters</a>.</p>"
        for n in range(200)
    )
    html = f"<title>Guide</title><article><h1>Guide</h1>{paragraphs}</article>".encode()
    for with_native in (True, False):
        content, _ = extract_with_dom(html, HTML, with_native=with_native)
        assert all(f"`run_{n}()`" in content.markdown for n in range(200))
        assert content.markdown.count("**order**") == 200


def test_a_page_that_is_not_read_says_why() -> None:
    content = extract_content(b"<div>" * 100_000, HTML)
    assert (content.media, content.text, content.links) == ("other", "", ())
    assert content.media_reason == "too costly to read: elements nest more than 10,000 deep"
