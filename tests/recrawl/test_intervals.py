"""When a page is visited again."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.model import ChangeHistory, PageKind
from tenax.recrawl.change_rates import Tally, gamma_belief, pack_belief, prior_belief
from tenax.recrawl.intervals import (
    DAY_SECONDS,
    ChangeStatus,
    IntervalBounds,
    Observation,
    format_duration,
    next_visit_at,
    prior_kind,
    rate_per_day,
    update_history,
    update_prior,
)

NOW = 1_750_000_000.0
BOUNDS = IntervalBounds()
PRIOR = prior_belief(PageKind.OTHER)
PRICE = 2.0
FEW, MORE = pack_belief(gamma_belief(0.4, 8.0)), pack_belief(gamma_belief(4.0, 8.0))

kinds = st.sampled_from(list(PageKind))
hours = st.floats(0.01, 24 * 200)
prices = st.floats(1e-6, 1e6)
histories = st.lists(st.tuples(hours, st.booleans()), max_size=12)


def lived(history: list[tuple[float, bool]], kind: PageKind = PageKind.OTHER) -> tuple[ChangeHistory, float]:
    """The history of a page after visits this many hours apart, and the time of the last one."""
    now, change_history = NOW, first(kind)
    for apart, is_changed in history:
        now += apart * 3600
        change_history = visited(
            change_history, ChangeStatus.CHANGED if is_changed else ChangeStatus.UNCHANGED, now, kind
        )
    return change_history, now


def first(kind: PageKind = PageKind.OTHER, **hints: object) -> ChangeHistory:
    seen = msgspec.convert({"status": "first", "kind": kind.value, **hints}, Observation)
    change_history = update_history(None, seen, NOW, BOUNDS, prior_belief(kind))
    assert change_history is not None
    return change_history


def visited(
    history: ChangeHistory,
    status: ChangeStatus,
    now: float,
    kind: PageKind = PageKind.OTHER,
    lastmod_at: float | None = None,
) -> ChangeHistory:
    after = update_history(history, Observation(status, kind, lastmod_at=lastmod_at), now, BOUNDS, prior_belief(kind))
    assert after is not None
    return after


def interval(history: ChangeHistory, now: float, price: float = PRICE) -> float:
    return next_visit_at(history, now, BOUNDS, price)[0] - now


@given(histories, hours, kinds, prices)
def test_a_change_speeds_it_and_an_unchanged_page_slows_it(
    history: list[tuple[float, bool]], apart: float, kind: PageKind, price: float
) -> None:
    change_history, last = lived(history, kind)
    now = last + apart * 3600
    changed, unchanged = (
        visited(change_history, status, now, kind) for status in (ChangeStatus.CHANGED, ChangeStatus.UNCHANGED)
    )
    before = interval(msgspec.structs.replace(change_history, seen_at=now), now, price)
    assert interval(changed, now, price) <= before * 1.001 <= interval(unchanged, now, price) * 1.002
    assert rate_per_day(changed, now) > rate_per_day(unchanged, now)


@given(histories, prices, st.floats(60, 1e6), st.floats(1, 1e4), st.floats(0, 1e9))
def test_bounds_hold(
    history: list[tuple[float, bool]], price: float, min_seconds: float, more: float, on: float
) -> None:
    change_history, last = lived(history)
    bounds = IntervalBounds(min_seconds, min_seconds * more)
    at, _ = next_visit_at(change_history, last + on, bounds, price)
    assert min_seconds * 0.999 <= at - last <= min_seconds * more * 1.001


@given(histories, st.sampled_from([ChangeStatus.CHANGED, ChangeStatus.UNCHANGED]), st.floats(-1e10, 1e10), prices)
def test_a_jump_of_the_clock_does_no_harm(
    history: list[tuple[float, bool]], status: ChangeStatus, jump: float, price: float
) -> None:
    change_history, last = lived(history)
    now = last + jump
    at, _ = next_visit_at(change_history, now, BOUNDS, price)
    assert at <= now + BOUNDS.max_seconds * 1.001
    after, longest = visited(change_history, status, now), last + 2 * BOUNDS.max_seconds
    assert math.isfinite(rate_per_day(after, now))
    assert after.rates == visited(change_history, status, min(now, longest)).rates


@given(histories)
def test_hubs_come_before_articles_at_equal_evidence(history: list[tuple[float, bool]]) -> None:
    """The priors of both kinds wear off at different rates: after an unusual history they may be about equal."""
    (hub, now), (article, _) = lived(history, PageKind.HUB), lived(history, PageKind.ARTICLE)
    assert interval(msgspec.structs.replace(article, is_hub=True), now) <= interval(article, now)
    assert interval(hub, now) <= interval(article, now) * 1.15


@given(histories, st.integers(1, 5))
def test_failures_teach_nothing_and_are_not_hurried(history: list[tuple[float, bool]], times: int) -> None:
    change_history, now = lived(history)
    failed = change_history
    for n in range(times):
        failed = visited(failed, ChangeStatus.FAILED, now + 60 * (n + 1))
    assert (failed.rates, failed.seen_at) == (change_history.rates, change_history.seen_at)
    at, why = next_visit_at(failed, now + 60 * times, BOUNDS, PRICE)
    assert at >= next_visit_at(change_history, now, BOUNDS, PRICE)[0]
    assert why.startswith("failed")
    # What is seen afterwards counts for the whole time since the page was last seen.
    later = now + 3 * DAY_SECONDS
    assert visited(failed, ChangeStatus.UNCHANGED, later) == visited(change_history, ChangeStatus.UNCHANGED, later)


def test_nothing_is_remembered_of_what_was_never_seen() -> None:
    for status in (ChangeStatus.FAILED, ChangeStatus.GONE):
        assert update_history(None, Observation(status), NOW, BOUNDS, PRIOR) is None


def test_what_is_gone_is_looked_for_ever_less_and_found_again() -> None:
    change_history, waits = first(), []
    now = NOW
    for _ in range(7):
        change_history = visited(change_history, ChangeStatus.GONE, now)
        waits.append(next_visit_at(change_history, now, BOUNDS, PRICE)[0] - now)
        now += waits[-1]
    assert waits == [
        DAY_SECONDS,
        3 * DAY_SECONDS,
        9 * DAY_SECONDS,
        27 * DAY_SECONDS,
        81 * DAY_SECONDS,
        90 * DAY_SECONDS,
        90 * DAY_SECONDS,
    ]
    assert (
        next_visit_at(change_history, now, BOUNDS, PRICE)[1] == "gone, found so 7 times in a row; next visit after 90 d"
    )
    back = visited(change_history, ChangeStatus.CHANGED, now)
    assert back.gone == 0 and interval(back, now) < 30 * DAY_SECONDS


@pytest.mark.parametrize(
    ("history", "sooner", "later"),
    [
        ([(24.0, True)] * 40, 1.9, 2.3),
        ([(24.0, True)] * 200 + [(48.0, False)] * 12, 4.0, 14.0),
        ([(24.0 * 30, False)] * 12, 10.0, 30.0),
        ([(24.0 * 30, False)] * 12 + [(24.0, True)] * 4, 1.9, 8.0),
    ],
    ids=["daily", "fell asleep", "quiet for a year", "woke up"],
)  # fmt: skip
def test_habits_are_noticed(history: list[tuple[float, bool]], sooner: float, later: float) -> None:
    """The days until the next visit, at a price at which an ordinary page is visited every five."""
    assert sooner < interval(*lived(history)) / DAY_SECONDS < later


def test_an_article_settles() -> None:
    new = first(PageKind.ARTICLE, published_at=NOW - 3600)
    old = first(PageKind.ARTICLE, published_at=NOW - 40 * DAY_SECONDS)
    assert interval(new, NOW) < interval(old, NOW)
    waits = [
        interval(msgspec.structs.replace(new, seen_at=at), at)
        for at in (NOW, NOW + 5 * DAY_SECONDS, NOW + 50 * DAY_SECONDS)
    ]
    assert waits == sorted(waits) and waits[0] < waits[2] / 2


@pytest.mark.parametrize("at", [-1.0, 0.0, NOW + 1, 1e300, math.inf, math.nan])
def test_dates_that_cannot_be_are_ignored(at: float) -> None:
    plain, hinted = (
        Observation(ChangeStatus.FIRST, PageKind.ARTICLE),
        Observation(ChangeStatus.FIRST, PageKind.ARTICLE, at, at, at, "sometimes"),
    )
    assert update_history(None, hinted, NOW, BOUNDS, PRIOR) == update_history(None, plain, NOW, BOUNDS, PRIOR)
    assert prior_kind(hinted, NOW) is PageKind.OTHER
    change_history, now = lived([(24.0, True), (24.0, False)])
    at = now + DAY_SECONDS + 1 if at == NOW + 1 else at
    for status in (ChangeStatus.CHANGED, ChangeStatus.UNCHANGED):
        hinted = Observation(status, PageKind.OTHER, at, at, at, "")
        assert update_history(change_history, hinted, now + DAY_SECONDS, BOUNDS, PRIOR) == visited(
            change_history, status, now + DAY_SECONDS
        )
    assert next_visit_at(change_history, now, BOUNDS, PRICE, at) == next_visit_at(change_history, now, BOUNDS, PRICE)


def test_changefreq_colours_the_beginning_and_is_soon_outweighed() -> None:
    lively, quiet = first(changefreq="Hourly"), first(changefreq="never")
    assert interval(lively, NOW) < interval(first(), NOW) < interval(quiet, NOW)
    assert interval(quiet, NOW) / interval(lively, NOW) > 1.5
    for day in range(1, 15):
        now, status = NOW + day * DAY_SECONDS, ChangeStatus.UNCHANGED if day % 4 else ChangeStatus.CHANGED
        lively, quiet = visited(lively, status, now), visited(quiet, status, now)
    assert interval(quiet, now) / interval(lively, now) < 1.1


def test_what_a_page_says_of_itself_counts_more_than_its_sitemap() -> None:
    long_ago = NOW - 100 * DAY_SECONDS
    silent, said, listed = first(), first(last_modified_at=long_ago), first(lastmod_at=long_ago)
    assert interval(silent, NOW) < interval(listed, NOW) < interval(said, NOW)


def test_a_dated_change_gives_the_quiet_time() -> None:
    change_history, now = lived([(240.0, False)])
    later = now + 10 * DAY_SECONDS
    seen = [Observation(ChangeStatus.CHANGED, last_modified_at=later - days * DAY_SECONDS) for days in (0.5, 5.0)]
    recent, earlier = (update_history(change_history, one, later, BOUNDS, PRIOR) for one in seen)
    assert recent is not None and earlier is not None
    assert interval(recent, later) < interval(earlier, later) < interval(change_history, now)


def test_a_sitemap_is_believed_while_it_is_right() -> None:
    change_history, now = lived([(24.0 * 10, False)])
    soon = "its sitemap reports a change; next visit after 1 h"
    for _ in range(2):
        reported_at = now + 3600.0
        assert next_visit_at(change_history, reported_at + 60, BOUNDS, PRICE, reported_at) == (now + 3600.0, soon)
        now += 2 * DAY_SECONDS
        change_history = visited(change_history, ChangeStatus.UNCHANGED, now, lastmod_at=reported_at)
    assert next_visit_at(change_history, now + DAY_SECONDS, BOUNDS, PRICE, now + 10) == next_visit_at(
        change_history, now, BOUNDS, PRICE
    )
    change_history = visited(change_history, ChangeStatus.CHANGED, now + DAY_SECONDS)
    assert next_visit_at(change_history, now + 3 * DAY_SECONDS, BOUNDS, PRICE, now + 2 * DAY_SECONDS)[1] == soon
    # What was reported before we saw the page is not new.
    assert next_visit_at(change_history, now + 2 * DAY_SECONDS, BOUNDS, PRICE, now)[1] != soon


def test_a_page_that_may_answer_with_304_is_asked_sooner() -> None:
    assert interval(first(has_validator=True), NOW) < interval(first(), NOW)


@pytest.mark.parametrize(
    ("history", "why"),
    [
        (ChangeHistory(NOW, FEW), "new, assumed to change about every 19 d; next visit after 5 d"),
        (
            ChangeHistory(NOW, MORE, visits=13, changes=3),
            "changed in 3 of 12 visits, about every 2 d; next visit after 2.7 d",
        ),
        (ChangeHistory(NOW, MORE, visits=2, tried_at=NOW, misses=1), "failed once; next visit after 5.3 d"),
    ],
)  # fmt: skip
def test_the_reason_is_readable(history: ChangeHistory, why: str) -> None:
    assert next_visit_at(history, NOW, BOUNDS, PRICE)[1] == why


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (5, "5 s"),
        (90, "1.5 min"),
        (2400, "40 min"),
        (9000, "2.5 h"),
        (DAY_SECONDS, "1 d"),
        (45.4 * DAY_SECONDS, "45 d"),
    ],
)
def test_durations_are_short(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


def test_pages_teach_what_to_believe_of_new_ones() -> None:
    tally = Tally()
    for _ in range(100):
        change_history, now = first(), NOW
        for _ in range(5):
            now += DAY_SECONDS
            after = visited(change_history, ChangeStatus.CHANGED, now)
            tally, change_history = update_prior(tally, change_history, after), after
    assert sum(tally.weights) == pytest.approx(100)  # each page once
    assert prior_belief(PageKind.OTHER, tally).per_day > 5 * PRIOR.per_day
    assert update_prior(tally, None, first()) == tally
    for status in (ChangeStatus.FAILED, ChangeStatus.GONE):
        assert update_prior(tally, change_history, visited(change_history, status, now + DAY_SECONDS)) == tally


def test_what_was_stored_before_rates_were_is_a_page_of_which_nothing_is_known() -> None:
    old = b'{"seen_at":%d,"days":8.0,"lent":0.5,"lent_days":2.0,"visits":9,"changes":3}' % NOW
    change_history = msgspec.json.decode(old, type=ChangeHistory)
    assert (change_history.visits, change_history.changes, change_history.rates) == (9, 3, b"")
    assert interval(change_history, NOW) == pytest.approx(interval(first(), NOW), rel=1e-3)
    for status in (ChangeStatus.CHANGED, ChangeStatus.UNCHANGED):
        after = visited(change_history, status, NOW + DAY_SECONDS)
        assert after.visits == 10
        assert interval(after, NOW + DAY_SECONDS) == pytest.approx(
            interval(visited(first(), status, NOW + DAY_SECONDS), NOW + DAY_SECONDS), 1e-3
        )
        assert sum(update_prior(Tally(), change_history, after).weights) == pytest.approx(1)


@pytest.mark.parametrize(
    ("said_days", "is_sooner"), [(0.0, None), (0.5, True), (100.0, False)], ids=["just now", "lately", "long ago"]
)
def test_a_first_visit_learns_when_the_page_last_changed(said_days: float, is_sooner: bool | None) -> None:
    silent, said = interval(first(), NOW), interval(first(last_modified_at=NOW - said_days * DAY_SECONDS), NOW)
    assert said == silent if is_sooner is None else (said < silent) is is_sooner


def test_that_an_article_was_made_is_no_change() -> None:
    at = NOW - 5 * DAY_SECONDS
    made, revised = (first(PageKind.ARTICLE, published_at=at, last_modified_at=at + late) for late in (0, 3600))
    assert interval(revised, NOW) < interval(made, NOW)


@given(histories)
def test_it_is_small_where_it_is_stored(history: list[tuple[float, bool]]) -> None:
    change_history, _ = lived(history)
    encoded = msgspec.json.encode(change_history)
    assert len(encoded) < 150
    assert msgspec.json.decode(encoded, type=ChangeHistory) == change_history
