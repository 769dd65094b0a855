"""The timeline of a URL."""

from __future__ import annotations

import msgspec
import pytest

from tenax.cli.output import TextStyle
from tenax.cli.views.format_values import format_until
from tenax.cli.views.timeline import Explanation, format_timeline
from tenax.database import TaskState, UrlHistory, VisitRecord
from tenax.model import (
    ArchiveRule,
    DeadLetter,
    Deferred,
    Done,
    FacetRule,
    Failed,
    FailureKind,
    Fetched,
    FetchRecord,
    GuessState,
    Hop,
    HostRecord,
    ListRule,
    Outcome,
    Page,
    PageKind,
    Plan,
    Priority,
    Redirected,
    Refused,
    Rejected,
    Reschedule,
    RobotsCopy,
    RobotsVerdict,
    SiteSigns,
    Source,
    TransportKind,
    Unchanged,
    UrlList,
)
from tenax.urls.describe_admission import RuleVerdict

NOW = 1_750_000_000.0
URL = "https://example.org/a"
ROBOTS = RobotsCopy(RobotsVerdict.RULES, NOW - 50, NOW + 3000, "User-agent: *", 200)
HOST = HostRecord("https://example.org", "example.org", robots=ROBOTS)
PASSES = (
    RuleVerdict("scope", True, "inside the scope `host`: example.org"),
    RuleVerdict("depth", True, "1 link from a seed"),
)


