"""A page as a JSON line, a CSV line or a Markdown file, each safe to open."""

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

from tenax.cli.views.safe_markdown import sanitize_markdown
from tenax.events.page_line import encode_page_line
from tenax.logs import sanitize_text
from tenax.model import Page

_COLUMNS = (
    "url", "status", "kind", "title", "headline", "authors", "published", "modified", "description", "abstract",
    "site_name", "section", "keywords", "image", "language", "language_confidence", "words", "duplicate_of",
    "similarity", "fetched", "canonical", "content_type", "content_hash", "content_length", "charset", "depth", "via",
    "links_count", "duration_ms", "stale_since", "stale_why", "text", "article", "markdown",
)  # fmt: skip
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_MAX_SLUG_CHARS = 80
_HASH_BYTES = 8

# Active when the file is rendered as HTML: tags and autolinks, links and images, link definitions.
_ACTIVE_MARKDOWN = re.compile(r"<|(?<=\])[(:\[]")
_MARKDOWN_BLOCK = re.compile(r"^( {0,3})(#{1,6}(?=\s)|[-=]{3,}\s*$|```|~~~)", re.MULTILINE)


def json_line(page: Page) -> str:
    """The line that a crawl writes to its JSONL file, without `seq`."""
    return encode_page_line(page, None).decode() + "\n"


def csv_line(page: Page) -> str:
    """Cells that a spreadsheet could take for a formula are prefixed with an apostrophe (OWASP, CSV injection)."""
    cells = []
    for column in _COLUMNS:
        value = _column_value(page, column)
        cells.append(_escape_cell(value) if isinstance(value, str) else "" if value is None else str(value))
    return _csv_row(cells)


def _column_value(page: Page, column: str) -> object:
    match column:
        case "fetched":
            return _format_iso_time(page.fetched_at)
        case "stale_since":
            return _stale_since(page)
        case "authors" | "keywords":
            return "; ".join(getattr(page, column))
        case _:
            return getattr(page, column)


def _csv_row(cells: list[str] | tuple[str, ...]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


CSV_HEADER = _csv_row(_COLUMNS)


def csv_rows(rows: Iterable[Iterable[str]]) -> str:
    """CSV lines with cells escaped like those of a page."""
    lines = io.StringIO()
    csv.writer(lines).writerows(map(_escape_cell, cells) for cells in rows)
    return lines.getvalue()


def _escape_cell(text: str) -> str:
    text = sanitize_text(text, keep_lines=True)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else text


def to_markdown(page: Page) -> str:
    """Front matter, the title as heading, then the page's Markdown, or its text when there is none.

    Safe to render: tags and links that are not http(s) stay text.
    """
    facts = {
        "title": page.title, "url": page.url, "author": "; ".join(page.authors), "published": page.published,
        "fetched": _format_iso_time(page.fetched_at), "language": page.language, "duplicate_of": page.duplicate_of,
        "stale_since": _stale_since(page), "stale_why": page.stale_why,
    }  # fmt: skip
    front = [
        f"{name}: {json.dumps(sanitize_text(value), ensure_ascii=False)}" for name, value in facts.items() if value
    ]
    heading = _escape_links(sanitize_text(page.title or page.url))
    text = (
        sanitize_markdown(sanitize_text(page.markdown, keep_lines=True)) if page.markdown else _escape_text(page.text)
    )
    return "\n".join(["---", *front, "---", "", f"# {heading}", "", text.strip(), ""])


def _escape_text(text: str) -> str:
    return _MARKDOWN_BLOCK.sub(r"\1\\\2", _escape_links(sanitize_text(text, keep_lines=True)))


def markdown_path(url: str) -> str:
    """`host/path-HASH.md`: readable, safe on every file system, unique per URL."""
    host, _, rest = url.partition("://")[2].partition("/")
    slug = re.sub(r"[^a-z0-9]+", "-", unquote(rest).lower()).strip("-")[:_MAX_SLUG_CHARS].strip("-") or "index"
    digest = hashlib.blake2b(url.encode(), digest_size=_HASH_BYTES).digest()
    unique = base64.b32encode(digest).decode().rstrip("=").lower()
    folder = re.sub(r"[^a-z0-9.-]+", "-", host.lower()).strip("-.") or "site"
    return f"{folder}/{slug}-{unique}.md"


def _escape_links(text: str) -> str:
    return _ACTIVE_MARKDOWN.sub(lambda match: f"\\{match[0]}", text)


def _stale_since(page: Page) -> str | None:
    return _format_iso_time(page.stale_since) if page.stale_since is not None else None


def _format_iso_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
