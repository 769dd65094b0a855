"""Pages as terminal text, JSON lines, CSV and Markdown, each safe to open; and their filter `--where FIELD=VALUE`.

In Markdown, fenced code stays unchanged. If the end of a code block is uncertain, nothing after it counts as code: a
needless backslash would only be visible, but a tag would be executed.
"""

from __future__ import annotations

import base64
import csv
import difflib
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

from tenax.cli.output import TextStyle, display_width, terminal_width
from tenax.cli.views.format_values import format_count, join_words
from tenax.database import PageFilter
from tenax.errors import UsageError
from tenax.events import encode_page_line
from tenax.logs import sanitize_text
from tenax.model import CONTENT_FIELDS, INTERNAL_FIELDS, TEXT_FIELDS, Page, PageKind
from tenax.text.sanitize import mask_reference, mask_url

if TYPE_CHECKING:
    from tenax.crawl.single_page import ExplainedBlock
    from tenax.extract.document import Content


FIELDS = ("host", "status", "kind", "language", "url", "since")


def parse_page_filter(conditions: Iterable[str]) -> PageFilter:
    """A filter for pages that match all conditions. Each field may be given once. Raises `UsageError`."""
    values: dict[str, Any] = {}
    for condition in conditions:
        field, sign, value = (part.strip() for part in condition.partition("="))
        if not sign or not value:
            raise UsageError(f"--where {condition}: write it as FIELD=VALUE, such as host=example.org")
        if field not in FIELDS:
            close = difflib.get_close_matches(field, FIELDS, n=1)
            advice = f"did you mean {close[0]}? " if close else ""
            raise UsageError(f"--where {condition}: there is no field `{field}`; {advice}fields: {', '.join(FIELDS)}")
        name = "url_glob" if field == "url" else field
        if name in values:
            raise UsageError(f"--where {condition}: `{field}` is given twice; all conditions must hold at once")
        values[name] = _parse_field(field, value)
    return PageFilter(**values)


def _parse_field(field: str, value: str) -> str | int | float:
    if field == "status":
        if not (value.isascii() and value.isdigit()):
            raise UsageError(f"--where status={value}: give a number, such as status=200")
        return int(value)
    if field == "since":
        try:
            return datetime.fromisoformat(value).astimezone().timestamp()
        except (ValueError, OverflowError, OSError):
            raise UsageError(f"--where since={value}: give a date, such as since=2026-01-31") from None
    if field == "kind" and value not in tuple(PageKind):
        *kinds, last = PageKind
        raise UsageError(f"--where kind={value}: there are {', '.join(kinds)} and {last}")
    return value.lower() if field in ("host", "language") else value


_FENCE = re.compile(r"( {0,3})(`{3,}+(?=[^`]*$)|~{3,}+)(.*)")
_TAG = re.compile(r"(?<!\\)((?:\\\\)*)<(?=[a-zA-Z/!?])")
_LINK = re.compile(r"(\]\(|\]:)(\s*<?\s*)(?!https?://)([^\s)>]*)", re.IGNORECASE)
_MAY_HAVE_SCHEME = re.compile(r"[:&\\]")  # a scheme, or an escape that may produce one


def sanitize_markdown(markdown: str) -> str:
    """The same text, with `#` as the target of links that have other schemes."""
    parts: list[str] = []
    text: list[str] = []
    fence, is_sure = "", True
    for line in markdown.replace("\r", "\n").split("\n"):
        mark = _FENCE.fullmatch(line)
        if fence:
            parts.append(line)
            if mark is not None and mark[2].startswith(fence) and not mark[3].strip():
                fence = ""
        elif mark is not None and not mark[1] and is_sure:
            parts += [_escape_lines(text), line] if text else [line]
            text, fence = [], mark[2]
        else:
            is_sure = is_sure and mark is None  # an indented block may end with its list
            text.append(line)
    return "\n".join([*parts, _escape_lines(text)] if text else parts)


def _escape_lines(lines: list[str]) -> str:
    return _LINK.sub(_neutralize_link, _TAG.sub(r"\1\\<", "\n".join(lines)))


def _neutralize_link(link: re.Match[str]) -> str:
    return f"{link[1]}#" if _MAY_HAVE_SCHEME.search(link[3]) else link[0]


_FIRST_COLUMNS = (
    *("url", "status", "kind", "title", "headline", "authors", "published", "modified", "description", "abstract"),
    *("site_name", "section", "keywords", "image", "language", "language_confidence", "words"),
)
_LAST_COLUMNS = (
    *("duplicate_of", "similarity", "fetched", "canonical", "content_type", "content_hash", "content_length"),
    *("charset", "depth", "via", "links_count", "duration_ms", "stale_since", "stale_why", *TEXT_FIELDS),
)
_COLUMNS = (
    *_FIRST_COLUMNS,
    *(name for name in CONTENT_FIELDS if name not in INTERNAL_FIELDS.union(_FIRST_COLUMNS, _LAST_COLUMNS)),
    *_LAST_COLUMNS,
)
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_MAX_SLUG_CHARS = 80
_HASH_BYTES = 8

# These are active if the file is rendered as HTML: tags and autolinks, links and images, link definitions.
_ACTIVE_MARKDOWN = re.compile(r"<|(?<=\])[(:\[]")
_MARKDOWN_BLOCK = re.compile(r"^( {0,3})(#{1,6}(?=\s)|[-=]{3,}\s*$|```|~~~)", re.MULTILINE)


def json_line(page: Page) -> str:
    """The line that a crawl writes to its JSONL file, but with `seq` null."""
    return encode_page_line(page, None).decode() + "\n"


