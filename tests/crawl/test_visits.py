"""Claimed tasks that are not requested, or not yet."""

from __future__ import annotations

import msgspec
import pytest

from tenax.config import Config
from tenax.crawl.visits import MAX_PREDECESSOR_WAIT_SECONDS, RECHECK_SECONDS, defer_outcome, skip_outcome
from tenax.model import (
    Claim,
    Deferred,
    FacetRule,
    GuessState,
    HostRecord,
    Lease,
    ListRule,
    Priority,
    SeriesRule,
    Source,
    StoredCopy,
    Task,
)
from tenax.urls.admit import Rules, build_rules

SITE = "https://a.test"
NOW = 1_772_000_000.0
RULES = build_rules([SITE], Config(), 2026)
TRIED = RULES.urls.facet_samples
NARROWED = msgspec.structs.replace(RULES, revision=1, exclude=("*/shop*",))
JUDGED = GuessState(facets={"/shop": FacetRule(TRIED, 0.0)})
FRUITFUL = GuessState(facets={"/shop": FacetRule(TRIED, 0.5)})
SAME = GuessState(series={"/months/{n}": SeriesRule(RULES.urls.max_same_in_series)})
EMPTY = GuessState(lists={"/months/11?page={n}": ListRule(1, empty_at=2), "/months?page={n}": ListRule(1, empty_at=2)})
UNLIMITED = msgspec.structs.replace(RULES, urls=msgspec.structs.replace(RULES.urls, max_same_in_series=0))
SELECTION, MONTH = "/shop?colour=red", "/months/12"


def claim(path: str, source: Source = Source.LINK, wait_of: StoredCopy | None = None) -> Claim:
    task = Task(SITE + path, SITE, 1, Priority.HIGH, source, f"{SITE}/months/11", NOW, NOW)
    return Claim(task, HostRecord(SITE, "a.test"), Lease(1, 1, NOW + 60), wait_of)


@pytest.mark.parametrize(
    ("one", "guess_state", "rules", "expected"),
    [
        pytest.param(claim("/about"), JUDGED, RULES, None, id="any page"),
        pytest.param(claim(SELECTION), GuessState(), NARROWED, "rules", id="refused by now"),
        pytest.param(claim(SELECTION), JUDGED, RULES, "facets", id="a selection like the others"),
        pytest.param(claim(SELECTION, Source.SEED), JUDGED, RULES, None, id="a person named it"),
        pytest.param(claim(SELECTION, wait_of=StoredCopy(NOW, 200)), JUDGED, RULES, None, id="it is stored already"),
        pytest.param(claim(SELECTION), FRUITFUL, RULES, None, id="they are worth it"),
        pytest.param(claim(MONTH), SAME, RULES, "series", id="a month like the others"),
        pytest.param(claim(MONTH), GuessState(), RULES, None, id="a month"),
        pytest.param(claim("/months?page=3"), EMPTY, RULES, None, id="not of the list it was found on"),
        pytest.param(claim("/months/11?page=3"), EMPTY, RULES, "series", id="after an empty page"),
        pytest.param(claim("/months/11?page=3"), EMPTY, UNLIMITED, None, id="switched off"),
    ],
)
def test_tasks_that_are_skipped(one: Claim, guess_state: GuessState, rules: Rules, expected: str | None) -> None:
    why = skip_outcome(one, guess_state, rules)
    assert why == expected if why is None else why.why.startswith(f"{expected}: ")


FIRST_READ = GuessState(lists={"/months/11?page={n}": ListRule(1)})
SECOND_READ = GuessState(lists={"/months/11?page={n}": ListRule(2)})
ALMOST = GuessState(facets={"/shop": FacetRule(TRIED - 1, 0.0)})
BEGUN = GuessState(series={"/months/{n}": SeriesRule(1)})
ONE = SELECTION.replace("red", "blue")


def deferral(
    one: Claim, guess_state: GuessState, others: list[str], now: float = NOW, rules: Rules = RULES
) -> Deferred | None:
    in_flight = {one.lease.number - 1 - index: (url, NOW) for index, url in enumerate(others)}
    return defer_outcome(one, guess_state, rules, {**in_flight, one.lease.number: (one.task.url, NOW)}, now)


@pytest.mark.parametrize(
    ("one", "guess_state", "others", "is_deferred"),
    [
        pytest.param(claim(SELECTION), ALMOST, [SITE + ONE], True, id="the last selection before the judgement"),
        pytest.param(claim(SELECTION), ALMOST, [], False, id="nothing like it is asked for"),
        pytest.param(claim(SELECTION), ALMOST, [f"{SITE}/other?colour=blue", f"{SITE}/shop"], False, id="other paths"),
        pytest.param(claim(SELECTION), ALMOST, ["https://b.test/shop?colour=blue"], False, id="another host"),
        pytest.param(claim(SELECTION), FRUITFUL, [SITE + ONE] * 20, False, id="judged, and worth it"),
        pytest.param(claim(SELECTION, Source.SEED), ALMOST, [SITE + ONE], False, id="a person named it"),
        pytest.param(claim(SELECTION), GuessState(), [SITE + ONE] * 2, False, id="the third of a new path"),
        pytest.param(claim(SELECTION), GuessState(), [SITE + ONE] * 3, True, id="the fourth of a new path"),
        pytest.param(claim(MONTH), BEGUN, [f"{SITE}/months/10"] * 2, True, id="enough months"),
        pytest.param(claim(MONTH), BEGUN, [f"{SITE}/months/10"], False, id="not enough months"),
        pytest.param(claim(MONTH), GuessState(), [f"{SITE}/months/10"] * 9, False, id="months that show something"),
        pytest.param(claim("/months/11?page=3"), FIRST_READ, [], True, id="the page before was not read"),
        pytest.param(claim("/months/11?page=2"), FIRST_READ, [], False, id="the next page"),
        pytest.param(claim("/months/11?page=2"), FIRST_READ, [f"{SITE}/months/11?page=3"], True, id="another page"),
        pytest.param(claim("/months/11?page=9"), SECOND_READ, [f"{SITE}/months/11?page=8"], False, id="a proven list"),
    ],
)
def test_tasks_that_wait_for_similar_urls(
    one: Claim, guess_state: GuessState, others: list[str], is_deferred: bool
) -> None:
    wait = deferral(one, guess_state, others)
    assert (wait is not None) is is_deferred
    assert wait is None or (wait.until == NOW + RECHECK_SECONDS and wait.why.startswith("waits for similar URLs: "))
    off = msgspec.structs.replace(RULES.urls, max_same_in_series=0, facet_samples=0)
    assert deferral(one, guess_state, others, rules=msgspec.structs.replace(RULES, urls=off)) is None, "switched off"


def test_a_task_does_not_wait_for_later_claims() -> None:
    one = claim(SELECTION)
    assert defer_outcome(one, ALMOST, RULES, {one.lease.number + 1: (SITE + ONE, NOW)}, NOW) is None


def test_a_page_that_is_never_requested_is_not_waited_for() -> None:
    assert deferral(claim("/months/11?page=3"), FIRST_READ, [], NOW + MAX_PREDECESSOR_WAIT_SECONDS) is None
