from __future__ import annotations

import pytest

from tenax.config import HostsConfig
from tenax.model import Failed, FailureKind, Outcome, Redirected, Rejected, Unchanged
from tests.hosts.history import (
    HOST,
    HTTP_403,
    HTTP_404,
    HTTP_429,
    HTTP_500,
    HTTP_503,
    NOW,
    OK,
    REFUSED,
    History,
    after,
    host,
    site,
)

WALL = Rejected("wall: access denied", is_hard=True)
UNREADABLE = Failed("too costly to read: 2 s of CPU used up", FailureKind.UNREADABLE)


def test_five_refusals_in_a_row() -> None:
    history, table = History(), []
    for _ in range(6):
        history.visit(HTTP_403)
        table.append((history.wait, history.record.backoff_reason))
    assert table == [
        *[(1, "")] * 4,
        (900, "cooldown: 5 refusals in a row"),
        (900, "cooldown: 6 refusals in a row"),
    ]
    assert (history.record.breaker, history.record.failures_in_a_row) == ("closed", 0), "it is not down"
    history.visit(OK)
    assert (history.record.blocks_in_a_row, history.wait) == (0, 1)


@pytest.mark.parametrize(
    ("outcome", "blocks"),
    [
        (HTTP_403, 4),
        (HTTP_429, 4),
        (OK, 0),
        (Unchanged(), 0),
        (Redirected(302, "https://example.org/x"), 0),
        (HTTP_404, 0),
        (Failed("HTTP 410", FailureKind.GONE), 0),
        (UNREADABLE, 0),
        # it may be a block page with another status
        (Rejected("wall: enable JavaScript"), 3),
        (HTTP_500, 3),
        (HTTP_503, 3),
        (REFUSED, 3),
        (Failed("HTTP 400", FailureKind.CLIENT_ERROR), 3),
    ],
)
def test_what_is_in_a_row(outcome: Outcome, blocks: int) -> None:
    assert after(host(blocks_in_a_row=3), outcome).blocks_in_a_row == blocks


def test_a_page_that_shuts_us_out_begins_one_at_once() -> None:
    record = after(HOST, WALL)
    assert (record.next_at, record.backoff_reason) == (NOW + 900, "cooldown: wall: access denied")
    assert (record.breaker, record.error_count, record.recent_failures) == ("closed", 0, ())


def test_three_pages_that_cost_too_much_to_read() -> None:
    history, table = History(), []
    for outcome in (UNREADABLE, OK, UNREADABLE, HTTP_404, UNREADABLE, OK, UNREADABLE):
        history.visit(outcome)
        table.append((history.wait, history.record.backoff_reason))
    why = "cooldown: 3 pages too costly to read in 60 min"
    assert table == [(1, "")] * 4 + [(900, why), (1, ""), (900, why)]
    assert (history.record.breaker, history.record.failures_in_a_row) == ("closed", 0), "it is not down"
    assert len(history.record.unreadable_pages) == 3, "the record does not grow"


def test_pages_that_cost_too_much_long_ago_do_not_count() -> None:
    record = after(host(unreadable_pages=(NOW - 3601, NOW - 3600, NOW - 3599)), UNREADABLE)
    assert (record.unreadable_pages, record.backoff_reason) == ((NOW - 3599, NOW), "")
    assert after(record, UNREADABLE).backoff_reason == "cooldown: 3 pages too costly to read in 60 min"


def test_429s_and_403s_make_one_row() -> None:
    history = History(host(blocks_in_a_row=3))
    history.visit(HTTP_429)
    history.visit(HTTP_403)
    assert (history.wait, history.record.backoff_reason) == (900, "cooldown: 5 refusals in a row")


def test_the_numbers_are_settings() -> None:
    settings = site(hosts=HostsConfig(cooldown_blocks=1, cooldown_seconds=60))
    assert after(HOST, HTTP_403, config=settings).next_at == NOW + 60
    assert after(HOST, WALL, config=settings).next_at == NOW + 60
    settings = site(hosts=HostsConfig(cooldown_seconds=60, unreadable_pages=2, unreadable_window_seconds=10))
    assert after(host(unreadable_pages=(NOW - 9,)), UNREADABLE, config=settings).next_at == NOW + 60
    assert after(host(unreadable_pages=(NOW - 10,)), UNREADABLE, config=settings).next_at == NOW + 1
