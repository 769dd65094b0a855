"""A page in public form: one line of JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from operator import attrgetter

import msgspec

from tenax.model import CONTENT_FIELDS, INTERNAL_FIELDS, TEXT_FIELDS, Page, PageLink
from tenax.text.escaping import escape_json

_encode = msgspec.json.Encoder().encode
_STALE_FIELDS = ("stale_since", "stale_why")


class _Link(msgspec.Struct):
    url: str
    text: str
    rel: str
    is_nofollow: bool
    is_in_article: bool


_FIRST = ("url", "url_hash", "status")
_LAST = (
    *("duplicate_of", "similarity", "canonical", "content_type", "content_length", "content_hash", "charset"),
    *("links_count", "links", "depth", "via", "redirects", "fetched_at", "duration_ms", "seq", *_STALE_FIELDS),
    *TEXT_FIELDS,
)
LINE_FIELDS = (*_FIRST, *(name for name in CONTENT_FIELDS if name not in INTERNAL_FIELDS.union(_LAST)), *_LAST)
"""In this order. All are always present, except the texts when they are not wanted, and the last two of a page that is
not stale."""
_COMPUTED = {"url_hash": "url", "redirects": "chain", "seq": "url"}
_page_values = attrgetter(*(_COMPUTED.get(name, name) for name in LINE_FIELDS))


def encode_page_line(page: Page, seq: int | None, with_text: bool = True) -> bytes:
    """One line without its newline, safe for every reader and on a terminal."""
    return escape_json(_encode(_build_line(page, seq, with_text)))


def _build_line(page: Page, seq: int | None, with_text: bool) -> dict[str, object]:
    line = dict(zip(LINE_FIELDS, _page_values(page), strict=True))
    line["url_hash"] = url_hash(page.url)
    line["links"] = tuple(map(_build_link, page.links))
    line["fetched_at"] = _format_time(page.fetched_at)
    line["seq"] = seq
    if page.stale_since is not None:
        line["stale_since"] = _format_time(page.stale_since)
    for name in (_STALE_FIELDS if page.stale_since is None else ()) + (() if with_text else TEXT_FIELDS):
        del line[name]
    return line


def _build_link(link: PageLink) -> _Link:
    return _Link(link.url, link.text, link.rel, link.is_nofollow, link.is_in_article)


def _format_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def url_hash(url: str) -> str:
    """SHA-256 of the URL, hex: the public key of a page."""
    return sha256(url.encode("utf-8", "surrogatepass")).hexdigest()
