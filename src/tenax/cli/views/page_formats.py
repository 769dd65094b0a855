"""A page as a JSON line, a line of a table, or a Markdown file: each safe where it will be opened."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import unquote

from tenax.cli.views.safe_markdown import harmless
from tenax.events.page_line import line_of
from tenax.logs import plain
from tenax.model import Page

_COLUMNS = (
    "url", "status", "kind", "title", "headline", "authors", "published", "modified", "description", "abstract",
    "site_name", "section", "keywords", "image", "language", "language_confidence", "words", "duplicate_of", "likeness",
    "fetched", "canonical", "content_type", "content_hash", "content_length", "charset", "depth", "via", "links_count",
    "duration_ms", "stale_since", "stale_why", "text", "article", "markdown",
)  # fmt: skip
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_NAME_CHARS = 80
_HASH_BYTES = 8

# What would come alive when the file is shown as HTML: tags and autolinks, links and images, link definitions.
_ALIVE_IN_MARKDOWN = re.compile(r"<|(?<=\])[(:\[]")
_BLOCK_IN_MARKDOWN = re.compile(r"^( {0,3})(#{1,6}(?=\s)|[-=]{3,}\s*$|```|~~~)", re.MULTILINE)


def json_line(page: Page) -> str:
    """The same line that a crawl writes, but for its number."""
    return line_of(page, None).decode() + "\n"


def csv_line(page: Page) -> str:
    """Text cells that a spreadsheet could take for a formula begin with an apostrophe (OWASP, CSV injection)."""
    cells = []
    for column in _COLUMNS:
        value = _column(page, column)
        cells.append(_cell(value) if isinstance(value, str) else "" if value is None else str(value))
    return _row(cells)


def _column(page: Page, column: str) -> object:
    match column:
        case "fetched":
            return _when(page.fetched_at)
        case "stale_since":
            return _stale_since(page)
        case "authors" | "keywords":
            return "; ".join(getattr(page, column))
        case _:
            return getattr(page, column)


def _row(cells: list[str] | tuple[str, ...]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


CSV_HEAD = _row(_COLUMNS)


def csv_rows(rows: Iterable[Iterable[str]]) -> str:
    """Lines of any table, their cells as harmless as those of a page."""
    lines = io.StringIO()
    csv.writer(lines).writerows(map(_cell, cells) for cells in rows)
    return lines.getvalue()


def _cell(text: str) -> str:
    text = plain(text, keep_lines=True)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else text


def markdown(page: Page) -> str:
    """Front matter, the title as heading, then the page's Markdown, or its text when there is none.

    Neither does anything when it is shown: tags and links that are no links to the web stay text.
    """
    facts = {
        "title": page.title, "url": page.url, "author": "; ".join(page.authors), "published": page.published,
        "fetched": _when(page.fetched_at), "language": page.language, "duplicate_of": page.duplicate_of,
        "stale_since": _stale_since(page), "stale_why": page.stale_why,
    }  # fmt: skip
    front = [f"{name}: {json.dumps(plain(value), ensure_ascii=False)}" for name, value in facts.items() if value]
    heading = _dead(plain(page.title or page.url))
    text = harmless(plain(page.markdown, keep_lines=True)) if page.markdown else _as_text(page.text)
    return "\n".join(["---", *front, "---", "", f"# {heading}", "", text.strip(), ""])


def _as_text(text: str) -> str:
    return _BLOCK_IN_MARKDOWN.sub(r"\1\\\2", _dead(plain(text, keep_lines=True)))


def markdown_name(url: str) -> str:
    """`host/path-HASH.md`: readable, safe on every file system, and different for different URLs."""
    host, _, rest = url.partition("://")[2].partition("/")
    slug = re.sub(r"[^a-z0-9]+", "-", unquote(rest).lower()).strip("-")[:_NAME_CHARS].strip("-") or "index"
    digest = hashlib.blake2b(url.encode(), digest_size=_HASH_BYTES).digest()
    unique = base64.b32encode(digest).decode().rstrip("=").lower()
    folder = re.sub(r"[^a-z0-9.-]+", "-", host.lower()).strip("-.") or "site"
    return f"{folder}/{slug}-{unique}.md"


def _dead(text: str) -> str:
    return _ALIVE_IN_MARKDOWN.sub(lambda match: f"\\{match[0]}", text)


def _stale_since(page: Page) -> str | None:
    return _when(page.stale_since) if page.stale_since is not None else None


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
