from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.discovery.archives import (
    EARLIEST_YEAR,
    MANY_SUCCESSES,
    MAX_RULES,
    NO_PAGE,
    RETRY_AFTER_SECONDS,
    DatedUrl,
    archive_pattern,
    archives_to_try,
    date_pattern,
    earliest_linked_periods,
    fill_pattern,
    is_first_year,
    is_usual_path,
    is_worth_trying,
    month_pattern,
    next_period,
    parse_dated_url,
    record_archive_result,
    rule_to_guess,
    should_try_archives,
    store_archive_rule,
)
from tenax.discovery.guess_budget import MIN_DATED_PAGES
from tenax.model import ArchiveRule, GuessState, SiteSigns

HOST = "https://example.org"
NOW = datetime(2026, 3, 9, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("relative_url", "pattern", "period"),
    [
        ("/2025/", "/{yyyy}/", 2025),
        ("/2025", "/{yyyy}", 2025),
        ("/news/2025/", "/news/{yyyy}/", 2025),
        ("/blog/2024/11/", "/blog/{yyyy}/{mm}/", 2024 * 12 + 10),
        ("/blog/2024/3", "/blog/{yyyy}/{m}", 2024 * 12 + 2),
        ("/archive/2024-05/", "/archive/{yyyy}-{mm}/", 2024 * 12 + 4),
        ("/archives/202405.html", "/archives/{yyyy}{mm}.html", 2024 * 12 + 4),
        ("/2003/09/index.html", "/{yyyy}/{mm}/index.html", 2003 * 12 + 8),
        ("/en/news/archive/1998/", "/en/news/archive/{yyyy}/", 1998),
        ("/%D0%B0%D1%80%D1%85%D0%B8%D0%B2/2020/", "/%D0%B0%D1%80%D1%85%D0%B8%D0%B2/{yyyy}/", 2020),
    ],
)
def test_lists_of_a_date(relative_url: str, pattern: str, period: int) -> None:
    assert parse_dated_url(HOST + relative_url) == DatedUrl(pattern, period)
    assert date_pattern(HOST + relative_url) == pattern
    assert fill_pattern(pattern, period) == relative_url


@pytest.mark.parametrize(
    "relative_url",
    [
        "/",
        "/2025/12/24/",  # a day
        "/2025/12/a-story",
        "/2025/13/",
        "/20255/",
        "/1234/",
        "/article/4711",
        "/2025/?page=2",
        "/issue-7/2024/",
        "/calendar/2025/12/",
        "/events/2025/",
        "/de/termine/2025/12",
        "/a/b/c/d/2025/",
        f"/{'a' * 130}/2025/",
    ],
)
def test_what_is_no_list_of_a_date(relative_url: str) -> None:
    assert date_pattern(HOST + relative_url) is None


def test_the_earliest_of_each_pattern_is_found_among_links() -> None:
    links = [f"{HOST}/blog/{month}" for month in ("2024/12/", "2024/9/", "2024/10/", "2025/1/")]
    assert earliest_linked_periods([*links, f"{HOST}/2020/", f"{HOST}/2019/", f"{HOST}/x"]) == {
        "/blog/{yyyy}/{m}/": 2024 * 12 + 8,
        "/{yyyy}/": 2019,
    }


def test_a_month_of_two_digits_is_known_by_its_rule() -> None:
    unpadded = {"/blog/{yyyy}/{m}/": ArchiveRule()}
    assert archive_pattern(f"{HOST}/blog/2024/11/", unpadded) == ("/blog/{yyyy}/{m}/", 2024 * 12 + 10)
    assert archive_pattern(f"{HOST}/blog/2024/11/", {}) == ("/blog/{yyyy}/{mm}/", 2024 * 12 + 10)
    assert archive_pattern(f"{HOST}/archive", {}) == ("/archive", None)


