"""Native code and Python extract the same: pages of every kind, and inputs made to break either."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.extract.document import Content, ExtractOptions, extract_with_dom
from tenax.extract.html.dom import Dom
from tenax.extract.native import binding
from tenax.extract.native.binding import NativePage, Unsupported, open_page
from tenax.extract.native.build import library_path
from tests.extract.markup import MARKUP
from tests.pages.written import NOW, WrittenPage, written_pages

MADE = {
    "nothing": "",
    "no element": "just words",
    "deep": "<div>" * 400 + "x" + "</div>" * 400,
    "lines": "a<br><br>b<br> <br>c<br>d",
    "our own marks": "<p>a\x01b\x02c</p><p>\x01\x02</p><p>x<br><br>y\x02</p>",
    "controls": "<p>\x03\x9b\x7fa</p><p>\x04</p><p>\x1b[31mred</p>",
    "too many blocks": "<p>a word</p>" * 11_000,
    "a run of too many blocks": "<p>" + "x<br><br>" * 11_000,
    "cells": "<table>" + "<tr><td>a</td><td>b c</td></tr>" * 300 + "</table>",
    "a table of data": "<article><table><tr><th>a|b<th>c<tr><td rowspan=2>1<td>2<tr><td>3</table></article>",
    "links in links": "<a href=1><table><tr><td><a href=2>x</a></table></a>" * 20,
    "links around blocks": "<a href=/x><h2>Title</h2><p>Some words of it.</p></a>" * 20,
    "without scripts": "<noscript><p>" + "words of text, many. " * 60 + "</p></noscript><p>short</p>",
    "white space": "<p>\u2003 a\u00a0\u00a0b\u0085c\x1c\x1d d\u3000</p><pre>  x\n\ty\r\n z </pre>",
    "dense": "<article>" + "<p>你好，世界。这是一个测试！</p><p>日本語の文章です。</p>" * 20 + "</article>",
    "right to left": "<p>هذا نص طويل، وفيه كلمات كثيرة؟</p>" * 20,
    "capitals": "<title>ΟΔΥΣΣΕΥΣ ΣΤΗΝ ΙΘΑΚΗ</title><h1>ΟΔΥΣΣΕΥΣ ΣΤΗΝ ΙΘΑΚΗ</h1><p>İstanbul K</p>",
    "letters that not every Python knows": "<p>\U00011f04\U0001e4d0 \U00010d50X \U0002ebf0\U00031350, " * 20,
    "fields": "<select><option>a<option>b</select><button>c</button><textarea>d e</textarea>",
    "unknown elements": "<x-y class=nav>a</x-y><svg><title>t</title><a href=/q>z</a></svg><p>x</p>",
    "emphasis": "<p><b>a</b>b<i>c </i>d<code>`e`</code><b><i>f</i></b>! <a href=/g>g</a>![h]</p>" * 5,
    "what holds nothing": "<p>a<math><input><a href=/x>words</a></input></math>b<a href=/y><br></a></p>",
    "lists": "<ul><li>a<ul><li>b<ol start=7><li>c<li>d</ol></ul><li><blockquote>e<p>f</blockquote></ul>" * 5,
}


def both(
    html: str, url: str | None = None, *, with_article: bool = True, with_markdown: bool = True
) -> tuple[Content, Content]:
    """Extracted by the native code, and in Python."""
    native, plain = (
        extract_with_dom(
            html.encode("utf-8", "replace"),
            "text/html; charset=utf-8",
            url=url,
            now=NOW,
            options=ExtractOptions(with_article=with_article, with_markdown=with_markdown, with_native=with_native),
        )[0]
        for with_native in (True, False)
    )
    return native, plain


def test_native_library_is_available() -> None:
    assert binding.load_native() is not None, f"{binding.native_refusal()}: every other test would be void"
    assert binding.native_refusal() == ""


@pytest.mark.parametrize("page", written_pages(), ids=lambda page: page.name)
def test_written_pages_are_extracted_alike(page: WrittenPage) -> None:
    native, plain = both(page.html, page.about.url)
    assert native == plain
    assert native.article


@pytest.mark.parametrize("page", written_pages(), ids=lambda page: page.name)
def test_written_pages_are_skimmed_alike(page: WrittenPage) -> None:
    native, plain = both(page.html, with_article=False)
    assert native == plain
    assert native.text


@pytest.mark.parametrize("html", MADE.values(), ids=MADE)
def test_hostile_pages_are_extracted_alike(html: str) -> None:
    for with_article, with_markdown in ((True, True), (True, False), (False, False)):
        native, plain = both(html, with_article=with_article, with_markdown=with_markdown)
        assert native == plain


@settings(max_examples=300, deadline=None)
@given(MARKUP, st.booleans())
def test_any_markup_is_extracted_alike(markup: str, is_wrapped: bool) -> None:
    native, plain = both(f"<article>{markup * 3}</article>" if is_wrapped else markup, "https://example.org/news/a-b-c")
    assert native == plain


@pytest.fixture
def reload_native() -> Iterator[None]:
    """The library is searched for again, before and after."""
    unload()
    yield
    unload()


def unload() -> None:
    if ready := binding.load_native():
        ready.close()
    binding._load_native.cache_clear()


def test_unsupported_page_is_read_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(self: NativePage, *_: object) -> None:
        raise Unsupported("the page takes too much memory")

    page = written_pages()[0]
    _, plain = both(page.html, page.about.url)
    for name in ("read", "skim", "markdown"):
        with monkeypatch.context() as patched:
            patched.setattr(NativePage, name, give_up)
            assert both(page.html, page.about.url)[0] == plain
            _, dom = extract_with_dom(
                page.html.encode(), "text/html", options=ExtractOptions(with_article=name != "skim")
            )
            assert dom is not None and dom.native_refusal == "the page takes too much memory"


@pytest.mark.usefixtures("reload_native")
@pytest.mark.parametrize(
    ("missing", "why"),
    [
        ("library", "was not built"),
        ("functions", "does not fit this selectolax: .*no_such_function"),
        ("characters", r"was built for Unicode [0-9.]+, this Python has 13\.0\.0"),
        ("tags", "does not fit this selectolax: it has other tag numbers"),
        ("texts", "does not fit this selectolax: it has other texts in a sample"),
        ("nodes", "does not fit this selectolax: a sample is read wrongly"),
        ("limit", "does not fit this selectolax: a sample is truncated wrongly"),
        ("patterns", "does not support this Python: .+"),
    ],
)
def test_pages_are_read_in_python_without_a_compatible_library(
    missing: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing == "library":
        monkeypatch.setattr(binding, "library_path", lambda: None)
    elif missing == "functions":
        monkeypatch.setattr(binding, "_LEXBOR_FUNCTIONS", ("no_such_function",))
    elif missing == "characters":
        path = library_path()
        monkeypatch.setattr("unicodedata.unidata_version", "13.0.0")
        monkeypatch.setattr(binding, "library_path", lambda: path)
    elif missing == "tags":
        monkeypatch.setattr(binding, "tag_number", lambda _: 1)
    elif missing == "texts":
        monkeypatch.setattr(binding, "SAMPLE_TEXTS", binding.SAMPLE_TEXTS[1:])
    elif missing == "nodes":
        monkeypatch.setattr(binding, "SAMPLE_TREE", "<html></html>")
    elif missing == "limit":
        monkeypatch.setattr(binding, "CUT_SAMPLE_TREE", "<html></html>")
    else:
        monkeypatch.setattr("tenax.extract.native.packed_tables.regex", object())
    assert binding.load_native() is None
    assert re.fullmatch(f"the native code {why}", binding.native_refusal())
    with pytest.raises(Unsupported, match=re.escape(binding.native_refusal())):
        open_page(1)
    page = written_pages()[0]
    native, plain = both(page.html, page.about.url)
    assert native == plain


def test_page_memory_is_reused() -> None:
    ready = binding.load_native()
    assert ready is not None
    dom = Dom("<p>words")
    assert dom.root is not None
    sheets = [open_page(dom.root.mem_id) for _ in range(8)]
    for native_page in sheets:
        assert native_page.skim().text == "words"
        native_page.close()
        native_page.close()
    one = ready.acquire_page()
    ready.release_page(one)
    assert ready.acquire_page() == one
    ready.release_page(one)
