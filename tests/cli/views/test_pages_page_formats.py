"""Pages as JSON lines, table and Markdown, safe where they are opened."""

from __future__ import annotations

import csv
import io
import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.cli.views import pages
from tenax.model import Page, PageKind

HOSTILE = '<script>alert(1)</script> \x1b[31m"quoted"\u202e [x](javascript:1) \x9b2J'


def page(**changes: object) -> Page:
    plain = Page(
        url="https://example.org/a/b?c=d",
        status=200,
        content_type="text/html",
        content_hash="ab" * 32,
        content_length=1234,
        fetched_at=1_750_000_000.0,
        title="A title",
        text="First.\n\nSecond.",
        language="en",
        kind=PageKind.ARTICLE,
    )
    return msgspec.structs.replace(plain, **changes)


def cells(line: str) -> dict[str, str]:
    return next(iter(csv.DictReader(io.StringIO(pages.CSV_HEADER + line, newline=""))))


def test_a_json_line_is_exact_and_inert() -> None:
    line = pages.json_line(page(title=HOSTILE))
    assert line.count("\n") == 1
    assert json.loads(line)["title"] == HOSTILE
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", line)


@pytest.mark.parametrize("title", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1"])
def test_formulas_are_defused(title: str) -> None:
    assert cells(pages.csv_line(page(title=title)))["title"].startswith("'")


def test_a_table_line_has_every_column() -> None:
    row = cells(pages.csv_line(page()))
    assert row["url"] == "https://example.org/a/b?c=d"
    assert (row["status"], row["kind"], row["canonical"]) == ("200", "article", "")
    assert row["fetched"] == "2025-06-15T15:06:40Z"
    assert row["text"] == "First.\n\nSecond."


def test_authors_and_keywords_share_a_cell() -> None:
    row = cells(pages.csv_line(page(authors=("Ada", "=Bob"), keywords=("a", "b"), words=7, similarity=0.5)))
    assert (row["authors"], row["keywords"], row["words"], row["similarity"]) == ("Ada; =Bob", "a; b", "7", "0.5")
    assert cells(pages.csv_line(page(authors=("=Ada",))))["authors"] == "'=Ada"


def test_a_stale_page_says_so_in_every_format() -> None:
    stale = page(stale_since=1_750_000_060.0, stale_why="HTTP 503")
    line = json.loads(pages.json_line(stale))
    assert (line["stale_since"], line["stale_why"]) == ("2025-06-15T15:07:40.000+00:00", "HTTP 503")
    row = cells(pages.csv_line(stale))
    assert (row["stale_since"], row["stale_why"]) == ("2025-06-15T15:07:40Z", "HTTP 503")
    assert 'stale_since: "2025-06-15T15:07:40Z"\nstale_why: "HTTP 503"' in pages.to_markdown(stale)
    assert "stale" not in pages.json_line(page())
    assert cells(pages.csv_line(page()))["stale_since"] == ""


def test_markdown_has_front_matter_and_text() -> None:
    assert pages.to_markdown(page()).splitlines() == [
        "---",
        'title: "A title"',
        'url: "https://example.org/a/b?c=d"',
        'fetched: "2025-06-15T15:06:40Z"',
        'language: "en"',
        "---",
        "",
        "# A title",
        "",
        "First.",
        "",
        "Second.",
    ]


def test_markdown_of_the_page_is_taken_and_made_harmless() -> None:
    written = page(markdown=f"## Part\n\n[there](https://a.test/)\n\n{HOSTILE}", authors=("Ada", "Bob"))
    text = pages.to_markdown(written)
    assert 'author: "Ada; Bob"' in text
    assert "## Part\n\n[there](https://a.test/)\n\n\\<script>alert(1)\\</script>" in text
    assert "[x](#)" in text and "First." not in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_markup_in_markdown_stays_text() -> None:
    text = pages.to_markdown(page(title=HOSTILE, text=f"{HOSTILE}\n# not a heading\n---\n[a]: javascript:1"))
    body = text.partition("---\n\n")[2]
    assert r"\<script>" in body
    assert r"[x]\(javascript:1)" in body
    assert r"[a]\:" in body
    assert "\n\\# not a heading\n\\---\n" in body
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_a_title_cannot_end_the_front_matter() -> None:
    front = pages.to_markdown(page(title='x"\n---\nevil: true')).partition("\n---\n")[0]
    assert json.loads(front.splitlines()[1].partition(": ")[2]) == 'x" --- evil: true'
    assert "\nevil" not in front


@pytest.mark.parametrize(
    ("url", "begins"),
    [
        ("https://example.org/", "example.org/index-"),
        ("https://example.org:8080/A/b.html?x=1", "example.org-8080/a-b-html-x-1-"),
        ("https://example.org/../../etc/passwd%2f..%2f", "example.org/etc-passwd-"),
        ("http://[::1]/con", "1/con-"),
        ("https://例え.jp/日本", "jp/index-"),
    ],
)
def test_file_names_are_readable_and_safe(url: str, begins: str) -> None:
    assert pages.markdown_path(url).startswith(begins)


@given(st.text(max_size=300), st.text(max_size=300))
def test_file_names_are_safe_and_unique(one: str, other: str) -> None:
    names = [pages.markdown_path(f"https://h/{text}") for text in (one, other)]
    for name in names:
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*/[a-z0-9-]{1,110}\.md", name)
    assert (names[0] == names[1]) == (one == other)
