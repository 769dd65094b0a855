"""Parsing in pieces builds the same tree as parsing at once, and no page exceeds its limits."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
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
from tenax.extract.document import ExtractOptions, extract_with_dom
from tenax.extract.html import parser
from tenax.extract.html.dom import Dom
from tenax.extract.html.links import Links
from tenax.extract.html.parser import MAX_ATTRIBUTES, MAX_DEPTH, PIECE_BYTES, parse
from tenax.extract.html.tree import FED, HANDED_BACK, Feeder
from tenax.extract.native import binding
from tests.e2e.program import ROOT, environment
from tests.extract.html.parser_offsets import NAMES, OFFSETS

HTML = "text/html; charset=utf-8"


def whole(html: bytes) -> str | None:
    return LexborHTMLParser(html, options=parser._OPTIONS).html


def native_feeder() -> Feeder:
    ready = binding.load_native()
    assert ready is not None, "the native code was not built"
    return ready.feed


BOTH = pytest.mark.parametrize("by", ["native", "python"])


def feeder_by(name: str) -> Feeder | None:
    return native_feeder() if name == "native" else None


def to_valid_utf8(html: bytes) -> bytes:
    """Valid UTF-8, as every page is when it is parsed."""
    return html.decode("utf-8", "replace").encode()


# ---- the same tree ----------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("file", sorted(PAGES.glob("*.html")), ids=lambda file: file.name)
def test_pieces_build_the_same_tree(file: Path, by: str) -> None:
    html = to_valid_utf8(file.read_bytes())
    assert parse(html, None, feeder_by(by)).tree.html == whole(html)


@BOTH
@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_pieces_may_end_anywhere(size: int, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "PIECE_BYTES", size)
    monkeypatch.setattr(parser, "MIN_PIECE_BYTES", 1)
    monkeypatch.setattr(parser, "_spare_parsers", [])
    feeder = feeder_by(by)
    random = Random(size)
    pages = [to_valid_utf8(data[1:]) for data in seeds("document", PAGES)]
    for html in [*pages, *(to_valid_utf8(mutated(random.choice(pages), 8192, random)) for _ in range(100))]:
        assert parse(html, None, feeder).tree.html == whole(html)


@pytest.mark.parametrize("doctype", ["", "<!doctype html>", "<!DOCTYPE html PUBLIC '-//W3C//DTD HTML 3.2//EN'>"])
def test_quirks_mode_is_per_page(doctype: str) -> None:
    """They decide whether a table ends a paragraph, and a reused document must not keep them."""
    html = f"{doctype}<p>a<table><td>b".encode()
    for _ in range(2):
        assert parse(html).tree.html == whole(html)


def test_documents_outlive_the_parser() -> None:
    doms = [parse(f"<p title=t{n}>text {n}".encode()).tree for n in range(20)]
    assert [dom.css("p")[0].html for dom in doms] == [f'<p title="t{n}">text {n}</p>' for n in range(20)]


def test_another_lexbor_is_detected_without_a_crash() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.extract.html.parser_offsets"],
        cwd=ROOT, env={**environment(), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}, stdout=subprocess.PIPE, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, "it read what is no memory"
    outcomes = [json.loads(line) for line in ran.stdout.decode().splitlines()]
    assert len(outcomes) == len(NAMES) * len(OFFSETS)
    for name, offset, is_usual, outcome in outcomes:
        expected = "accepted" if is_usual else "this selectolax contains another lexbor than version 1.0.2"
        assert outcome == expected, f"{name} at {offset}"


STANDARD, QUIRKS = b"<!DOCTYPE html><p>one<table><tr><td>1</table>", b"<p>one<table><tr><td>1</table>"


def document_of(tree: LexborHTMLParser) -> int:
    assert tree.root is not None
    address: int = parser._lexbor.lxb_dom_node_parent_noi(tree.root.mem_id)
    return address


def test_the_document_of_the_last_page_is_reused() -> None:
    before = document_of(parse(STANDARD).tree)
    again = parse(b"<!doctype html><p id=other>two").tree
    assert document_of(again) == before
    assert again.html == whole(b"<!doctype html><p id=other>two")


def test_a_document_in_use_is_not_reused() -> None:
    kept = parse(STANDARD).tree
    assert document_of(parse(b"<!doctype html><p>two").tree) != document_of(kept)
    assert kept.html == whole(STANDARD)
    node = parse(STANDARD).tree.css_first("td")
    assert node is not None
    parse(b"<!doctype html><p>two")
    assert (node.text(), node.html) == ("1", "<td>1</td>")


@pytest.mark.parametrize("first", [STANDARD, QUIRKS, b"<!doctype html public>" + QUIRKS, b" <!doctype html>" + QUIRKS])
@pytest.mark.parametrize("then", [STANDARD, QUIRKS])
def test_the_mode_of_a_page_does_not_carry_over(first: bytes, then: bytes) -> None:
    """In quirks mode a table does not end its paragraph."""
    parse(first)
    assert parse(then).tree.html == whole(then)


def test_a_large_tree_is_not_kept() -> None:
    parse(b"<!doctype html>" + b"<p>" * 20_000)
    assert not parser._last_document


# ---- limits ---------------------------------------------------------------------------------------------

DEEP, TIME, ATTRIBUTES = "nest more than", "s of CPU used up parsing", "attributes"
SECONDS_OF_PARSING = 0.5
"""Of what only ends when its time is used up."""
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


@BOTH
@pytest.mark.parametrize(("html", "why"), SHAPES.values(), ids=SHAPES)
def test_hostile_page_exceeds_a_limit(html: bytes, why: str, by: str, within: Callable[[float], None]) -> None:
    with pytest.raises(ExtractLimitExceeded, match=f"^too costly to read: .*{why}"):
        parse(html, CpuBudget(time.thread_time, SECONDS_OF_PARSING if why == TIME else 60.0), feeder_by(by))
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
def test_large_page_is_parsed(html: bytes, within: Callable[[float], None]) -> None:
    parsed = parse(html, CpuBudget(time.thread_time, 60.0))
    assert parsed.tree.root is not None
    assert parsed.truncated_at is None
    within(20.0)


@BOTH
def test_cpu_budget_is_checked_while_parsing(by: str) -> None:
    """With a clock that advances at every check: parsing stops when the time is used up, at any position."""
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1
        return float(looks)

    html = b"<p>words of a page" * 100_000
    feeder = feeder_by(by)
    parse(html, CpuBudget(clock, 1e9), feeder)
    assert looks * parser.CHECK_EVERY_BYTES >= len(html)
    with pytest.raises(
        ExtractLimitExceeded, match=f"parsing {10 * parser.CHECK_EVERY_BYTES:,} of its {len(html):,} bytes"
    ):
        parse(html, CpuBudget(clock, 9.5), feeder)


def test_native_code_has_the_time_checked_when_it_may_be_used_up() -> None:
    """Not before: a page of an ordinary size is fed in one call."""
    html, calls = b"<p>words of a page" * 100_000, 0

    def feeder(feed_at: int) -> int:
        nonlocal calls
        calls += 1
        return native_feeder()(feed_at)

    parse(html, CpuBudget(time.thread_time, 3600.0, clock=time.monotonic), feeder)
    assert calls == 1
    used = iter([0.0, 100.0, 100.0, 100.0])  # at the start, and at the first check
    with pytest.raises(ExtractLimitExceeded, match=f"parsing {parser.CHECK_EVERY_BYTES:,} of its {len(html):,} bytes"):
        parse(html, CpuBudget(lambda: next(used), 0.0, clock=time.monotonic), feeder)
    assert calls == 2


def test_more_open_elements_make_smaller_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So no piece costs much, whatever it contains: bytes times open elements is bounded."""
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
def test_long_attribute_is_not_copied(tag: str) -> None:
    html = f"<p><{tag}='{'x ' * 200_000}'>".encode() + b"<p>y" * 50_000
    dom = Dom(html)
    assert len(dom.select(tag.partition(" ")[0])) < 100
    short = Dom(f"<p><{tag}='x'>".encode() + b"<p>y" * 1_000)
    assert len(short.select(tag.partition(" ")[0])) == 1_001


