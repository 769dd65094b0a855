"""Lines near the title, lines with years, script dates: the native code finds the same as Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tenax.extract.document import extract_with_dom
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import find_script_dates
from tenax.extract.metadata.authors import filter_lone_dates, find_lines_near_title, find_lines_with_years, title_prefix
from tenax.extract.native.binding import NativePage, open_page
from tests.pages.written import written_pages

NUMBERS = (0.0,) * 19
"""Hints of head and URL: none here."""


@contextmanager
def opened(dom: Dom) -> Iterator[NativePage]:
    native_page = open_page(dom.root.mem_id) if dom.root is not None else None
    assert native_page is not None
    try:
        yield native_page
    finally:
        native_page.close()


def check(text: str, title: str) -> None:
    """Both find the same in a page with these lines."""
    with opened(Dom("".join(f"<p>{line}</p>" for line in text.split("\n")))) as native_page:
        read = native_page.read("", NUMBERS).text
        found = native_page.find_byline_lines(title_prefix(title))
    assert found is not None
    assert found[0] == list(find_lines_near_title(title, read))
    years = find_lines_with_years(read)
    assert filter_lone_dates(found[1]) == filter_lone_dates(years)
    assert found[1] in (years, [])


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", ""),
        ("a\nb", ""),
        ("before\na story\nafter\n" + "x" * 200, "A Story"),
        ("one\ntwo\nthree\nfour\nfive\nsix\nTitle", "title"),
        ("Title\n" + "".join(f"line {n}\n" for n in range(30)), "title"),
        ("Title\nx\nTITLE\ny\ntitle\nz\nTitle\nnever", "Title"),
        ("é" * 119 + "\n" + "é" * 121 + "\nTitle\n" + "é" * 120, "title"),
        ("x\n" * 300 + "é" * 1_999 + "\ntitle\n" + "é" * 1_993 + "\ny\nz", "title"),
        ("y\n" + "é " * 990 + "\nTHE TITLE " + "é " * 990 + "\ny\nz", "the title"),
        ("ΟΔΥΣΣΕΥΣ ΣΤΗΝ ΙΘΑΚΗ\nafter", "ΟΔΥΣΣΕΥΣ ΣΤΗΝ ΙΘΑΚΗ"),
        ("İİİ\nbefore\nTitle\nafter\nlater", "title"),
        ("\u212aelvin\nafter", "Kelvin"),
        ("İ" * 200 + "\nistanbul\nafter", "istanbul"),
        ("x\n" * 49_998 + "Title\ny", "Title"),
        ("x\n" * 49_990 + "Title\nyes\n2019\n2020", "Title"),
        ("words of a line, " * 10 + "\nThe Title Of This Page Is Long Indeed\nafter", "the title of this page is LONG"),
    ],
)  # fmt: skip
def test_lines_near_the_title(text: str, title: str) -> None:
    check(text, title)


@pytest.mark.parametrize(
    "text",
    [
        "2",
        "20",
        "1 May 2025\n2 May 1999\n3 May 2001",
        "1 May 2025\n2 May 1999\n3 May 2001\n4 May 2002",
        "2019 - 2021\nNo 12005, 20255\n1920x1080",
        "x2019 2019x é2019 2019é _2019 2019_ 2019.\n" * 3,
        "२०१९ 20१९ 1९99",
        "é" * 46 + "2019\n" + "é" * 47 + "2019\n" + "é" * 46 + "1999",
        "a long line " * 20 + "2019\n2020",
        "2020\n" + "19" * 40_000 + "\n2021",
        "x\n" * 49_999 + "20",
        "x\n" * 49_999 + "2019",
        "x" * 62 + "\n19\n" + "y" * 63 + "\n2019",
    ],
)
def test_lines_with_years(text: str) -> None:
    check(text, "title")


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("aAbBiI 12 09-_.éİıK\u212aΣσς年२"), max_size=70), max_size=12),
    st.integers(0, 200),
    st.integers(1, 30),
)
@example(["A" * 64 + "b"], 63, 2)
def test_any_lines(lines: list[str], start: int, length: int) -> None:
    text = "\n".join(lines)
    check(text, text[start : start + length].swapcase())


def test_written_pages() -> None:
    for page in written_pages():
        dom = Dom(page.html)
        with opened(dom) as native_page:
            text = native_page.read("", NUMBERS).text
            found = native_page.find_byline_lines(title_prefix(page.about.title))
            may_have_stamps = native_page.may_have_script_dates()
        assert found is not None
        assert found[0] == list(find_lines_near_title(page.about.title, text))
        assert filter_lone_dates(found[1]) == filter_lone_dates(find_lines_with_years(text))
        assert may_have_stamps or not list(find_script_dates(dom))


def test_unread_page_has_no_lines() -> None:
    with opened(Dom("<p>words")) as native_page:
        assert native_page.find_byline_lines("words") is None
        native_page.read("", NUMBERS)
        assert native_page.find_byline_lines("words") == ([], [])
        assert native_page.find_byline_lines("\ud800") is None


@pytest.mark.parametrize(
    ("html", "may"),
    [
        ("<script>{'published': '2025-08-24'}", True),
        ("<script>{publish_date:\u20282", False),
        ("<script>{dateCreated\u2028:\u3000'2025-08-24'", True),
        ("<script>{createdAt: '٢025-08-24'", True),
        ("<svg><script>{published:'2025-08-24'}</script></svg>", True),
        ("<noscript><script>{published:'2025-08-24'}</script></noscript>", True),
        ("<script>{published</script><script>:'2025-08-24'}", True),
        ("<script>{published: true, publisher: 'x', created:2025, publishedByOthers: '2025'}", False),
        ("<script></script><p>published: '2025-08-24'", False),
        ("<template><script>{published: '2025-08-24'}</script></template>", False),
        ("", False),
    ],
)
def test_pages_that_may_have_script_dates(html: str, may: bool) -> None:
    dom = Dom(html)
    with opened(dom) as native_page:
        assert native_page.may_have_script_dates() is may
    assert may or not list(find_script_dates(dom))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(("ublish", "reated", "ed", "_", '"', "'", ":", " ", "\u2003", "2", "2025-08-24", "x")))
        .map("".join)
    )
)  # fmt: skip
def test_no_script_date_is_missed(scripts: list[str]) -> None:
    dom = Dom("".join(f"<script>{script}</script>" for script in scripts))
    with opened(dom) as native_page:
        assert native_page.may_have_script_dates() or not list(find_script_dates(dom))


def test_closed_page_is_not_searched() -> None:
    page = written_pages()[0]
    _, dom = extract_with_dom(page.html.encode(), "text/html")
    assert dom is not None
    assert dom.scan is not None
    assert dom.searcher is None
