from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tenax.urls.normalize as normalize_module
from tenax.config import UrlsConfig
from tenax.urls.normalize import MAX_HREF_CHARS, NormalizeOptions, WebUrl, normalize, normalize_options, split_base

SPELLING = normalize_options(UrlsConfig())
NO_SLASH = normalize_options(UrlsConfig(strip_trailing_slash=True))
BASE = "https://example.org/a/b?c=d"

ONE_SPELLING = [
    # scheme, host, port, fragment, userinfo
    ("HTTPS://EXAMPLE.Org/Path", "https://example.org/Path"),
    ("http://example.org:80/", "http://example.org/"),
    ("https://example.org:443/", "https://example.org/"),
    ("http://example.org:443/", "http://example.org:443/"),
    ("https://example.org:08080/", "https://example.org:8080/"),
    ("https://example.org", "https://example.org/"),
    ("https://example.org#top", "https://example.org/"),
    ("https://example.org/a#b?c#d", "https://example.org/a"),
    ("https://user:secret@example.org/", "https://example.org/"),
    ("https://@example.org/", "https://example.org/"),
    ("https://good.org@evil.org/", "https://evil.org/"),
    ("https://example.org./a", "https://example.org/a"),
    ("http://[2001:DB8::0:1]:8080/x", "http://[2001:db8::1]:8080/x"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("http://2130706433/", "http://127.0.0.1/"),
    ("https://bücher.example/straße", "https://xn--bcher-kva.example/stra%C3%9Fe"),
    ("https://例え.jp/日本", "https://xn--r8jz45g.jp/%E6%97%A5%E6%9C%AC"),
    # what browsers accept
    ("  https://example.org/a b\n", "https://example.org/a%20b"),
    ("ht\ntps://exam\tple.org/", "https://example.org/"),
    ("https:\\\\example.org\\a\\b", "https://example.org/a/b"),
    ("https:/example.net/a", "https://example.org/example.net/a"),
    ("http:///example.org/", "http://example.org/"),
    ("https://example.org/a\0b", "https://example.org/a%00b"),
    # relative to the base
    ("", "https://example.org/a/b?c=d"),
    ("#x", "https://example.org/a/b?c=d"),
    ("?x=1", "https://example.org/a/b?x=1"),
    ("x", "https://example.org/a/x"),
    ("../x", "https://example.org/x"),
    ("/x", "https://example.org/x"),
    ("//other.org/x", "https://other.org/x"),
    ("\\\\other.org\\x", "https://other.org/x"),
    ("https:x", "https://example.org/a/x"),
    # dots and escapes in the path
    ("/a/./b/../c", "https://example.org/a/c"),
    ("/a/%2e%2E/c", "https://example.org/c"),
    ("/%7Euser/%41%2d%2E%5f", "https://example.org/~user/A-._"),
    ("/a%2fb%3Fc%23d", "https://example.org/a%2Fb%3Fc%23d"),
    ("/100%", "https://example.org/100%"),
    ("/%zz%4", "https://example.org/%zz%4"),
    ("/%%32e", "https://example.org/%%32e"),
    ("/%2%35x", "https://example.org/%2%35x"),
    ("/%25%32%65", "https://example.org/%252e"),
    ("/a^b", "https://example.org/a%5Eb"),
    ("/a+b,c:d@e!$'()*=", "https://example.org/a+b,c:d@e!$'()*="),
    ("/a//b/", "https://example.org/a//b/"),
    # the query
    ("/?", "https://example.org/"),
    ("/?&&", "https://example.org/"),
    ("/?b=2&a=1", "https://example.org/?a=1&b=2"),
    ("/?b&a=&c", "https://example.org/?a=&b&c"),
    ("/?a&a=", "https://example.org/?a&a="),
    ("/?x[]=2&a=1&x[]=1", "https://example.org/?a=1&x[]=2&x[]=1"),
    ("/?a=1&&b=2&", "https://example.org/?a=1&b=2"),
    ("/?q=a+b&r=a%20b", "https://example.org/?q=a+b&r=a%20b"),
    ("/?q=a%26b%3dc", "https://example.org/?q=a%26b%3Dc"),
    ("/?q=%61&%62=1", "https://example.org/?b=1&q=a"),
    ("/?a=1;b=2", "https://example.org/?a=1;b=2"),
    ("/?a=b=c?d/e", "https://example.org/?a=b=c?d/e"),
    ("/?q=ü", "https://example.org/?q=%C3%BC"),
    ("/?=x", "https://example.org/?=x"),
    # tracking and sessions
    ("/?utm_source=x", "https://example.org/"),
    ("/?UTM_Medium=x&id=1&utm_=&fbclid=2", "https://example.org/?id=1"),
    ("/?%75tm_source=x&ref=y&source=z", "https://example.org/"),
    ("/?referrer=x&utmost=y", "https://example.org/?referrer=x&utmost=y"),
    ("/?PHPSESSID=abc&id=1", "https://example.org/?id=1"),
    ("/?ASPSESSIONIDQQ=abc", "https://example.org/"),
    ("/a;jsessionid=12AB?x=1", "https://example.org/a?x=1"),
    ("/a;v=1;JSESSIONID=12AB;w=2", "https://example.org/a;v=1;w=2"),
    ("/a;sid=1;sid=2", "https://example.org/a"),
    ("/;jsessionid=1", "https://example.org/"),
    ("/a;jsessionid=1/b", "https://example.org/a;jsessionid=1/b"),
    ("/a/..;jsessionid=1", "https://example.org/a/..;jsessionid=1"),
    ("/a;", "https://example.org/a;"),
]


@pytest.mark.parametrize(("href", "expected"), ONE_SPELLING)
def test_one_spelling(href: str, expected: str) -> None:
    url = normalize(href, BASE, SPELLING)
    assert url is not None
    assert url.url == expected
    assert normalize(url.url, None, SPELLING) == url


NOT_OURS = [
    "javascript:void(0)", "mailto:a@example.org", "tel:123", "data:text/html,x", "ftp://example.org/", "file:///etc",
    "about:blank", "ws://example.org/", "java\nscript:alert(1)", "blob:https://example.org/1",
    "http://", "https://[::1", "https://a b/", "https://exa<mple.org/", "https://example.org:99999/", "http://./",
    "http://a../", "https://xn--/", "http://1.2.3.4.5/", "http://256.1.1.1/", "https://\ud800.org/", "\ud800",
    "https://example.org/" + "x" * MAX_HREF_CHARS, f"https://{'a.' * 126}ab/",
]  # fmt: skip


@pytest.mark.parametrize("href", NOT_OURS)
def test_what_is_no_web_url_is_none(href: str) -> None:
    assert normalize(href, BASE, SPELLING) is None


@pytest.mark.parametrize("base", ["", "not a url", "about:blank", "mailto:x", "\ud800"])
def test_a_useless_base_is_no_failure(base: str) -> None:
    assert normalize("x", base, SPELLING) is None
    assert normalize("x", None, SPELLING) is None


def test_parts() -> None:
    assert normalize("https://User@WWW.Example.org:8443/a/b?z=1&y=2#f", None, SPELLING) == WebUrl(
        url="https://www.example.org:8443/a/b?y=2&z=1",
        origin="https://www.example.org:8443",
        scheme="https",
        host="www.example.org",
        port=8443,
        path="/a/b",
        query="y=2&z=1",
    )
    v6 = normalize("http://[::1]/", None, SPELLING)
    assert v6 is not None
    assert (v6.origin, v6.host, v6.port) == ("http://[::1]", "[::1]", 80)


@pytest.mark.parametrize(
    ("href", "path"),
    [
        ("/", "/"), ("/a/", "/a"), ("/a", "/a"), ("https://example.org//", "/"), ("/a///", "/a"), ("/a/?x=1", "/a"),
        ("/a;sid=1/;sid=2/", "/a"), ("/a/;sid=1", "/a"), ("/..;sid=1/", "/..;sid=1"),
    ],
)  # fmt: skip
def test_trailing_slashes_go_when_asked(href: str, path: str) -> None:
    url = normalize(href, BASE, NO_SLASH)
    assert url is not None
    assert url.path == path
    assert normalize(url.url, None, NO_SLASH) == url


def test_a_long_fragment_does_not_make_a_long_url() -> None:
    url = normalize("/a#" + "x" * MAX_HREF_CHARS, BASE, SPELLING)
    assert url is not None
    assert url.url == "https://example.org/a"


def test_eight_kilobytes() -> None:
    url = normalize("/" + "a" * 4096 + "?" + "b=1&" * 1024, BASE, SPELLING)
    assert url is not None
    assert len(url.url) == len("https://example.org/?") + 4096 + 4 * 1024 - 1


def test_params_of_the_config() -> None:
    spelling = normalize_options(UrlsConfig(tracking_params=("Track*", "a[b]"), session_params=("s",)))
    url = normalize("/x;s=1?tracker=1&utm_source=2&a%5Bb%5D=3&S=4", BASE, spelling)
    assert url is not None
    assert url.url == "https://example.org/x?utm_source=2"


def test_base_of_links() -> None:
    assert split_base("https://u@example.org:8080/a/b?c/d#e/f") == (
        "https://example.org:8080",
        "https://example.org:8080/a/",
    )
    assert split_base("https://example.org") == ("https://example.org", "https://example.org/")
    assert split_base("nonsense") is None


@pytest.mark.parametrize("path", ["/", "/a", "/a/", "/a/b.html", "//a//b", "/a~b/c-d_e.f/g"])
def test_a_plain_base_is_taken_apart_as_the_parser_would(path: str) -> None:
    for origin in ("https://example.org", "http://127.0.0.1:8080"):
        assert split_base(origin + path) == split_base(f"{origin}{path}?x/y") != split_base(f"{origin}{path}/x/")


# ---- any input -----------------------------------------------------------------------------------------------

_PIECES = st.sampled_from(
    [
        "http:", "https:", "/", "//", "\\", "?", "#", "&", "=", ";", ".", "..", "%", "%2", "%2e", "%2F", "%25", "%41",
        "%c3%bc", "%5e", "^", "@", ":", ":80", ":443", "[", "]", "[::1]", "127.1", "0x7f", "example.org", "EXAMPLE",
        "xn--", "xn--bcher-kva", "ü", "例え", "ß", "\u200d", "\u3002", "\0", "\t", "\n", " ", "\ud800", "\U0001f600",
        "sid=1", ";jsessionid=A", "utm_source=x", "a=2", "a=1", "b", "+", "|", "'", '"', "<", "`", "{", "javascript:",
        "data:,", "file:", "~", "-", "_", "*", "C:", "C|",
    ]
)  # fmt: skip
_HREFS = st.one_of(
    st.text(st.characters(), max_size=60),
    st.lists(_PIECES, max_size=12).map("".join),
    st.lists(_PIECES, max_size=12).map(lambda pieces: "https://example.org/" + "".join(pieces)),
    st.lists(_PIECES, min_size=1, max_size=6).map(lambda pieces: "http://" + "".join(pieces)),
)


@pytest.mark.parametrize("spelling", [SPELLING, NO_SLASH], ids=["plain", "strip_trailing_slash"])
@given(href=_HREFS, has_base=st.booleans())
@settings(max_examples=400, deadline=None)
@example(href="http://0x7f.1../", has_base=False)
@example(href="/..;sid=1", has_base=True)
@example(href="/%%32e/", has_base=True)
def test_normalizing_twice_changes_nothing(spelling: NormalizeOptions, href: str, has_base: bool) -> None:
    url = normalize(href, BASE if has_base else None, spelling)
    if url is None:
        return
    assert normalize(url.url, None, spelling) == url
    assert normalize(url.url, "http://elsewhere.net/x", spelling) == url
    assert url.url.isascii()
    assert url.url.isprintable()
    assert url.url == url.origin + url.path + ("?" + url.query if url.query else "")
    assert url.path.startswith("/")
    assert "#" not in url.url
    assert "@" not in url.origin
    own_port = {"http": 80, "https": 443}[url.scheme]
    port = "" if url.port == own_port else f":{url.port}"
    assert url.origin == f"{url.scheme}://{url.host}{port}"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["1", "2", "", "ü"])), max_size=6))
@settings(max_examples=200, deadline=None)
def test_the_order_of_different_params_does_not_matter(pairs: list[tuple[str, str]]) -> None:
    """But the order among equal names does: they are kept in order."""
    orders = [[pair for name in names for pair in pairs if pair[0] == name] for names in ("abc", "cab")]
    one, other = ("/?" + "&".join("=".join(pair) for pair in order) for order in orders)
    assert normalize(one, BASE, SPELLING) == normalize(other, BASE, SPELLING)


def test_every_escape_has_one_spelling() -> None:
    unreserved = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    digits = "0123456789ABCDEFabcdef"
    for pair in (high + low for high in digits for low in digits):
        char = chr(int(pair, 16))
        url = normalize(f"https://example.org/a?b=%{pair}c", None, SPELLING)
        assert url is not None
        assert url.query == f"b={char if char in unreserved else f'%{pair.upper()}'}c"


def test_long_names_of_parameters_are_not_remembered() -> None:
    before = normalize_module._is_dropped.cache_info().currsize
    for number in range(100):
        assert normalize(f"https://example.org/?{'a' * 5000}{number}=1&utm_source=x", None, SPELLING) is not None
    assert normalize_module._is_dropped.cache_info().currsize == before
