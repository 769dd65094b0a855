"""What shows that a host is a news site or a blog, and what does not."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from tenax.discovery.guess_budget import (
    MAX_DATED_PATHS,
    PageSigns,
    add_page_signs,
    guess_verdict,
    is_news_site,
    news_signs,
)
from tenax.model import GuessState, GuessStats, SiteSigns


def seen(pages: Iterable[PageSigns], **more: object) -> GuessState:
    signs, count = SiteSigns(), 0
    for page in pages:
        signs, count = add_page_signs(signs, page), count + 1
    return msgspec.structs.replace(GuessState(requests=count, signs=signs), **more)


def articles(count: int, published: str | None = None, relative_url: str = "/a-{}") -> list[PageSigns]:
    return [PageSigns(relative_url.format(number), is_article=True, published=published) for number in range(count)]


PAGES = [PageSigns("/"), *(PageSigns(f"/product-{number}") for number in range(30))]


@pytest.mark.parametrize(
    ("guess_state", "signs"),
    [
        (seen(articles(3, "2026-02-11")), ("articles with dates",)),
        (seen([*PAGES, *articles(3, "2026-02-11T08:00:00+00:00")]), ("articles with dates",)),
        (seen(articles(3, relative_url="/2025/12/a-story-{}")), ("dates in the paths of pages",)),
        (seen(articles(3, relative_url="/blog/2025/a-story-{}/")), ("dates in the paths of pages",)),
        (seen([PageSigns("/", has_feed=True), *articles(5)]), ("a feed", "mostly articles")),
        (seen([PageSigns("/", has_feed=True)], sections={"Blog": 1}), ("a feed", "a section for news")),
        (
            seen(PAGES, sections={"aktuelles": 1}, styles={"linked ?page={n}": GuessStats(worked=1)}),
            ("a section for news", "lists with page numbers"),
        ),
    ],
)
def test_news_sites_and_blogs(guess_state: GuessState, signs: tuple[str, ...]) -> None:
    assert news_signs(guess_state) == signs
    assert is_news_site(guess_state)


@pytest.mark.parametrize(
    ("guess_state", "signs"),
    [
        (seen([]), ()),
        (seen(PAGES), ()),
        (seen(articles(2, "2026-02-11")), ()),
        (seen(articles(9)), ("mostly articles",)),
        (seen([*PAGES, *articles(9)]), ()),
        (seen([PageSigns("/", has_feed=True), *PAGES]), ("a feed",)),
        (seen(PAGES, styles={"linked ?page={n}": GuessStats(worked=4)}), ("lists with page numbers",)),
        (seen(PAGES, styles={"blank ?page={n}": GuessStats(worked=4)}), ()),
        (seen([PageSigns(f"/2025/{month:02}/") for month in range(1, 13)]), ()),
        (seen([PageSigns(f"/v{number}/2.0/docs") for number in range(9)]), ()),
    ],
    ids=[
        *("nothing", "products", "two dates", "undated articles", "some articles", "a feed", "page numbers"),
        *("guessed numbers", "a calendar", "versions"),
    ],
)
def test_other_sites(guess_state: GuessState, signs: tuple[str, ...]) -> None:
    assert news_signs(guess_state) == signs
    assert not is_news_site(guess_state)


def test_the_newest_page_is_known_by_its_date_or_its_path() -> None:
    assert seen([PageSigns("/x", published="2024-03-01"), PageSigns("/y", published="2023-01-01")]).signs.newest == (
        2024 * 12 + 2
    )
    assert seen(articles(1, relative_url="/2025/12/a-story")).signs.newest == 2025 * 12 + 11
    assert seen([PageSigns("/x", published="soon")]).signs.newest == 0


def test_few_patterns_of_dated_paths_are_kept() -> None:
    pages = [PageSigns(f"/{'abcdefgh'[number]}/2025/12/a-story") for number in range(8)]
    assert len(seen(pages * 9).signs.dated_paths) == MAX_DATED_PATHS


NEWS, SHOP = seen(articles(3, "2026-02-11")), seen(PAGES)


@pytest.mark.parametrize(
    ("guess_state", "setting", "rate", "verdict"),
    [
        (NEWS, "auto", 1.0, "news"),
        (SHOP, "auto", 1.0, "no_signs"),
        (NEWS, "auto", 0.0, "own_site"),
        (SHOP, "always", 0.0, "asked"),
        (NEWS, "never", 1.0, "never"),
        (GuessState(requests=100, verdict="news"), "auto", 1.0, "news"),
    ],
)
def test_whether_guesses_are_made(guess_state: GuessState, setting: str, rate: float, verdict: str) -> None:
    assert guess_verdict(guess_state, setting, rate) == verdict
