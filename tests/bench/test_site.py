"""The site that everyone crawls is what the benchmark says it is."""

from __future__ import annotations

import statistics

from bench import site

PAGES = 5000
PATHS = [site.path_of(number) for number in range(PAGES)]


def test_every_page_has_a_path_of_its_own() -> None:
    assert len(set(PATHS)) == PAGES


def test_every_page_is_within_ten_steps_of_the_front_page() -> None:
    depth, edge = {0: 0}, [0]
    while edge:
        number = edge.pop(0)
        for target in site.article(number, PAGES).links:
            if target not in depth:
                depth[target] = depth[number] + 1
                edge.append(target)
    assert len(depth) == PAGES
    assert max(depth.values()) <= 10


def test_a_page_is_about_thirty_kilobytes_with_fifty_links_and_twelve_of_text() -> None:
    sample = [site.article(number, PAGES) for number in range(0, PAGES, 250)]
    pages = [site.render(article, PATHS) for article in sample]
    assert 28_000 < statistics.mean(len(page) for page in pages) < 32_000
    assert all(page.count("<a ") == site.LINKS_A_PAGE for page in pages)
    assert 10_500 < statistics.mean(len(" ".join(article.paragraphs)) for article in sample) < 13_000


def test_the_same_bytes_every_time() -> None:
    assert site.render(site.article(7, PAGES), PATHS) == site.render(site.article(7, PAGES), PATHS)
