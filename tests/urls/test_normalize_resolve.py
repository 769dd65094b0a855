"""The base of links, and how many of them are resolved."""

from __future__ import annotations

import pytest

from tenax.urls.normalize import MAX_RESOLVED_CHARS, count_resolvable, make_link_resolver, resolve_base

PAGE = "https://example.org/a/page"
LONG = "https://example.org/" + "b" * 1980


@pytest.mark.parametrize(
    ("base_href", "base"),
    [
        (None, PAGE),
        ("/c/", "https://example.org/c/"),
        ("mailto:a@b.test", PAGE),
        (LONG, LONG),
        (LONG + "b" * 100, PAGE),  # no link below it could be followed
        ("b" * 60_000, PAGE),
    ],
)
def test_the_base_of_a_page(base_href: str | None, base: str) -> None:
    assert resolve_base(base_href, PAGE) == base


def test_how_long_a_base_may_be_is_up_to_who_asks() -> None:
    assert resolve_base("/" + "b" * 5000 + "/", PAGE, 6000).endswith("b/")


def test_relative_links_are_resolved_until_they_come_to_too_much() -> None:
    resolve = make_link_resolver(LONG)
    found = [resolve("x") for _ in range(10_000)]
    count = found.index("x")
    assert set(found[:count]) == {"https://example.org/x"}
    assert set(found[count:]) == {"x"}
    assert count == MAX_RESOLVED_CHARS // (len(LONG) + 1) + 1


def test_what_leads_nowhere_stays_as_it_is() -> None:
    assert make_link_resolver(PAGE)("mailto:a@b.test") == "mailto:a@b.test"
    assert make_link_resolver(PAGE)("b?x=1#part") == "https://example.org/a/b?x=1"


@pytest.mark.parametrize(
    ("href", "base", "count"),
    [
        ("x", PAGE, 50_000),
        ("x", f"{PAGE}?{'q' * 2000}", 50_000),  # the query of a base is in no link
        ("x", f"{LONG}/", MAX_RESOLVED_CHARS // (len(LONG) + 2)),
        ("https://example.org/x", f"{LONG}/", 50_000),
    ],
)
def test_how_many_links_can_be_resolved(href: str, base: str, count: int) -> None:
    assert count_resolvable([href] * 50_000, base) == count
