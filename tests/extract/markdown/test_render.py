"""Kept blocks as Markdown: its form, and that a CommonMark parser finds all of their words and no others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tenax.extract.article.blocks import Blocks
from tenax.extract.html.dom import Dom, strip_controls
from tenax.extract.markdown.render import render_markdown
from tests.pages.markdown_parts import lines_of


def markdown(html: str, resolve: Callable[[str], str] | None = None) -> str:
    """The Markdown of a page whose blocks are all kept."""
    blocks = Blocks(Dom(html).walk)
    return render_markdown(blocks, [True] * len(blocks), resolve)


def words_of(markdown: str) -> list[str]:
    return " ".join(lines_of(markdown)).split()


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", ""),
        ("<p>One.<p>Two.", "One.\n\nTwo."),
        ("<p>a<br>b<br><br>c", "a\\\nb\n\nc"),
        ("<h1>A</h1><h2>B <b>c</b></h2><h6>D</h6>", "# A\n\n## B c\n\n###### D"),
        ("<h2><div>a</div><div>b</div></h2>", "## a b"),
        ("<h2>C #</h2><h2>#</h2>", "## C \\#\n\n## \\#"),
        ("<p>a <b>b</b> <i>c</i> <b><i>d</i></b> <code>e`f</code>", "a **b** *c* ***d*** ``e`f``"),
        ("<p>a<b> b </b>c", "a **b** c"),
        ("<p><b>a <a href=/x>b</a> c</b>", "**a [b](/x) c**"),
        ("<p><a href=/x>a <b>b</b></a>", "[a **b**](/x)"),
        ("<p>«<b>語</b>」<b>「語」</b>語", "«**語**」「語」語"),
        ("<p>foo<b>bar</b>baz<b>(qux)</b>", "foo**bar**baz(qux)"),
        ("<p><i>a</i><b>b</b>c", "*a*bc"),
        ("<p><code>a</code><b><code>b</code></b>", "`a`**b**"),
        ("<p>wow!<a href=/x>a</a>", "wow\\![a](/x)"),
        ("<p><b>b</b> wow!<a href=/x>a</a>", "**b** wow\\![a](/x)"),
        ("<p>a&lt;<span>b></span> &amp;<span>amp;</span>", "a\\<b> \\&amp;"),
        ("<p>a|b<br>:-|-", "a|b\\\n\\:-|-"),
        ("<p><a href='javascript:x'>a</a> <a href=' data:x'>b</a> <a>c</a> <a href='java\nscript:x'>d</a>", "a b c d"),
        ("<p><a href='/a (b) <c>\\`'>x</a>", "[x](/a%20\\(b\\)%20%3Cc%3E\\\\%60)"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "- a\n- b\n  - c\n- d"),
        ("<ol start=9><li>a<li>b<p>c</ol>", "9. a\n10. b\n\n    c"),
        ("<ul><li>a</ul><ul><li>b</ul><ol><li>c</ol><ol><li>d</ol>", "- a\n\n* b\n\n1. c\n\n1) d"),
        ("<ul><li>a<ol start=3><li>b</ol></ul>", "- a\n\n  3. b"),
        ("<blockquote><p>a<p>b<blockquote>c</blockquote></blockquote>d", "> a\n>\n> b\n>\n> > c\n\nd"),
        ("<blockquote>a</blockquote><blockquote>b</blockquote>", "> a\n\n> b"),
        ("<p>a<hr><hr><p>b<hr>", "a\n\n---\n\nb"),
        ("<dl><dt>a <b>b</b><dd>c</dl>", "**a b**\n\nc"),
        ("<details><summary>a</summary>b</details>", "a\n\nb"),
        ("<figure><img src=/a.jpg alt='A [b]'><figcaption>c</figcaption></figure>", "![A \\[b\\]](/a.jpg)\n\nc"),
        ("<p>a <img src=/a.jpg alt=x> b", "a ![x](/a.jpg) b"),
        ("<p>a</p><p><a href=/l><img src=/a.jpg></a></p><p>b</p>", "a\n\n[![](/a.jpg)](/l)\n\nb"),
        ("<p>a</p><img src=/pixel.gif><img src=/a.jpg alt=''><img src=data:x><img src=/b.jpg width=1>", "a"),
        ("<a href=/x><h2>a</h2><p>b</p></a><p>c", "## [a](/x)\n\nb\n\nc"),
        ("<a href=/x><p>a</p><p>b</p></a>", "[a](/x)\n\nb"),
        ("<div><b>a<p>b</p>c</b></div>", "**a**\n\nb\n\n**c**"),
    ],
)  # fmt: skip
def test_markdown_form(html: str, expected: str) -> None:
    assert markdown(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<pre>\na\n  b\n\nc\n</pre>", "```\na\n  b\n\nc\n```"),
        ("<pre><code class='hljs language-rust'>a</code></pre>", "```rust\na\n```"),
        ("<pre class=lang-c++>a</pre>", "```c++\na\n```"),
        ("<div class='highlight highlight-source-shell'><pre>a</pre></div>", "```shell\na\n```"),
        ("<div class=highlight-python><div class=highlight><pre>a</pre></div></div>", "```python\na\n```"),
        ("<pre class=language-none>```</pre>", "````\n```\n````"),
        ("<pre><span>  </span>a<br>\tb</pre>", "```\n  a\n\tb\n```"),
        ("<pre><div>a</div><div> b</div></pre>", "```\na\n b\n```"),
        ("<ul><li>a<pre>b\n c</pre></ul>", "- a\n\n  ```\n  b\n   c\n  ```"),
    ],
)
def test_code_blocks(html: str, expected: str) -> None:
    assert markdown(html) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("<tr><th>a<th>b<tr><td>c|d<td><b>e</b>", "| a | b |\n| --- | --- |\n| c\\|d | **e** |"),
        ("<tr><td>a<td>b<tr><th>c<td>d", "|  |  |\n| --- | --- |\n| a | b |\n| c | d |"),
        ("<thead><tr><td>a<td>b<tbody><tr><td>c<td>d<br>e", "| a | b |\n| --- | --- |\n| c | d e |"),
        (
            "<caption>z</caption><tr><th colspan=2>a<th>b<tr><td rowspan=2>c<td>d<td>e<tr><td>f<td>g",
            "z\n\n| a |  | b |\n| --- | --- | --- |\n| c | d | e |\n|  | f | g |",
        ),
        (
            "<caption>y</caption><tr><th>a<th>b<tr><td>c<td>d</tr><caption>- z</caption>",
            "y\n\n| a | b |\n| --- | --- |\n| c | d |\n\n\\- z",
        ),
        ("<tr><td>a<td>b", "a\n\nb"),
        ("<tr><td>a<tr><td>b", "a\n\nb"),
        ("<tr><td>a<td><h2>b</h2><tr><td>c<td>d", "a\n\n## b\n\nc\n\nd"),
        ("<tr><td>a<td>b<tr><td>c<td><table><tr><td>d</table>", "a\n\nb\n\nc\n\nd"),
        ("<tr><td>a<td>b<tr><td>c<td><math><td>d</td></math>", "a\n\nb\n\nc\n\nd"),
        ("<tr>" + "<td>a" * 61 + "<tr><td>a", "\n\n".join("a" * 62)),
        (f"<tr><td>a<td>{'b' * 601}<tr><td>c<td>d", f"a\n\n{'b' * 601}\n\nc\n\nd"),
    ],
)
def test_data_and_layout_tables(rows: str, expected: str) -> None:
    assert markdown(f"<table>{rows}</table>") == expected


def test_only_kept_blocks() -> None:
    blocks = Blocks(Dom("<ul><li>a<li>b</ul><ol><li>c<li>d</ol><p>e<br><br>f<h2>g<div>h</div></h2><pre>i<p>j").walk)
    kept = [text in "bdfhj" for text in blocks.texts]
    assert render_markdown(blocks, kept) == "- b\n\n1. d\n\nf\n\n## h\n\n```\nj\n```"


def test_images_and_rules_only_beside_kept_blocks() -> None:
    far = "<div><div><div><div><img src=/far.jpg></div></div></div></div>"
    html = f"<div><p>a</p><img src=/near.jpg><p>b</p><hr><p>c</p><img src=/other.jpg><p>d</p></div>{far}"
    blocks = Blocks(Dom(html).walk)
    assert render_markdown(blocks, [True, True, False, False]) == "a\n\n![](/near.jpg)\n\nb"
    assert render_markdown(blocks, [False, False, False, True]) == "![](/other.jpg)\n\nd"
    assert render_markdown(blocks, [False] * 4) == ""


def test_urls_are_resolved() -> None:
    html = "<p>a <a href=/l>b</a> <img src=/i.jpg> c <a href=/none>d</a>"
    resolved = {"/l": "https://h/l", "/i.jpg": "https://h/i.jpg", "/none": ""}
    assert markdown(html, resolved.__getitem__) == "a [b](https://h/l) ![](https://h/i.jpg) c d"


def test_noscript() -> None:
    paragraphs = "".join(f"<p>{'word ' * 60}{n}</p>" for n in range(3))
    html = f"<div>Enable <b>scripts</b><noscript>{paragraphs}and <i>more</i></noscript> please</div>"
    assert markdown(html).endswith("2\n\nand *more*\n\nplease")


NASTY = (
    "a*b*c **d** _e_ f_g __h__", "1. a", "2) b", "# c", "####### d", "- e", "+ f", "* g", "> h", "===", "---", "- - -",
    "***", "___", "~~~", "```", "`a", "a`", "[a](b)", "![a](b)", "[a]: b", "a]", "<b>", "<!-- x -->", "<http://a.b>",
    "&amp;", "&", "a&lt", "#", "\\", "\\*", "a\\", ":--", "|", "a|b", "|-|-|", "-|-", "!", "1", ".", "+", "語", "「",
    "」。", "é", "\u00ad", "😀", "=", "x\x01y", "\x1b[0m", "<", "a<", "p;", "lt;", "://x", "\u200b", "「語」", "**",
    "*", "_", "-", "1986\\. A", "\t", " ", "~",
)  # fmt: skip
INLINE = ("b", "i", "em", "strong", "code", "span", "a href=/x", "a href='/y(_*[`<'", "kbd", "sub")
BOXES = (
    "p", "div", "h1", "h3", "ul", "ol", "ol start=7", "li", "blockquote", "pre", "dl", "dt", "dd", "figure",
    "figcaption", "table", "tr", "td", "th", "caption", "section", "button",
)  # fmt: skip
VOIDS = ("<br>", "<br><br>", "<hr>", "<img src=/i.jpg alt='a_b* ]['>", "<input>", "<!-- c -->", "<wbr>")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _element(names: tuple[str, ...], inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    inside = st.lists(inner, max_size=4).map("".join)
    return st.builds(lambda name, html: f"<{name}>{html}</{name.split()[0]}>", st.sampled_from(names), inside)


texts = st.one_of(
    st.sampled_from(NASTY), st.lists(st.sampled_from(NASTY), min_size=2, max_size=5).map("".join), st.just("word")
).map(_escaped)
lines = st.recursive(
    st.one_of(texts, st.sampled_from(VOIDS)), lambda inner: _element(INLINE, inner), max_leaves=8
)  # fmt: skip
pages = st.recursive(lines, lambda inner: _element(BOXES, inner), max_leaves=20)
tables = st.lists(st.lists(lines, min_size=1, max_size=3), min_size=2, max_size=3).map(
    lambda rows: "<table>" + "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) for row in rows) + "</table>"
)


@settings(max_examples=150)
@given(html=st.lists(st.one_of(pages, tables, lines), min_size=1, max_size=4).map("".join), seed=st.integers(0, 7))
@example(html="<ul><li>" * 200 + "deep", seed=0)
@example(html="<blockquote>" * 200 + "deep", seed=0)
@example(html="<p>" + "<span>" * 70 + "a" + "</span>" * 70 + "b", seed=0)
@example(html="<ul><li><table><tr><th>a<th>b<tr><td>c<td>d</table><ul><li>e</ul></ul>", seed=0)
@example(html="<p>a<br>===<br>:-<br>|-|", seed=0)
@example(html="<p>&am<b>p;</b>(", seed=0)
def test_all_kept_words_and_no_others(html: str, seed: int) -> None:
    blocks = Blocks(Dom(html).walk)
    kept = [seed == 0 or (at + seed) % 3 > 0 for at in range(len(blocks))]
    expected = [
        word
        for text, is_kept in zip(blocks.texts, kept, strict=True)
        if is_kept
        for word in strip_controls(text).split()
    ]
    written = render_markdown(blocks, kept)
    assert words_of(written) == expected, written


@settings(max_examples=100)
@example(text="a\x1fb", tag="pre")
@given(text=st.text(max_size=60), tag=st.sampled_from(("p", "li", "h2", "code", "td", "pre", "b")))
def test_any_text_in_any_element(text: str, tag: str) -> None:
    blocks = Blocks(Dom(f"<{tag}>{_escaped(text)}</{tag}>").walk)
    expected = [word for block in blocks.texts for word in strip_controls(block).split()]
    assert words_of(render_markdown(blocks, [True] * len(blocks))) == expected


@pytest.mark.parametrize(
    ("before", "part", "times"),
    [
        ("", "<b>", 5_000),
        ("", "<b>a<i>", 2_000),
        ("<p>", "a<!-- -->", 20_000),
        ("<p>", "<b>a</b>", 20_000),
        ("<p>", "a<br>", 20_000),
        ("", "<ul><li>a", 2_000),
        ("", "<div>a", 5_000),
        ("<p>a", "<b><img src=/i.jpg>", 2_000),
        ("", "<table><tr><td>a<td>b<tr><td>", 1_000),
        ("<table>", "<tr><td rowspan=9999>a<td>b", 2_000),
        ("<pre>", "\n \n", 20_000),
        ("<b>" * 2_000, "a<p>", 2_000),
        ("<h1>", "# ", 20_000),
        (f"<div class='{'a ' * 100_000}'>", "<pre>a</pre>", 500),
    ],
    ids=lambda value: str(value)[:20],
)
def test_hostile_pages_are_cheap(before: str, part: str, times: int, within: Callable[[float], None]) -> None:
    html = before + part * times + "end"
    blocks = Blocks(Dom(html).walk)
    assert len(render_markdown(blocks, [True] * len(blocks))) < 20 * len(html)
    within(10)


def test_controls_are_removed() -> None:
    blocks = Blocks(Dom("<p>a<math><input><a href=/x>words</a></input></math>b</p>").walk)
    assert blocks.texts == ["a b"]
    assert render_markdown(blocks, [True]) == "a b"
