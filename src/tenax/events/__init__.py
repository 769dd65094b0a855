"""Events: the database's outbox, and the sinks that its events go to.

The transaction that stores a page also writes its event. So no event is lost, and none is about a page that was not
stored. The relay reads the outbox in order and writes the events to a *sink*. The cursor of the sink is in the database
too. A sink that stores events and cursor together (a file and its length) writes every event exactly once, even after
kill -9. Other sinks write at least once; their readers drop repeated events by `seq`. Processes that share a database
have the same sinks. For each sink one of them is the *leader*: only the leader writes events there. When it dies,
another process takes over within seconds, from the cursor on.

`encode_page_line` is the public form of a page: one line of JSON, the same for every sink and for exports.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from operator import attrgetter
from typing import Protocol

import msgspec

from tenax.model import CONTENT_FIELDS, INTERNAL_FIELDS, TEXT_FIELDS, Cursor, Event, Page, PageLink
from tenax.text.sanitize import escape_json


class Outbox(Protocol):
    """The part of the database that events come from."""

    async def events(self, after: int, limit: int) -> list[Event]: ...

    async def subscribe(self, sink: str) -> Cursor: ...

    async def advance(self, sink: str, cursor: Cursor) -> None:
        """Store the cursor. It never moves back, whoever calls."""

    async def is_leader(self, sink: str) -> bool:
        """Whether this process is the leader for this sink now. Cheap enough to call often.

        After the lead was lost, it returns False at least once before it returns True again. The caller must then end
        all work in progress.
        """


class Sink(Protocol):
    """A destination of events."""

    @property
    def name(self) -> str:
        """The name of the cursor in the database."""

    async def open(self, cursor: Cursor, is_behind: bool) -> None:
        """Resume at the cursor. Raises `SinkError` if that is impossible.

        `is_behind`: events wait, and the sink may already have some of them from a run that was killed.
        """

    async def write(self, events: Sequence[Event]) -> Cursor:
        """Store these events durably. Returns the cursor to keep."""

    async def close(self) -> None: ...


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
"""The fields in this order. All are always present, except the texts if they are not wanted, and the last two if the
page is not stale."""
_COMPUTED = {"url_hash": "url", "redirects": "chain", "seq": "url"}
_page_values = attrgetter(*(_COMPUTED.get(name, name) for name in LINE_FIELDS))


def encode_page_line(page: Page, seq: int | None, with_text: bool = True) -> bytes:
    """One line without its newline, safe for every reader and on a terminal."""
    line = _encode(_build_line(page, seq, with_text))
    # In ASCII only DEL needs an escape.
    return line if line.isascii() and b"\x7f" not in line else escape_json(line)


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
    """SHA-256 of the URL in hex, the public key of a page."""
    return sha256(url.encode("utf-8", "surrogatepass")).hexdigest()
