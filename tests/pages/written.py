"""Whole pages written for these tests, in the templates of the real web, each with what a careful reader would keep.

`html/NAME.html` is the page, `NAME.md` its relevant part, as CommonMark with GFM tables, and `NAME.json` its facts. The
gold text is that of the Markdown: the headline once, with captions; no comments, bios or related links. On a forum it
is the text of the posts, on a product its name, description and specs, on a list the titles and teasers.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec

from tenax.extract.document import Content, extract_content
from tests.pages.markdown_parts import lines_of

FOLDER = Path(__file__).parent / "html"
NOW = datetime(2026, 4, 1, tzinfo=UTC).timestamp()
"""The day on which all pages are read; none of them is newer."""


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The facts of a page. Empty means that the page does not say, and nothing must be made up."""

    kind: str
    url: str
    title: str
    language: str
    authors: tuple[str, ...] = ()
    published: str | None = None
    image: str | None = None


class WrittenPage(msgspec.Struct, frozen=True):
    name: str
    html: str
    markdown: str
    about: About

    @property
    def text(self) -> str:
        """The gold text, one paragraph per line."""
        return "\n".join(lines_of(self.markdown))


@cache
def written_pages() -> tuple[WrittenPage, ...]:
    """All of them, by name."""
    return tuple(
        WrittenPage(
            file.stem,
            file.read_text(encoding="utf-8"),
            file.with_suffix(".md").read_text(encoding="utf-8"),
            msgspec.json.decode(file.with_suffix(".json").read_bytes(), type=About),
        )
        for file in sorted(FOLDER.glob("*.html"))
    )


@cache
def read_written(page: WrittenPage) -> Content:
    return extract_content(page.html.encode(), "text/html; charset=utf-8", url=page.about.url, now=NOW)
