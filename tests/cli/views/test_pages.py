"""Which pages `--where` means."""

from __future__ import annotations

from datetime import datetime

import pytest

from tenax.cli.views.pages import parse_page_filter
from tenax.database import PageFilter
from tenax.errors import UsageError


def test_conditions_become_one_filter() -> None:
    given = ["host=Example.org", "status=200", "kind=article", "language=EN", "url=*/a=b/*"]
    assert parse_page_filter(given) == PageFilter(
        host="example.org", status=200, kind="article", language="en", url_glob="*/a=b/*"
    )
    assert parse_page_filter([]) == PageFilter()


@pytest.mark.parametrize("text", ["2026-01-31", "2026-01-31T12:30", "2026-01-31T12:30:00Z"])
def test_since_is_a_date(text: str) -> None:
    assert parse_page_filter([f"since={text}"]).since == datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("host", "FIELD=VALUE"),
        ("host=", "FIELD=VALUE"),
        ("langage=en", "did you mean language"),
        ("colour=red", "fields: host, status, kind, language, url, since"),
        ("status=ok", "give a number"),
        ("since=yesterday", "give a date"),
        ("kind=video", "article, hub, product, forum, documentation and other"),
    ],
)
def test_a_mistake_is_explained(condition: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_page_filter([condition])


def test_a_field_twice_would_hold_for_nothing() -> None:
    with pytest.raises(UsageError, match="given twice"):
        parse_page_filter(["host=a.example", "host=b.example"])
