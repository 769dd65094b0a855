from __future__ import annotations

import pytest

from tenax.config import UrlsConfig
from tenax.model import Priority
from tenax.urls.classify import priority_of
from tenax.urls.normalize import normalize, spelling_of

HIGH, MEDIUM, LOW = Priority.HIGH, Priority.MEDIUM, Priority.LOW


def priority(path: str, depth: int, is_seed: bool = False) -> Priority:
    url = normalize(path, "https://example.org/", spelling_of(UrlsConfig()))
    assert url is not None
    return priority_of(url, depth, is_seed)


@pytest.mark.parametrize(
    ("path", "depth", "expected"),
    [
        ("/", 0, HIGH), ("/", 9, HIGH), ("/index.html", 9, HIGH), ("https://other.org/", 7, HIGH),
        ("/a", 1, HIGH), ("/a/b/c", 2, HIGH), ("/a", 3, MEDIUM), ("/a", 5, MEDIUM), ("/a", 6, LOW), ("/a", 30, LOW),
        ("/blog/a-post", 4, MEDIUM), ("/2026/05/12/a-post", 4, MEDIUM), ("/?p=123", 4, MEDIUM), ("/p/abc", 4, MEDIUM),
        ("/about", 4, MEDIUM), ("/about/", 9, MEDIUM), ("/en/contact-us.html", 9, MEDIUM), ("/Impressum", 8, MEDIUM),
        ("/about", 1, HIGH), ("/about-the-war", 9, LOW), ("/contacts/12", 9, LOW),
        ("/news?page=2", 1, LOW), ("/news?a=1&Page=2", 1, LOW), ("/news?paged=3", 4, LOW), ("/news?offset=40", 1, LOW),
        ("/news?start=40", 1, LOW), ("/news?start=2026-01-01", 1, HIGH), ("/news?cursor=abc", 1, LOW),
        ("/news?homepage=2", 1, HIGH), ("/news?page=about", 1, HIGH), ("/?page=2", 1, LOW),
        ("/news/page/2", 1, LOW), ("/news/page/2/", 4, LOW), ("/news/page-3.html", 1, LOW), ("/page2", 1, LOW),
        ("/page/about", 1, HIGH), ("/homepage/2", 1, HIGH), ("/pages/2", 1, HIGH),
        ("/archive", 1, LOW), ("/archives/2009/x", 1, LOW), ("/Tag/python", 1, LOW), ("/tags/", 1, LOW),
        ("/archived-news", 1, HIGH), ("/tagesschau", 1, HIGH), ("/stage/", 1, HIGH),
        ("/2019/", 1, LOW), ("/2019/05", 1, LOW), ("/2019/05/12/", 1, LOW), ("/blog/2019/05/", 1, LOW),
        ("/2019/13/", 1, HIGH), ("/2019/05/12/a", 1, HIGH), ("/3019/", 1, HIGH),
    ],
)  # fmt: skip
def test_priority_of(path: str, depth: int, expected: Priority) -> None:
    assert priority(path, depth) is expected


def test_a_seed_is_high_whatever_it_looks_like() -> None:
    assert priority("/archive?page=2", 0, is_seed=True) is HIGH
    assert priority("/archive?page=2", 9, is_seed=True) is HIGH
