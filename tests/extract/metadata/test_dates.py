"""Dates as people and machines write them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.extract.metadata.dates import (
    FIRST_DAY,
    MONTHS,
    are_adjacent_days,
    filter_datable,
    is_near_midnight,
    parse_date,
    parse_url_date,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2025-08-25", "2025-08-25"),
        ("2025-08-25T10:11:12Z", "2025-08-25T10:11:12+00:00"),
        ("2025-08-25T10:11:12.345+0200", "2025-08-25T10:11:12+02:00"),
        ("2025-08-25 9:05", "2025-08-25T09:05:00"),
        ("2025-08-25T99:99", "2025-08-25"),
        ("2025/8/5", "2025-08-05"),
        ("5 May 25", "2025-05-05"),
        ("Mon, 25 Aug 2025 10:11:12 GMT", "2025-08-25"),
        ("August 25, 2025", "2025-08-25"),
        ("Aug. 25th, 2025 at 3:24pm", "2025-08-25"),
        ("25. August 2025, 12:01 Uhr", "2025-08-25"),
        ("25 de agosto de 2025", "2025-08-25"),
        ("le 1er août 2025", "2025-08-01"),
        ("25 августа 2025 г.", "2025-08-25"),
        ("25 sierpnia 2025", "2025-08-25"),
        ("25 Ağustos 2025", "2025-08-25"),
        ("2025年8月25日", "2025-08-25"),
        ("2025년 8월 25일", "2025-08-25"),
        ("25 सितंबर 2025", "2025-09-25"),
        ("25 สิงหาคม 2568", "2025-08-25"),
        ("25 أغسطس 2025", "2025-08-25"),
        ("٢٥ أغسطس ٢٠٢٥", "2025-08-25"),
        ("25.08.2025", "2025-08-25"),
        ("25.8.25", "2025-08-25"),
        ("20250825", "2025-08-25"),
        ("20250825T101112Z", "2025-08-25"),
        ("1756116672", "2025-08-25T10:11:12+00:00"),
        ("1756116672000", "2025-08-25T10:11:12+00:00"),
        ("Updated 31/12/2024 by Ann", "2024-12-31"),
        ("2026-02-30", None),
        ("2031-01-01", None),
        ("1931-01-01", None),
        ("9999999999", None),
        ("", None),
        ("yesterday", None),
        ("May we?", None),
        ("{{ date }}", None),
    ],
)
def test_parse_date(text: str, iso: str | None) -> None:
    assert parse_date(text, NOW) == iso


def test_future_date_is_skipped() -> None:
    assert parse_date("2027-01-01, first 2024-01-01", NOW) == "2024-01-01"


def test_days_begin_earlier_in_eastern_time_zones() -> None:
    late = datetime(2026, 3, 1, 11, tzinfo=UTC).timestamp()
    assert parse_date("2026-03-02", late) == "2026-03-02"
    assert parse_date("2026-03-02", late - 7200) is None


@pytest.mark.parametrize(("is_month_first", "iso"), [(True, "2025-03-04"), (False, "2025-04-03")])
def test_month_first_is_a_parameter(is_month_first: bool, iso: str) -> None:
    assert parse_date("3/4/2025", NOW, is_month_first=is_month_first) == iso
    assert parse_date("3.4.2025", NOW, is_month_first=is_month_first) == "2025-04-03"


@pytest.mark.parametrize(
    ("url", "iso"),
    [
        ("https://h/2025/08/25/title", "2025-08-25"),
        ("https://h/2025/8/5/title", "2025-08-05"),
        ("https://h/2025-08-25-title", "2025-08-25"),
        ("https://h/20250825/x", "2025-08-25"),
        ("https://h/news/25-08-2025", "2025-08-25"),
        ("https://h/2025/08/title", None),
        ("https://h/2031/08/25/", None),
        ("https://h/id/120250825", None),
        ("https://h/", None),
    ],
)
def test_parse_url_date(url: str, iso: str | None) -> None:
    assert parse_url_date(url, NOW) == iso


def test_adjacent_days_and_midnights() -> None:
    assert are_adjacent_days("2025-01-01", "2024-12-31T23:00:00+00:00")
    assert not are_adjacent_days("2025-01-01", "2025-01-03")
    assert is_near_midnight("2025-01-01T23:00:00+00:00")
    assert not is_near_midnight("2025-01-01T12:00:00+00:00")
    assert not is_near_midnight("2025-01-01T23:00:00+02:00")
    assert not is_near_midnight("2025-01-01")


@given(st.dates(FIRST_DAY, date(2026, 3, 1)), st.sampled_from(sorted(MONTHS)))
def test_every_month_name_is_parsed(day: date, name: str) -> None:
    day = date(day.year, MONTHS[name], min(day.day, 28))
    if day <= date(2026, 3, 1):
        assert parse_date(f"{day.day} {name} {day.year}", NOW) == day.isoformat()


@given(st.text(max_size=300))
def test_no_date_is_in_the_future(text: str) -> None:
    found = parse_date(text, NOW)
    if found is not None:
        assert FIRST_DAY <= date.fromisoformat(found[:10]) <= date(2026, 3, 1) + timedelta(days=1)


def test_lines_without_digits_are_filtered() -> None:
    assert filter_datable([]) == []
    lines = ["no date", "5 May 25", "", "one 1", "٥ مايو ٢٥", "é", "\ud800 1"]
    assert filter_datable(lines) == ["5 May 25", "٥ مايو ٢٥"]


@given(st.lists(st.text(st.sampled_from("12 é٢年a."), max_size=8)))
def test_lines_with_dates_are_not_filtered(lines: list[str]) -> None:
    kept = filter_datable(lines)
    assert [line for line in lines if sum(map(str.isdecimal, line)) > 2 and line not in kept] == []
