from __future__ import annotations

import msgspec
import pytest

from tenax.config import ScopeName, UrlsConfig
from tenax.urls.normalize import WebUrl, normalize, normalize_options
from tenax.urls.scope import Scope, build_scope, is_in_scope, registered_domain, site_key, widen_scope


def web(text: str) -> WebUrl:
    url = normalize(text, None, normalize_options(UrlsConfig()))
    assert url is not None
    return url


@pytest.mark.parametrize(
    ("name", "seed", "url", "is_inside"),
    [
        ("host", "https://example.org/a", "https://example.org/b", True),
        ("host", "https://example.org/a", "http://example.org/b", True),
        ("host", "https://example.org/", "https://www.example.org/", True),
        ("host", "https://www.example.org/", "http://example.org/", True),
        ("host", "https://example.org/", "https://example.org:8443/", False),
        ("host", "http://example.org:8080/", "http://www.example.org:8080/", True),
        ("host", "http://example.org:8080/", "http://example.org/", False),
        ("host", "https://example.org/", "http://example.org:443/", False),
        ("host", "https://example.org/", "https://news.example.org/", False),
        ("host", "https://example.org/", "https://example.org.evil.net/", False),
        ("host", "https://example.org/", "https://notexample.org/", False),
        ("host", "https://www.com/", "https://com/", False),
        ("host", "http://127.0.0.1:8000/", "http://127.0.0.1:8001/", False),
        ("host", "http://[::1]:8000/", "http://[::1]:8000/x", True),
        ("domain", "https://www.bbc.co.uk/", "https://news.bbc.co.uk/", True),
        ("domain", "https://www.bbc.co.uk/", "https://other.co.uk/", False),
        ("domain", "https://a.github.io/", "https://b.github.io/", False),
        ("domain", "https://example.org/", "http://deep.down.example.org:8080/", True),
        ("domain", "http://10.0.0.1/", "http://10.1.0.1/", False),
        ("domain", "http://localhost:1/", "http://localhost:2/", True),
        ("prefix", "https://example.org/docs/", "https://www.example.org/docs/a/b", True),
        ("prefix", "https://example.org/docs/", "https://example.org/docs", True),
        ("prefix", "https://example.org/docs", "https://example.org/docs/a", True),
        ("prefix", "https://example.org/docs", "https://example.org/docs?x=1", True),
        ("prefix", "https://example.org/docs", "https://example.org/docs-old/a", False),
        ("prefix", "https://example.org/docs/", "https://example.org/", False),
        ("prefix", "https://example.org/docs/intro.html", "https://example.org/docs/a", True),
        ("prefix", "https://example.org/docs/intro.html", "https://example.org/docs/intro.html", True),
        ("prefix", "https://example.org/docs/intro.html", "https://example.org/x", False),
        ("prefix", "https://example.org/docs/v1.2", "https://example.org/docs/v1.3", False),
        ("prefix", "https://example.org/", "https://example.org/x/y", True),
        ("prefix", "https://example.org/", "https://example.net/x/y", False),
        ("prefix", "https://example.org/docs/", "https://example.org:8080/docs/", False),
        ("any", "https://example.org/", "http://example.net:8080/x", True),
    ],
)
def test_in_scope(name: ScopeName, seed: str, url: str, is_inside: bool) -> None:
    scope = build_scope([web(seed)], name)
    assert is_in_scope(scope, web(url)) is is_inside
    assert is_in_scope(scope, web(seed))


@pytest.mark.parametrize("name", ["host", "domain", "prefix", "any"])
def test_widen_lets_a_redirected_seed_in(name: ScopeName) -> None:
    scope = build_scope([web("https://old.org/a/"), web("https://second.org/")], name)
    wider = widen_scope(scope, web("https://new.net/b/"))
    for inside in ("https://old.org/a/x", "https://second.org/y", "https://new.net/b/x"):
        assert is_in_scope(wider, web(inside))
    assert is_in_scope(wider, web("https://other.com/")) is (name == "any")
    assert widen_scope(wider, web("https://new.net/b/")) == wider


def test_a_scope_is_kept_as_json() -> None:
    scope = build_scope([web("https://a.org/x/"), web("https://b.org/y/")], "prefix")
    assert msgspec.json.decode(msgspec.json.encode(scope), type=Scope) == scope


def test_no_seeds_no_scope() -> None:
    assert not is_in_scope(build_scope([], "host"), web("https://example.org/"))


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.org", "example.org"),
        ("a.b.example.org", "example.org"),
        ("www.bbc.co.uk", "bbc.co.uk"),
        ("co.uk", "co.uk"),
        ("user.github.io", "user.github.io"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("a.xn--j1ail.xn--p1ai", "xn--j1ail.xn--p1ai"),
        ("build.corp.internal", "corp.internal"),
        ("localhost", "localhost"),
        ("intranet", "intranet"),
        ("127.0.0.1", "127.0.0.1"),
        ("[2001:db8::1]", "[2001:db8::1]"),
    ],
)
def test_registered_domain(host: str, domain: str) -> None:
    assert registered_domain(host) == domain


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://www.example.org/", "example.org"),
        ("http://www.example.org:8080/", "example.org:8080"),
        ("https://www.com/", "www.com"),
        ("https://www2.example.org/", "www2.example.org"),
    ],
)
def test_site_of(url: str, site: str) -> None:
    assert site_key(web(url)) == site
