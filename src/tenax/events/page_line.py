"""A page in public form: one line of JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256

import msgspec

from tenax.model import Hop, Page, PageLink
from tenax.text.escaping import escape_json

_encode = msgspec.json.Encoder().encode


class _Link(msgspec.Struct):
    url: str
    text: str
    rel: str
    is_nofollow: bool
    is_in_article: bool


class Line(msgspec.Struct):
    """Every field is always present, except the texts when they are not wanted, and the fields of a stale page."""

    url: str
    url_hash: str
    """SHA-256 of the URL, hex."""
    status: int
    title: str
    description: str
    kind: str
    language: str | None
    language_confidence: float
    headline: str
    authors: tuple[str, ...]
    published: str | None
    modified: str | None
    site_name: str
    section: str
    keywords: tuple[str, ...]
    image: str | None
    abstract: str
    words: int
    duplicate_of: str | None
    similarity: float
    canonical: str | None
    content_type: str
    content_length: int
    content_hash: str
    charset: str
    links_count: int
    links: tuple[_Link, ...]
    depth: int
    via: str | None
    redirects: tuple[Hop, ...]
    fetched_at: str
    duration_ms: int
    seq: int | None
    stale_since: str | msgspec.UnsetType = msgspec.UNSET
    stale_why: str | msgspec.UnsetType = msgspec.UNSET
    text: str | msgspec.UnsetType = msgspec.UNSET
    article: str | msgspec.UnsetType = msgspec.UNSET
    markdown: str | msgspec.UnsetType = msgspec.UNSET


def encode_page_line(page: Page, seq: int | None, with_text: bool = True) -> bytes:
    """One line without its newline, safe for every reader and on a terminal."""
    return escape_json(_encode(_build_line(page, seq, with_text)))


def _build_line(page: Page, seq: int | None, with_text: bool) -> Line:
    return Line(
        url=page.url,
        url_hash=url_hash(page.url),
        status=page.status,
        title=page.title,
        description=page.description,
        kind=page.kind,
        language=page.language,
        language_confidence=page.language_confidence,
        headline=page.headline,
        authors=page.authors,
        published=page.published,
        modified=page.modified,
        site_name=page.site_name,
        section=page.section,
        keywords=page.keywords,
        image=page.image,
        abstract=page.abstract,
        words=page.words,
        duplicate_of=page.duplicate_of,
        similarity=page.similarity,
        canonical=page.canonical,
        content_type=page.content_type,
        content_length=page.content_length,
        content_hash=page.content_hash,
        charset=page.charset,
        links_count=page.links_count,
        links=tuple(map(_build_link, page.links)),
        depth=page.depth,
        via=page.via,
        redirects=page.chain,
        fetched_at=_format_time(page.fetched_at),
        duration_ms=page.duration_ms,
        seq=seq,
        stale_since=_format_time(page.stale_since) if page.stale_since is not None else msgspec.UNSET,
        stale_why=page.stale_why if page.stale_since is not None else msgspec.UNSET,
        text=page.text if with_text else msgspec.UNSET,
        article=page.article if with_text else msgspec.UNSET,
        markdown=page.markdown if with_text else msgspec.UNSET,
    )


def _build_link(link: PageLink) -> _Link:
    return _Link(link.url, link.text, link.rel, link.is_nofollow, link.is_in_article)


def _format_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def url_hash(url: str) -> str:
    """SHA-256 of the URL, hex: the public key of a page."""
    return sha256(url.encode("utf-8", "surrogatepass")).hexdigest()
