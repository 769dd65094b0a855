"""The visible text: whole words, separate blocks, no hidden text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.extract.html.dom import Dom, collapse_spaces, strip_controls, visible_text
from tenax.extract.html.tree import Walk
from tenax.extract.html.visible import page_text, plain_text


def text_of(html: str, max_chars: int = 1000) -> str:
    root = Dom(html).root
    assert root is not None
    return visible_text(Walk(root), max_chars)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", ""),
        ("plain", "plain"),
        ("foo<b>bar</b>", "foobar"),
        ("<p>foo<b>bar</b>baz", "foobarbaz"),
        ("<p>one <i>two</i> three</p>", "one two three"),
        ("<b>one</b> <b>two</b>", "one two"),
        ("<b>one</b>\n<b>two</b>", "one two"),
        ("foo<!-- -->bar", "foobar"),
        ("<p>a</p><p>b</p>", "a\nb"),
        ("<p>a</p>b", "a\nb"),
        ("a<div>b</div>c", "a\nb\nc"),
        ("<a href=x><div>a</div></a>b", "a\nb"),
        ("<span><div>a</div></span><span>b</span>", "a\nb"),
        ("<p>a</p>\n\n  <p>  </p><p>b", "a\nb"),
        ("a<br>b<br/><br>c", "a\nb\nc"),
        ("<ul><li>a<li>b</ul>", "a\nb"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><th>c<td>d</table>", "a b\nc d"),
        ("<select><option>a<option>b</select>", "a b"),
        ("<button>a</button><button>b</button>", "a b"),
        ("  lots\n\t of \r\n space&nbsp;&nbsp;here ", "lots of space here"),
        ("<title>no</title><style>no</style><script>no</script>yes", "yes"),
        ("<body><noscript>no</noscript><template>no</template><svg><text>no</text></svg>yes", "yes"),
        ("<iframe>no</iframe><noembed>no</noembed><video>no</video>yes", "yes"),
        ("<head><noscript><img src=x></noscript><title>no</title></head>yes", "yes"),
        ("<input type=hidden value=no>yes<!-- no -->", "yes"),
        ("<div hidden>streamed</div>", "streamed"),
        ("&lt;b&gt; &amp; &eacute;&#x1F600;", "<b> & é😀"),
        ("<x-card>a</x-card><x-card>b</x-card>", "ab"),
        ("a\0b&#0;c&#xD800;d", "ab\ufffdc\ufffdd"),
        ("a&#27;[31mred&#155;x", "a[31mred›x"),
        ("<pre>one\ntwo</pre>", "one two"),
        ("<p>日本語<b>の</b>文章", "日本語の文章"),
        ("<frameset><frame src=x></frameset>", ""),
    ],
)
def test_visible_text(html: str, expected: str) -> None:
    assert text_of(html) == expected


def test_tree_is_not_changed() -> None:
    dom = Dom("<p>a<br>b</p><script>c</script>")
    assert dom.root is not None
    assert visible_text(Walk(dom.root), 9) == visible_text(Walk(dom.root), 9) == "a\nb"
    assert len(dom.select("p, br, script")) == 3


def test_page_text_equals_root_text() -> None:
    dom = Dom("<title>t</title><p>a <b>b</b><td>c")
    assert dom.root is not None
    assert page_text(dom) == visible_text(Walk(dom.root), 9) == "a bc"
    assert page_text(dom, 3) == "a b"


def test_text_is_limited() -> None:
    assert text_of("<p>abc</p>" * 100, 10) == "abc\nabc\nab"


def test_plain_text_keeps_its_lines() -> None:
    assert plain_text(" a\r\nb\rc\x00\x1b[0m\td\n") == "a\nb\nc[0m\td"
    assert plain_text("abcdef", 3) == "abc"


def test_text_without_controls_is_unchanged() -> None:
    assert strip_controls("a\tb\nc é 日") == "a\tb\nc é 日"
    assert strip_controls("\x00a\x08\x1bb\x7f\x9bc") == "abc"


@given(st.text(st.sampled_from("ab \t\n\xa0\u2003\x1f\u200b")))
def test_collapse_spaces(text: str) -> None:
    assert collapse_spaces(text) == " ".join(text.split())