def life(**changes: object) -> UrlHistory:
    plain = UrlHistory(
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


def text_of(life: UrlHistory | None, **changes: object) -> str:
    explanation = Explanation(URL, URL, NOW, history=life, verdicts=PASSES, host=HOST, robots_allows=True)
    lines = format_timeline(msgspec.structs.replace(explanation, **changes), TextStyle())
    return " ".join(" ".join(lines).split())


def test_a_stored_page_tells_its_way() -> None:
    page = Page(
        url=URL, status=200, content_type="text/html", content_hash="ab" * 32, content_length=3000, fetched_at=NOW - 10,
        title="The\x1b[2J title\u202e", language="en",
        charset_source="header", text="x" * 1203, links_count=50,
    )  # fmt: skip
    visits = (
        VisitRecord(NOW - 20, Failed("no answer in 5 s", FailureKind.TIMEOUT_TOTAL), Reschedule(NOW - 15, True)),
        VisitRecord(
            NOW - 10, Fetched(200), Done(), 1, FetchRecord(200, "text/html", 1000, 3000, 0.12, 0.3), 50, {"scope": 3}
        ),
    )
    chain = (Hop("https://example.org/old", 301), Hop("https://example.org/older", 307))
    text = text_of(
        life(page=page, visits=visits, chain=chain), normalization_changes=("fragment dropped",), typed_url=f"{URL}#top"
    )
    for part in (
        "Visited and stored, as a page.",
        f"normalized from {URL}#top fragment dropped",
        "found as a link on https://example.org/ https://example.org/old redirected, HTTP 301 "
        "https://example.org/older redirected, HTTP 307 depth 1, priority medium",
        "✓ scope: inside the scope `host`: example.org",
        "✓ robots.txt allows it",
        "visit 1 failed, timed out: no answer in 5 s → again after",
        "one failed attempt counted",
        "visit 2 fetched, HTTP 200 after 1 failed attempt HTTP 200, text/html, by plain HTTP 1.0 kB received, ",
        "3.0 kB decoded, first byte after 120 ms, download 180 ms at 5.6 kB/s, 300 ms in total",
        "50 candidate links; not followed: 3 out of scope → done",
        "stored “The title” page, 1,203 characters of text, 50 links, en, utf-8 by header",
    ):
        assert part in text
    assert "\x1b" not in text


def test_a_duplicate_says_of_what() -> None:
    page = Page(
        url=URL, status=200, content_type="text/html", content_hash="ab" * 32, content_length=3000, fetched_at=NOW,
        kind=PageKind.HUB, words=1200, authors=("Ada", "Bob"),
        published="2026-11-16", duplicate_of="https://example.org/\u202efirst", similarity=0.9349,
    )  # fmt: skip
    text = text_of(life(page=page))
    for part in (
        "Visited and stored, as a duplicate of https://example.org/first.",
        "hub, 0 characters of text, 1,200 words in the article, 0 links",
        "duplicate of https://example.org/first, similarity 0.93",
        "by Ada, Bob, published 2026-11-16",
    ):
        assert part in text


@pytest.mark.parametrize(("kind", "says"), [("article", "an article"), ("product", "a page of kind product")])
def test_what_kind_of_page_it_is(kind: str, says: str) -> None:
    page = Page(
        url=URL,
        status=200,
        content_type="text/html",
        content_hash="ab" * 32,
        content_length=3000,
        fetched_at=NOW,
        kind=PageKind(kind),
    )
    assert f"Visited and stored, as {says}." in text_of(life(page=page))


def test_a_waiting_one_says_for_what() -> None:
    host = msgspec.structs.replace(HOST, next_at=NOW + 43, backoff_reason="rate limited")
    text = text_of(life(state=TaskState.WAITING, due=NOW + 5, host=host))
    assert "Waiting to be visited, due in 43 s" in text, "its host is backing off for longer"
    assert "the next request to its host is due in 43 s" in text
    assert "backing off: rate limited" in text


def test_a_dead_letter_says_its_cause() -> None:
    text = text_of(life(state=TaskState.DEAD, cause="3 attempts failed, last: HTTP 500"))
    assert "Given up: 3 attempts failed, last: HTTP 500." in text


def test_a_seed_passes_no_rules() -> None:
    assert "✓ seed: the rules do not apply to seeds" in text_of(
        life(source=Source.SEED, via=None, depth=0), is_seed=True
    )


@pytest.mark.parametrize(
    ("outcome", "plan", "says"),
    [
        (Unchanged(), Done(), "unchanged, HTTP 304 → done"),
        (Unchanged("the stored copy is 5 min old"), Done(), "unchanged, no request: the stored copy is 5 min old"),
        (Redirected(301, "https://example.org/b"), Done(), "redirected, HTTP 301, to https://example.org/b"),
        (Redirected(302, "http://10.0.0.1/", "scope"), Done(), "not followed: scope"),
        (Deferred(NOW + 9, "backing off"), Reschedule(NOW + 9), "deferred until"),
        (Refused("robots.txt forbids it"), Done(), "not fetched: robots.txt forbids it"),
        (Rejected("not HTML: image/png"), Done(), "rejected, not stored: not HTML: image/png"),
        (Failed("connection refused", FailureKind.CONNECT, True), Reschedule(NOW), "a failure of the host"),
        (Failed("HTTP 500", FailureKind.SERVER_ERROR), DeadLetter("3 attempts"), "given up: 3 attempts"),
        (Fetched(200, "sitemap"), Done(), "fetched, HTTP 200, and read as a sitemap"),
        (Unchanged(), Reschedule(NOW + 60, why="it never changed in 9 visits"), ": it never changed in 9 visits"),
    ],
)
def test_every_outcome_has_words(outcome: Outcome, plan: Plan, says: str) -> None:
    assert says in text_of(life(visits=(VisitRecord(NOW, outcome, plan),)))


def test_a_visit_tells_its_whole_fetch_record() -> None:
    fetch = FetchRecord(
        200, "text/html", 40_000, 90_000, 0.1, 0.3, protocol="HTTP/2", transport=TransportKind.CURL,
        address_class="public", proxy="p1.example:8080", is_unverified=True, charset_source="meta", validation="soft",
        evidence="enable JS",
    )  # fmt: skip
    rejected = Rejected("javascript: it needs a browser")
    plan = Reschedule(NOW + 5, spends_attempt=True, transport=TransportKind.BROWSER, is_unconditional=True)
    visit = VisitRecord(NOW, rejected, plan, 2, fetch, is_conditional=True)
    text = text_of(life(visits=(visit,)))
    for part in (
        "rejected, not stored: javascript: it needs a browser",
        "after 2 failed attempts, conditional request",
        "HTTP/2 200, text/html, by curl through the proxy p1.example:8080 to a public address; its certificate was NOT",
        "40.0 kB received, 90.0 kB decoded, first byte after 100 ms, download 200 ms at 200 kB/s, 300 ms in total",
        "possibly not a page; evidence: enable JS; charset from its meta tag",
        "→ again after",
        ", in the browser, without the stored copy, one failed attempt counted",
    ):
        assert part in text


def test_a_visit_tells_its_headers_and_how_the_body_of_an_error_begins() -> None:
    body = "\n\n".join(["\x1b[2Jgone\u202e for good", *(f"line {n}" for n in range(2, 9))])
    fetch = FetchRecord(410, headers={"server": "ng\x1b[31minx", "set-cookie": "sid=***"}, error_body=body)
    failed = Failed("HTTP 410", FailureKind.GONE, status=410)
    text = text_of(life(visits=(VisitRecord(NOW, failed, Done(), 0, fetch),)))
    assert "headers: server: nginx; set-cookie: sid=***" in text
    assert f"error body, {len(body)} characters: | gone for good | line 2 | line 3 | line 4 | line 5 |" in text
    assert "| line 5 | … 3 more lines → done" in text
    assert "\x1b" not in text and "\u202e" not in text


def test_a_304_says_what_it_saved() -> None:
    visit = VisitRecord(NOW, Unchanged(), Done(), 0, FetchRecord(304, saved_bytes=30_000), is_conditional=True)
    text = text_of(life(visits=(visit,)))
    assert "unchanged, HTTP 304 conditional request" in text
    assert "0 B received, 0 B decoded, 30.0 kB saved by the stored copy" in text


def test_a_stale_page_says_since_when_and_why() -> None:
    page = Page(
        url=URL,
        status=200,
        content_type="text/html",
        content_hash="ab" * 32,
        content_length=30,
        fetched_at=NOW - 90,
        etag='"1"',
        stale_since=NOW,
        stale_why="HTTP 503\x1b",
    )
    text = text_of(life(page=page))
    assert "Visited and stored, as a page; stale since" in text
    assert 'ETag "1" ✗ stale since' in text
    assert "HTTP 503." in text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"breaker": "open", "failures_in_a_row": 5, "breaker_backoff_seconds": 30.0, "next_at": NOW + 20,
             "backoff_reason": "down: 5 failures in a row, last: HTTP 503"},
            "✗ breaker open: down after 5 failures in a row, backing off for 30 s; the next probe is due in 20 s",
        ),
        (
            {"breaker": "half_open", "probes_passed": 1, "next_at": NOW + 1},
            "✗ breaker half-open: 1 probe passed, more are required; the next probe is due in 1.0 s",
        ),
        ({"failures_in_a_row": 2}, "2 failures in a row: with more the breaker opens"),
        ({"next_at": NOW + 900, "backoff_reason": "cooldown: 5 refusals in a row"},
         f"✗ backing off until {format_until(NOW + 900, NOW)}: cooldown"),
        ({"blocks_in_a_row": 4}, "4 refusals in a row (401, 403, 429, 451): with more a cooldown begins"),
        ({"rate_per_minute": 16.5, "successes_in_a_row": 7}, "slowed to 16.5/min after a 429; 7 good answers since"),
        ({"limited_in_a_row": 2}, "rate limited 2 times in a row (HTTP 429)"),
        ({"recent_failures": (NOW - 30, NOW - 20)}, "retry budget: 2 recent failures counted, the last"),
        ({"unreadable_pages": (NOW - 30, NOW - 20)}, "2 pages too costly to read, the last"),
        ({"transport": TransportKind.BROWSER, "transport_until": NOW + 60}, "visited in the browser until"),
    ],
)  # fmt: skip
def test_the_state_of_its_host_is_told(changes: dict[str, object], says: str) -> None:
    host = msgspec.structs.replace(HOST, **changes)
    assert says in text_of(life(), host=host)
    assert says in text_of(None, host=host), "for a URL never taken too"


