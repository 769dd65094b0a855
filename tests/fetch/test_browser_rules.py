from __future__ import annotations

import pytest

from tenax.fetch.browser.rules import is_request_needed

ANY = {"Accept": "*/*", "Referer": "https://a.example/"}
IMAGE = {"Accept": "image/avif,image/webp,*/*;q=0.8"}


@pytest.mark.parametrize(
    ("kind", "headers", "priority", "needed"),
    [
        ("Document", ANY, "VeryHigh", True),
        ("Script", ANY, "High", True),
        ("Stylesheet", {"Accept": "text/css,*/*;q=0.1"}, "VeryHigh", True),
        ("XHR", ANY, "High", True),
        ("Fetch", ANY, "High", True),
        ("EventSource", ANY, "High", True),
        ("Preflight", ANY, "High", True),
        ("SomethingNew", ANY, "High", True),
        *((kind, ANY, "Low", False) for kind in ("Image", "Media", "Font", "TextTrack", "Manifest", "Prefetch")),
        *((kind, ANY, "VeryLow", False) for kind in ("Ping", "CSPViolationReport")),
        ("Fetch", {**ANY, "Sec-Purpose": "prefetch"}, "VeryLow", False),
        ("Document", {**ANY, "sec-purpose": "prefetch;prerender"}, "VeryHigh", False),
        ("Other", IMAGE, "High", False),
        ("Other", {name.lower(): value for name, value in IMAGE.items()}, "High", False),
        ("Other", {**ANY, "Origin": "https://a.example"}, "VeryLow", False),
        ("Other", {**ANY, "Origin": "https://a.example"}, "High", True),
        ("Other", ANY, "VeryLow", True),
        ("Other", {}, "VeryLow", True),
    ],
)
def test_what_a_page_may_need(kind: str, headers: dict[str, str], priority: str, needed: bool) -> None:
    assert is_request_needed(kind, headers, priority) is needed
