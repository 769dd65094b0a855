"""The site says the same thing every time, and what it says about its pages is what a crawler finds."""

from __future__ import annotations

import asyncio
import re

import pytest

from tenax.demo import BehaviourSet, Request, Site
from tenax.demo.behaviours import host_behaviours
from tenax.demo.host_site import build_host_site, page_paths
from tenax.demo.server import expected_pages, respond, serve
from tenax.errors import UsageError
from tests.demo.reference import crawl

ORIGINS = tuple(f"http://127.0.0.{number}:8000" for number in range(1, 8))


def bodies(site: Site, index: int) -> dict[str, bytes]:
    return {path: respond(site, index, Request(path), ORIGINS).body for path in page_paths(site, index)}


def test_the_same_site_is_the_same_to_the_byte() -> None:
    first = bodies(Site(hosts=2, pages_per_host=30), 1)
    build_host_site.cache_clear()
    assert bodies(Site(hosts=2, pages_per_host=30), 1) == first


def test_another_seed_is_another_county() -> None:
    assert bodies(Site(seed=1), 0)["/"] != bodies(Site(seed=2), 0)["/"]


@pytest.mark.parametrize("behaviours", ["none", "quick"])
@pytest.mark.parametrize("hosts", [1, 3, 7])
async def test_a_crawl_finds_what_is_expected_each_page_once(hosts: int, behaviours: BehaviourSet) -> None:
    site = Site(hosts=hosts, pages_per_host=30, behaviours=behaviours)
    async with serve(site) as origins:
        stored = await asyncio.to_thread(crawl, origins)
    assert stored.keys() == expected_pages(site, origins)
    assert set(stored.values()) == {1}


def test_all_manners_add_only_the_slow_page_to_the_quick_ones() -> None:
    more = expected_pages(Site(behaviours="all"), ORIGINS) - expected_pages(Site(behaviours="quick"), ORIGINS)
    assert more == {"http://127.0.0.1:8000/patience"}


@pytest.mark.parametrize("index", range(6))
def test_pages_are_of_a_believable_size_with_believable_links(index: int) -> None:
    for path, body in bodies(Site(), index).items():
        assert 4_000 < len(body) < 20_000, path
        assert 20 <= body.count(b"<a ") <= 100, path


@pytest.mark.parametrize(
    ("index", "charset", "content_type", "sample"),
    [
        (0, "utf-8", "text/html; charset=utf-8", "the"),
        (1, "utf-8", "text/html; charset=utf-8", "é"),
        (2, "windows-1252", "text/html; charset=windows-1252", "ü"),
        (3, "shift_jis", "text/html", "観測"),
        (4, "utf-8", "text/html", "the"),
        (5, "windows-1251", "text/html", "совет"),
    ],
)
def test_hosts_speak_their_language_in_their_charset(index: int, charset: str, content_type: str, sample: str) -> None:
    answer = respond(Site(), index, Request("/about"), ORIGINS)
    text = answer.body.decode(charset)
    assert answer.content_type == content_type
    assert sample in text
    assert (f'<meta charset="{charset}">' in text) == (index in (4, 5))
    assert "&#" not in re.sub(r"<footer>.*", "", text, flags=re.DOTALL).replace("&#x27;", "")


def test_an_article_says_what_it_is() -> None:
    article = build_host_site(Site(), 0).articles[0]
    text = respond(Site(), 0, Request(article.path), ORIGINS).body.decode()
    for sign in ('"@type": "NewsArticle"', 'rel="canonical"', 'property="og:title"', 'name="description"'):
        assert sign in text
    assert article.day in text
    assert article.author in text


def test_no_page_is_further_than_three_links_from_its_front_page() -> None:
    """Depth limits and the order of visits must not decide what a crawl finds."""
    site = Site(hosts=1, pages_per_host=400, behaviours="quick")
    depth, layer = {"/": 0}, ["/"]
    while layer:
        found = []
        for path in layer:
            hrefs = re.findall(r'<a href="(/[^"#]*)"', respond(site, 0, Request(path), ORIGINS).body.decode())
            new = [href for href in dict.fromkeys(hrefs) if href not in depth and href in page_paths(site, 0)]
            depth |= dict.fromkeys(new, depth[path] + 1)
            found += new
        layer = found
    assert depth.keys() == page_paths(site, 0)
    assert max(depth.values()) <= 3


@pytest.mark.parametrize(("hosts", "pages"), [(0, 64), (251, 64), (6, 5)])
def test_an_impossible_site_is_refused(hosts: int, pages: int) -> None:
    with pytest.raises(UsageError):
        Site(hosts, pages)


def test_every_manner_has_a_home_even_on_one_host() -> None:
    everywhere = {name for index in range(6) for name in host_behaviours(Site(), index)}
    assert everywhere == set(host_behaviours(Site(hosts=1), 0))
