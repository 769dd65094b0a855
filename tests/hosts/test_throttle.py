from __future__ import annotations

import pytest

from tenax.config import FetchConfig, HostsConfig, PolitenessConfig
from tenax.hosts.throttle import pace_seconds
from tenax.model import Failed, FailureKind, Fetched, Outcome, Redirected, Rejected, Unchanged
from tests.hosts.history import (
    HOST,
    HTTP_404,
    HTTP_429,
    HTTP_503,
    NOW,
    OK,
    REFUSED,
    SITE,
    History,
    after,
    asking_to_wait,
    host,
    site,
)

OWN_SITE = site(PolitenessConfig(rate_per_second=0))


@pytest.mark.parametrize(
    ("rate", "crawl_delay", "limited_per_minute", "seconds"),
    [
        (1.0, None, None, 1.0),
        (2.0, None, None, 0.5),
        (1.0, 0.5, None, 1.0),
        (1.0, 30.0, None, 30.0),
        (0.1, 5.0, None, 10.0),
        (0.0, 30.0, None, 0.0),
        (1.0, None, 15.0, 4.0),
        (1.0, 30.0, 15.0, 30.0),
        (0.0, 30.0, 75.0, 0.8),
    ],
)
def test_the_pace_is_the_slowest_of_ours_theirs_and_what_a_429_left(
    rate: float, crawl_delay: float | None, limited_per_minute: float | None, seconds: float
) -> None:
    record = host(crawl_delay_seconds=crawl_delay, rate_per_minute=limited_per_minute)
    assert pace_seconds(record, PolitenessConfig(rate_per_second=rate)) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("retry_after", "jitter", "seconds", "why"),
    [
        (None, 0.0, 40.5, "rate limited"),
        (None, 0.5, 45.0, "rate limited"),
        (None, 1.0, 49.5, "rate limited"),
        (30.0, 0.0, 30.0, "rate limited: asked to wait 30 s"),
        (30.0, 1.0, 33.0, "rate limited: asked to wait 30 s"),
        (1e9, 0.0, 3600.0, "rate limited: asked to wait 3600 s"),
    ],
)
def test_a_429_is_a_blackout(retry_after: float | None, jitter: float, seconds: float, why: str) -> None:
    failed = asking_to_wait(HTTP_429, retry_after) if retry_after else HTTP_429
    record = after(HOST, failed, jitter=jitter)
    assert record.next_at == pytest.approx(NOW + seconds)
    assert record.backoff_reason == why


@pytest.mark.parametrize("failed", [HTTP_429, asking_to_wait(HTTP_429, 45.0)])
def test_429s_in_a_row(failed: Failed) -> None:
    history, table = History(), []
    for _ in range(5):
        history.visit(failed, jitter=0.5 if failed is HTTP_429 else 0.0)
        table.append((history.record.limited_in_a_row, history.wait, history.record.rate_per_minute))
    assert table == [(1, 45, 15), (2, 300, 3.75), (3, 900, 1), (4, 900, 1), (5, 900, 1)]


def test_a_longer_retry_after_holds_on_every_step() -> None:
    history, waits = History(), []
    for _ in range(3):
        history.visit(asking_to_wait(HTTP_429, 1200.0), jitter=0.0)
        waits.append(history.wait)
    assert waits == [1200, 1200, 1200]


@pytest.mark.parametrize(
    ("outcome", "limited"),
    [
        (OK, 0),
        (Unchanged(), 0),
        (Redirected(302, "https://example.org/x"), 0),
        (HTTP_404, 2),
        (HTTP_503, 2),
        (REFUSED, 2),
        (Rejected("wall: checking your browser"), 2),
        (HTTP_429, 3),
    ],
)
def test_what_ends_a_row_of_429s(outcome: Outcome, limited: int) -> None:
    assert after(host(limited_in_a_row=2, rate_per_minute=3.75), outcome).limited_in_a_row == limited


def test_a_slow_host_is_slowed_from_its_own_pace_and_never_sped_up() -> None:
    assert after(host(crawl_delay_seconds=6.0), HTTP_429).rate_per_minute == 2.5
    assert after(host(crawl_delay_seconds=30.0), HTTP_429).rate_per_minute == 1
    slowest = after(host(crawl_delay_seconds=120.0), HTTP_429)
    assert slowest.rate_per_minute == 0.5
    assert pace_seconds(slowest, SITE.politeness) == 120