def test_a_host_that_is_well_has_no_state() -> None:
    learned = msgspec.structs.replace(HOST, next_at=NOW + 1, transport=TransportKind.BROWSER, transport_until=NOW - 1)
    for host in (HOST, learned):
        assert " host " not in text_of(life(), host=host)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"verdicts": (RuleVerdict("scope", False, "outside the scope"),)},
            "Never admitted: the rule `scope` refuses it (outside",
        ),
        (
            {"robots_allows": False},
            "Never found: no stored page links to it, and no sitemap or feed that was read lists it. "
            "It would be admitted, then refused by robots",
        ),
        ({"is_private": True}, "refused by the SSRF guard"),
        ({"host": None, "robots_allows": None}, "it is admitted as soon as one does"),
    ],
)
def test_a_url_never_taken_says_what_would_become_of_it(changes: dict[str, object], says: str) -> None:
    assert says in text_of(None, **changes)


@pytest.mark.parametrize(
    ("copy", "says"),
    [
        (RobotsCopy(RobotsVerdict.ALLOW_ALL, NOW, NOW, http_status=404), "there is no robots.txt (HTTP 404)"),
        (RobotsCopy(RobotsVerdict.UNREACHABLE, NOW, NOW, why="HTTP 503"), "✗ robots.txt is unreachable (HTTP 503)"),
        (None, "robots.txt of this host was not fetched yet"),
    ],
)
def test_what_is_known_of_robots(copy: RobotsCopy | None, says: str) -> None:
    assert says in text_of(life(), host=msgspec.structs.replace(HOST, robots=copy))


