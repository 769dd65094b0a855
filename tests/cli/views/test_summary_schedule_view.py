"""What is due when, and why."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenax.cli.output import TextStyle, display_width
from tenax.cli.views.summary import format_schedule
from tenax.database import DueTask, DueTasks
from tenax.model import Priority, Source

NOW = 1_750_000_000.0
WHY = "changed in 3 of 9 visits; next visit after 11 h"
COUNTS = {"now": 1, "hour": 0, "day": 2, "week": 0, "later": 1204}


def due(after: float, path: str = "", **facts: Any) -> DueTask:
    result = {"why": WHY, "is_new": False} | facts
    line = DueTask(f"https://example.org/{path}", NOW + after, Priority.HIGH, Source.LINK)
    return msgspec.structs.replace(line, **result)


def lines_of(*lines: DueTask, counts: dict[str, int] | None = None) -> list[str]:
    return format_schedule(DueTasks(NOW, COUNTS if counts is None else counts, lines), TextStyle())


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def test_everything_is_counted_by_when_it_is_due() -> None:
    assert lines_of(due(0))[:5] == [
        "  due now         1 URL",
        "  within an hour  0 URLs",
        "  within a day    2 URLs",
        "  within a week   0 URLs",
        "  later           1,204 URLs",
    ]


def test_a_wide_terminal_has_a_line_for_each() -> None:
    assert lines_of(due(-5, "late"), due(39_360, "a"))[6:] == [
        "  due             url                       why",
        f"  now             https://example.org/late  {WHY}",
        f"  in 10 h 56 min  https://example.org/a     {WHY}",
        "  and 1,205 more; --schedule N shows N of them",
    ]


def test_a_narrow_one_cuts_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = lines_of(due(39_360, "a"), due(0, "x" * 200, why=WHY + " and again" * 9), counts={"now": 1, "day": 1})
    assert lines[6:8] == ["  in 10 h 56 min  https://example.org/a", f"                  {WHY}"]
    assert max(map(display_width, lines)) <= 80
    assert " ".join(" ".join(lines).split()).endswith(WHY + " and again" * 9)


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"is_new": True, "why": ""}, "new: not visited yet"),
        ({"why": ""}, "to be visited again"),
        ({"why": "it says \x1b[2J"}, "it says"),
    ],
)
def test_every_line_says_why(facts: dict[str, Any], says: str) -> None:
    lines = lines_of(due(0, **facts))
    assert lines[7].endswith(says)


def test_counts_alone_can_be_asked_for() -> None:
    assert len(lines_of()) == 6


def test_nothing_due_says_how_to_change_that() -> None:
    assert lines_of(counts=dict.fromkeys(COUNTS, 0)) == [
        "No URL is waiting.",
        "`tenax crawl URL --continuous` visits pages again.",
    ]