@pytest.mark.parametrize(
    ("pattern", "reached", "relative_url"),
    [
        ("/{yyyy}/", None, "/2026/"),
        ("/{yyyy}/", 2020, "/2019/"),
        ("/{yyyy}/", 2031, "/2026/"),
        ("/{yyyy}/{mm}/", None, "/2026/02/"),
        ("/{yyyy}/{mm}/", 2026 * 12, "/2025/12/"),
        ("/{yyyy}/{m}/", 2024 * 12 + 10, "/2024/10/"),
    ],
)
def test_time_goes_back_from_the_last_whole_month(pattern: str, reached: int | None, relative_url: str) -> None:
    assert fill_pattern(pattern, next_period(pattern, ArchiveRule(earliest_period=reached), NOW)) == relative_url


def test_a_new_year_begins_with_the_old_one() -> None:
    january = datetime(2026, 1, 2, tzinfo=UTC).timestamp()
    assert next_period("/{yyyy}/", None, january) == 2025
    assert next_period("/{yyyy}/{mm}/", None, january) == 2025 * 12 + 11


def test_time_has_a_beginning() -> None:
    assert next_period("/{yyyy}/", ArchiveRule(earliest_period=1995), NOW) is None
    assert next_period("/{yyyy}/{mm}/", ArchiveRule(earliest_period=1995 * 12), NOW) is None
    assert next_period("/archive", None, NOW) is None


def test_archives_are_looked_for_when_little_waits_or_once_a_day() -> None:
    guess_state = GuessState(archives_at=NOW)
    assert should_try_archives(guess_state, NOW, 9, 10, 86_400), "little waits"
    assert not should_try_archives(guess_state, NOW, 10, 10, 86_400)
    assert not should_try_archives(guess_state, NOW + 86_399, None, 10, 86_400), "nobody counted"
    assert should_try_archives(guess_state, NOW + 86_400, 10, 10, 86_400), "much waits, but a day is over"
    assert should_try_archives(guess_state, NOW + 86_400, None, 10, 86_400)


def test_an_unknown_host_gets_common_patterns() -> None:
    usual = ("/archive", "/{yyyy}/", "/{yyyy}/{mm}/", "/news/{yyyy}/", "/archives")
    assert archives_to_try(GuessState(), NOW, 99, with_further=False) == usual
    assert archives_to_try(GuessState(), NOW, 99)[:6] == (*usual, "/sitemap")


def test_years_and_months_of_a_news_section_are_tried() -> None:
    guess_state = GuessState(sections={"presse": 2, "sport": 9})
    usual = ("/presse/{yyyy}/{mm}/", "/archive", "/{yyyy}/", "/presse/{yyyy}/", "/{yyyy}/{mm}/")
    assert archives_to_try(guess_state, NOW, 5) == usual, "by its months first: a year of news is too much for a page"


def test_sections_seen_often_come_before_rare_ones() -> None:
    guess_state = GuessState(sections={"blog": 2, "sport": 9})
    assert archives_to_try(guess_state, NOW, 99)[7:9] == ("/sport/{yyyy}/", "/sport/archive")


def test_dates_in_the_paths_of_pages_come_first() -> None:
    guess_state = GuessState(signs=SiteSigns(dated_paths={"/blog/{yyyy}/{mm}/": MIN_DATED_PAGES, "/{yyyy}/": 1}))
    assert archives_to_try(guess_state, NOW, 3) == ("/blog/{yyyy}/{mm}/", "/blog/{yyyy}/", "/archive")


def test_where_another_pattern_works_no_other_dates_are_tried() -> None:
    guess_state = GuessState(
        archives={"/blog/{yyyy}/{mm}/": ArchiveRule("valid", worked=1, earliest_period=EARLIEST_YEAR * 12)}
    )
    for with_further in (False, True):
        assert archives_to_try(guess_state, NOW, 99, with_further) == ("/blog/{yyyy}/{mm}/",)


def test_the_year_before_is_tried_where_nothing_is_at_this_one() -> None:
    missed = record_archive_result(ArchiveRule(guessed_period=2026, earliest_period=2026), "no such page", NOW)
    guess_state = GuessState(archives={"/{yyyy}/": missed})
    assert "/{yyyy}/" in archives_to_try(guess_state, NOW, 99, with_further=False)
    again = rule_to_guess("/{yyyy}/", missed, NOW)
    assert next_period("/{yyyy}/", again, NOW) == 2025
    twice = record_archive_result(
        msgspec.structs.replace(missed, guessed_period=2025, earliest_period=2025), "no such page", NOW
    )
    assert "/{yyyy}/" not in archives_to_try(GuessState(archives={"/{yyyy}/": twice}), NOW, 99)
    assert rule_to_guess("/{yyyy}/", twice, NOW) is None


