"""What is told of a page: where it is kept, and enough to know whether it is whole."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256

import msgspec

from tenax.events.page_line import url_hash

_encode_event = msgspec.json.Encoder().encode


class WebpageEvent(msgspec.Struct, frozen=True):
    """A page fetched, as readers of the topic know it; every field is always there."""

    type: str
    url: str
    cache_key: str
    """Where the body is kept, decoded but otherwise as it came."""
    status_code: int
    content_type: str | None
    content_length: int
    """Bytes of the body."""
    content_hash: str
    """SHA-256 of the body, hex."""
    fetched_at: str
    """ISO 8601, UTC."""


class OutgoingPage(msgspec.Struct, frozen=True):
    """A page on its way out."""

    item: bytes
    cache_key: str
    body: bytes
    key: bytes
    event: bytes


def build_outgoing_page(
    item: bytes, url: str, status: int, content_type: str, body: bytes, fetched_at: float
) -> OutgoingPage:
    """The URL must come without its user and password: it goes to strangers, and its keys are made from it."""
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
