"""The life of a URL, told."""

from __future__ import annotations

import msgspec
import pytest

from tenax.cli.layout import Ink
from tenax.cli.story import Explanation, told
from tenax.ledger import Life, TaskState, VisitRecord
from tenax.model import (
    Again,
    DeadLetter,
    Deferred,
    Done,
    Failed,
    FailureKind,
    Fetched,
    FetchRecord,
    Hop,
    HostRecord,
    Outcome,
    Page,
    Plan,
    Priority,
    Redirected,
    Refused,
    Rejected,
    RobotsCopy,
    RobotsVerdict,
    Source,
    Unchanged,
)
from tenax.urls.verdicts import Verdict

NOW = 1_750_000_000.0
URL = "https://example.org/a"
ROBOTS = RobotsCopy(RobotsVerdict.RULES, NOW - 50, NOW + 3000, "User-agent: *", 200)
HOST = HostRecord("https://example.org", "example.org", robots=ROBOTS)
PASSES = (Verdict("scope", True, "inside the scope `host`: example.org"), Verdict("depth", True, "1 link from a seed"))


def life(**changes: object) -> Life:
    plain = Life(
        url=URL,
        state=TaskState.SETTLED,
        discovered_at=NOW - 60,
        source=Source.LINK,
        depth=1,
        priority=Priority.MEDIUM,
        via="https://example.org/",
        host=HOST,
    )
    return msgspec.structs.replace(plain, **changes)


def text_of(life: Life | None, **changes: object) -> str:
    explanation = Explanation(URL, URL, NOW, life=life, verdicts=PASSES, host=HOST, robots_allows=True)
    lines = told(msgspec.structs.replace(explanation, **changes), Ink())
    return " ".join(" ".join(lines).split())


def test_a_stored_page_tells_its_way() -> None:
    page = Page(
        URL, 200, "text/html", "ab" * 32, 3000, NOW - 10, title="The\x1b[2J title\u202e", language="en",
        charset_source="header", text="x" * 1203, links_count=50, chain=(Hop("https://example.org/old", 301),),
    )  # fmt: skip
    visits = (
        VisitRecord(NOW - 20, Failed("no answer in 5 s", FailureKind.TIMEOUT_TOTAL), Again(NOW - 15, True)),
        VisitRecord(
            NOW - 10, Fetched(200), Done(), 1, FetchRecord(200, "text/html", 1000, 3000, 0.12, 0.3), 50, {"scope": 3}
        ),
    )
    text = text_of(life(page=page, visits=visits), changes=("fragment dropped",), asked=f"{URL}#top")
    for part in (
        "Visited and stored, as a page.",
        f"normalised from {URL}#top fragment dropped",
        "found as a link on https://example.org/ depth 1, priority medium",
        "✓ scope: inside the scope `host`: example.org",
        "✓ robots.txt allows it",
        "visit 1 failed, timed out: no answer in 5 s → again from",
        "one attempt spent",
        "visit 2 fetched, HTTP 200 text/html, 1.0 kB received, 3.0 kB decoded, first byte after 120 ms",
        "whole in 300 ms",
        "50 links offered; not followed: 3 out of scope → done",
        "stored “The title” page, 1,203 characters of text, 50 links, en, utf-8 by header",
        "redirected here from https://example.org/old (HTTP 301)",
    ):
        assert part in text
    assert "\x1b" not in text


def test_a_waiting_one_says_for_what() -> None:
    host = msgspec.structs.replace(HOST, next_at=NOW + 43, resting_why="rate limited")
    text = text_of(life(state=TaskState.WAITING, due=NOW + 5, host=host))
    assert "Waiting to be visited, due in 5.0 s" in text
    assert "its host's next turn is in 43 s" in text
    assert "it rests: rate limited" in text


def test_a_dead_letter_says_its_cause() -> None:
    text = text_of(life(state=TaskState.DEAD, cause="3 attempts failed, last: HTTP 500"))
    assert "Given up: 3 attempts failed, last: HTTP 500." in text


def test_a_seed_passes_no_rules() -> None:
    assert "✓ seed: a person named it" in text_of(life(source=Source.SEED, via=None, depth=0), is_seed=True)


@pytest.mark.parametrize(
    ("outcome", "plan", "says"),
    [
        (Unchanged(), Done(), "unchanged, HTTP 304"),
        (Redirected(301, "https://example.org/b"), Done(), "redirected, HTTP 301, to https://example.org/b"),
        (Redirected(302, "http://10.0.0.1/", "scope"), Done(), "not followed: scope"),
        (Deferred(NOW + 9, "host rests"), Again(NOW + 9), "put off until"),
        (Refused("robots.txt forbids it"), Done(), "not fetched: robots.txt forbids it"),
        (Rejected("not HTML: image/png"), Done(), "answered, but not kept: not HTML: image/png"),
        (Failed("connection refused", FailureKind.CONNECT, True), Again(NOW), "the host's trouble"),
        (Failed("HTTP 500", FailureKind.SERVER_ERROR), DeadLetter("3 attempts"), "given up: 3 attempts"),
    ],
)
def test_every_outcome_has_words(outcome: Outcome, plan: Plan, says: str) -> None:
    assert says in text_of(life(visits=(VisitRecord(NOW, outcome, plan),)))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"verdicts": (Verdict("scope", False, "outside the scope"),)},
            "Never admitted: the rule `scope` refuses it (outside",
        ),
        (
            {"robots_allows": False},
            "Never offered: no visited page links to it. It would be admitted, then refused by robots",
        ),
        ({"is_private": True}, "refused by the guard"),
        ({"host": None, "robots_allows": None}, "it would be admitted when a page links to it"),
    ],
)
def test_a_url_never_taken_says_what_would_become_of_it(changes: dict[str, object], says: str) -> None:
    assert says in text_of(None, **changes)


@pytest.mark.parametrize(
    ("copy", "says"),
    [
        (RobotsCopy(RobotsVerdict.ALLOW_ALL, NOW, NOW, http_status=404), "there is no robots.txt (HTTP 404)"),
        (RobotsCopy(RobotsVerdict.UNREACHABLE, NOW, NOW, why="HTTP 503"), "✗ robots.txt is unreachable (HTTP 503)"),
        (None, "robots.txt of this host was not asked for yet"),
    ],
)
def test_what_is_known_of_robots(copy: RobotsCopy | None, says: str) -> None:
    assert says in text_of(life(), host=msgspec.structs.replace(HOST, robots=copy))
