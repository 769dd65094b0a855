"""One extracted page for a terminal, and the decisions about its blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from tenax.cli.views.format_values import format_count, join_words
from tenax.cli.views.tables import TextStyle, display_width, terminal_width
from tenax.logs import sanitize_text
from tenax.text.masking import mask_reference, mask_url

if TYPE_CHECKING:
    from tenax.crawl.single_page import ExplainedBlock
    from tenax.extract.document import Content

_WIDE = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003fffd"
# Pieces a line may be broken between: spaces, words, and single characters of scripts without spaces, together with
# punctuation that may not begin a line.
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
    """A line for every block in page order, then the totals."""
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
    """Cut at the end: the first words matter most here."""
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
