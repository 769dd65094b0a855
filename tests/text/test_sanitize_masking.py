"""Secrets in text are masked, however malformed the URL around them is."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tenax.text.sanitize import (
    MASK,
    is_secret_name,
    mask_reference,
    mask_server_url,
    mask_setting,
    mask_text,
    mask_url,
)

# ---- one URL ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("http://user:pw@example.org/a", "http://***@example.org/a"),
        ("https://token@example.org", "https://***@example.org"),
        ("http://a:b@c:d@host/", "http://***@host/"),
        ("HTTP://user:pw@h:80/?a=b#c", "HTTP://***@h:80/?a=b#c"),
        # Ill-formed, as people and servers write it.
        (r"http:\\\\user:pw@h", r"http:\\\\***@h"),
        (r"http:\\user:pw@h", r"http:\\***@h"),
        ("http:/user:pw@h", "http:/***@h"),
        ("http:user:pw@h", "http:***@h"),
        ("http:////user:pw@h", "http:////***@h"),
        ("http://us er:pw@h", "http://***@h"),
        ("http://user:pw @h", "http://***@h"),
        ("http://user:p\nw@h", "http://***@h"),
        (" \thttp://user:pw@h", " \thttp://***@h"),
        ("http://user:pa/ss@h/x", "http://***@h/x"),
        ("http://user:pa?ss#word@h/x", "http://***@h/x"),
        ("http://user:p@ss/word@h/x", "http://***@h/x"),
        ("http://user:12/34@h/x", "http://***@h/x"),
        ("http:/\u200b/user:pw@h", "http:/***@h"),
        ("http://user:pw\uff20h/", "http://***@h/"),
        ("http://user:pw%40h/", "http://***@h/"),
        ("ht\ntp://user:pw@h", "***@h"),
        # Without a scheme.
        ("user:pw@host/", "***@host/"),
        ("token@host", "***@host"),
        ("//user:pw@h/x", "//***@h/x"),
        (r"\\user:pw@h/x", r"\\***@h/x"),
        ("gopher://me:pw@h", "gopher://***@h"),
        ("socks5:me:pw@h", "socks5:***@h"),
        ("https://me:pw@[bad/", "https://***@[bad/"),
        # No user: an `@` in a path or a query is not masked.
        ("http://example.org/@name", "http://example.org/@name"),
        ("http://example.org/?mail=a@b.c&x=%40", "http://example.org/?mail=a@b.c&x=%40"),
        ("http://example.org:8080/@name", "http://example.org:8080/@name"),
        ("http://localhost:8080/@name", "http://localhost:8080/@name"),
        ("http://127.0.0.1:8080/@name", "http://127.0.0.1:8080/@name"),
        ("http://[::1]:8080/@name", "http://[::1]:8080/@name"),
        ("http://intranet/@name", "http://intranet/@name"),
        ("http://bücher.example/@name", "http://bücher.example/@name"),
        ("example.org/@name", "example.org/@name"),
        ("http://example.org/", "http://example.org/"),
        ("", ""),
        ("@", "***@"),
    ],
)
def test_a_url_without_its_user(text: str, masked: str) -> None:
    assert mask_url(text) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("https://user:pw@h/x", "https://***@h/x"),
        (r"http:\\user:pw@h", r"http:\\***@h"),
        ("//user:pw@h/x", "//***@h/x"),
        ("user:pw@host/", "***@host/"),
        ("/@name", "/@name"),
        ("/a:b@c", "/a:b@c"),
        ("../page@2.html", "../page@2.html"),
        ("page@2.html", "page@2.html"),
        ("?mail=a:b@c", "?mail=a:b@c"),
        ("https://example.org/@name", "https://example.org/@name"),
        ("none", "none"),
    ],
)
def test_a_location_may_be_a_path(text: str, masked: str) -> None:
    assert mask_reference(text) == masked


@pytest.mark.parametrize(
    ("text", "typed", "seen"),
    [
        ("postgresql://db/crawl", "postgresql://db/crawl", "postgresql://db/crawl"),
        ("postgresql://me@db/crawl", "postgresql://me@db/crawl", "postgresql://***@db/crawl"),
        ("postgresql://me:hush@db/crawl", "postgresql://me:***@db/crawl", "postgresql://***@db/crawl"),
        ("postgresql://me:hu/sh@wo rd@db:5432/x", "postgresql://me:***@db:5432/x", "postgresql://***@db:5432/x"),
        (
            "postgresql://db/crawl?user=me&password=hush&sslmode=require",
            "postgresql://db/crawl?user=me&password=***&sslmode=require",
            "postgresql://db/crawl?user=me&password=***&sslmode=require",
        ),
        ("postgres://db/c?sslpassword=hush", "postgres://db/c?sslpassword=***", "postgres://db/c?sslpassword=***"),
        ("redis://:hush@cache/0", "redis://:***@cache/0", "redis://***@cache/0"),
        ("redis://me:hush", "redis://***", "redis://***"),
        ("redis://cache:6379", "redis://cache:6379", "redis://cache:6379"),
        ("http://token@proxy:3128", "http://***@proxy:3128", "http://***@proxy:3128"),
    ],
)
def test_the_url_of_a_server_can_be_typed_again(text: str, typed: str, seen: str) -> None:
    assert mask_server_url(text) == typed
    assert mask_server_url(text, hides_user=True) == seen


@pytest.mark.parametrize(
    ("text", "is_secret", "masked"),
    [
        ("http://me:hush @proxy:1", True, "http://***@proxy:1"),
        ("http://me:hush", True, "http://***"),  # of a password with a comma in it
        ("hush@proxy:1", True, "***@proxy:1"),
        ("http://proxy.example:3128", True, "http://proxy.example:3128"),
        ("http://proxy:3128", True, "http://proxy:3128"),
        ("postgresql://me:hush@db/x", False, "postgresql://me:***@db/x"),
        ("bot@example.org", False, "bot@example.org"),
        ("mailto:bot@example.org", False, "mailto:bot@example.org"),
        ("https://example.org/@*", False, "https://example.org/@*"),
        ("10", False, "10"),
        ("", True, ""),
    ],
)
def test_a_setting_is_masked_by_what_it_is_for(text: str, is_secret: bool, masked: str) -> None:
    assert mask_setting(text, is_secret=is_secret) == masked


# ---- running text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("see https://me@host and http://x/", "see https://***@host and http://x/"),
        ("cannot visit http://me:pw@a.example/, sorry", "cannot visit http://***@a.example/, sorry"),
        (r"asked as http:\\me:pw@h", r"asked as http:\\***@h"),
        ("asked as http://us er:pw@h/a now", "asked as http://***@h/a now"),
        ("asked as http://user:p w@h/a now", "asked as http://***@h/a now"),
        ("'http://user:p\"w@h/a'", "'http://***@h/a'"),
        ("of user:pw@host/ there", "of ***@host/ there"),
        ("url=http://user:pw@h", "url=http://***@h"),
        ("(http://user:pw@h)", "(http://***@h)"),
        ("Location: //user:pw@h/", "Location: //***@h/"),
        ("http://host and mail me@example.org", "http://host and mail me@example.org"),
        ("http://host/a then user:pw@h", "http://host/a then ***@h"),
        ("http://h/@name git@github.com:a/b me@example.org mailto:me@example.org",) * 2,
        ("Authorization: Bearer abc.def", "Authorization: ***"),
        ("set-cookie: id=1; HttpOnly", "set-cookie: ***"),
        ("a bearer of news, basic and plain", "a bearer of news, basic and plain"),
        ("two\nlines http://u:p@h\nand more", "two\nlines http://***@h\nand more"),
    ],
)
def test_running_text_without_the_users_of_its_urls(text: str, masked: str) -> None:
    assert mask_text(text) == masked


@pytest.mark.parametrize(
    ("name", "is_secret"), [("api_key", True), ("Set-Cookie", True), ("db_password", True), ("url", False)]
)
def test_some_names_say_that_a_value_is_secret(name: str, is_secret: bool) -> None:
    assert is_secret_name(name) is is_secret


# ---- nothing of a secret is left --------------------------------------------------------------------------

SCHEMES = ["http://", "https://", "HTTP:\\\\", "http:/", "http:", "//", "", " http://", "socks5://", "x://", "redis://"]
USERS = st.text(st.characters(exclude_characters="/\\?#.[]", exclude_categories=["Cs"]), min_size=1, max_size=12)
HOSTS = st.sampled_from(["host", "example.org", "127.0.0.1:8080", "[::1]:80", "h/path", "h/?q=a b", "ho st", ""])
SIGNS = st.sampled_from(["@", "@", "@", "\uff20", "%40"])


def survivors(secret: str, shown: str, outside: str) -> list[str]:
    """Four characters of the secret that are shown, and are in nothing else that is shown."""
    pieces = {secret[at : at + 4] for at in range(len(secret) - 3)}
    return [piece for piece in pieces if piece in shown and piece not in outside]


@settings(max_examples=1000)
@given(st.sampled_from(SCHEMES), USERS, st.text(min_size=4), SIGNS, HOSTS)
@example("", "me", "12/3456", "@", "host")
@example("http:", "a", "//b@/cdef", "@", "h/path")
def test_no_four_letters_of_a_password_survive_in_a_url(
    scheme: str, user: str, secret: str, sign: str, host: str
) -> None:
    text, outside = f"{scheme}{user}:{secret}{sign}{host}", f"{scheme}{user}:{MASK}@{host}"
    for mask in (mask_url, mask_server_url):
        assert survivors(secret, mask(text), outside) == []
    for hides_user in (False, True):
        assert survivors(secret, mask_setting(text, is_secret=True, hides_user=hides_user), outside) == []


WORDS = st.text(st.characters(exclude_characters="\"'<>`", exclude_categories=["Cs", "Z", "Cc"]), min_size=4)
AROUND = st.sampled_from(["", "see ", "of 'x' and ", "url=", "(", "Location: "])
SLASHED = st.sampled_from(["http://", "https://", "http:\\\\", "//", "redis://"])


@settings(max_examples=1000)
@given(AROUND, SLASHED, WORDS, WORDS, HOSTS, AROUND)
def test_no_four_letters_of_a_password_survive_in_running_text(
    before: str, scheme: str, user: str, secret: str, host: str, after: str
) -> None:
    user = user.translate(str.maketrans("", "", "/\\?#.[]")) or "me"
    text, outside = f"{before}{scheme}{user}:{secret}@{host} {after}", f"{before}{scheme}{MASK}@{host} {after}"
    assert survivors(secret, mask_text(text), outside) == []


@given(st.text() | st.text("http:/\\@?# ab.1"))
def test_masking_twice_is_masking_once(text: str) -> None:
    for mask in (mask_url, mask_reference, mask_text, mask_server_url):
        assert mask(mask(text)) == mask(text)
