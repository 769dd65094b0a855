"""The status of a crawl."""

from __future__ import annotations

import msgspec
import pytest

from tenax.cli.output import TextStyle
from tenax.cli.views.format_values import format_until
from tenax.cli.views.summary import format_status
from tenax.database import Cursor, HostStatus, Status
from tenax.model import HostRecord

NOW = 1_750_000_000.0
BUSY = HostStatus(HostRecord("https://a.example", "a.example", page_count=12, error_count=1), waiting=80, next_due=NOW)
BACKING_OFF = HostStatus(
    HostRecord("https://b.example", "b.example", next_at=NOW + 300, backoff_reason="rate limited\x1b[2J"), waiting=7
)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal on which nothing is wrapped."""
    monkeypatch.setenv("COLUMNS", "100")


def text_of(**changes: object) -> str:
    plain = Status(
        created_at=NOW - 100,
        now=NOW,
        waiting=87,
        settled=120,
        dead=2,
        pages=100,
        articles=40,
        hosts=2,
        events=100,
        wire_bytes=2_000_000,
        body_bytes=5_000_000,
        outcomes={"fetched": 100, "failed:dns": 3, "refused:robots": 4},
        refusals={"scope": 310},
        busiest=(BUSY, BACKING_OFF),
        due_now=1,
        next_due=NOW,
        cursors={"jsonl": Cursor(90, 1)},
    )
    return "\n".join(
        format_status(msgspec.structs.replace(plain, **changes), "out", "tenax crawl X --dir out", TextStyle())
    )


def test_duplicates_are_counted() -> None:
    assert "pages         100  (40 articles, 1 duplicate)" in text_of(duplicates=1)


def test_what_needs_a_browser_is_named() -> None:
    text = text_of(needs_browser=1, waiting=0, busiest=())
    assert "failed URLs   2, 1 of them needs a browser" in text
    assert "Nothing else is waiting. 1 URL needs a browser: install one" in text
    assert "complete" not in text


def test_counts_hosts_and_sinks_are_shown() -> None:
    text = text_of(is_running=True)
    for part in (
        "out   running   started",
        "pages         100  (40 articles)",
        "waiting       87 URLs, 1 due now",
        "failed URLs   2",
        "100 fetched",
        "3 failed: name not found",
        "4 refused: closed by robots.txt",
        "310 out of scope",
        "events        90 events written to pages.jsonl, 10 queued",
        "https://a.example       80     12       1  now",
    ):
        assert part in text
    assert "in 5 min 00 s" in text
    assert "rate limited" in text
    assert "\x1b" not in text
    assert "Resume" not in text


@pytest.mark.parametrize(
    ("workers", "says"), [(0, "   running   "), (1, "   running   "), (12, "   12 workers running   ")]
)
def test_several_who_crawl_are_counted(workers: int, says: str) -> None:
    assert says in text_of(is_running=True, workers=workers).splitlines()[0]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"waiting": 0, "busiest": (), "dead": 0}, "Nothing is waiting: the crawl is complete."),
        ({"waiting": 0, "busiest": ()}, "`tenax dead-letters list`"),
        ({}, "No process is crawling. Resume with:  tenax crawl X --dir out"),
        (
            {"busiest": (BACKING_OFF,), "due_now": 0, "is_running": True},
            f"The host is backing off until {format_until(NOW + 300, NOW)}: rate limited",
        ),
        (
            {"busiest": (BACKING_OFF, BACKING_OFF), "due_now": 0},
            "All hosts with waiting URLs are backing off, the first until",
        ),
        (
            {"busiest": (BUSY,), "due_now": 0, "next_due": NOW + 9},
            f"Nothing is due before {format_until(NOW + 9, NOW)}.",
        ),
    ],
)
def test_when_nothing_moves_it_says_why(changes: dict[str, object], says: str) -> None:
    assert says in text_of(**changes)


def test_how_urls_were_found_is_counted() -> None:
    assert "found         1 seed, 12 by links, 7 by sitemaps" in text_of(found={"seed": 1, "link": 12, "sitemap": 7})
    assert "  found  " not in text_of()


def test_a_far_turn_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "in 10 h 56 min\n" in text_of(busiest=(msgspec.structs.replace(BUSY, next_due=NOW + 39_360),))
