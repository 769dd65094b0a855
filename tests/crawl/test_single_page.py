"""One page extracted by a program, without a crawl."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

import tenax
from tenax.crawl import single_page
from tenax.crawl.single_page import explain_page
from tenax.errors import UsageError
from tenax.extract.html.links import Links

URL = "https://harbour.example/2026/keys/"
PROSE = "The ferry left the harbour an hour late, because nobody, not even the captain, had found the key. " * 4
PAGE = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Zürich – the key</title>
<link rel="canonical" href="/canonical"><meta property="og:image" content="./key.jpg"></head>
<body><nav><a href="../ropes" rel="nofollow">Ropes</a></nav>
<article><h1>The key</h1><p>{PROSE}</p><p>{PROSE}<a href="https://other.example/mat?b=1">the mat</a></p></article>
<a href="http://[nowhere/">broken</a></body></html>"""


def hrefs(document: tenax.Content) -> list[str]:
    return [link.href for link in document.links]


def test_everything_is_absolute_when_the_url_is_known() -> None:
    content = tenax.read(PAGE, URL)
    assert content.canonical == "https://harbour.example/canonical"
    assert content.image == "https://harbour.example/2026/keys/key.jpg"
    assert hrefs(content) == [
        "https://harbour.example/canonical",
        "https://harbour.example/2026/ropes",
        "https://other.example/mat?b=1",
    ]
    assert [link.is_nofollow for link in content.links] == [False, True, False]
    assert content.base_href is None


def test_the_base_of_the_page_counts() -> None:
    content = tenax.read(PAGE.replace("<title>", '<base href="/elsewhere/"><title>'), URL)
    assert content.base_href == "https://harbour.example/elsewhere/"
    assert content.image == "https://harbour.example/elsewhere/key.jpg"
    assert "https://harbour.example/ropes" in hrefs(content)


def test_a_base_that_is_long_is_resolved_for_some_links_only() -> None:
    links = "".join(f"<a href={number}>x</a>" for number in range(4_000))
    content = tenax.read(f'<base href="/{"b" * 2000}/"><p>Words.</p>{links}', URL)
    assert 1_900 < len(content.links) < 2_000
    assert (
        content.truncated_reason
        == f"only the first {len(content.links):,} links are resolved: the base URL is too long"
    )
    ignored = tenax.read(f'<base href="/{"b" * 3000}/"><p>Words.</p><a href=1>x</a>', URL)
    assert hrefs(ignored) == ["https://harbour.example/2026/keys/1"]
    assert ignored.truncated_reason == ""


def test_without_a_url_it_is_as_written() -> None:
    content = tenax.read(PAGE)
    assert content.canonical == "/canonical"
    assert content.image == "./key.jpg"
    assert hrefs(content) == ["/canonical", "../ropes", "https://other.example/mat?b=1", "http://[nowhere/"]


@pytest.mark.parametrize("url", ["story.html", "", "file:///etc/passwd", "http://[", "\ud800"])
def test_a_url_that_is_none(url: str) -> None:
    with pytest.raises(UsageError, match="is not the URL of a page"):
        tenax.read(PAGE, url)


def test_text_needs_no_charset_and_bytes_do() -> None:
    given = tenax.read(PAGE.replace("utf-8", "shift_jis"))
    assert (given.title, given.charset, given.charset_source) == ("Zürich – the key", "", "given")
    declared = tenax.read(PAGE.replace("utf-8", "windows-1252").encode("windows-1252"))
    assert (declared.title, declared.charset, declared.charset_source) == ("Zürich – the key", "windows-1252", "meta")
    by_header = tenax.read(
        PAGE.replace("utf-8", "x").encode("windows-1251", "replace"), content_type="text/html; charset=windows-1251"
    )
    assert (by_header.charset, by_header.charset_source) == ("windows-1251", "header")
    assert tenax.read("<p>half a \ud83d character").text == "half a ? character"


def test_what_it_is_taken_for() -> None:
    fragment = "<section>Nothing says that this is HTML, but who reads it für sich.</section>"
    assert tenax.read(fragment).media == "html"
    assert tenax.read(fragment, content_type="").media == "text"
    assert tenax.read(fragment, content_type="text/plain; charset=gbk").text == fragment
    assert tenax.read(b"%PDF-1.7 and so on").media_reason == "PDF document sent as text/html"
    assert tenax.read("").media == "other"


@pytest.mark.parametrize("html", [PAGE, PAGE.encode()], ids=["text", "bytes"])
def test_every_block_is_explained(html: str | bytes) -> None:
    blocks = explain_page(html, URL)
    assert [block.text for block in blocks] == [
        "Ropes",
        "The key",
        PROSE.strip(),
        f"{PROSE}the mat",
        "broken",
    ]
    assert [blocks[at].is_kept for at in (0, 2, 3)] == [False, True, True]
    assert all(block.why and 0 <= block.score <= 1 for block in blocks)
    assert "in a navigation" in blocks[0].why
    assert "prose in the main part" in blocks[2].why