def test_too_many_attributes_across_pieces() -> None:
    for before in range(0, PIECE_BYTES, 911):
        with pytest.raises(ExtractLimitExceeded):
            parse(b"x" * before + b"<p " + b" ".join(b"a%d" % n for n in range(6 * MAX_ATTRIBUTES)) + b">")


def test_parser_works_after_a_hostile_page() -> None:
    for _ in range(10):
        with pytest.raises(ExtractLimitExceeded):
            parse(b"<div>" * 20_000)
        assert parse(b"<p>x").tree.html == "<html><head></head><body><p>x</p></body></html>"


# ---- native code and Python feed the same pieces ---------------------------------------------------------

MILD: Final[dict[str, bytes]] = {
    "formatting, opened and closed": b"<p><b id=x><i>words <a href=/here>of a link</a></i></b> and more " * 2_000,
    "some formatting left open": b"".join(b"<p><b id=%d>words " % n for n in range(30)) + b"<p>x" * 5_000,
    "formatting in cells": b"<table>" + b"<tr><td><b>a<i>b<td><font color=red>c" * 3_000,
    "attributes of formatting": b"<p><b " + ATTRIBUTE_NAMES + b">" + b"<p>x" * 1_000,
    "a tag of several pieces": (b"<img alt='" + b"a > b " * 3_000 + b"' src=x><p>text</p>") * 5,
    "deep": b"<div>" * 3_000 + b"text " * 10_000,
    "a value too long to be rebuilt": b"<p><a href='" + b"x " * 3_000 + b"'>" + b"<p>y" * 5_000,
}


