"""One page for its reader: a head, paragraphs that fit the terminal, and what was decided about each block."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tenax.cli.views.format_values import count, listing
from tenax.cli.views.tables import Ink, columns, plain, width
from tenax.crawl.single_page import Explained
from tenax.extract.document import Document
from tenax.text.masking import mask_reference, mask_url

_WIDE = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003fffd"
# What a line may be broken after: spaces, and each character of scripts that have none, with the marks that may not
# begin a line.
_PIECES = re.compile(rf"[^\S\n]+|[{_WIDE}][、。，．！？；：…」』）】》〉]*|[^\s{_WIDE}]+")
_REFERENCES = ("canonical", "image", "base_href", "next_href")
_MOST_WHY_COLUMNS = 48
_LEAST_TEXT_COLUMNS = 20
_BEFORE_WHY = "  ✓ 0.00  "


def document_of(document: Document, url: str | None) -> dict[str, Any]:
    """Everything, for JSON, with the page's own address first. What is empty is left out, but not of a link."""
    whole: dict[str, Any] = {"url": mask_url(url)} if url is not None else {}
    whole |= msgspec.to_builtins(document)
    if document.links:
        links = (msgspec.structs.replace(link, href=mask_reference(link.href)) for link in document.links)
        whole["links"] = list(map(msgspec.structs.asdict, links))
    # As written, a reference may have a user and a password.
    whole |= {name: mask_reference(whole[name]) for name in _REFERENCES if whole.get(name)}
    if document.feeds:
        whole["feeds"] = list(map(mask_reference, document.feeds))
    return whole


def for_terminal(document: Document, text: str, ink: Ink) -> list[str]:
    """Headline, byline and date, then the paragraphs, in lines that fit."""
    room = columns()
    headline = plain(document.headline or document.title)
    lines = [ink.bold(line) for line in folded(headline, room)]
    lines += [ink.dim(line) for line in folded(_byline(document), room)]
    # Many an article begins with its own headline, which stands here already.
    for paragraph in _without_first(plain(text, keep_lines=True).split("\n"), headline):
        lines += ["", *folded(paragraph, room)] if paragraph.strip() else []
    return lines[1:] if lines and not lines[0] else lines


def _byline(document: Document) -> str:
    date = (document.published or "").partition("T")[0]
    parts = (listing(document.authors), date, document.site_name)
    return plain(" · ".join(part for part in parts if part))


def _without_first(paragraphs: list[str], headline: str) -> list[str]:
    is_headline = bool(paragraphs) and " ".join(paragraphs[0].split()) == " ".join(headline.split())
    return paragraphs[1:] if is_headline else paragraphs


def folded(text: str, room: int) -> list[str]:
    """A paragraph in lines of at most `room` columns, whatever its script; a long URL is never cut in two."""
    lines = [""]
    used = 0
    for piece in _PIECES.findall(text):
        needed = width(piece)
        if used and used + needed > room:
            lines.append("")
            used = 0
        if used or not piece.isspace():
            lines[-1] += piece
            used += needed
    return [line.rstrip() for line in lines if line]


def explanation(blocks: Sequence[Explained], ink: Ink) -> list[str]:
    """A line for every block, in the order of the page, and a last one that counts."""
    room = min(max(width(block.why) for block in blocks), _MOST_WHY_COLUMNS)
    return [*(_line(block, room, ink) for block in blocks), "", *_counted(blocks)]


def _line(block: Explained, why_room: int, ink: Ink) -> str:
    why = plain(block.why)
    why += " " * (why_room - width(why))
    room = max(columns() - len(_BEFORE_WHY) - width(why) - 2, _LEAST_TEXT_COLUMNS)
    text = _beginning(plain(block.text), room)
    mark = ink.good("✓") if block.is_kept else ink.bad("✗")
    return f"  {mark} {block.score:.2f}  {ink.cool(why)}  {text if block.is_kept else ink.dim(text)}"


def _beginning(text: str, room: int) -> str:
    """What fits of it: here the first words tell most."""
    if width(text) <= room:
        return text
    shown, used = "", 0
    for char in text:
        used += width(char)
        if used >= room:
            break
        shown += char
    return f"{shown.rstrip()}…"


def _counted(blocks: Sequence[Explained]) -> Iterator[str]:
    kept = [block for block in blocks if block.is_kept]
    chars, of = sum(len(block.text) for block in kept), sum(len(block.text) for block in blocks)
    yield f"  {count(len(kept))} of {count(len(blocks))} blocks kept, {count(chars)} of {count(of)} characters"