def test_a_short_retry_after_does_not_beat_the_new_pace() -> None:
    assert after(HOST, asking_to_wait(HTTP_429, 1.0)).next_at == NOW + 4


def test_a_site_of_your_own_obeys_a_429_too() -> None:
    record = after(HOST, HTTP_429, jitter=0.5, config=OWN_SITE)
    assert (record.next_at, record.rate_per_minute) == (NOW + 45, None)
    assert after(record, OK, NOW + 45, config=OWN_SITE).next_at == NOW + 45, "then it goes on without a limit"


def test_more_than_a_hundred_good_answers_bring_back_a_tenth() -> None:
    history = History()
    history.visit(HTTP_429)
    for _ in range(100):
        history.visit(OK)
    assert (history.record.rate_per_minute, history.record.successes_in_a_row) == (15, 100)
    history.visit(HTTP_404)
    assert history.record.successes_in_a_row == 100, "a page that is not there slows no recovery down"
    history.visit(Unchanged())
    assert history.record.rate_per_minute == pytest.approx(16.5)
    assert history.record.successes_in_a_row == 0


@pytest.mark.parametrize(
    ("rate_per_second", "steps"),
    [
        (1.0, 15),  # 15 a minute to 60
        (10.0, 8),  # 150 to 300
        (0.02, 2),  # 1 to 1.2
    ],
)
def test_a_recovered_host_is_visited_as_configured_again(rate_per_second: float, steps: int) -> None:
    history = History(config=site(PolitenessConfig(rate_per_second=rate_per_second)))
    history.visit(HTTP_429)
    visits = 0
    while history.record.rate_per_minute is not None:
        history.visit(OK)
        visits += 1
        assert (history.record.rate_per_minute or 0) < 300
    assert visits == steps * 101
    assert (history.record.successes_in_a_row, history.record.limited_in_a_row) == (0, 0)


def test_a_429_starts_the_recovery_again() -> None:
    record = after(host(rate_per_minute=16.5, successes_in_a_row=60), HTTP_429)
    assert (record.rate_per_minute, record.successes_in_a_row) == (4.125, 0)


def test_a_burst_of_429s_is_one() -> None:
    """Eight requests in flight, all of them refused: seven of the answers come during the backoff."""
    record = after(HOST, HTTP_429, jitter=0.5)
    for late in range(1, 8):
        record = after(record, HTTP_429, NOW + late / 10, jitter=1.0)
    assert (record.limited_in_a_row, record.rate_per_minute, record.next_at) == (1, 15, NOW + 45)
    assert (record.blocks_in_a_row, record.recent_failures) == (1, (NOW,))
    longer = after(record, asking_to_wait(HTTP_429, 90.0), NOW + 1)
    assert (longer.limited_in_a_row, longer.next_at) == (1, NOW + 91)
    page = after(longer, OK, NOW + 2)
    assert (page.limited_in_a_row, page.successes_in_a_row) == (1, 0), "it was requested before the first 429"
    assert after(page, HTTP_429, page.next_at).limited_in_a_row == 2


def test_a_429_during_a_backoff_for_another_reason_counts() -> None:
    record = after(after(HOST, REFUSED), HTTP_429, NOW + 0.5, jitter=0.5)
    assert (record.limited_in_a_row, record.next_at) == (1, NOW + 45.5)


def test_a_page_that_we_do_not_hold_and_that_has_not_changed_is_a_good_answer() -> None:
    not_modified = Failed("HTTP 304", FailureKind.NOT_MODIFIED, status=304)
    assert after(host(limited_in_a_row=1, rate_per_minute=15.0), not_modified).limited_in_a_row == 0


def test_the_numbers_are_settings() -> None:
    config = site(
        PolitenessConfig(rate_per_second=2.0),
        HostsConfig(
            throttle_first_seconds=10,
            throttle_second_seconds=20,
            throttle_third_seconds=40,
            throttle_factor=0.5,
            throttle_successes=2,
        ),
        FetchConfig(max_retry_after_seconds=15),
    )
    history, table = History(config=config), []
    for outcome in (HTTP_429, asking_to_wait(HTTP_429, 99.0), HTTP_429, Fetched(200), Fetched(200), Fetched(200)):
        history.visit(outcome)
        table.append((history.wait, round(history.record.rate_per_minute or 0, 2)))
    assert table == [(10, 60), (20, 30), (40, 15), (4, 15), (4, 15), (pytest.approx(60 / 16.5, abs=0.001), 16.5)]