def fed(html: bytes, feeder: Feeder | None, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], str | None, str]:
    """The sizes of all pieces, the tree, and the reason or the position where parsing ended."""
    sizes: list[int] = []
    process = parser._lexbor.lxb_html_parse_chunk_process

    def spied(handle: int, at: int, size: int) -> int:
        sizes.append(size)
        answer: int = process(handle, at, size)
        return answer

    spy = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(spied)
    with monkeypatch.context() as patched:
        patched.setattr(parser, "_spare_parsers", [])
        patched.setattr(parser, "_process", ctypes.cast(spy, ctypes.c_void_p).value)
        patched.setattr(parser._lexbor, "lxb_html_parse_chunk_process", spied)
        try:
            parsed = parse(html, None, feeder)
        except ExtractLimitExceeded as error:
            return sizes, None, str(error)
    return sizes, parsed.tree.html, str(parsed.truncated_at)


def fed_alike(html: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], str | None, str]:
    """The same by native code and by Python."""
    answers: list[int] = []

    def feeder(feed_at: int) -> int:
        answers.append(native_feeder()(feed_at))
        return answers[-1]

    by_native = fed(html, feeder, monkeypatch)
    assert by_native == fed(html, None, monkeypatch)
    assert len(by_native[0]) > 1
    assert answers and set(answers) <= {FED, HANDED_BACK}
    return by_native


ALIKE: Final = MILD | {name: html for name, (html, why) in SHAPES.items() if why != TIME}


@pytest.mark.parametrize("html", [html[:2_000_000] for html in ALIKE.values()], ids=ALIKE)
def test_native_and_python_feed_the_same_pieces(html: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    fed_alike(html, monkeypatch)


@pytest.mark.parametrize("html", LARGE.values(), ids=LARGE)
def test_page_with_too_many_elements_is_truncated(
    html: bytes, monkeypatch: pytest.MonkeyPatch, within: Callable[[float], None]
) -> None:
    _, tree, truncated_at = fed_alike(html, monkeypatch)
    assert tree is not None and "<body>" in tree
    assert 0 < int(truncated_at) < len(html)
    within(40.0)


@pytest.mark.parametrize("seed", range(20))
def test_native_and_python_feed_mutated_pages_alike(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "PIECE_BYTES", 256)
    monkeypatch.setattr(parser, "_PIECE_STEPS", 2_000)
    random, pages = Random(seed), [to_valid_utf8(data[1:]) for data in seeds("document", PAGES)]
    html = b"".join(to_valid_utf8(mutated(random.choice(pages), 8192, random)) for _ in range(5))
    assert fed(html, native_feeder(), monkeypatch) == fed(html, None, monkeypatch)


@pytest.mark.parametrize("name", ["formatting, opened and closed", "formatting in cells", "a tag of several pieces"])
def test_ordinary_pages_are_not_handed_back(name: str) -> None:
    answers: list[int] = []

    def feeder(feed_at: int) -> int:
        answers.append(native_feeder()(feed_at))
        return answers[-1]

    parse(MILD[name], None, feeder)
    assert set(answers) == {FED}


def test_spare_parsers_keep_no_page() -> None:
    html = b"<p>words" * 100
    references = sys.getrefcount(html)
    parse(html, None, native_feeder())
    assert parser._spare_parsers
    assert sys.getrefcount(html) == references


# ---- extraction of deep trees ---------------------------------------------------------------------------


@pytest.mark.parametrize("with_native", [True, False], ids=["native", "python"])
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
def test_deep_tree_is_extracted(html: bytes, with_native: bool, within: Callable[[float], None]) -> None:
    content, _ = extract_with_dom(
        html, HTML, url="https://e.test/", now=1.7e9, options=ExtractOptions(with_native=with_native)
    )
    assert content.text
    within(30.0)


def test_inline_code_is_kept_with_much_formatting() -> None:
    paragraphs = "".join(
        f"<p>Call <code class=x>run_{n}()</code> with <span class=y>care</span>, as <em class=z>it</em> says, and mind "
        f"the <strong class=w>order</strong> of its arguments, <a href=/{n}>which matters</a>.</p>"
        for n in range(200)
    )
    html = f"<title>Guide</title><article><h1>Guide</h1>{paragraphs}</article>".encode()
    for with_native in (True, False):
        content, _ = extract_with_dom(html, HTML, options=ExtractOptions(with_native=with_native))
        assert all(f"`run_{n}()`" in content.markdown for n in range(200))
        assert content.markdown.count("**order**") == 200


def test_reason_of_an_unread_page() -> None:
    content = extract_content(b"<div>" * 100_000, HTML)
    assert (content.media, content.text, content.links) == ("other", "", Links())
    assert content.media_reason == "too costly to read: elements nest more than 10,000 deep"
