"""Pages written against parsers cost no more than others, and the kernel finds in them what Python finds."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.parse import bounds
from tenax.parse.bounds import MAX_ATTRIBUTES, MAX_DEPTH, MAX_NAMES, MAX_TAGS, Bounded, bounded
from tenax.parse.html import Dom
from tenax.parse.kernel.binding import Kernel, kernel

ATTRIBUTES = " ".join(f"a{number}" for number in range(20_000))
DEEP = "<div>" * 100_000

LIMITS: Final = (
    *("MAX_DEPTH", "MAX_ATTRIBUTES", "MAX_TAGS"),
    *("_HARMLESS_TAGS", "_HARMLESS_CHARS", "_HARMLESS_REBUILDS", "_SHALLOW_TAGS", "_MAX_STEPS", "MAX_NAMES"),
)
NAMES: Final = sorted({name.decode() for name in bounds._NAMES.split()} | {"a", "span", "x-y", "foreignObject", "Div"})
_OFTEN = "div span a p table td svg math script style title textarea template b font"
_PIECES = """
< </ > /> / <! <? <!-- --> --!> - <![CDATA[ ]]> ] = " ' _ a a=b a='>' a="<p>" a=/ _a_b_c_d =a <a_b= <i_c/ <a/b=c
<p_a='b' <script </script <svg><title> <svg><style> <![CDATA[_> </svg> <!---!> <table><td><div> </a> <b_
"""
PIECES: Final = (*(piece.replace("_", " ") for piece in _PIECES.split()), "\n", "\v", "\0", "\x80")


def bound(html: str | bytes) -> Bounded:
    """What both say."""
    page = html.encode() if isinstance(html, str) else html
    found = bounded(page)
    assert found == bounded(page, with_kernel=False)
    return found


@contextmanager
def limits_of(*numbers: int) -> Iterator[None]:
    """Other limits for a while, so that a few tags are too many."""
    with pytest.MonkeyPatch.context() as patched:
        for name, number in zip(LIMITS, numbers, strict=True):
            patched.setattr(bounds, name, number)
        patched.setattr(bounds, "_LIMITS", array("Q", numbers))
        attributes = numbers[1]
        for name in ("_CROWDED_TAG", "_OTHER_TAG"):
            pattern = getattr(bounds, name).pattern
            for most in (b"%d}", b"{0,%d}"):
                pattern = pattern.replace(most % MAX_ATTRIBUTES, most % attributes)
            pattern = pattern.replace(b"{0,99}", b"{0,%d}" % (attributes - 1))
            patched.setattr(bounds, name, re.compile(pattern))
        yield


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<p>x" * 100_000,
        "<ul>" + "<li>x" * 100_000,
        "<table>" + "<tr><td><div>x" * 10_000,
        "<table>" + "<tr><td><span>x</td></tr>" * 10_000 + "</table>",
        "<div><p>x <a href=/y>z</a><br></div>" * 10_000,
        "<svg>" + "<path d=x />" * 20_000 + "</svg>",
        "<svg><style>a{}</style><title>x</title><path/></svg><script>'<div>'</script>" * 2_000,
        "<img><br><input>" * 10_000,
        f"<script>if (a<b {ATTRIBUTES}</script>" + "x" * 70_000,
        f"<!-- <b {ATTRIBUTES}> -->" + "x" * 70_000,
        '<a title="' + "x" * 1_000_000 + '">',
        "<script>" + "<div>" * 20_000 + "</script>",
        "<div>" * 5_000,
    ],
    ids=lambda html: html[:24],
)
def test_what_people_write_stays_whole(html: str) -> None:
    assert (bound(html).html == html.encode(), bound(html).why) == (True, "")


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        (DEEP, 5 * MAX_DEPTH),
        ("<p>before</p>" + DEEP, 13 + 5 * MAX_DEPTH),
        (DEEP + "x" + "</div>" * 100_000, 5 * MAX_DEPTH),
        ("<DIV>" * 100_000, 5 * MAX_DEPTH),
        ("<div title='</div>'>" * 20_000, 20 * MAX_DEPTH),
        ("<div><!--</div>-->" * 20_000, 18 * MAX_DEPTH),
        ("<div><script></div></script>" * 20_000, 28 * MAX_DEPTH),
        ("<div></x>" * 20_000, 9 * MAX_DEPTH),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_nests_too_deep_is_cut_there(html: str, kept: int) -> None:
    cut = bound(html)
    assert cut.html == html[:kept].encode()
    assert str(MAX_DEPTH) in cut.why


@pytest.mark.parametrize(
    "html",
    [
        "<div><table><td></div></table>" * 20_000,
        "<span><div></span></div>" * 20_000,
        "<div><table>" + "<span>" * 500 + "</div>" * 100_000,
        "<div><!a </div>" * 20_000,
        "<div><? </div>" * 20_000,
        "<svg><title>" + DEEP,
        "<svg><foreignObject><table><td></svg></td></table></foreignObject><title>" + DEEP,
        "<svg>" + "<title><div><script></div></script>" * 20_000,
        "<svg>" + "<div><![CDATA[ > </div> ]]>" * 20_000,
        f"<svg><title><p {ATTRIBUTES}>",
        "<svg>" + "<style>" * 100_000,
    ],
)
def test_end_tags_that_close_nothing_fool_nobody(html: str) -> None:
    assert bound(html).why


@pytest.mark.parametrize(
    "tag",
    [
        f"<a {ATTRIBUTES}>",
        f"""<a b'c=" ' > " {ATTRIBUTES}>""",
        f'<a ="b=">" {ATTRIBUTES}>',
        f"<a x='<p>' {ATTRIBUTES}>",
        f'<a b="c" d e="f>" {ATTRIBUTES}>',
        f'<a b="c"/{ATTRIBUTES}/>',
        f'<a ="b c=">" {ATTRIBUTES}>',
    ],
    ids=lambda tag: tag[:16],
)
def test_a_tag_with_too_many_attributes_is_cut_off(tag: str) -> None:
    cut = bound(f"<p>before</p>{tag}after")
    assert cut.html == b"<p>before</p>"
    assert str(MAX_ATTRIBUTES) in cut.why


