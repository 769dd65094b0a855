"""Whole pages written for us, in the templates of the real web, each with what a careful reader would keep of it.

`html/NAME.html` is the page, `NAME.md` the part of it that counts, as CommonMark with GFM tables, and `NAME.json` what
is known about it. The gold text is the Markdown's: the headline once, captions too; no comments, bios or related links.
On a forum it is what the posts say, on a product its name, description and specs, on a list the titles and teasers.
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
"""The day on which all pages are read; none of them is younger."""


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The facts of a page. Empty means that the page does not tell, and nothing must be made up."""

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
        """The gold text, a paragraph to a line."""
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
