"""Items of the queue, parsed; any bytes at all."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.model import Hop
from tenax.services.page_fetcher.intake import InvalidItem, Item, parse_item, redirect_item

NOW = 1_750_000_000.0


@pytest.mark.parametrize(
    ("raw", "asked_for", "origin"),
    [
        (b"http://a.example", "http://a.example/", "http://a.example"),
        (b"HTTPS://A.Example:443/b?z=1&a=2#c", "https://a.example/b?z=1&a=2", "https://a.example"),
        (b" http://a.example:8080/ \n", "http://a.example:8080/", "http://a.example:8080"),
        (
            b"http://user:word@a.example/x;sid=1?utm_source=y",
            "http://a.example/x;sid=1?utm_source=y",
            "http://a.example",
        ),
        ("http://bücher.example/ä".encode(), "http://xn--bcher-kva.example/%C3%A4", "http://xn--bcher-kva.example"),
        (b"http://a.example./", "http://a.example/", "http://a.example"),
    ],
)
def test_a_url_is_asked_for_as_it_is_written(raw: bytes, asked_for: str, origin: str) -> None:
    item = parse_item(raw, NOW)
    assert isinstance(item, Item)
    assert (item.task.url, item.task.origin) == (asked_for, origin)
    assert item.url == raw.decode().strip().replace("user:word@", "***@")
    assert item.raw == raw


@pytest.mark.parametrize(
    "userinfo",
    ["user:secret", "secret", ":secret", "user:se@cret", "user:'secret\"", "us\ter:secret", "u%40r:secret%2F"],
)
@pytest.mark.parametrize("start", ["http://", "HTTP://", "http:\\\\", "http:/", "http:", "http:////"])
def test_a_user_and_a_password_are_never_shown(start: str, userinfo: str) -> None:
    """However they are written, as long as a browser would read them as such."""
    item = parse_item(f"{start}{userinfo}@a.example/b?c=d@e#f".encode(), NOW)
    assert isinstance(item, Item)
    assert item.url == "http://***@a.example/b?c=d@e#f"
    assert item.task.url == "http://a.example/b?c=d@e"


def test_an_at_sign_after_the_host_is_no_user() -> None:
    item = parse_item(b"http://a.example/@user:word?to=a@b.example", NOW)
    assert isinstance(item, Item)
    assert item.url == "http://a.example/@user:word?to=a@b.example"


@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda text: f"http://{text}".encode("utf-8", "replace")))
def test_whatever_comes_is_an_item_or_a_reason(raw: bytes) -> None:
    item = parse_item(raw, NOW)
    if isinstance(item, InvalidItem):
        assert item.why.startswith("not a")
        assert len(item.why) < 300
    else:
        assert item.task.url.startswith(item.task.origin)
        again = parse_item(item.task.url.encode(), NOW)
        assert isinstance(again, Item)
        assert again.task.url == item.task.url


def test_a_redirect_to_another_host_moves_the_item_away() -> None:
    item = parse_item(b"http://a.example/x", 0.0)
    assert isinstance(item, Item) and not item.is_redirected_away
    hop = Hop("http://a.example/x", 302)
    for origin, is_away in [("http://a.example", False), ("https://a.example", True), ("http://a.example:81", True)]:
        task = msgspec.structs.replace(item.task, chain=(hop,))
        assert redirect_item(item, f"{origin}/y", origin, task).is_redirected_away is is_away
