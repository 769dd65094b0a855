"""What is stored of a response besides its page."""

from __future__ import annotations

import pytest

from tenax.config import FetchConfig
from tenax.fetch import Response
from tenax.fetch.answer import (
    MAX_HEADERS,
    MAX_HEADERS_CHARS,
    MAX_VALUE_CHARS,
    error_body,
    fetch_record,
    select_headers,
)
from tenax.fetch.headers import Headers


def headers(*pairs: tuple[str, str]) -> Headers:
    return Headers((name.encode(), value.encode()) for name, value in pairs)


def response(status: int = 404, body: bytes = b"", content_type: str = "text/html") -> Response:
    return Response("https://a.test/", status, headers(("Content-Type", content_type)), body, len(body), 0.0, 0.0, 0.0)


def test_all_headers_are_kept_in_their_order() -> None:
    found = select_headers(headers(("Server", "nginx"), ("Vary", "Accept"), ("X-B", "2"), ("vary", "Cookie")), ("*",))
    assert list(found.items()) == [("server", "nginx"), ("vary", "Accept, Cookie"), ("x-b", "2")]


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        [("Server", "nginx"), ("Content-Type", "text/html")],
        [("Server", "nginx"), ("X-Long", "y" * (MAX_VALUE_CHARS - 5))],
        [("Server", "nginx"), ("X-Long", "y" * (MAX_VALUE_CHARS + 5))],
        [(f"x-{n}", "y") for n in range(MAX_HEADERS + 1)],
        [("Server", "nginx"), ("Via", "me@a.test")],
        [("Server", "nginx"), ("X-Token", "s3cret")],
        [("Server", "nginx"), ("Vary", "a"), ("Vary", "b")],
        [("x" * 101, "y"), ("Server", "nginx")],
        [("Server", "café")],
    ],
)
def test_headers_are_selected_alike_at_once_and_one_by_one(pairs: list[tuple[str, str]]) -> None:
    """`*` with another name checks each header."""
    found = select_headers(headers(*pairs), ("*",))
    assert list(found.items()) == list(select_headers(headers(*pairs), ("*", "x")).items())


@pytest.mark.parametrize(
    ("wanted", "names"), [((), []), (("SERVER", "absent"), ["server"]), (("a", "*"), ["server", "b"])]
)
def test_only_the_wanted_ones_are(wanted: tuple[str, ...], names: list[str]) -> None:
    assert list(select_headers(headers(("Server", "nginx"), ("B", "1")), wanted)) == names


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("Set-Cookie", "sid=s3cret; Path=/; HttpOnly", "sid=***"),
        ("Set-Cookie", "s3cret without a name", "***"),
        ("Set-Cookie", "=s3cret", "***"),
        ("Authorization", "Bearer s3cret", "***"),
        ("X-Auth-Token", "s3cret", "***"),
        ("X-Api-Key", "s3cret", "***"),
        ("X-CSRF-Token", "s3cret", "***"),
        ("X-Session-Id", "s3cret", "***"),
        ("Location", "https://me:s3cret@a.test/x", "https://***@a.test/x"),
        ("WWW-Authenticate", 'Basic realm="a"', 'Basic realm="a"'),
        ("X-Author", "Ada", "Ada"),
        ("Link", "<https://a.test/>; rel=x", "<https://a.test/>; rel=x"),
    ],
)
def test_secrets_are_masked(name: str, value: str, kept: str) -> None:
    assert select_headers(headers((name, value)), ("*",)) == {name.lower(): kept}


def test_several_cookies_are_named() -> None:
    found = select_headers(headers(("Set-Cookie", "a=1"), ("Set-Cookie", "b=2; Secure")), ("*",))
    assert found == {"set-cookie": "a=***, b=***"}


def test_however_many_and_long_they_are_there_is_a_bound() -> None:
    many = select_headers(headers(*((f"x-{n}", "y") for n in range(250))), ("*",))
    assert len(many) == MAX_HEADERS
    long = select_headers(headers(("A", "x" * 100_000), *((f"x-{n}", "y" * 900) for n in range(30))), ("*",))
    assert len(long["a"]) == MAX_VALUE_CHARS
    assert sum(len(name) + len(value) for name, value in long.items()) <= MAX_HEADERS_CHARS
    assert select_headers(headers(("b", "1"), ("x" * 100_000, "y")), ("*",)) == {"b": "1"}


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert select_headers(Headers([(b"X-A", b"caf\xe9")]), ("*",)) == {"x-a": "caf?"}


@pytest.mark.parametrize(
    ("status", "max_bytes", "kept"),
    [(404, 100, "Grüße"), (500, 3, "Gr\ufffd"), (404, 0, ""), (200, 100, ""), (302, 9, "")],
)
def test_the_body_of_an_error_is_kept_where_it_is_wanted(status: int, max_bytes: int, kept: str) -> None:
    assert error_body(response(status, "Grüße".encode(), "text/plain; charset=utf-8"), max_bytes) == kept


def test_it_is_read_in_its_own_charset() -> None:
    assert error_body(response(404, "Grüße".encode("latin-1"), "text/html; charset=iso-8859-1"), 100) == "Grüße"


def test_the_measurements_get_both() -> None:
    record = fetch_record(response(404, b"gone"), FetchConfig(keep_error_body_bytes=100))
    assert (record.status, record.headers, record.error_body) == (404, {"content-type": "text/html"}, "gone")
    bare = fetch_record(response(404, b"gone"), FetchConfig(keep_headers=()))
    assert (bare.headers, bare.error_body) == ({}, "")