def test_blocks_explained_as_kept_are_the_article() -> None:
    kept = "\n".join(block.text for block in explain_page(PAGE, URL) if block.is_kept)
    assert tenax.read(PAGE, URL).article.split() == kept.split()


@pytest.mark.parametrize("html", ["plain words", b"%PDF-1.7", ""])
def test_what_is_no_html_has_no_blocks(html: str | bytes) -> None:
    assert explain_page(html, content_type="") == []


@pytest.mark.parametrize(
    ("html", "why"),
    [
        ("<div>" * 100_000, "too costly to read: elements nest more than 10,000 deep"),
        ("<p " + " ".join(f"a{n}" for n in range(100_000)), "too costly to read: a tag has more than 5,000 attributes"),
    ],
    ids=["deep", "crowded"],
)
def test_what_costs_too_much_is_not_read_and_does_not_raise(html: str, why: str) -> None:
    for body in (html, html.encode()):
        content = tenax.read(body, "https://example.org/")
        assert (content.media, content.media_reason) == ("other", why)
        assert (content.text, content.links, content.title) == ("", Links(), "")
    assert explain_page(html) == []


def test_of_a_page_with_too_many_elements_the_first_are_read() -> None:
    content = tenax.read("<title>Long</title>" + "".join(f"<p>x{n}" for n in range(1_000_000)), "https://example.org/")
    assert (content.media, content.title) == ("html", "Long")
    assert content.text.startswith("x0\nx1\n")
    assert content.truncated_reason == "read to block 10,000"


def test_of_a_long_text_the_beginning_is_read() -> None:
    content = tenax.read("<p>" + "word " * 1_000_000 + "<a href=/end>the end</a>", "https://example.org/")
    assert len(content.text) <= 2_000_000
    assert content.article == content.text
    assert [link.href for link in content.links] == ["https://example.org/end"]
    assert content.truncated_reason == "read to character 2,000,000 (each text counts as at least 12)"


def test_a_page_with_many_elements_and_little_text_reports_how_far_it_was_read() -> None:
    content = tenax.read("<p>" + "<img src=/a>" * 300_000 + "the end", "https://example.org/")
    assert "the end" not in content.text
    assert re.fullmatch("read to byte [0-9,]+ of 3,600,010: too many elements", content.truncated_reason)


def test_explaining_ends_when_its_time_is_used_up_and_does_not_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that advances with every look: wherever the time ends, the result is empty or complete."""
    ticks = count()
    monkeypatch.setattr(single_page, "cpu_seconds", lambda: float(next(ticks)))
    counts = [len(explain_page(PAGE, URL, max_cpu_seconds=seconds + 0.5)) for seconds in range(30)]
    assert sorted(set(counts)) == [0, counts[-1]]
    assert counts == sorted(counts)


def test_the_time_it_may_take_is_an_argument() -> None:
    html = "<p>The keeper of the lighthouse told us this.</p>" * 5_000
    assert tenax.read(html, max_cpu_seconds=60).media == "html"
    content = tenax.read(html, max_cpu_seconds=1e-6)
    assert content.media == "other"
    assert content.media_reason.startswith(
        "too costly to read: 1e-06 s of CPU used up parsing 16,384 of its 245,000 bytes"
    )


def test_the_url_helps_to_date_it_and_no_date_lies_ahead() -> None:
    assert tenax.read(PAGE, "https://harbour.example/2021/03/04/the-key").published == "2021-03-04"
    ahead = '<meta property="article:published_time" content="2999-01-01"><title>'
    assert tenax.read(PAGE.replace("<title>", ahead), URL).published is None


LIGHT = """
import sys, tenax
assert not {name for name in sys.modules if name.startswith("tenax.")} - {"tenax.version"}, "import tenax is light"
page = tenax.read("<title>A</title><p>words", "https://a.example/")
assert page.text == "words"
heavy = {"asyncio", "socket", "ssl", "select", "sqlite3", "httptools", "concurrent", "multiprocessing"}
rooms = {"database", "fetch", "hosts", "events", "cli", "services"}
print(sorted(name for name in sys.modules if name in heavy or name.partition("tenax.")[2].partition(".")[0] in rooms))
"""


def test_no_network_and_no_database_are_loaded() -> None:
    environment = {"PYTHONPATH": str(Path(tenax.__file__).parents[1])}
    answer = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, env=environment, check=False)
    assert (answer.stdout, answer.stderr) == ("[]\n", "")