def test_what_worked_comes_first_and_what_failed_is_left_alone() -> None:
    rules = {
        "/archive": ArchiveRule("invalid", at=NOW - 5),
        "/archives": ArchiveRule("invalid", at=NOW - RETRY_AFTER_SECONDS),
        "/sitemap": ArchiveRule("valid", worked=1),
        "/blog/{yyyy}/{mm}/": ArchiveRule("valid", worked=3, earliest_period=24_000),
        "/{yyyy}/": ArchiveRule("tried", guessed_period=2026, at=NOW - 5),
    }
    assert archives_to_try(GuessState(archives=rules), NOW, 99) == ("/blog/{yyyy}/{mm}/",)
    del rules["/blog/{yyyy}/{mm}/"]
    tried = archives_to_try(GuessState(archives=rules), NOW, 99)
    assert tried[:2] == ("/{yyyy}/{mm}/", "/archives")
    assert not {"/archive", "/sitemap", "/{yyyy}/"} & set(tried)


@pytest.mark.parametrize(
    ("newest", "is_large", "has_sitemap", "is_tried"),
    [
        (2026 * 12 + 1, False, True, False),
        (2026 * 12 + 1, False, False, True),
        (2026 * 12 + 1, True, True, True),
        (2025 * 12 + 11, False, True, True),
    ],
    ids=["this year has pages", "no sitemap", "a large site", "this year has none"],
)
def test_on_a_small_site_with_a_sitemap_last_year_is_tried_only_if_this_year_is_empty(
    newest: int, is_large: bool, has_sitemap: bool, is_tried: bool
) -> None:
    missed = record_archive_result(ArchiveRule(guessed_period=2026, earliest_period=2026), "no such page", NOW)
    guess_state = GuessState(archives={"/{yyyy}/": missed}, signs=SiteSigns(newest=newest, has_sitemap=has_sitemap))
    assert ("/{yyyy}/" in archives_to_try(guess_state, NOW, 99, with_further=is_large)) is is_tried


def test_years_end_at_the_first_that_is_not_there_and_months_at_the_second() -> None:
    worked = ArchiveRule("valid", worked=3, earliest_period=2020)
    assert record_archive_result(worked, "no such page", NOW, is_year=True).state == "invalid"
    assert record_archive_result(worked, "nothing new", NOW, is_year=True).state == "valid"
    assert record_archive_result(worked, "no such page", NOW).state == "valid"


def test_a_month_that_shows_nothing_new_is_followed_by_one_more() -> None:
    rule = ArchiveRule("tried", earliest_period=24_300, guessed_period=24_300)
    barren = record_archive_result(rule, "nothing new", NOW)
    assert (barren.state, barren.worked) == ("valid", 0)
    assert next_period("/{yyyy}/{mm}/", rule_to_guess("/{yyyy}/{mm}/", barren, NOW), NOW) == 24_299
    assert (
        record_archive_result(msgspec.structs.replace(barren, earliest_period=24_299), "nothing new", NOW).state
        == "invalid"
    )
    assert record_archive_result(rule, "no such page", NOW).state == "invalid"
    assert record_archive_result(ArchiveRule("tried", guessed_period=0), "nothing new", NOW).state == "invalid", (
        "a relative_url without a date"
    )


@pytest.mark.parametrize(
    ("linked", "reached", "is_first"),
    [
        ({"/{yyyy}/{mm}/": 2023 * 12 + 11}, 2024 * 12, True),
        ({"/{yyyy}/{mm}/": 2023 * 12}, 2024 * 12, False),
        ({"/{yyyy}/{mm}/": 2023 * 12 + 11}, 2024 * 12 + 3, False),
        ({"/news/{yyyy}/{mm}/": 2023 * 12 + 11}, 2024 * 12, False),
        ({}, 2024 * 12, False),
    ],
    ids=["it begins in December", "in January", "the next one has gaps, too", "other months", "no months"],
)
def test_a_year_that_begins_late_is_the_first(linked: dict[str, int], reached: int, is_first: bool) -> None:
    rules = dict.fromkeys(
        ("/{yyyy}/{mm}/", "/news/{yyyy}/{mm}/"), ArchiveRule("valid", worked=3, earliest_period=reached)
    )
    assert is_first_year("/{yyyy}/", 2023, linked, rules) is is_first


