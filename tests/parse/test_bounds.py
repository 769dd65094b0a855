"""Pages written against parsers cost no more than others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tenax.parse.bounds import MAX_ATTRIBUTES, MAX_DEPTH, Bounded, bounded

ATTRIBUTES = " ".join(f"a{number}" for number in range(20_000))
DEEP = "<div>" * 100_000


def bound(html: str) -> Bounded:
    return bounded(html.encode())


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
