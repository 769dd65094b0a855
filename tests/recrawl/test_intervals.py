"""When a page is visited again."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.model import Freshness, PageKind
from tenax.recrawl.change_rates import Tally, gamma, packed, prior
from tenax.recrawl.intervals import (
    DAY,
    FreshnessBounds,
    Seen,
    Sight,
    after_visit,
    duration,
    kin,
    next_visit_at,
    rate_per_day,
    taught,
)

NOW = 1_750_000_000.0
BOUNDS = FreshnessBounds()
PRIOR = prior(PageKind.OTHER)
PRICE = 2.0
FEW, MORE = packed(gamma(0.4, 8.0)), packed(gamma(4.0, 8.0))

kinds = st.sampled_from(list(PageKind))
hours = st.floats(0.01, 24 * 200)
prices = st.floats(1e-6, 1e6)
histories = st.lists(st.tuples(hours, st.booleans()), max_size=12)


def lived(history: list[tuple[float, bool]], kind: PageKind = PageKind.OTHER) -> tuple[Freshness, float]:
    """What is known of a page after visits so many hours apart, and when the last of them was."""
    now, freshness = NOW, first(kind)
    for apart, is_changed in history:
        now += apart * 3600
        freshness = visited(freshness, Sight.CHANGED if is_changed else Sight.UNCHANGED, now, kind)
    return freshness, now


def first(kind: PageKind = PageKind.OTHER, **hints: object) -> Freshness:
    seen = msgspec.convert({"sight": "first", "kind": kind.value, **hints}, Seen)
    freshness = after_visit(None, seen, NOW, BOUNDS, prior(kind))
    assert freshness is not None
    return freshness


def visited(
    freshness: Freshness, sight: Sight, now: float, kind: PageKind = PageKind.OTHER, lastmod_at: float | None = None
) -> Freshness:
    after = after_visit(freshness, Seen(sight, kind, lastmod_at=lastmod_at), now, BOUNDS, prior(kind))
    assert after is not None
    return after


def interval(freshness: Freshness, now: float, price: float = PRICE) -> float:
    return next_visit_at(freshness, now, BOUNDS, price)[0] - now


@given(histories, hours, kinds, prices)
def test_a_change_speeds_it_and_an_unchanged_page_slows_it(
    history: list[tuple[float, bool]], apart: float, kind: PageKind, price: float
) -> None:
    freshness, last = lived(history, kind)
    now = last + apart * 3600
    changed, unchanged = (visited(freshness, sight, now, kind) for sight in (Sight.CHANGED, Sight.UNCHANGED))
    before = interval(msgspec.structs.replace(freshness, seen_at=now), now, price)
    assert interval(changed, now, price) <= before * 1.001 <= interval(unchanged, now, price) * 1.002
    assert rate_per_day(changed, now) > rate_per_day(unchanged, now)


@given(histories, prices, st.floats(60, 1e6), st.floats(1, 1e4), st.floats(0, 1e9))
def test_bounds_hold(history: list[tuple[float, bool]], price: float, shortest: float, more: float, on: float) -> None:
    freshness, last = lived(history)
    bounds = FreshnessBounds(shortest, shortest * more)
    at, _ = next_visit_at(freshness, last + on, bounds, price)
    assert shortest * 0.999 <= at - last <= shortest * more * 1.001


@given(histories, st.sampled_from([Sight.CHANGED, Sight.UNCHANGED]), st.floats(-1e10, 1e10), prices)
def test_a_jump_of_the_clock_does_no_harm(
    history: list[tuple[float, bool]], sight: Sight, jump: float, price: float
) -> None:
    freshness, last = lived(history)
    now = last + jump
    at, _ = next_visit_at(freshness, now, BOUNDS, price)
    assert at <= now + BOUNDS.longest_seconds * 1.001
    after, longest = visited(freshness, sight, now), last + 2 * BOUNDS.longest_seconds
    assert math.isfinite(rate_per_day(after, now))
    assert after.rates == visited(freshness, sight, min(now, longest)).rates


@given(histories)
def test_hubs_come_before_articles_at_equal_evidence(history: list[tuple[float, bool]]) -> None:
    """What is usual for either kind wears off at a pace of its own: after a strange history they may be about equal."""
    (hub, now), (article, _) = lived(history, PageKind.HUB), lived(history, PageKind.ARTICLE)
    assert interval(msgspec.structs.replace(article, is_hub=True), now) <= interval(article, now)
    assert interval(hub, now) <= interval(article, now) * 1.15


@given(histories, st.integers(1, 5))
def test_failures_teach_nothing_and_are_not_hurried(history: list[tuple[float, bool]], times: int) -> None:
    freshness, now = lived(history)
    failed = freshness
    for n in range(times):
        failed = visited(failed, Sight.FAILED, now + 60 * (n + 1))
    assert (failed.rates, failed.seen_at) == (freshness.rates, freshness.seen_at)
    at, why = next_visit_at(failed, now + 60 * times, BOUNDS, PRICE)
    assert at >= next_visit_at(freshness, now, BOUNDS, PRICE)[0]
    assert why.startswith("failed")
    # What is seen after it counts for the whole time since the page was last seen.
    later = now + 3 * DAY
    assert visited(failed, Sight.UNCHANGED, later) == visited(freshness, Sight.UNCHANGED, later)


def test_nothing_is_remembered_of_what_was_never_seen() -> None:
    for sight in (Sight.FAILED, Sight.GONE):
        assert after_visit(None, Seen(sight), NOW, BOUNDS, PRIOR) is None


def test_what_is_gone_is_looked_for_ever_less_and_found_again() -> None:
    freshness, waits = first(), []
    now = NOW
    for _ in range(7):
        freshness = visited(freshness, Sight.GONE, now)
        waits.append(next_visit_at(freshness, now, BOUNDS, PRICE)[0] - now)
        now += waits[-1]
    assert waits == [DAY, 3 * DAY, 9 * DAY, 27 * DAY, 81 * DAY, 90 * DAY, 90 * DAY]
    assert next_visit_at(freshness, now, BOUNDS, PRICE)[1] == "gone, seen so 7 times in a row; asked again after 90 d"
    back = visited(freshness, Sight.CHANGED, now)
    assert back.gone == 0 and interval(back, now) < 30 * DAY


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
    """The days until the next visit, at a price for which an ordinary page is visited every five."""
    assert sooner < interval(*lived(history)) / DAY < later


def test_an_article_settles() -> None:
    new = first(PageKind.ARTICLE, published_at=NOW - 3600)
    old = first(PageKind.ARTICLE, published_at=NOW - 40 * DAY)
    assert interval(new, NOW) < interval(old, NOW)
    waits = [interval(msgspec.structs.replace(new, seen_at=at), at) for at in (NOW, NOW + 5 * DAY, NOW + 50 * DAY)]
    assert waits == sorted(waits) and waits[0] < waits[2] / 2


@pytest.mark.parametrize("at", [-1.0, 0.0, NOW + 1, 1e300, math.inf, math.nan])
def test_dates_that_cannot_be_are_ignored(at: float) -> None:
    plain, hinted = Seen(Sight.FIRST, PageKind.ARTICLE), Seen(Sight.FIRST, PageKind.ARTICLE, at, at, at, "sometimes")
    assert after_visit(None, hinted, NOW, BOUNDS, PRIOR) == after_visit(None, plain, NOW, BOUNDS, PRIOR)
    assert kin(hinted, NOW) is PageKind.OTHER
    freshness, now = lived([(24.0, True), (24.0, False)])
    at = now + DAY + 1 if at == NOW + 1 else at
    for sight in (Sight.CHANGED, Sight.UNCHANGED):
        hinted = Seen(sight, PageKind.OTHER, at, at, at, "")
        assert after_visit(freshness, hinted, now + DAY, BOUNDS, PRIOR) == visited(freshness, sight, now + DAY)
    assert next_visit_at(freshness, now, BOUNDS, PRICE, at) == next_visit_at(freshness, now, BOUNDS, PRICE)


def test_changefreq_colours_the_beginning_and_is_soon_outweighed() -> None:
    lively, quiet = first(changefreq="Hourly"), first(changefreq="never")
    assert interval(lively, NOW) < interval(first(), NOW) < interval(quiet, NOW)
    assert interval(quiet, NOW) / interval(lively, NOW) > 1.5
    for day in range(1, 15):
        now, sight = NOW + day * DAY, Sight.UNCHANGED if day % 4 else Sight.CHANGED
        lively, quiet = visited(lively, sight, now), visited(quiet, sight, now)
    assert interval(quiet, now) / interval(lively, now) < 1.1


def test_what_a_page_says_of_itself_counts_more_than_its_sitemap() -> None:
    long_ago = NOW - 100 * DAY
    silent, said, listed = first(), first(last_modified_at=long_ago), first(lastmod_at=long_ago)
    assert interval(silent, NOW) < interval(listed, NOW) < interval(said, NOW)


def test_a_change_that_is_dated_tells_how_long_it_has_been_quiet() -> None:
    freshness, now = lived([(240.0, False)])
    later = now + 10 * DAY
    seen = [Seen(Sight.CHANGED, last_modified_at=later - days * DAY) for days in (0.5, 5.0)]
    recent, earlier = (after_visit(freshness, one, later, BOUNDS, PRIOR) for one in seen)
    assert recent is not None and earlier is not None
    assert interval(recent, later) < interval(earlier, later) < interval(freshness, now)


def test_a_sitemap_is_believed_while_it_is_right() -> None:
    freshness, now = lived([(24.0 * 10, False)])
    soon = "its sitemap tells of a change; asked again after 1 h"
    for _ in range(2):
        told = now + 3600.0
        assert next_visit_at(freshness, told + 60, BOUNDS, PRICE, told) == (now + 3600.0, soon)
        now += 2 * DAY
        freshness = visited(freshness, Sight.UNCHANGED, now, lastmod_at=told)
    assert next_visit_at(freshness, now + DAY, BOUNDS, PRICE, now + 10) == next_visit_at(freshness, now, BOUNDS, PRICE)
    freshness = visited(freshness, Sight.CHANGED, now + DAY)
    assert next_visit_at(freshness, now + 3 * DAY, BOUNDS, PRICE, now + 2 * DAY)[1] == soon
    # What was said before we saw the page is no news.
    assert next_visit_at(freshness, now + 2 * DAY, BOUNDS, PRICE, now)[1] != soon


def test_a_page_that_may_answer_with_304_is_asked_sooner() -> None:
    assert interval(first(has_validator=True), NOW) < interval(first(), NOW)


@pytest.mark.parametrize(
    ("freshness", "why"),
    [
        (Freshness(NOW, FEW), "new, taken to change about every 19 d; asked again after 5 d"),
        (
            Freshness(NOW, MORE, visits=13, changed=3),
            "changed in 3 of 12 visits, about every 2 d; asked again after 2.7 d",
        ),
        (Freshness(NOW, MORE, visits=2, tried_at=NOW, misses=1), "failed once; asked again after 5.3 d"),
    ],
)  # fmt: skip
def test_people_are_told_why(freshness: Freshness, why: str) -> None:
    assert next_visit_at(freshness, NOW, BOUNDS, PRICE)[1] == why


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(5, "5 s"), (90, "1.5 min"), (2400, "40 min"), (9000, "2.5 h"), (DAY, "1 d"), (45.4 * DAY, "45 d")],
)
def test_durations_are_short(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_pages_teach_what_to_believe_of_new_ones() -> None:
    tally = Tally()
    for _ in range(100):
        freshness, now = first(), NOW
        for _ in range(5):
            now += DAY
            after = visited(freshness, Sight.CHANGED, now)
            tally, freshness = taught(tally, freshness, after), after
    assert sum(tally.weights) == pytest.approx(100)  # each page once
    assert prior(PageKind.OTHER, tally).per_day > 5 * PRIOR.per_day
    assert taught(tally, None, first()) == tally
    for sight in (Sight.FAILED, Sight.GONE):
        assert taught(tally, freshness, visited(freshness, sight, now + DAY)) == tally


def test_what_was_stored_before_rates_were_is_a_page_of_which_nothing_is_known() -> None:
    old = b'{"seen_at":%d,"changes":4.0,"days":8.0,"lent":0.5,"lent_days":2.0,"visits":9,"changed":3}' % NOW
    freshness = msgspec.json.decode(old, type=Freshness)
    assert (freshness.visits, freshness.changed, freshness.rates) == (9, 3, b"")
    assert interval(freshness, NOW) == pytest.approx(interval(first(), NOW), rel=1e-3)
    for sight in (Sight.CHANGED, Sight.UNCHANGED):
        after = visited(freshness, sight, NOW + DAY)
        assert after.visits == 10
        assert interval(after, NOW + DAY) == pytest.approx(
            interval(visited(first(), sight, NOW + DAY), NOW + DAY), 1e-3
        )
        assert sum(taught(Tally(), freshness, after).weights) == pytest.approx(1)


@pytest.mark.parametrize(
    ("said_days", "is_sooner"), [(0.0, None), (0.5, True), (100.0, False)], ids=["just now", "lately", "long ago"]
)
def test_a_first_visit_learns_when_the_page_last_changed(said_days: float, is_sooner: bool | None) -> None:
    silent, said = interval(first(), NOW), interval(first(last_modified_at=NOW - said_days * DAY), NOW)
    assert said == silent if is_sooner is None else (said < silent) is is_sooner


def test_that_an_article_was_made_is_no_change() -> None:
    at = NOW - 5 * DAY
    made, revised = (first(PageKind.ARTICLE, published_at=at, last_modified_at=at + late) for late in (0, 3600))
    assert interval(revised, NOW) < interval(made, NOW)


@given(histories)
def test_it_is_small_where_it_is_stored(history: list[tuple[float, bool]]) -> None:
    freshness, _ = lived(history)
    encoded = msgspec.json.encode(freshness)
    assert len(encoded) < 150
    assert msgspec.json.decode(encoded, type=Freshness) == freshness
