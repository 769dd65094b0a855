"""The stored form of a page beside its record: metadata as JSON, texts deflated.

Texts and links are one string separated by NUL, in the order text, article, Markdown, links, without trailing empty
parts. Any tool that can inflate can read it. The parts repeat each other, so together they cost little more than the
longest of them.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from isal import isal_zlib

from tenax.database.rows import Row, decode_authors, decode_chain, encode
from tenax.model import Event, Page, PageKind, PageLink, Value

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""Limit on the event texts in memory for one call; the last event may exceed it."""
_SEPARATOR = "\0"
_PART_COUNT = 4
_decode_page = msgspec.json.Decoder(Page).decode
_decode_links = msgspec.json.Decoder(tuple[PageLink, ...]).decode


class _PageMetadata(Value, frozen=True):
    """The metadata of a page that its record does not hold."""

    language_confidence: float = 0.0
    modified: str | None = None
    site_name: str = ""
    section: str = ""
    keywords: tuple[str, ...] = ()
    image: str | None = None
    abstract: str = ""


_decode_metadata = msgspec.json.Decoder(_PageMetadata).decode


class PageTexts(Value, frozen=True):
    """The long parts of a page."""

    text: str = ""
    article: str = ""
    markdown: str = ""
    links: tuple[PageLink, ...] = ()


def encode_content(page: Page) -> tuple[bytes, bytes]:
    """The page without its texts as JSON, and its texts packed."""
    about = msgspec.structs.replace(page, text="", article="", markdown="", links=())
    return encode(about), pack_texts(page.text, page.article, page.markdown, page.links)


def pack_texts(text: str, article: str = "", markdown: str = "", links: tuple[PageLink, ...] = ()) -> bytes:
    """Deflated, so that any tool can read it; isal takes half the time of zlib."""
    parts = [text, article, markdown, encode(links).decode() if links else ""]
    if any(_SEPARATOR in part for part in parts):  # our extraction leaves none in a text
        parts = [part.replace(_SEPARATOR, "\ufffd") for part in parts]
    while parts and not parts[-1]:
        parts.pop()
    return isal_zlib.compress(_SEPARATOR.join(parts).encode("utf-8", "replace"), 0)


def unpack_texts(body: bytes | None) -> PageTexts:
    if body is None:
        return PageTexts()
    parts = isal_zlib.decompress(body).decode("utf-8").split(_SEPARATOR)
    text, article, markdown, links = parts + [""] * (_PART_COUNT - len(parts))
    return PageTexts(text, article, markdown, _decode_links(links) if links else ())


def decode_events(rows: Iterable[tuple[int, float, bytes, bytes | None]]) -> list[Event]:
    """The first events of these rows up to the size limit; at least one."""
    events: list[Event] = []
    text_bytes = 0
    for seq, at, about, body in rows:
        events.append(Event(seq=seq, at=at, page=decode_event_page(about, body)))
        text_bytes += events[-1].page.text_bytes
        if text_bytes > MAX_EVENT_BYTES:
            break
    return events


def decode_event_page(page_json: bytes, body: bytes | None) -> Page:
    """The page of an event, with its texts."""
    texts = unpack_texts(body)
    return msgspec.structs.replace(
        _decode_page(page_json), text=texts.text, article=texts.article, markdown=texts.markdown, links=texts.links
    )


def page_from_row(row: Row, content: tuple[bytes, bytes] | None, via: str | None, duplicate_of: str | None) -> Page:
    """A page from its record, which is refreshed by every visit, and its content."""
    about = _decode_metadata(content[0]) if content is not None else _PageMetadata()
    texts = unpack_texts(content[1] if content is not None else None)
    return Page(
        url=row["origin"] + row["path"],
        status=row["page_status"],
        content_type=row["content_type"],
        content_hash=row["content_hash"].hex(),
        content_length=row["content_length"],
        fetched_at=row["fetched_at"] / 1000,
        title=row["title"],
        description=row["description"],
        canonical=row["canonical"],
        language=row["language"],
        kind=PageKind(row["kind"]),
        charset=row["charset"],
        charset_source=row["charset_source"],
        headline=row["headline"] or "",
        language_confidence=about.language_confidence,
        authors=decode_authors(row["authors"]) if row["authors"] else (),
        published=row["published"],
        modified=about.modified,
        site_name=about.site_name,
        section=about.section,
        keywords=about.keywords,
        image=about.image,
        text=texts.text,
        article=texts.article,
        markdown=texts.markdown,
        abstract=about.abstract,
        words=row["words"] or 0,
        fingerprint=row["fingerprint"] or b"",
        duplicate_of=duplicate_of,
        similarity=row["similarity"] or 0.0,
        links=texts.links,
        links_count=row["links_count"],
        depth=row["depth"],
        via=via,
        duration_ms=row["duration_ms"],
        chain=decode_chain(row["chain"]),
        etag=row["etag"],
        last_modified=row["last_modified"],
        stale_since=row["stale_since"] / 1000 if row["stale_since"] is not None else None,
        stale_why=row["stale_why"] or "",
    )
