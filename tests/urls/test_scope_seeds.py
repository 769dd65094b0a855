from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.config import UrlsConfig
from tenax.errors import UsageError
from tenax.urls.normalize import normalize_options
from tenax.urls.scope import parse_seed

SPELLING = normalize_options(UrlsConfig())


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.org", "https://example.org/"),
        ("HTTP://Example.org/A?b=1#c", "http://example.org/A?b=1"),
        ("https://user:secret@example.org/", "https://example.org/"),
        ("https://intranet/", "https://intranet/"),
        ("example.org", "https://example.org/"),
        ("  example.org/a b ", "https://example.org/a%20b"),
        ("www.example.org/x?y=z", "https://www.example.org/x?y=z"),
        ("//example.org/x", "https://example.org/x"),
        ("bücher.example", "https://xn--bcher-kva.example/"),
        ("example.org:443/x", "https://example.org/x"),
        ("example.org:0443", "https://example.org/"),
        ("example.org:80", "http://example.org/"),
        ("example.org:8080/x", "http://example.org:8080/x"),
        ("intranet:8080", "http://intranet:8080/"),
        ("localhost", "http://localhost/"),
        ("localhost:3000/a", "http://localhost:3000/a"),
        ("app.localhost", "http://app.localhost/"),
        ("127.0.0.1", "http://127.0.0.1/"),
        ("127.0.0.1:8000?x=1", "http://127.0.0.1:8000/?x=1"),
        ("10.0.0.1:443", "https://10.0.0.1/"),
        ("[::1]", "http://[::1]/"),
        ("[::1]:8000/a", "http://[::1]:8000/a"),
        ("example.org/http://other.org/", "https://example.org/http://other.org/"),
    ],
)
def test_what_was_meant(text: str, url: str) -> None:
    assert parse_seed(text, SPELLING).url == url


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not a URL"),
        ("   ", "is not a URL"),
        ("example", "is not a URL"),
        ("two words", "is not a URL"),
        ("/etc/passwd", "is not a URL"),
        ("./seeds.txt", "is not a URL"),
        ("?x", "is not a URL"),
        ("https://", "is not a URL"),
        ("http://[::1", "is not a URL"),
        ("example.org:99999999", "is not a URL"),
        ("a..", "is not a URL"),
        ("x" * 5000, "is not a URL"),
        ("example.org:" + "9" * 5000, "is not a URL"),
        ("\ud800.org", "is not a URL"),
        ("ftp://example.org/", "`ftp` is not a supported scheme"),
        ("file:///etc/passwd", "`file` is not a supported scheme"),
        ("javascript:alert(1)", "`javascript` is not a supported scheme"),
        ("mailto:someone@example.org", "`mailto` is not a supported scheme"),
        ("htps://example.org", "`htps` is not a supported scheme"),
    ],
)
def test_anything_else_is_one_clear_line(text: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_seed(text, SPELLING)
    message = str(raised.value)
    assert says in message
    assert "\n" not in message
    assert len(message) < 400


@pytest.mark.parametrize("text", ["https://me:hunter2@[bad/", "me:hunter2@example.org", "//me:hunter2@"])
def test_a_password_is_not_shown(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_seed(text, SPELLING)
    assert "hunter2" not in str(raised.value)


@given(st.text(st.characters(), max_size=40))
@settings(max_examples=500, deadline=None)
def test_any_text_is_a_url_or_a_usage_error(text: str) -> None:
    try:
        url = parse_seed(text, SPELLING)
    except UsageError as error:
        assert str(error).isprintable()
    else:
        assert url.scheme in ("http", "https")