# ---- how it was found, and what was guessed -----------------------------------------------------------------

SITEMAP = "https://example.org/maps/1.xml"
NAMED = msgspec.structs.replace(
    HOST, robots=RobotsCopy(RobotsVerdict.RULES, NOW, NOW, f"Sitemap: {SITEMAP}\nUser-agent: *", 200)
)
PAGE = Page(url=URL, status=200, content_type="text/html", content_hash="ab" * 32, content_length=3000, fetched_at=NOW)
MISSING = VisitRecord(NOW, Failed("HTTP 404", FailureKind.NOT_FOUND), Done())


def read_as(url_list: UrlList) -> tuple[VisitRecord, ...]:
    return (VisitRecord(NOW, Fetched(200, url_list), Done()),)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"source": Source.SEED, "via": None}, "given as a seed"),
        ({}, "as a link on https://example.org/"),
        ({"source": Source.REDIRECT}, "by a redirect of https://example.org/"),
        ({"source": Source.REPLAY}, "replayed by a person"),
        ({"source": Source.ARCHIVE}, "guessed as an archive, after the visit of https://example.org/"),
        ({"source": Source.PAGINATION}, "guessed as the next page of a list, after the visit of https://example.org/"),
        ({"source": Source.SITEMAP, "via": SITEMAP, "page": PAGE}, f"in the sitemap {SITEMAP}"),
        ({"source": Source.FEED, "via": "https://example.org/f", "page": PAGE}, "in the feed https://example.org/f"),
        ({"source": Source.SITEMAP, "via": SITEMAP}, f"by sitemaps: {SITEMAP} lists it"),
        ({"source": Source.SITEMAP, "url": SITEMAP}, "as a sitemap in robots.txt"),
        ({"source": Source.FEED, "visits": read_as("feed")}, "as a feed linked from https://example.org/"),
        ({"source": Source.LINK, "visits": read_as("feed")}, "as a link on https://example.org/"),
        ({"source": Source.FEED, "url": "https://example.org/rss.xml"}, "tried, as a usual path of a feed"),
        ({"source": Source.FEED, "url": "https://example.org/blog/rss.xml"}, "by feeds: https://example.org/ lists it"),
    ],
)
def test_every_way_to_be_found_has_words(changes: dict[str, object], says: str) -> None:
    assert f"found {says} depth" in text_of(life(**changes), host=NAMED)


def test_every_source_has_words() -> None:
    for source in Source:
        assert "found " in text_of(life(source=source))


def test_a_sitemap_is_told_as_what_it_is() -> None:
    wrong = FetchRecord(200, evidence="broken at line 7")
    visit = msgspec.structs.replace(
        read_as("sitemap")[0], fetch=wrong, candidate_count=31, refusals={"max_sitemap_urls": 9}
    )
    text = text_of(life(source=Source.SITEMAP, visits=(visit,)))
    for part in (
        "Read as a sitemap: its URLs are candidates for the crawl.",
        "✓ sitemap: not a page, so only the rule for its host applies",
        "read in part: broken at line 7",
        "31 candidate URLs; not followed: 9 over the URL limit of a sitemap",
    ):
        assert part in text
    assert "✓ scope" not in text and "evidence" not in text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"source": Source.ARCHIVE}, "Guessed, but it does not exist: failed, not found: HTTP 404."),
        ({"source": Source.SITEMAP, "url": "https://example.org/sitemap.xml"}, "Guessed, but it does not exist"),
        ({}, "Settled without a page: failed, not found: HTTP 404."),
    ],
)
def test_a_guess_that_missed_is_no_failure(changes: dict[str, object], says: str) -> None:
    assert says in text_of(life(visits=(MISSING,), **changes))


