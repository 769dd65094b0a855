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
    PageKind,
    Plan,
    Priority,
    Redirected,
    Refused,
    Rejected,
    RobotsCopy,
    RobotsVerdict,
    Source,
    Unchanged,
    Way,
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
        charset_source="header", text="x" * 1203, links_count=50,
    )  # fmt: skip
    visits = (
        VisitRecord(NOW - 20, Failed("no answer in 5 s", FailureKind.TIMEOUT_TOTAL), Again(NOW - 15, True)),
        VisitRecord(
            NOW - 10, Fetched(200), Done(), 1, FetchRecord(200, "text/html", 1000, 3000, 0.12, 0.3), 50, {"scope": 3}
        ),
    )
    chain = (Hop("https://example.org/old", 301), Hop("https://example.org/older", 307))
    text = text_of(life(page=page, visits=visits, chain=chain), changes=("fragment dropped",), asked=f"{URL}#top")
    for part in (
        "Visited and stored, as a page.",
        f"normalised from {URL}#top fragment dropped",
        "found as a link on https://example.org/ https://example.org/old answered HTTP 301 and led on "
        "https://example.org/older answered HTTP 307 and led on depth 1, priority medium",
        "✓ scope: inside the scope `host`: example.org",
        "✓ robots.txt allows it",
        "visit 1 failed, timed out: no answer in 5 s → again from",
        "one attempt spent",
        "visit 2 fetched, HTTP 200 after 1 failed attempt HTTP 200, text/html, by plain HTTP 1.0 kB received, ",
        "3.0 kB decoded, first byte after 120 ms, download 180 ms at 5.6 kB/s, 300 ms in all",
        "50 links offered; not followed: 3 out of scope → done",
        "stored “The title” page, 1,203 characters of text, 50 links, en, utf-8 by header",
    ):
        assert part in text
    assert "\x1b" not in text


def test_a_duplicate_says_of_what() -> None:
    page = Page(
        URL, 200, "text/html", "ab" * 32, 3000, NOW, kind=PageKind.HUB, words=1200, authors=("Ada", "Bob"),
        published="2026-11-16", duplicate_of="https://example.org/\u202efirst", likeness=0.9349,
    )  # fmt: skip
    text = text_of(life(page=page))
    for part in (
        "Visited and stored, as a duplicate of https://example.org/first.",
        "hub, 0 characters of text, 1,200 words in the article, 0 links",
        "duplicate of https://example.org/first, likeness 0.93",
        "by Ada, Bob, published 2026-11-16",
    ):
        assert part in text


@pytest.mark.parametrize(("kind", "says"), [("article", "an article"), ("product", "a page of kind product")])
def test_what_kind_of_page_it_is(kind: str, says: str) -> None:
    page = Page(URL, 200, "text/html", "ab" * 32, 3000, NOW, kind=PageKind(kind))
    assert f"Visited and stored, as {says}." in text_of(life(page=page))


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
        (Unchanged(), Done(), "unchanged, HTTP 304 → done"),
        (Unchanged("the stored copy is 5 min old"), Done(), "unchanged, not asked for: the stored copy is 5 min old"),
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


def test_a_visit_tells_its_whole_fetch_record() -> None:
    fetch = FetchRecord(
        200, "text/html", 40_000, 90_000, 0.1, 0.3, protocol="HTTP/2", way=Way.CURL, address_class="public",
        proxy="p1.example:8080", is_unverified=True, charset_source="meta", validation="soft", evidence="enable JS",
    )  # fmt: skip
    rejected = Rejected("javascript: it needs a browser")
    plan = Again(NOW + 5, spends_attempt=True, way=Way.BROWSER, is_unconditional=True)
    visit = VisitRecord(NOW, rejected, plan, 2, fetch, is_conditional=True)
    text = text_of(life(visits=(visit,)))
    for part in (
        "answered, but not kept: javascript: it needs a browser",
        "after 2 failed attempts, asked for only if it has changed",
        "HTTP/2 200, text/html, by curl through the proxy p1.example:8080 to a public address; its certificate was NOT",
        "40.0 kB received, 90.0 kB decoded, first byte after 100 ms, download 200 ms at 200 kB/s, 300 ms in all",
        "it may be no page yet; evidence: enable JS; charset by its meta tag",
        "→ again from",
        "on, in the browser, asking for the whole page, one attempt spent",
    ):
        assert part in text


def test_a_304_says_what_it_saved() -> None:
    visit = VisitRecord(NOW, Unchanged(), Done(), 0, FetchRecord(304, saved_bytes=30_000), is_conditional=True)
    text = text_of(life(visits=(visit,)))
    assert "unchanged, HTTP 304 asked for only if it has changed" in text
    assert "0 B received, 0 B decoded, 30.0 kB spared by the stored copy" in text


def test_a_stale_page_says_since_when_and_why() -> None:
    page = Page(URL, 200, "text/html", "ab" * 32, 30, NOW - 90, etag='"1"', stale_since=NOW, stale_why="HTTP 503\x1b")
    text = text_of(life(page=page))
    assert "Visited and stored, as a page; stale since" in text
    assert 'ETag "1" ✗ stale since' in text
    assert "HTTP 503." in text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"breaker": "open", "failures_in_a_row": 5, "breaker_rest_seconds": 30.0, "next_at": NOW + 20,
             "resting_why": "down: 5 failures in a row, last: HTTP 503"},
            "✗ breaker open: down after 5 failures in a row, rests for 30 s; the next probe is due in 20 s",
        ),
        (
            {"breaker": "half_open", "probes_passed": 1, "next_at": NOW + 1},
            "✗ breaker half-open: 1 probe passed, more are asked for; the next probe is due in 1.0 s",
        ),
        ({"failures_in_a_row": 2}, "2 failures in a row: enough of them"),
        ({"next_at": NOW + 900, "resting_why": "cooldown: 5 refusals in a row"}, "✗ rests until 15 min 00 s"),
        ({"blocks_in_a_row": 4}, "4 refusals in a row (401, 403, 429, 451): enough of them begin a cooldown"),
        ({"rate_per_minute": 16.5, "successes_in_a_row": 7}, "slowed to 16.5/min after a 429; 7 good answers since"),
        ({"limited_in_a_row": 2}, "asked for too much 2 times in a row (HTTP 429)"),
        ({"recent_failures": (NOW - 30, NOW - 20)}, "retry budget: 2 recent failures counted, the last"),
        ({"way": Way.BROWSER, "way_until": NOW + 60}, "visited in the browser until"),
    ],
)  # fmt: skip
def test_the_state_of_its_host_is_told(changes: dict[str, object], says: str) -> None:
    host = msgspec.structs.replace(HOST, **changes)
    assert says in text_of(life(), host=host)
    assert says in text_of(None, host=host), "for a URL never taken too"


def test_a_host_that_is_well_has_no_state() -> None:
    learned = msgspec.structs.replace(HOST, next_at=NOW + 1, way=Way.BROWSER, way_until=NOW - 1)
    for host in (HOST, learned):
        assert " host " not in text_of(life(), host=host)


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
