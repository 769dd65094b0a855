from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.config import UrlsConfig
from tenax.fetch.answer import RedirectTarget, SameUrl, Stop, next_hop
from tenax.model import Hop
from tenax.urls.normalize import MAX_HREF_CHARS, normalize_options

SPELLING = normalize_options(UrlsConfig())
TASK = "https://example.org/a/b"


def hop(location: str | None, chain: tuple[Hop, ...] = (), asked: tuple[str, ...] = (TASK,), limit: int = 5) -> object:
    return next_hop(tuple(Hop(url, 301) for url in asked), chain, location, limit, SPELLING)


@pytest.mark.parametrize(
    ("location", "url", "origin"),
    [
        ("/c", "https://example.org/c", "https://example.org"),
        ("c?x=1#part", "https://example.org/a/c?x=1", "https://example.org"),
        ("//other.example/", "https://other.example/", "https://other.example"),
        ("http://example.org/a/b", "http://example.org/a/b", "http://example.org"),
        ("https://example.org:8443/a/b", "https://example.org:8443/a/b", "https://example.org:8443"),
        ("HTTPS://Other.Example/a/../b", "https://other.example/b", "https://other.example"),
        ("/caf\udce9", "https://example.org/caf%E9", "https://example.org"),
        ("/café", "https://example.org/caf%C3%A9", "https://example.org"),
        ("\\\\other.example\\c", "https://other.example/c", "https://other.example"),
    ],
)
def test_a_target_becomes_a_task_of_its_own(location: str, url: str, origin: str) -> None:
    assert hop(location) == RedirectTarget(url, origin, (Hop(TASK, 301),))


def test_another_spelling_is_requested_at_once() -> None:
    spelled = "https://example.org/a/b?utm_source=x"
    assert hop("/a/b?utm_source=x#part") == SameUrl(spelled)
    before = (Hop("https://example.org/old", 302),)
    assert hop("/c", chain=before, asked=(TASK, spelled)) == RedirectTarget(
        "https://example.org/c", "https://example.org", (*before, Hop(TASK, 301), Hop(spelled, 301))
    )


def test_credentials_are_left_behind() -> None:
    assert hop("https://me:secret@other.example/") == hop("https://other.example/")
    assert hop("https://me@example.org/a/b") == Stop("redirect loop", TASK)


@pytest.mark.parametrize(
    "location",
    ["file:///etc/passwd", "data:text/html,hi", "ftp://example.org/", "javascript:alert(1)", "http://", "http://a b/"],
)
def test_where_no_crawler_goes(location: str) -> None:
    assert hop(location) == Stop("redirect to something that is no http or https URL")


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("http://bbc.co.uk/x", "https://bbc.co.uk/x"),
        ("http://www.bbc.co.uk/x", "https://www.bbc.co.uk/x"),
        ("http://notbbc.co.uk/x", "http://notbbc.co.uk/x"),
        ("http://bbc.co.uk:8080/x", "http://bbc.co.uk:8080/x"),
        ("http://other.example/x", "http://other.example/x"),
    ],
)
def test_https_is_forced_where_it_is_configured(location: str, url: str) -> None:
    found = next_hop((Hop(TASK, 301),), (), location, 5, SPELLING, ("BBC.co.uk",))
    assert isinstance(found, RedirectTarget)
    assert found.url == url


def test_a_target_too_long_for_any_crawl_is_none() -> None:
    assert isinstance(hop("/" + "a" * (MAX_HREF_CHARS - 1)), Stop)  # with its host it is longer than that
    assert hop("/../" * MAX_HREF_CHARS) == Stop("redirect to a URL of more than 65,536 characters")


@pytest.mark.parametrize("location", [None, ""])
def test_no_target(location: str | None) -> None:
    assert hop(location) == Stop("redirect without a target")


def test_loops() -> None:
    spelled = f"{TASK}?utm_source=x"
    assert hop(TASK) == Stop("redirect loop", TASK), "to itself: it waits for a cookie"
    assert hop("#top") == Stop("redirect loop", TASK)
    assert hop(spelled, asked=(TASK, spelled)) == Stop("redirect loop", TASK)
    assert hop(TASK, asked=(TASK, spelled)) == Stop("redirect loop", TASK)
    before = (Hop("https://example.org/x", 302),)
    assert hop("/x", chain=before) == Stop("redirect loop", "https://example.org/x")


def test_the_limit_counts_every_hop() -> None:
    chain = tuple(Hop(f"https://example.org/{number}", 302) for number in range(4))
    assert isinstance(hop("/next", chain=chain), RedirectTarget)
    assert hop("/next", chain=(*chain, Hop("https://example.org/4", 302))) == Stop(
        "more than 5 redirects", "https://example.org/next"
    )
    assert isinstance(hop("/next", chain=chain, asked=(TASK, f"{TASK}?utm_source=x")), Stop)
    assert isinstance(hop("/next", limit=0), Stop)


@given(st.text(max_size=200))
def test_any_location_has_an_answer(location: str) -> None:
    assert isinstance(hop(location), (RedirectTarget, SameUrl, Stop))