GUESS_STATE = GuessState(
    requests=326,
    guesses_made=11,
    guesses_succeeded=5,
    lists={
        "/news/?page={n}": ListRule(12, state="invalid", why="no such page\x1b[2J", at=NOW),
        "/blog/page/{n}/": ListRule(4, state="valid", guessed_number=5),
        "/tips?page={n}": ListRule(3, guessed_number=4),
        "/jobs?page={n}": ListRule(2),
        "/shop?page={n}": ListRule(500, state="valid", why="as many pages as allowed"),
    },
    archives={
        "/archive": ArchiveRule("valid", worked=1),
        "/{yyyy}/{mm}/": ArchiveRule("valid", earliest_period=12 * 2019 + 4, worked=3),
        "/archives": ArchiveRule("invalid", "nothing new", NOW),
        "/sitemap": ArchiveRule(guessed_period=0),
    },
    facets={"/shop": FacetRule(visited=30, useful_ratio=1)},
)


def test_a_home_page_tells_every_guess() -> None:
    home = "https://example.org/"
    text = text_of(life(url=home), url=home, host=msgspec.structs.replace(HOST, guess_state=GUESS_STATE))
    for part in (
        "guesses 11 of 326 visits were guesses, 5 of them led to something new",
        "✗ list /news/?page={n} ends at 12: no such page; not guessed since",
        "✓ list /blog/page/{n}/ continues, known up to 4 ",
        "list /tips?page={n}, known up to 3: 4 requested, no answer yet",
        "list /jobs?page={n}, known up to 2: not guessed yet",
        "✓ list /shop?page={n} continues, known up to 500: as many pages as allowed",
        "✓ archive /archive led to something new",
        "✓ archive /{yyyy}/{mm}/ led to something new, requested back to /2019/05/",
        "✗ archive /archives: nothing new; not guessed since",
        "archive /sitemap: requested, no answer yet",
        "facets of /shop: 30 visited, 100% of the last useful",
    ):
        assert part in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/news/", "list /news/?page={n} ends"),
        ("/news/?page=13", "list /news/?page={n} ends"),
        ("/blog/page/3/", "list /blog/page/{n}/ continues"),
        ("/2021/06/", "archive /{yyyy}/{mm}/ led"),
        ("/archive", "archive /archive led"),
        ("/shop?colour=red", "facets of /shop"),
    ],
)
def test_other_pages_tell_the_guesses_they_belong_to(path: str, says: str) -> None:
    url = f"https://example.org{path}"
    text = text_of(None, url=url, host=msgspec.structs.replace(HOST, guess_state=GUESS_STATE))
    guesses = text.partition(" guesses ")[2]
    assert says in guesses
    assert guesses.count("list /") + guesses.count("archive /") + guesses.count("facets of") == 1


@pytest.mark.parametrize("path", ["/news/a", "/blog/page/x/", "/archive/x", "/21/06/"])
def test_a_page_of_no_list_tells_no_guesses(path: str) -> None:
    url = f"https://example.org{path}"
    assert " guesses " not in text_of(None, url=url, host=msgspec.structs.replace(HOST, guess_state=GUESS_STATE))


NEWS = SiteSigns(dated_articles=3, has_feed=True)


@pytest.mark.parametrize(
    ("guess_state", "says"),
    [
        (GuessState(verdict="asked"), "✓ on: by `discovery.guesses`, or because archives or pagination were named"),
        (GuessState(verdict="news", signs=NEWS), "✓ on: it looks like a news site or a blog (articles with dates"),
        (GuessState(verdict="no_signs"), "✗ off: no signs of a news site or a blog so far;"),
        (
            GuessState(verdict="no_signs", signs=SiteSigns(has_feed=True)),
            "✗ off: too few signs of a news site or a blog: a feed;",
        ),
        (
            GuessState(verdict="own_site"),
            "✗ off: its rate is unlimited, as for one's own site; `discovery.guesses =",
        ),
        (GuessState(verdict="never"), "✗ off: `discovery.guesses` is `never`"),
    ],
)
def test_a_home_page_tells_why_guesses_are_on_or_off(guess_state: GuessState, says: str) -> None:
    home = "https://example.org/"
    assert f" guesses {says}" in text_of(None, url=home, host=msgspec.structs.replace(HOST, guess_state=guess_state))
    assert " guesses " not in text_of(None, url=f"{home}a", host=msgspec.structs.replace(HOST, guess_state=guess_state))


def test_many_guesses_are_not_all_told() -> None:
    lists = {f"/{number}?page={{n}}": ListRule(1) for number in range(15)}
    home = "https://example.org/"
    text = text_of(None, url=home, host=msgspec.structs.replace(HOST, guess_state=GuessState(lists=lists)))
    assert "list /14?page={n}" in text and "list /2?page={n}" not in text and "and 3 more" in text
