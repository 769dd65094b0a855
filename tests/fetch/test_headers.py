from __future__ import annotations

import pytest

from tenax.config import FetchConfig
from tenax.errors import ConfigError
from tenax.fetch.bodies import decode_body
from tenax.fetch.headers import MAX_VALUE_CHARS, Headers, Profile, conditional_headers, default_headers
from tenax.model import Failed, StoredCopy
from tenax.urls.normalize import MAX_HREF_CHARS
from tenax.version import __version__

PROFILES: tuple[Profile, ...] = ("honest", "browser")
BROWSER = FetchConfig(profile="browser")


@pytest.mark.parametrize(
    ("fetch", "user_agent"),
    [
        (FetchConfig(), f"Tenax/{__version__}"),
        (FetchConfig(contact="https://example.org/bot"), f"Tenax/{__version__} (+https://example.org/bot)"),
        (FetchConfig(contact="me@example.org", user_agent="Mine/1"), "Mine/1"),
        (FetchConfig(profile="browser", user_agent="Mine/1"), "Mine/1"),
        (
            FetchConfig(profile="browser", contact="me@example.org"),
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/120.0.0.0 Safari/537.36",
        ),
    ],
)
def test_who_we_say_we_are(fetch: FetchConfig, user_agent: str) -> None:
    assert dict(default_headers(fetch))["User-Agent"] == user_agent


def test_a_browser_sends_more() -> None:
    headers = dict(default_headers(BROWSER))
    del headers["User-Agent"]
    assert headers == {
        "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "Accept-Language": "en-US,en;q=0.9",
        "Accept-Encoding": "gzip, deflate, br",
        "Sec-Fetch-Dest": "document",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Site": "none",
        "Sec-Fetch-User": "?1",
        "Cache-Control": "no-cache",
    }


@pytest.mark.parametrize("fetch", [FetchConfig(), BROWSER])
def test_what_we_ask_for_we_can_decode(fetch: FetchConfig) -> None:
    for coding in dict(default_headers(fetch))["Accept-Encoding"].split(", "):
        result = decode_body(b"no such stream", coding, 1000)
        assert isinstance(result, Failed) and "not requested" not in result.why, coding


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("text", ["a\r\nX-Injected: 1", "bücher", "tab\there", "\0"])
def test_what_cannot_be_sent_is_an_error_that_names_the_setting(text: str, profile: Profile) -> None:
    with pytest.raises(ConfigError, match=r"fetch\.contact"):
        default_headers(FetchConfig(contact=text, profile=profile))
    with pytest.raises(ConfigError, match=r"fetch\.user_agent"):
        default_headers(FetchConfig(user_agent=text, profile=profile))


DATE = "Tue, 15 Nov 1994 12:45:26 GMT"


@pytest.mark.parametrize(
    ("etag", "last_modified", "sent"),
    [
        (None, None, {}),
        ("", "", {}),
        ('"1"', None, {"If-None-Match": '"1"'}),
        ('W/"a b"', DATE, {"If-None-Match": 'W/"a b"', "If-Modified-Since": DATE}),
        (None, DATE, {"If-Modified-Since": DATE}),
        ("unquoted", "yesterday", {"If-None-Match": "unquoted", "If-Modified-Since": "yesterday"}),
        ('"1"\r\nX-Injected: 1', DATE, {"If-Modified-Since": DATE}),
        ('"1"', f"{DATE}\nCookie: a=1", {"If-None-Match": '"1"'}),
        ('"\0"', "\x7f", {}),
        ('"\u00e9"', "\udce9", {}),
        ('"' + "a" * 2000 + '"', DATE, {"If-Modified-Since": DATE}),
    ],
)
def test_what_asks_for_news_only(etag: str | None, last_modified: str | None, sent: dict[str, str]) -> None:
    stored_copy = StoredCopy(1.0, 200, etag=etag, last_modified=last_modified)
    assert dict(conditional_headers(stored_copy)) == sent


@pytest.mark.parametrize(
    ("name", "sent", "read"),
    [
        ("Content-Type", "a" * MAX_VALUE_CHARS, "a" * MAX_VALUE_CHARS),
        ("Content-Type", "é" * MAX_VALUE_CHARS + "b", "é" * MAX_VALUE_CHARS),
        ("X-Any", "é" + " " * 120_000 + "é", "é" + " " * (MAX_VALUE_CHARS - 1)),
        ("Location", "/" + "a" * (MAX_HREF_CHARS - 1), "/" + "a" * (MAX_HREF_CHARS - 1)),
        ("LOCATION", "/" + "a" * 200_000, "/" + "a" * MAX_HREF_CHARS),  # one too many, which marks it as too long
    ],
)
def test_a_value_is_read_up_to_a_bound(name: str, sent: str, read: str) -> None:
    assert Headers([(name.encode(), sent.encode())])[name] == read


def test_without_a_stored_copy_there_are_no_conditions() -> None:
    assert conditional_headers(None) == ()