def csv_line(page: Page) -> str:
    """A CSV line. If a spreadsheet could take a cell for a formula, an apostrophe is put before it (OWASP, CSV
    injection)."""
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
        case _:
            value = getattr(page, column)
            return "; ".join(value) if isinstance(value, tuple) else value


def _csv_row(cells: list[str] | tuple[str, ...]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


CSV_HEADER = _csv_row(_COLUMNS)


def csv_rows(rows: Iterable[Iterable[str]]) -> str:
    """CSV lines, with cells escaped like those of a page."""
    lines = io.StringIO()
    csv.writer(lines).writerows(map(_escape_cell, cells) for cells in rows)
    return lines.getvalue()


def _escape_cell(text: str) -> str:
    text = sanitize_text(text, keep_lines=True)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else text


def to_markdown(page: Page) -> str:
    """Front matter, the title as a heading, then the page's Markdown, or its text if it has no Markdown.

    Safe to render: tags, and links that are not http(s), are only text.
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
    """`host/path-HASH.md`: readable, valid on every file system, unique per URL."""
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


_WIDE = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003fffd"
# Pieces between which a line may be broken: spaces, words, and single characters of scripts without spaces, together
# with punctuation that may not begin a line.
_PIECES = re.compile(rf"[^\S\n]+|[{_WIDE}][、。，．！？；：…」』）】》〉]*|[^\s{_WIDE}]+")
_REFERENCES = ("canonical", "image", "base_href", "next_href")
_MAX_REASON_COLUMNS = 48
_MIN_TEXT_COLUMNS = 20
_BLOCK_PREFIX = "  ✓ 0.00  "


def content_fields(content: Content, url: str | None) -> dict[str, Any]:
    """All fields for JSON, the URL first. Empty fields are left out, except in links."""
    whole: dict[str, Any] = {"url": mask_url(url)} if url is not None else {}
    whole |= msgspec.to_builtins(content)
    if content.links:
        links = (msgspec.structs.replace(link, href=mask_reference(link.href)) for link in content.links)
        whole["links"] = list(map(msgspec.structs.asdict, links))
    # A reference as written may contain a user name and a password.
    whole |= {name: mask_reference(whole[name]) for name in _REFERENCES if whole.get(name)}
    if content.feeds:
        whole["feeds"] = list(map(mask_reference, content.feeds))
    return whole


def format_content(content: Content, text: str, style: TextStyle) -> list[str]:
    """Headline, byline and date, then the paragraphs, wrapped to the terminal."""
    room = terminal_width()
    headline = sanitize_text(content.headline or content.title)
    lines = [style.bold(line) for line in wrap_text(headline, room)]
    lines += [style.dim(line) for line in wrap_text(_byline(content), room)]
    # Many articles repeat their headline as the first paragraph.
    for paragraph in _drop_headline(sanitize_text(text, keep_lines=True).split("\n"), headline):
        lines += ["", *wrap_text(paragraph, room)] if paragraph.strip() else []
    return lines[1:] if lines and not lines[0] else lines


def _byline(content: Content) -> str:
    date = (content.published or "").partition("T")[0]
    parts = (join_words(content.authors), date, content.site_name)
    return sanitize_text(" · ".join(part for part in parts if part))


def _drop_headline(paragraphs: list[str], headline: str) -> list[str]:
    is_headline = bool(paragraphs) and " ".join(paragraphs[0].split()) == " ".join(headline.split())
    return paragraphs[1:] if is_headline else paragraphs


def wrap_text(text: str, max_width: int) -> list[str]:
    """Wrap a paragraph of any script to `max_width` columns; a long URL is never split."""
    lines = [""]
    used = 0
    for piece in _PIECES.findall(text):
        needed = display_width(piece)
        if used and used + needed > max_width:
            lines.append("")
            used = 0
        if used or not piece.isspace():
            lines[-1] += piece
            used += needed
    return [line.rstrip() for line in lines if line]


def format_blocks(blocks: Sequence[ExplainedBlock], style: TextStyle) -> list[str]:
    """A line for every block in page order, and then the totals."""
    room = min(max(display_width(block.why) for block in blocks), _MAX_REASON_COLUMNS)
    return [*(_format_block(block, room, style) for block in blocks), "", *_block_totals(blocks)]


def _format_block(block: ExplainedBlock, reason_width: int, style: TextStyle) -> str:
    why = sanitize_text(block.why)
    why += " " * (reason_width - display_width(why))
    room = max(terminal_width() - len(_BLOCK_PREFIX) - display_width(why) - 2, _MIN_TEXT_COLUMNS)
    text = _truncate_end(sanitize_text(block.text), room)
    mark = style.green("✓") if block.is_kept else style.red("✗")
    return f"  {mark} {block.score:.2f}  {style.cyan(why)}  {text if block.is_kept else style.dim(text)}"


def _truncate_end(text: str, max_width: int) -> str:
    """Cut the text at the end, because the first words matter most here."""
    if display_width(text) <= max_width:
        return text
    shown, used = "", 0
    for char in text:
        used += display_width(char)
        if used >= max_width:
            break
        shown += char
    return f"{shown.rstrip()}…"


def _block_totals(blocks: Sequence[ExplainedBlock]) -> Iterator[str]:
    kept = [block for block in blocks if block.is_kept]
    kept_chars, all_chars = (sum(len(block.text) for block in some) for some in (kept, blocks))
    shown = f"{format_count(len(kept))} of {format_count(len(blocks))} blocks kept"
    yield f"  {shown}, {format_count(kept_chars)} of {format_count(all_chars)} characters"
