"""The event of a page: where the body is stored, and how to verify it."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256

import msgspec

from tenax.events.page_line import url_hash

_encode_event = msgspec.json.Encoder().encode


class WebpageEvent(msgspec.Struct, frozen=True):
    """A fetched page, as readers of the topic see it; every field is always present."""

    type: str
    url: str
    cache_key: str
    """The key of the body, which is decoded but otherwise unchanged."""
    status_code: int
    content_type: str | None
    content_length: int
    """Bytes of the body."""
    content_hash: str
    """SHA-256 of the body, hex."""
    fetched_at: str
    """ISO 8601, UTC."""


class OutgoingPage(msgspec.Struct, frozen=True):
    """A page to publish."""

    item: bytes
    cache_key: str
    body: bytes
    key: bytes
    event: bytes


def build_outgoing_page(
    item: bytes, url: str, status: int, content_type: str, body: bytes, fetched_at: float
) -> OutgoingPage:
    """The URL must not contain a user or password: it is published, and the keys derive from it."""
    name = url_hash(url)
    cache_key = f"webpage:{name}"
    event = WebpageEvent(
        type="webpage_fetched",
        url=url,
        cache_key=cache_key,
        status_code=status,
        content_type=content_type or None,
        content_length=len(body),
        content_hash=sha256(body).hexdigest(),
        fetched_at=datetime.fromtimestamp(fetched_at, UTC).isoformat(timespec="milliseconds"),
    )
    return OutgoingPage(item, cache_key, body, name.encode(), _encode_event(event))
