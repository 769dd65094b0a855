"""The fingerprint of a page: equal text, equal hash."""

from __future__ import annotations

from hashlib import sha256


def content_hash(text: str) -> str:
    """SHA-256 of the text as UTF-8, in hex. A lone surrogate, which our own texts never hold, counts as `?`."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()
