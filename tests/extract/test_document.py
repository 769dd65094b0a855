"""Extraction of whole documents, and of hostile bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.extract import Content, Links, extract_content
from tenax.extract.budget import CpuBudget, ExtractLimitExceeded
from tenax.extract.document import ExtractOptions, extract_with_dom
from tenax.text.fingerprint import near_fingerprint

HTML = "text/html; charset=utf-8"
PAGE = """<!doctype html><html lang=en-gb><head><title>A page</title><base href="/base/">
<meta name=description content="About it"><link rel=canonical href=/c></head>
<body><h1>Head</h1><p>Some <b>te</b>xt</p><a href=x>x</a><a rel=nofollow href=y>y</a></body></html>"""


def test_a_page() -> None:
    text, article = "Head\nSome text\nxy", "Head\nSome text"
    content = extract_content(PAGE.encode(), HTML)
    assert content == Content(
        media="html",
        media_reason="text/html",
        title="A page",
        description="About it",
        canonical="/c",
        language="en-GB",
        language_confidence=0.94,
        kind=content.kind,  # four words do not determine it
        charset="utf-8",
        charset_source="header",
        headline="A page",
        text=text,
        article=article,
        markdown="# Head\n\nSome **te**xt",
        abstract="About it",
        words=3,
        fingerprint=near_fingerprint(article),
        links=Links(("/c", "x", "y"), ("", "x", "y"), ("canonical", "", "nofollow"), "001", "300"),
        base_href="/base/",
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
    )


def test_plain_text_has_only_text() -> None:
    content = extract_content(b"<b>a</b>\r\n http://x/", "text/plain", "noindex")
    assert (content.media, content.text, content.links) == ("text", "<b>a</b>\n http://x/", Links())
    assert (content.is_noindex, content.is_nofollow) == (True, False)


def test_other_media_are_not_extracted() -> None:
    content = extract_content(b"%PDF-1.4 <title>x</title>", HTML)
    assert (content.media, content.media_reason) == ("other", "PDF document sent as text/html")
    assert (content.text, content.title) == ("", "")
    assert extract_content(b"", HTML).media_reason == "empty body"


def test_robots_header_counts() -> None:
    content = extract_content(PAGE.encode(), HTML, "none")
    assert (content.is_noindex, content.is_nofollow) == (True, True)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"<p>top</p>" + b"<div>" * 9_000 + b"deep", "top\ndeep"),
        (b"<span>" * 9_000 + b"deep" + b"</span>" * 900, "deep"),
        (b"<p>top</p><a title='" + b"x" * 10_000_000 + b"' href=/x>link</a>", "top\nlink"),
        (b"<p>top</p><a href='/" + b"x" * 10_000_000 + b"'>link</a>", "top\nlink"),
        (b"<p>" + b"".join(b"<i id=%d>" % n for n in range(100)) + b"</p>" + b"<p>x" * 1000, "\n".join("x" * 1000)),
        (b"<title>" + b"x" * 10_000_000, ""),
        (b"<select>" + b"<option>x" * 50_000, " ".join("x" * 50_000)),
        (b"<!--" + b"x" * 10_000_000, ""),
        (b"<p>words </p>" * 150_000, ("words\n" * 150_000).strip()),
        (b"<i>words </i>" * 150_000, ("words " * 150_000).strip()),
        (b"\n" * 10_000_000, ""),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_hostile_pages_are_limited(body: bytes, text: str, within: Callable[[float], None]) -> None:
    content = extract_content(body, HTML)
    assert content.text == text
    within(10.0)


def test_truncated_page_has_a_reason() -> None:
    assert "10,000" in extract_content(b"<p>x" * 20_000, HTML).truncated_reason
    assert extract_content(b"<div>x", HTML).truncated_reason == ""


STEPS = {
    "native": ("scoring its blocks", "resolving its URLs"),
    "python": (
        *(
            "walking through it",
            "splitting it into blocks",
            "computing its layout",
            "scoring its blocks",
            "writing its Markdown",
        ),
        "reading its links",
    ),
}


@pytest.mark.parametrize("reader", STEPS)
def test_cpu_budget_is_checked_between_steps(reader: str) -> None:
    """With a clock that advances at every check: the limit is hit after each step once."""
    checks = 0

    def clock() -> float:
        nonlocal checks
        checks += 1
        return float(checks)

    reasons: list[str] = []
    for seconds in range(100):
        try:
            extract_with_dom(
                PAGE.encode(),
                HTML,
                options=ExtractOptions(with_native=reader == "native"),
                budget=CpuBudget(clock, seconds + 0.5),
            )
        except ExtractLimitExceeded as error:
            reasons.append(str(error).partition(" used up ")[2])
        else:
            break
    else:
        raise AssertionError("it never ends")
    steps = [*STEPS[reader], "reading its text", "reading its metadata"]
    assert [why for why in reasons if why in steps] == steps


def assert_clean(document: Content) -> None:
    texts = (document.text, document.title, document.description, document.article, document.markdown)
    for text in (*texts, *(link.href for link in document.links)):
        text.encode("utf-8")
    assert not set("\0\x1b\x9b") & set("".join(texts))


@settings(deadline=None)
@given(st.binary(max_size=600), st.sampled_from([None, "text/html", HTML, "text/plain", "text/html; charset=big5"]))
def test_random_bytes_do_not_raise(body: bytes, content_type: str | None) -> None:
    assert_clean(extract_content(body, content_type))


SOUP = r"""
<p <div> </div> <table> <td> </table> <b> </b> <a_href=x> <a_href='java\tscript:x'> </a> <svg> <title> </title>
<script> </script> <template> <select> <option> <frameset> <!-- --> <![CDATA[ ]]> <?xml <!doctype_html> </p> </br>
<meta_charset=utf-16> <meta_name=robots_content=none> <base_href=/> <link_rel=canonical_href=/c> &amp; &#0; &#xD800;
&#27; &#155; é 日 < > " ' = / <plaintext> <math> <mi> <html_lang=x> <body> <article> <h1> <form> <button> <li>
<noscript> <iframe_src=x> <textarea> <font_a=b> <object> <marquee> <foreignObject>
"""
PIECES = st.sampled_from([*(piece.replace("_", " ") for piece in SOUP.split()), "\0", "\x1b[1m", "\u202e", "\ud800"])


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES | st.text(max_size=5), max_size=60), st.booleans())
def test_tag_soup_does_not_raise(pieces: list[str], is_spaced: bool) -> None:
    soup = (" " if is_spaced else "").join(pieces)
    assert_clean(extract_content(soup.encode("utf-8", "surrogatepass"), "text/html"))
    assert_clean(extract_content(soup.encode("utf-16", "surrogatepass"), "text/html"))
