"""The type of a body, whatever it declares."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.extract.document import sniff_media

HTML = b"<!DOCTYPE html><p>x"
PNG = b"\x89PNG\r\n\x1a\n....."


@pytest.mark.parametrize(
    ("body", "content_type", "kind", "why"),
    [
        (HTML, "text/html", "html", "text/html"),
        (HTML, "Text/HTML; charset=utf-8", "html", "text/html"),
        (HTML, "application/xhtml+xml", "html", "application/xhtml+xml"),
        (HTML, "text/plain", "text", "text/plain"),
        (b"", "text/html", "other", "empty body"),
        (PNG, "text/html", "other", "PNG image sent as text/html"),
        (b"PK\x03\x04..", "text/html", "other", "ZIP archive sent as text/html"),
        (b"%PDF-1.7", "text/html", "other", "PDF document sent as text/html"),
        (b"GIF89a", "text/html", "other", "GIF image sent as text/html"),
        (b"\xff\xd8\xff\xe0", "text/html", "other", "JPEG image sent as text/html"),
        (b"\x1f\x8b\x08", "text/plain", "other", "gzip stream sent as text/plain"),
        (b"RIFF....WEBP", "text/html", "other", "WebP image sent as text/html"),
        (b"....ftypisom", "text/html", "other", "MP4 video sent as text/html"),
        (b"{}", "application/json", "other", "application/json is not supported"),
        (b"<rss>", "application/rss+xml", "other", "application/rss+xml is not supported"),
        (b"<?xml?>", "text/xml", "other", "text/xml is not supported"),
        (PNG, "image/png", "other", "PNG image sent as image/png"),
        (HTML, "application/octet-stream", "other", "application/octet-stream is not supported"),
        (HTML, None, "html", "no type declared; it starts like HTML"),
        (b"\xef\xbb\xbf \n<HTML>", "", "html", "no type declared; it starts like HTML"),
        (b"\xff\xfe<\0h\0t\0m\0l\0>\0", None, "html", "no type declared; it starts like HTML"),
        (b"<?xml version='1.0'?><html>", None, "html", "no type declared; it starts like XHTML"),
        (b"<?xml version='1.0'?><rss>", None, "other", "no type declared; it starts like XML"),
        (b"just words", None, "text", "no type declared; it reads like plain text"),
        (b"just words", "nonsense", "text", "no type declared; it reads like plain text"),
        (b"\0\1\2", None, "other", "no type declared; it contains binary bytes"),
        (PNG, None, "other", "PNG image"),
    ],
)
def test_sniff_media(body: bytes, content_type: str | None, kind: str, why: str) -> None:
    assert sniff_media(body, content_type) == (kind, why)


@settings(deadline=None)
@given(st.binary(max_size=100), st.none() | st.text(max_size=30))
def test_any_body_has_a_kind(body: bytes, content_type: str | None) -> None:
    assert sniff_media(body, content_type).kind in ("html", "text", "other")