def test_unclosed_formatting_is_tamed_without_loss() -> None:
    html = "<p>" + "".join(f"<FONT id={n}>" for n in range(2_000)) + "</p>" + "<p>x</p>" * 2_000
    tamed = bound(html)
    assert b"FONT" not in tamed.html
    assert tamed.html.count(b"<span id=") == 2_000
    assert not tamed.why


@pytest.mark.parametrize("piece", ["<", "<!", "</", "<!--", "<a ", '<a b="', "='", "<script>", "</p>", "&", "<b a='"])
def test_repeated_beginnings_take_linear_time(piece: str, within: Callable[[float], None]) -> None:
    bound(piece * (1_000_000 // len(piece)))
    within(5.0)


def test_tags_that_do_not_end_take_linear_time(within: Callable[[float], None]) -> None:
    """To each of them, all that follows is the value of an attribute."""
    bound(f"<a/{'b' * 16}=" * 15_000)
    within(1.0)


@pytest.mark.parametrize(
    "piece",
    [
        "<p a{0}=1 b{0} C{0}/>x", "<x{0}></x{0}>", "<!DOCTYPE x{0}>", "<p a=''b{0}>", "<p a=\"'\"b{0}='\"'>",
        "<p\fx{0}/y{0}>", "<p ={0}>",
    ],
)  # fmt: skip
def test_too_many_names_end_the_page(piece: str, within: Callable[[float], None]) -> None:
    cut = bound("<p>before</p>" + "".join(piece.format(number) for number in range(100_000)))
    assert cut.html.startswith(b"<p>before</p>" + piece.format(0).encode())
    assert f"{MAX_NAMES:,}" in cut.why
    assert len(cut.html) < MAX_NAMES * (len(piece) + 8)
    Dom(cut.html)
    within(4.0)


@pytest.mark.parametrize(
    "html",
    [
        "".join(f"word{number} " for number in range(100_000)),
        "".join(f"<p class=x{number} title='a b{number} c'>y</p>" for number in range(40_000)),
        f"<script>{''.join(f'if (a<b{number}) c{number}(d) ' for number in range(60_000))}</script>",
        "<p A0 a1><P a0 A1>" * 40_000,
    ],
)
def test_what_is_no_name_or_no_other_does_not_count(html: str) -> None:
    assert bound(html) == Bounded(html.encode())


HOSTILE: Final = {
    "a tag too many": b"<p>x" * (MAX_TAGS + 1),
    "as many tags as may be": b"<p>x" * MAX_TAGS,
    "too many tags that nest": b"<div>" * (MAX_TAGS + 1),
    "brackets": b"<" * 10_000_000,
    "every byte": bytes(range(256)) * 500,
    "every two bytes in a tag": b"".join(b"<%c%c>" % (one, other) for one in range(256) for other in range(256)),
    "every two bytes after a name": b"".join(b"<i%c%c</i" % (one, other) for one in range(256) for other in range(256)),
    "zeros": b"<p>" * 17_000 + b"<\0div><di\0v>" * 600,
    "an end tag before its time": b"<script>" + b"<div>" * 17_000 + b"</scriptx></script",
    "an end tag in capitals": b"<script>" + b"<div>" * 17_000 + b"</SCRIPT\v>" + b"<div>" * 600,
    "comments of every end": b"<div><!--><!---><!----><!--->--><!--x--!><!--!>--><!--a--!x>-->" * 3_000,
    "long names": b"".join(b"<%b%d>" % (b"x" * 1_000, n) for n in range(400)) + b"</y>" * 17_000,
    "tangled, but few": b"<div><table>" + b"<span>" * 7_000 + b"</div>" * 8_000 + b"x" * 70_000,
    "tangled, few, and crowded": b"<div><table>" + b"<i>" * 7_000 + b"</div>" * 8_000 + b"<a" + b"/x" * 40_000,
    "crowded, then tangled": b"<a" + b"/x" * 40_000 + b"><div><table>" + b"<i>" * 7_000 + b"</div>" * 8_000,
    "as many attributes as may be": b"x" * 70_000 + b"<a" + b"/x" * (MAX_ATTRIBUTES - 1),
    "an attribute too many": b"x" * 70_000 + b"<a" + b"/x" * MAX_ATTRIBUTES,
    "an end tag with attributes": b"x" * 70_000 + b"</a" + b"/x" * 5_000,
    "formatting, as much as may be": b"<b a>" * 125 + b"<p>" * 1_875,
    "formatting, one too many": b"<b a>" * 125 + b"<p>" * 1_876,
    "formatting that nests": b"<STRONG\v>x</sTrong>" * 17_000 + b"<font/>" * 600,
    **{f"cut off at {end}": b"<p>" * 17_000 + end.encode() for end in ("<", "</", "<!", "<!-", "<!---", "<a", "<a b=")},
}


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
def test_the_kernel_finds_what_python_finds(html: bytes) -> None:
    bound(html)


CORNERS: Final = (
    "<a b=c/d e=f/g><i>",
    "<a b='c' d=\"e\"><i>",
    "<a =b =c><a ==b=c d><a = b><i>",
    "<a b = c d = e><a b= ><i>",
    "<a><div></a><i><i>",
    "<span><div></span></div><i><i>",
    "<div><table></div><td><i></table><i>",
    "<table><div><object><tr><i></object><tr><i>",
    "<!---!><div>--><div><div>",
    "<!--><i><!---><i><!--x--!><i><!----><i><!-- --!-> <i>",
    "<!x '<i>'><?y <i>></ <i>><i>",
    "<svg><![CDATA[ x > <![CDATA[ ]]></svg> ]]><i/><i/><i/>",
    "<svg><![CDATA[x]]></svg>]]></svg><i/><i/><i/>",
    "<![CDATA[ > <i></i> ]]><i>",
    "<svg><i/><path d=x/><i / ><math></svg><i/><i/>",
    "<svg><title><i></i></title><style></svg></style></svg><script><i></script><i>",
    "<svg><script><style></svg></style></svg></script></svg><i/><i/>",
    "<script><i></scriptx></script-></SCRIPT\v><i><i>",
    "<TextArea><i></textarea/><i><title><i></title",
    "<DIV><diV></Div></div\v></div></dIv><i>",
    "<br><p><li><option><img><i><br/><i/>",
    "<b\va><b/a><b\fa><ba><bigger a><strong a><u\na>",
)


@pytest.mark.parametrize("html", CORNERS)
def test_corners_of_the_grammar_are_the_same_to_both(html: str) -> None:
    for depth in range(1, 8):
        for attributes in (2, 3):
            for rebuilds, names in product((*range(0, 60, 7), 9_999), (2, 5, 99)):
                with limits_of(depth, attributes, 99, 0, 0, rebuilds, 0, 99, names):
                    bound(html)


@settings(max_examples=500)
@given(
    st.lists(
        st.sampled_from(PIECES)
        | st.builds(
            str.format,
            st.sampled_from(("<{}>", "</{}>", "<{} ", "<{}/>", "<{} a=b>")),
            st.sampled_from(NAMES) | st.sampled_from(_OFTEN.split()),
        ),
        max_size=60,
    ),
    st.tuples(
        *(st.integers(1, 8), st.integers(2, 4), st.integers(10, 99)),
        *(st.integers(0, 4), st.integers(0, 99), st.integers(1, 99), st.integers(4, 30), st.integers(0, 40)),
        st.integers(1, 60),
    ),
)
def test_in_markup_of_any_shape_both_find_the_same(pieces: list[str], numbers: tuple[int, ...]) -> None:
    with limits_of(*numbers):
        bound("".join(pieces).encode("latin-1"))


def test_where_the_kernel_cannot_tell_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernel, "bounds", lambda *_: None)
    assert bound(DEEP).why


@pytest.mark.parametrize("end", [b"", b" b='", b"/b=<a", b">"])
def test_the_kernel_reads_a_long_name_once(end: bytes, within: Callable[[float], None]) -> None:
    ready = kernel()
    assert ready is not None
    assert ready.bounds(b"<a" * 15_000 + b"x" * 5_000_000 + end, bounds._LIMITS, bounds._NAMES) is not None
    within(1.0)