@pytest.mark.parametrize(
    ("pattern", "linked", "months"),
    [
        ("/{yyyy}/", [], "/{yyyy}/{mm}/"),
        ("/news/{yyyy}/", ["/{yyyy}/{mm}/"], "/news/{yyyy}/{mm}/"),
        ("/{yyyy}/", ["/{yyyy}/{mm}/"], None),
        ("/{yyyy}/", ["/{yyyy}/{m}/"], None),
        ("/{yyyy}.html", [], None),
        ("/{yyyy}/{mm}/", [], None),
    ],
)
def test_months_stand_below_years_unless_they_are_linked(pattern: str, linked: list[str], months: str | None) -> None:
    assert month_pattern(pattern, linked) == months


@pytest.mark.parametrize(
    ("newest", "month"),
    [(0, 2026 * 12 + 1), (2026 * 12, 2026 * 12 + 1), (2025 * 12 + 5, 2025 * 12 + 5), (2027 * 12, 2026 * 12 + 1)],
    ids=["none was seen", "of late", "silent for months", "of the future"],
)
def test_time_begins_with_the_newest_page(newest: int, month: int) -> None:
    assert next_period("/{yyyy}/{mm}/", None, NOW, newest) == month
    assert next_period("/{yyyy}/", None, NOW, newest) == month // 12


def test_what_was_reached_counts_more_than_the_newest_page() -> None:
    assert next_period("/{yyyy}/{mm}/", ArchiveRule(earliest_period=2026 * 12), NOW, 2020 * 12) == 2025 * 12 + 11


def test_the_first_failure_ends_what_never_worked() -> None:
    rule = record_archive_result(ArchiveRule(guessed_period=0), "no such page", NOW)
    assert (rule.state, rule.why, rule.guessed_period) == ("invalid", "no such page", None)
    assert not is_worth_trying(rule, NOW + RETRY_AFTER_SECONDS - 1)
    assert is_worth_trying(rule, NOW + RETRY_AFTER_SECONDS)


def test_what_has_worked_may_miss_once() -> None:
    rule = record_archive_result(ArchiveRule(guessed_period=0), "", NOW)
    once = record_archive_result(rule, "nothing new", NOW)
    assert (once.state, once.missed) == ("valid", 1)
    assert record_archive_result(once, "nothing new", NOW).state == "invalid"
    assert record_archive_result(record_archive_result(once, "", NOW), "nothing new", NOW).state == "valid"


def test_what_worked_often_ends_with_the_first_period_that_has_no_page() -> None:
    rule = ArchiveRule("valid", worked=MANY_SUCCESSES, guessed_period=0)
    assert record_archive_result(rule, NO_PAGE, NOW).state == "invalid"
    assert record_archive_result(rule, "nothing new", NOW).state == "valid"


def test_a_bounded_memory_forgets_failures_first() -> None:
    guess_state = store_archive_rule(GuessState(), "/good", ArchiveRule("valid", worked=1))
    for number in range(MAX_RULES + 5):
        guess_state = store_archive_rule(guess_state, f"/{number}", ArchiveRule("invalid"))
    assert len(guess_state.archives) == MAX_RULES
    assert "/good" in guess_state.archives and "/0" not in guess_state.archives


def test_common_paths_are_recognised_with_and_without_a_slash() -> None:
    assert is_usual_path("/archive") and is_usual_path("/archives/") and is_usual_path("/arkiv")
    assert not is_usual_path("/news") and not is_usual_path("/")


@given(
    st.integers(1995, 2049), st.integers(0, 11), st.sampled_from(["/{yyyy}/{mm}/", "/b/{yyyy}-{mm}", "/{yyyy}{mm}/"])
)
def test_a_filled_pattern_parses_back(year: int, month: int, pattern: str) -> None:
    period = 12 * year + month
    assert parse_dated_url(HOST + fill_pattern(pattern, period)) == DatedUrl(pattern, period)
