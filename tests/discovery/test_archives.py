from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.discovery.archives import (
    EARLIEST_YEAR,
    FORGIVEN_AFTER_SECONDS,
    MANY_WORKED,
    MOST_RULES,
    NO_PAGE,
    Dated,
    after_archive,
    archive_at,
    archives_to_try,
    dated,
    earliest_linked,
    is_archive_time,
    is_first_year,
    is_usual,
    is_worth,
    learned_pattern,
    months_below,
    next_period,
    place_at,
    rule_to_ask,
    with_archive,
)
from tenax.discovery.site_signs import ENOUGH
from tenax.model import ArchiveRule, Finds, SiteSigns

HOST = "https://example.org"
NOW = datetime(2026, 3, 9, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("place", "pattern", "period"),
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
def test_lists_of_a_date(place: str, pattern: str, period: int) -> None:
    assert dated(HOST + place) == Dated(pattern, period)
    assert learned_pattern(HOST + place) == pattern
    assert place_at(pattern, period) == place


@pytest.mark.parametrize(
    "place",
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
def test_what_is_no_list_of_a_date(place: str) -> None:
    assert learned_pattern(HOST + place) is None


def test_the_earliest_of_each_pattern_is_found_among_links() -> None:
    links = [f"{HOST}/blog/{month}" for month in ("2024/12/", "2024/9/", "2024/10/", "2025/1/")]
    assert earliest_linked([*links, f"{HOST}/2020/", f"{HOST}/2019/", f"{HOST}/x"]) == {
        "/blog/{yyyy}/{m}/": 2024 * 12 + 8,
        "/{yyyy}/": 2019,
    }


def test_a_month_of_two_digits_is_known_by_its_rule() -> None:
    unpadded = {"/blog/{yyyy}/{m}/": ArchiveRule()}
    assert archive_at(f"{HOST}/blog/2024/11/", unpadded) == ("/blog/{yyyy}/{m}/", 2024 * 12 + 10)
    assert archive_at(f"{HOST}/blog/2024/11/", {}) == ("/blog/{yyyy}/{mm}/", 2024 * 12 + 10)
    assert archive_at(f"{HOST}/archive", {}) == ("/archive", None)


@pytest.mark.parametrize(
    ("pattern", "reached", "place"),
    [
        ("/{yyyy}/", None, "/2026/"),
        ("/{yyyy}/", 2020, "/2019/"),
        ("/{yyyy}/", 2031, "/2026/"),
        ("/{yyyy}/{mm}/", None, "/2026/02/"),
        ("/{yyyy}/{mm}/", 2026 * 12, "/2025/12/"),
        ("/{yyyy}/{m}/", 2024 * 12 + 10, "/2024/10/"),
    ],
)
def test_time_goes_back_from_the_last_whole_month(pattern: str, reached: int | None, place: str) -> None:
    assert place_at(pattern, next_period(pattern, ArchiveRule(reached=reached), NOW)) == place


def test_a_new_year_begins_with_the_old_one() -> None:
    january = datetime(2026, 1, 2, tzinfo=UTC).timestamp()
    assert next_period("/{yyyy}/", None, january) == 2025
    assert next_period("/{yyyy}/{mm}/", None, january) == 2025 * 12 + 11


def test_time_has_a_beginning() -> None:
    assert next_period("/{yyyy}/", ArchiveRule(reached=1995), NOW) is None
    assert next_period("/{yyyy}/{mm}/", ArchiveRule(reached=1995 * 12), NOW) is None
    assert next_period("/archive", None, NOW) is None


def test_archives_are_looked_for_when_little_waits_or_once_a_day() -> None:
    finds = Finds(archives_at=NOW)
    assert is_archive_time(finds, NOW, 9, 10, 86_400), "little waits"
    assert not is_archive_time(finds, NOW, 10, 10, 86_400)
    assert not is_archive_time(finds, NOW + 86_399, None, 10, 86_400), "nobody counted"
    assert is_archive_time(finds, NOW + 86_400, 10, 10, 86_400), "much waits, but a day is over"
    assert is_archive_time(finds, NOW + 86_400, None, 10, 86_400)


def test_a_stranger_is_asked_for_what_is_usual() -> None:
    usual = ("/archive", "/{yyyy}/", "/{yyyy}/{mm}/", "/news/{yyyy}/", "/archives")
    assert archives_to_try(Finds(), NOW, 99, with_further=False) == usual
    assert archives_to_try(Finds(), NOW, 99)[:6] == (*usual, "/sitemap")


def test_a_section_for_news_is_asked_for_its_years_and_months() -> None:
    finds = Finds(sections={"presse": 2, "sport": 9})
    usual = ("/presse/{yyyy}/{mm}/", "/archive", "/{yyyy}/", "/presse/{yyyy}/", "/{yyyy}/{mm}/")
    assert archives_to_try(finds, NOW, 5) == usual, "by its months first: a year of news is too much for a page"


def test_sections_seen_often_come_before_rare_ones() -> None:
    finds = Finds(sections={"blog": 2, "sport": 9})
    assert archives_to_try(finds, NOW, 99)[7:9] == ("/sport/{yyyy}/", "/sport/archive")


def test_dates_in_the_paths_of_pages_come_first() -> None:
    finds = Finds(signs=SiteSigns(dated_paths={"/blog/{yyyy}/{mm}/": ENOUGH, "/{yyyy}/": 1}))
    assert archives_to_try(finds, NOW, 3) == ("/blog/{yyyy}/{mm}/", "/blog/{yyyy}/", "/archive")


def test_where_archives_are_written_another_way_no_other_dates_are_tried() -> None:
    finds = Finds(archives={"/blog/{yyyy}/{mm}/": ArchiveRule("valid", worked=1, reached=EARLIEST_YEAR * 12)})
    for with_further in (False, True):
        assert archives_to_try(finds, NOW, 99, with_further) == ("/blog/{yyyy}/{mm}/",)


def test_the_year_before_is_tried_where_nothing_is_at_this_one() -> None:
    missed = after_archive(ArchiveRule(asked=2026, reached=2026), "no such page", NOW)
    finds = Finds(archives={"/{yyyy}/": missed})
    assert "/{yyyy}/" in archives_to_try(finds, NOW, 99, with_further=False)
    again = rule_to_ask("/{yyyy}/", missed, NOW)
    assert next_period("/{yyyy}/", again, NOW) == 2025
    twice = after_archive(msgspec.structs.replace(missed, asked=2025, reached=2025), "no such page", NOW)
    assert "/{yyyy}/" not in archives_to_try(Finds(archives={"/{yyyy}/": twice}), NOW, 99)
    assert rule_to_ask("/{yyyy}/", twice, NOW) is None


def test_what_worked_comes_first_and_what_failed_rests() -> None:
    rules = {
        "/archive": ArchiveRule("invalid", at=NOW - 5),
        "/archives": ArchiveRule("invalid", at=NOW - FORGIVEN_AFTER_SECONDS),
        "/sitemap": ArchiveRule("valid", worked=1),
        "/blog/{yyyy}/{mm}/": ArchiveRule("valid", worked=3, reached=24_000),
        "/{yyyy}/": ArchiveRule("tried", asked=2026, at=NOW - 5),
    }
    assert archives_to_try(Finds(archives=rules), NOW, 99) == ("/blog/{yyyy}/{mm}/",)
    del rules["/blog/{yyyy}/{mm}/"]
    tried = archives_to_try(Finds(archives=rules), NOW, 99)
    assert tried[:2] == ("/{yyyy}/{mm}/", "/archives")
    assert not {"/archive", "/sitemap", "/{yyyy}/"} & set(tried)


@pytest.mark.parametrize(
    ("newest", "is_large", "is_tried"),
    [(2026 * 12 + 1, False, False), (2026 * 12 + 1, True, True), (2025 * 12 + 11, False, True)],
    ids=["this year has pages", "a large site", "this year has none"],
)
def test_a_small_site_is_asked_for_the_year_before_only_if_this_one_is_empty(
    newest: int, is_large: bool, is_tried: bool
) -> None:
    missed = after_archive(ArchiveRule(asked=2026, reached=2026), "no such page", NOW)
    finds = Finds(archives={"/{yyyy}/": missed}, signs=SiteSigns(newest=newest))
    assert ("/{yyyy}/" in archives_to_try(finds, NOW, 99, with_further=is_large)) is is_tried


def test_years_end_at_the_first_that_is_not_there_and_months_at_the_second() -> None:
    worked = ArchiveRule("valid", worked=3, reached=2020)
    assert after_archive(worked, "no such page", NOW, is_year=True).state == "invalid"
    assert after_archive(worked, "nothing new", NOW, is_year=True).state == "valid"
    assert after_archive(worked, "no such page", NOW).state == "valid"


def test_a_month_that_shows_nothing_new_is_followed_by_one_more() -> None:
    rule = ArchiveRule("tried", reached=24_300, asked=24_300)
    barren = after_archive(rule, "nothing new", NOW)
    assert (barren.state, barren.worked) == ("valid", 0)
    assert next_period("/{yyyy}/{mm}/", rule_to_ask("/{yyyy}/{mm}/", barren, NOW), NOW) == 24_299
    assert after_archive(msgspec.structs.replace(barren, reached=24_299), "nothing new", NOW).state == "invalid"
    assert after_archive(rule, "no such page", NOW).state == "invalid"
    assert after_archive(ArchiveRule("tried", asked=0), "nothing new", NOW).state == "invalid", "a place without a date"


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
    rules = dict.fromkeys(("/{yyyy}/{mm}/", "/news/{yyyy}/{mm}/"), ArchiveRule("valid", worked=3, reached=reached))
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
    assert months_below(pattern, linked) == months


@pytest.mark.parametrize(
    ("newest", "month"),
    [(0, 2026 * 12 + 1), (2026 * 12, 2026 * 12 + 1), (2025 * 12 + 5, 2025 * 12 + 5), (2027 * 12, 2026 * 12 + 1)],
    ids=["none was seen", "of late", "silent for months", "of the future"],
)
def test_time_begins_with_the_newest_page(newest: int, month: int) -> None:
    assert next_period("/{yyyy}/{mm}/", None, NOW, newest) == month
    assert next_period("/{yyyy}/", None, NOW, newest) == month // 12


def test_what_was_reached_counts_more_than_the_newest_page() -> None:
    assert next_period("/{yyyy}/{mm}/", ArchiveRule(reached=2026 * 12), NOW, 2020 * 12) == 2025 * 12 + 11


def test_the_first_failure_ends_what_never_worked() -> None:
    rule = after_archive(ArchiveRule(asked=0), "no such page", NOW)
    assert (rule.state, rule.why, rule.asked) == ("invalid", "no such page", None)
    assert not is_worth(rule, NOW + FORGIVEN_AFTER_SECONDS - 1)
    assert is_worth(rule, NOW + FORGIVEN_AFTER_SECONDS)


def test_what_has_worked_may_miss_once() -> None:
    rule = after_archive(ArchiveRule(asked=0), "", NOW)
    once = after_archive(rule, "nothing new", NOW)
    assert (once.state, once.missed) == ("valid", 1)
    assert after_archive(once, "nothing new", NOW).state == "invalid"
    assert after_archive(after_archive(once, "", NOW), "nothing new", NOW).state == "valid"


def test_what_worked_often_ends_with_the_first_period_that_has_no_page() -> None:
    rule = ArchiveRule("valid", worked=MANY_WORKED, asked=0)
    assert after_archive(rule, NO_PAGE, NOW).state == "invalid"
    assert after_archive(rule, "nothing new", NOW).state == "valid"


def test_a_bounded_memory_forgets_failures_first() -> None:
    finds = with_archive(Finds(), "/good", ArchiveRule("valid", worked=1))
    for number in range(MOST_RULES + 5):
        finds = with_archive(finds, f"/{number}", ArchiveRule("invalid"))
    assert len(finds.archives) == MOST_RULES
    assert "/good" in finds.archives and "/0" not in finds.archives


def test_usual_places_are_known_with_and_without_their_slash() -> None:
    assert is_usual("/archive") and is_usual("/archives/") and is_usual("/arkiv")
    assert not is_usual("/news") and not is_usual("/")


@given(
    st.integers(1995, 2049), st.integers(0, 11), st.sampled_from(["/{yyyy}/{mm}/", "/b/{yyyy}-{mm}", "/{yyyy}{mm}/"])
)
def test_a_place_is_read_as_it_was_written(year: int, month: int, pattern: str) -> None:
    period = 12 * year + month
    assert dated(HOST + place_at(pattern, period)) == Dated(pattern, period)
