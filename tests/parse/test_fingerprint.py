from __future__ import annotations

import hashlib

from tenax.parse.fingerprint import content_hash


def test_equal_text_has_equal_hash() -> None:
    assert content_hash("é") == hashlib.sha256("é".encode()).hexdigest()
    assert content_hash("") == hashlib.sha256(b"").hexdigest()
    assert content_hash("\ud800") == content_hash("?")
