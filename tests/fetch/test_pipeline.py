"""The steps of one fetch: robots.txt first, then the page, each ending as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.config import CacheConfig, Config, FetchConfig, PolitenessConfig, Sites, UrlsConfig
from tenax.fetch import Request, Response
from tenax.fetch.answer import FetchResult
from tenax.fetch.headers import Headers
from tenax.fetch.host_checks import ROBOTS_TIMEOUT_SECONDS
from tenax.fetch.pipeline import Pipeline
from tenax.hosts.robots import MAX_ROBOTS_REDIRECTS
from tenax.model import (
    CanonicalCopy,
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    Hop,
    HostRecord,
    PageKind,
    Priority,
    Redirected,
    Refused,
    Rejected,
    RobotsCopy,
    RobotsVerdict,
    Source,
    StoredCopy,
    Task,
    Unchanged,
)
from tenax.urls.normalize import NormalizeOptions, normalize_options
from tests.fetch.anywhere import transports_over

SITE = "https://a.test"
ROBOTS = f"{SITE}/robots.txt"
PAGE = f"{SITE}/page"


def page(body: bytes = b"<p>words", status: int = 200, **headers: str) -> tuple[int, dict[str, str], bytes]:
    return status, {name.replace("_", "-").title(): value for name, value in headers.items()}, body


def redirect(to: str, status: int = 302) -> tuple[int, dict[str, str], bytes]:
    return page(b"", status, location=to)


def headers_of(headers: Mapping[str, str]) -> Headers:
    return Headers((name.encode(), value.encode()) for name, value in headers.items())


Scripted = tuple[int, dict[str, str], bytes] | Failed | Refused


class Web:
    """A transport over a small in-memory web. Every response takes a second; every request is recorded."""

    def __init__(self, pages: Mapping[str, Scripted], clock: ManualClock) -> None:
        self._pages = pages
        self._clock = clock
        self.requests: list[Request] = []

    async def get(self, request: Request) -> Response | Failed | Refused:
        self.requests.append(request)
        started_at = self._clock.now()
        self._clock.advance(1.0)
        answer = self._pages.get(request.url, page(b"no such page", 404))
        if not isinstance(answer, tuple):
            return answer
        status, headers, body = answer
        now = self._clock.now()
        return Response(request.url, status, headers_of(headers), body, len(body), started_at, now, now)

    async def close(self) -> None: ...

    @property
    def asked(self) -> list[str]:
        return [request.url for request in self.requests]


def rules(text: str = "User-agent: *\nDisallow: /private/", expires_in: float = 3600.0) -> RobotsCopy:
    now = ManualClock().now()
    return RobotsCopy(RobotsVerdict.RULES, now, now + expires_in, text, 200)


async def fetched(
    pages: Mapping[str, Scripted],
    url: str = PAGE,
    robots: RobotsCopy | None = None,
    chain: tuple[Hop, ...] = (),
    fetch: FetchConfig | None = None,
    politeness: PolitenessConfig | None = None,
    cache: CacheConfig | None = None,
    stored_copy: StoredCopy | None = None,
    host: HostRecord | None = None,
    is_unconditional: bool = False,
    is_url_list: bool = False,
    canonical: CanonicalCopy | None = None,
) -> tuple[FetchResult, Web]:
    clock = ManualClock()
    web = Web(pages, clock)
    config = Config(
        fetch=fetch or FetchConfig(), politeness=politeness or PolitenessConfig(), cache=cache or CacheConfig()
    )
    pipeline = Pipeline(transports_over(clock, web), clock, Sites(config), NormalizeOptions())
    task = Task(url, SITE, 1, Priority.LOW, Source.LINK, SITE + "/", clock.now(), clock.now(), chain=chain)
    task = msgspec.structs.replace(task, is_unconditional=is_unconditional, is_url_list=is_url_list)
    record = host or HostRecord(origin=SITE, domain="a.test", robots=robots)
    return await pipeline.fetch(task, record, stored_copy, canonical=canonical), web


# ---- robots.txt first -------------------------------------------------------------------------------------


async def test_an_unknown_host_gets_a_request_for_robots_txt_only() -> None:
    answer, web = await fetched({ROBOTS: page(b"User-agent: *\nDisallow: /x"), PAGE: page()})
    assert web.asked == [ROBOTS]
    assert isinstance(answer.outcome, Deferred)
    assert answer.outcome.until <= answer.answered_at  # as soon as the host's rate limit allows
    assert answer.requests == 1
    assert answer.robots is not None
    assert (answer.robots.verdict, answer.robots.text) == (RobotsVerdict.RULES, "User-agent: *\nDisallow: /x")


async def test_an_old_robots_txt_is_fetched_again() -> None:
    _, web = await fetched({ROBOTS: page(b"")}, robots=rules(expires_in=0.0))
    assert web.asked == [ROBOTS]


async def test_robots_txt_has_its_own_deadline() -> None:
    _, web = await fetched({ROBOTS: page(b"")})
    assert web.requests[0].total_timeout_seconds == ROBOTS_TIMEOUT_SECONDS


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
async def test_no_robots_txt_allows_everything(status: int) -> None:
    answer, _ = await fetched({ROBOTS: page(b"<html>", status)})
    assert answer.robots is not None
    assert answer.robots.verdict is RobotsVerdict.ALLOW_ALL
    assert isinstance(answer.outcome, Deferred)


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_robots_txt_in_trouble_closes_the_host_for_a_while(status: int) -> None:
    answer, _ = await fetched({ROBOTS: page(b"", status, retry_after="300")})
    assert answer.robots is not None
    assert answer.robots.verdict is RobotsVerdict.UNREACHABLE
    assert answer.outcome == Deferred(answer.answered_at + 300, f"robots.txt unreachable: HTTP {status}")


async def test_a_host_that_cannot_be_reached_is_a_failure_of_the_host() -> None:
    down = Failed("connection refused", FailureKind.CONNECT, is_site_wide=True)
    answer, _ = await fetched({ROBOTS: down})
    assert answer.outcome == down
    assert answer.requests == 1
    assert answer.robots is not None
    assert answer.robots.verdict is RobotsVerdict.UNREACHABLE


@pytest.mark.parametrize("kind", [FailureKind.TOO_LARGE, FailureKind.TRUNCATED, FailureKind.BAD_RESPONSE])
async def test_a_page_does_not_pay_for_a_broken_robots_txt(kind: FailureKind) -> None:
    answer, _ = await fetched({ROBOTS: Failed("a bomb", kind)})
    why = "a bomb (`fetch.max_body_bytes`)" if kind is FailureKind.TOO_LARGE else "a bomb"
    assert answer.outcome == Deferred(answer.answered_at + 60, f"robots.txt unreachable: {why}")


async def test_a_robots_txt_that_never_comes_is_trouble_of_the_host() -> None:
    answer, _ = await fetched({ROBOTS: Failed("no answer", FailureKind.TIMEOUT_TOTAL)})
    assert answer.outcome == Failed("no answer", FailureKind.TIMEOUT_TOTAL, is_site_wide=True)


async def test_a_host_that_does_not_exist_is_a_failure_of_the_url() -> None:
    unknown = Failed("no such host", FailureKind.DNS)
    answer, _ = await fetched({ROBOTS: unknown})
    assert answer.outcome == unknown
    assert answer.robots is None, "there is no host that could be left alone for it"


async def test_a_robots_txt_that_leads_to_a_host_that_does_not_exist_is_none_of_the_url() -> None:
    unknown = Failed("no such host", FailureKind.DNS)
    answer, _ = await fetched({ROBOTS: redirect("https://b.test/robots.txt"), "https://b.test/robots.txt": unknown})
    assert isinstance(answer.outcome, Deferred)
    assert answer.robots is not None and answer.robots.why == "redirected: no such host"


@pytest.mark.parametrize(
    ("file", "is_up"),
    [
        (page(b"User-agent: *"), True),
        (page(b"", 404), True),
        (page(b"", 429), True),
        (page(b"", 503), False),
        (Failed("connection refused", FailureKind.CONNECT, is_site_wide=True), False),
    ],
)
async def test_a_host_that_was_down_from_the_start_gets_a_request_for_robots_txt_only(
    file: Scripted, is_up: bool
) -> None:
    now = ManualClock().now()
    unreachable = RobotsCopy(RobotsVerdict.UNREACHABLE, now - 60, now, why="connection refused")
    down = HostRecord(SITE, "a.test", unreachable, breaker="open", failures_in_a_row=5)
    answer, web = await fetched({ROBOTS: file}, host=down)
    assert web.asked == [ROBOTS]
    assert isinstance(answer.outcome, Deferred)
    assert answer.probe is not None and answer.probe.is_up is is_up


async def test_a_host_that_cannot_be_reached_keeps_its_last_good_rules() -> None:
    down = Failed("connection refused", FailureKind.CONNECT, is_site_wide=True)
    answer, _ = await fetched({ROBOTS: down}, robots=rules(expires_in=0.0))
    assert answer.robots is not None
    assert answer.robots.text == rules().text
    assert isinstance(answer.outcome, Deferred)


async def test_those_who_want_it_may_take_an_unreachable_file_for_none() -> None:
    allow = PolitenessConfig(robots_on_unreachable="allow")
    answer, _ = await fetched({ROBOTS: page(b"", 500)}, politeness=allow)
    assert answer.robots is not None
    assert answer.robots.verdict is RobotsVerdict.ALLOW_ALL


async def test_the_guard_refuses_robots_txt_as_it_would_the_page() -> None:
    refused = Refused("guard: 10.0.0.1 is not a public address")
    answer, _ = await fetched({ROBOTS: refused})
    assert answer.outcome == refused
    assert answer.robots is None


async def test_robots_txt_is_followed_across_hosts() -> None:
    hops: dict[str, Scripted] = {ROBOTS: redirect("https://b.test/1")}
    hops |= {f"https://b.test/{n}": redirect(f"/{n + 1}") for n in range(1, MAX_ROBOTS_REDIRECTS)}
    hops |= {f"https://b.test/{MAX_ROBOTS_REDIRECTS}": page(b"User-agent: *\nDisallow: /")}
    answer, web = await fetched(hops)
    assert len(web.asked) == MAX_ROBOTS_REDIRECTS + 1
    assert answer.requests == 1, "the others were sent to another host"
    assert answer.robots is not None
    assert answer.robots.text == "User-agent: *\nDisallow: /"


async def test_one_redirect_more_and_there_are_no_rules() -> None:
    endless: dict[str, Scripted] = {ROBOTS: redirect("/1")}
    endless |= {f"{SITE}/{n}": redirect(f"/{n + 1}") for n in range(1, 20)}
    answer, web = await fetched(endless)
    assert len(web.asked) == answer.requests == MAX_ROBOTS_REDIRECTS + 1
    assert answer.robots is not None
    assert answer.robots.verdict is RobotsVerdict.ALLOW_ALL


async def test_a_robots_txt_behind_a_private_address_is_unreachable() -> None:
    inside: dict[str, Scripted] = {
        ROBOTS: redirect("http://10.0.0.1/"),
        "http://10.0.0.1/": Refused("guard: 10.0.0.1 is not public"),
    }
    answer, _ = await fetched(inside)
    assert answer.robots is not None
    assert answer.robots.verdict is RobotsVerdict.UNREACHABLE
    assert isinstance(answer.outcome, Deferred)
    assert "redirected: guard" in answer.robots.why


# ---- rules ------------------------------------------------------------------------------------------------


async def test_a_url_that_robots_txt_disallows_is_never_requested() -> None:
    answer, web = await fetched({}, f"{SITE}/private/a", rules())
    assert answer.outcome == Refused(f"robots: {ROBOTS} does not allow it")
    assert (web.asked, answer.requests) == ([], 0)


async def test_an_unreachable_copy_that_is_still_young_puts_off_everything() -> None:
    now = ManualClock().now()
    copy = RobotsCopy(RobotsVerdict.UNREACHABLE, now, now + 60, why="HTTP 503")
    answer, web = await fetched({PAGE: page()}, robots=copy)
    assert answer.outcome == Deferred(now + 60, "robots.txt unreachable: HTTP 503")
    assert web.asked == []


# ---- the page ---------------------------------------------------------------------------------------------


async def test_a_page_comes_whole_with_its_measurements() -> None:
    answer, web = await fetched({PAGE: page(b"<p>words", content_type="text/html")}, robots=rules())
    assert answer.outcome == Fetched(200)
    assert answer.response is not None
    assert answer.response.body == b"<p>words"
    assert answer.record.status == 200
    assert (answer.record.body_bytes, answer.record.content_type) == (8, "text/html")
    assert (answer.requests, answer.robots) == (1, None)
    assert answer.answered_at == answer.response.answered_at
    config = FetchConfig()
    [request] = web.requests
    assert (request.max_body_bytes, request.total_timeout_seconds) == (
        config.max_body_bytes,
        config.total_timeout_seconds,
    )


@pytest.mark.parametrize(
    ("scripted", "outcome"),
    [
        (page(b""), Rejected("empty")),
        (page(b"", 404), Failed("HTTP 404", FailureKind.NOT_FOUND, status=404)),
        (page(b"", 503), Failed("HTTP 503", FailureKind.SERVER_ERROR, is_site_wide=True, status=503)),
        (
            page(b"", 429, retry_after="7"),
            Failed("HTTP 429", FailureKind.RATE_LIMITED, status=429, retry_after_seconds=7.0),
        ),
        (Failed("too slow", FailureKind.TIMEOUT_TOTAL), Failed("too slow", FailureKind.TIMEOUT_TOTAL)),
        (Refused("guard: no"), Refused("guard: no")),
    ],
)
async def test_every_other_end_is_a_value(scripted: Scripted, outcome: object) -> None:
    answer, _ = await fetched({PAGE: scripted}, robots=rules())
    assert answer.outcome == outcome
    assert answer.redirect_target is None


# ---- redirects --------------------------------------------------------------------------------------------


async def test_a_redirect_ends_the_visit_and_says_where_to() -> None:
    answer, web = await fetched({PAGE: redirect("https://b.test/new#part", 301)}, robots=rules())
    assert web.asked == [PAGE]
    assert answer.outcome == Redirected(301, "https://b.test/new")
    assert answer.redirect_target is not None
    assert (answer.redirect_target.url, answer.redirect_target.origin) == ("https://b.test/new", "https://b.test")
    assert answer.chain == answer.redirect_target.chain == (Hop(PAGE, 301),)


async def test_the_chain_grows_with_every_task() -> None:
    before = (Hop(f"{SITE}/a", 302), Hop(f"{SITE}/b", 302))
    answer, _ = await fetched({PAGE: redirect("/c", 307)}, robots=rules(), chain=before)
    assert answer.chain == (*before, Hop(PAGE, 307))


async def test_a_redirect_to_another_spelling_of_itself_is_followed_at_once() -> None:
    """The site requires its tracking parameter or its slashes; the task stays the same, and counts two requests."""
    spelled = {PAGE: redirect("/page?utm_source=self"), f"{PAGE}?utm_source=self": page(b"<p>here")}
    clock = ManualClock()
    web = Web(spelled, clock)
    pipeline = Pipeline(transports_over(clock, web), clock, Sites(Config()), normalize_options(UrlsConfig()))
    task = Task(PAGE, SITE, 0, Priority.LOW, Source.SEED, None, clock.now(), clock.now())
    answer = await pipeline.fetch(task, HostRecord(origin=SITE, domain="a.test", robots=rules()))
    assert answer.outcome == Fetched(200)
    assert answer.requests == 2
    assert answer.response is not None
    assert answer.response.url == f"{PAGE}?utm_source=self"
    assert answer.chain == (Hop(PAGE, 302),)


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("/page", f"redirect loop, HTTP 302 to {PAGE}"),
        ("/a", f"redirect loop, HTTP 302 to {SITE}/a"),
        ("file:///etc/passwd", "redirect to something that is no http or https URL, HTTP 302"),
        ("javascript:alert(1)", "redirect to something that is no http or https URL, HTTP 302"),
        ("", "redirect without a target, HTTP 302"),
    ],
)
async def test_a_redirect_that_leads_nowhere(location: str, why: str) -> None:
    answer, _ = await fetched({PAGE: redirect(location)}, robots=rules(), chain=(Hop(f"{SITE}/a", 302),))
    assert answer.outcome == Failed(why, FailureKind.REDIRECT, status=302)
    assert answer.redirect_target is None
    assert answer.chain[-1] == Hop(PAGE, 302)


async def test_redirects_end() -> None:
    most = FetchConfig().max_redirects
    chain = tuple(Hop(f"{SITE}/{number}", 302) for number in range(most))
    answer, _ = await fetched({PAGE: redirect("/next")}, robots=rules(), chain=chain)
    why = f"more than {most} redirects, HTTP 302 to {SITE}/next"
    assert answer.outcome == Failed(why, FailureKind.REDIRECT, status=302)
    answer, _ = await fetched({PAGE: redirect("/next")}, robots=rules(), chain=chain[:-1])
    assert answer.outcome == Redirected(302, f"{SITE}/next")


# ---- what we hold already ---------------------------------------------------------------------------------

STORED = StoredCopy(
    ManualClock().now() - 100, 200, PageKind.ARTICLE, '"1"', "Mon, 16 Nov 2026 01:00:00 GMT", body_bytes=5000
)


async def test_a_stored_page_is_requested_conditionally() -> None:
    answer, web = await fetched({PAGE: page(b"", 304)}, robots=rules(), stored_copy=STORED)
    assert dict(web.requests[0].headers) == {
        "If-None-Match": '"1"', "If-Modified-Since": "Mon, 16 Nov 2026 01:00:00 GMT"
    }  # fmt: skip
    assert answer.outcome == Unchanged()
    assert answer.record.saved_bytes == 5000


async def test_without_conditions_when_all_of_it_is_wanted() -> None:
    _, web = await fetched({PAGE: page()}, robots=rules(), stored_copy=STORED, is_unconditional=True)
    assert web.requests[0].headers == ()


@pytest.mark.parametrize(
    ("stored_copy", "is_unconditional"),
    [(None, False), (STORED, True), (msgspec.structs.replace(STORED, kind=None, status=404), False)],
)
async def test_a_304_without_a_stored_copy_is_a_failure(stored_copy: StoredCopy | None, is_unconditional: bool) -> None:
    answer, _ = await fetched(
        {PAGE: page(b"", 304)}, robots=rules(), stored_copy=stored_copy, is_unconditional=is_unconditional
    )
    assert isinstance(answer.outcome, Failed)
    assert answer.outcome.kind is FailureKind.NOT_MODIFIED


async def test_a_copy_that_is_young_enough_spares_the_request() -> None:
    young = CacheConfig(max_age_article_seconds=101)
    answer, web = await fetched({}, robots=rules(), stored_copy=STORED, cache=young)
    assert isinstance(answer.outcome, Unchanged)
    assert answer.outcome.why == "the stored copy is 2 min old, recent enough to use"
    assert (web.asked, answer.requests) == ([], 0)


COPY = CanonicalCopy(f"{SITE}/print", STORED)


async def test_a_copy_that_names_this_url_as_its_canonical_one_serves_too() -> None:
    young = CacheConfig(max_age_article_seconds=101)
    answer, web = await fetched({}, robots=rules(), cache=young, canonical=COPY)
    assert answer.outcome == Unchanged(
        f"the stored copy of {SITE}/print, which names this as its canonical URL, is 2 min old, recent enough to use"
    )
    assert (web.asked, answer.requests) == ([], 0)


@pytest.mark.parametrize(
    "unused",
    [
        {"cache": CacheConfig()},
        {"cache": CacheConfig(max_age_seconds=99)},
        {"cache": CacheConfig(prefer_cache=True), "is_unconditional": True},
        {"cache": CacheConfig(max_age_seconds=99), "stored_copy": msgspec.structs.replace(STORED, etag=None)},
    ],
    ids=["copies are not used", "too old", "all of it is wanted", "our own copy is too old"],
)
async def test_it_does_not_serve_where_a_copy_of_its_own_would_not(unused: dict[str, Any]) -> None:
    _, web = await fetched({PAGE: page()}, robots=rules(), canonical=COPY, **unused)
    assert web.asked == [PAGE]
    assert "If-None-Match" not in dict(web.requests[0].headers), "what another page holds says nothing about this one"


async def test_robots_txt_comes_before_the_stored_copy() -> None:
    answer, _ = await fetched(
        {}, f"{SITE}/private/a", rules(), stored_copy=STORED, cache=CacheConfig(prefer_cache=True)
    )
    assert isinstance(answer.outcome, Refused)


async def test_a_known_404_is_not_requested_again() -> None:
    gone = msgspec.structs.replace(STORED, kind=None, status=404)
    answer, web = await fetched({}, robots=rules(), stored_copy=gone, cache=CacheConfig(max_age_seconds=101))
    assert answer.outcome == Refused("known: it returned HTTP 404 recently")
    assert web.asked == []
    _, web = await fetched({}, robots=rules(), stored_copy=gone)
    assert web.asked == [PAGE]


# ---- a host that was down ---------------------------------------------------------------------------------


def down() -> HostRecord:
    return HostRecord(origin=SITE, domain="a.test", robots=rules(), breaker="open", failures_in_a_row=5)


@pytest.mark.parametrize(
    ("scripted", "is_up"),
    [
        (page(b"", 200), True),
        (page(b"", 404), True),
        (page(b"", 405), True),
        (page(b"", 503), False),
        (page(b"", 500), False),
        (Failed("connection refused", FailureKind.CONNECT, is_site_wide=True), False),
    ],
)
async def test_a_host_that_was_down_gets_one_small_request_first(scripted: Scripted, is_up: bool) -> None:
    answer, web = await fetched({f"{SITE}/": scripted, PAGE: page()}, host=down())
    [request] = web.requests
    assert (request.url, request.method) == (f"{SITE}/", "HEAD")
    assert answer.probe is not None
    assert answer.probe.is_up is is_up
    assert isinstance(answer.outcome, Deferred)


async def test_a_host_that_began_to_back_off_meanwhile_is_left_alone() -> None:
    backing_off = HostRecord(
        origin=SITE, domain="a.test", robots=rules(), next_at=ManualClock().now() + 45, backoff_reason="rate limited"
    )
    answer, web = await fetched({PAGE: page()}, host=backing_off)
    assert answer.outcome == Deferred(ManualClock().now() + 45, "rate limited")
    assert web.asked == []


# ---- rate limits ------------------------------------------------------------------------------------------


async def test_a_permit_taken_by_another_crawl_defers_the_request() -> None:
    clock = ManualClock()
    web = Web({PAGE: page()}, clock)
    pipeline = Pipeline(transports_over(clock, web), clock, Sites(Config()), NormalizeOptions())
    task = Task(PAGE, SITE, 1, Priority.LOW, Source.LINK, None, clock.now(), clock.now())
    host = HostRecord(origin=SITE, domain="a.test", robots=rules())
    first = await pipeline.fetch(task, host)
    assert first.outcome == Fetched(200)
    second = await pipeline.fetch(task, host)
    assert isinstance(second.outcome, Deferred)
    assert second.outcome.until == pytest.approx(first.answered_at + 1.0)
    assert (len(web.asked), second.requests) == (1, 0)


# ---- proxies that fail ------------------------------------------------------------------------------------

NO_PROXY = Failed("proxy p.example:3128: connection refused", FailureKind.PROXY)


async def test_a_probe_that_no_proxy_would_carry_says_nothing_about_the_host() -> None:
    answer, _ = await fetched({f"{SITE}/": NO_PROXY}, host=down())
    assert (answer.outcome, answer.probe) == (NO_PROXY, None)


async def test_a_robots_txt_that_no_proxy_would_carry_is_not_unreachable() -> None:
    answer, _ = await fetched({ROBOTS: NO_PROXY})
    assert (answer.outcome, answer.robots) == (NO_PROXY, None)


# ---- a browser that fails ---------------------------------------------------------------------------------

NO_BROWSER = Failed("browser: Chromium has ended", FailureKind.INTERNAL, is_site_wide=True)
RENDERER_CRASHED = Failed("the browser's renderer crashed on the page", FailureKind.INTERNAL)


async def test_a_probe_that_the_browser_failed_says_nothing_about_the_host() -> None:
    answer, _ = await fetched({f"{SITE}/": NO_BROWSER}, host=down())
    assert (answer.outcome, answer.probe) == (NO_BROWSER, None)


async def test_a_robots_txt_that_the_browser_failed_is_not_unreachable() -> None:
    answer, _ = await fetched({ROBOTS: NO_BROWSER})
    assert (answer.outcome, answer.robots) == (NO_BROWSER, None)


async def test_a_page_that_broke_its_renderer_has_come_from_a_host_that_is_back() -> None:
    answer, _ = await fetched({f"{SITE}/": RENDERER_CRASHED}, host=down())
    assert answer.probe is not None and answer.probe.is_up


# ---- what lists URLs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("is_url_list", "most"), [(True, 50 * 1024 * 1024 + 1), (False, 60 * 1024 * 1024)])
async def test_a_sitemap_has_a_size_of_its_own_and_its_beginning_is_taken(is_url_list: bool, most: int) -> None:
    fetch = FetchConfig(max_body_bytes=60 * 1024 * 1024)
    _, web = await fetched({PAGE: page()}, robots=rules(), fetch=fetch, is_url_list=is_url_list)
    assert (web.requests[-1].max_body_bytes, web.requests[-1].may_truncate) == (most, is_url_list)


async def test_at_least_500_kib_of_a_robots_txt_are_read_and_the_rest_ignored() -> None:
    _, web = await fetched({ROBOTS: page()}, fetch=FetchConfig(max_body_bytes=1024))
    assert web.requests[-1].url == ROBOTS
    assert (web.requests[-1].max_body_bytes, web.requests[-1].may_truncate) == (500 * 1024 + 1, True)


@pytest.mark.parametrize(
    ("stored_copy", "outcome"),
    [
        (StoredCopy(1.0, 200, None, etag='"1"', url_list="sitemap"), "unchanged"),
        (StoredCopy(1.0, 200, None, etag='"1"'), "failed:not_modified"),
    ],
    ids=["a sitemap", "nothing that is kept"],
)
async def test_a_304_may_refer_to_a_sitemap(stored_copy: StoredCopy, outcome: str) -> None:
    answer, web = await fetched({PAGE: page(b"", 304)}, robots=rules(), stored_copy=stored_copy, is_url_list=True)
    assert ("If-None-Match", '"1"') in web.requests[-1].headers
    assert answer.outcome.label == outcome


# ---- failures that a setting would have prevented ----------------------------------------------------------


@pytest.mark.parametrize(
    ("is_url_list", "setting"),
    [(False, "fetch.max_body_bytes"), (True, "discovery.max_sitemap_bytes")],
)
async def test_a_body_that_is_too_large_names_the_setting(is_url_list: bool, setting: str) -> None:
    too_large = Failed("larger than so many bytes", FailureKind.TOO_LARGE)
    answer, _ = await fetched({PAGE: too_large}, robots=rules(), is_url_list=is_url_list)
    assert answer.outcome == Failed(f"larger than so many bytes (`{setting}`)", FailureKind.TOO_LARGE)


@pytest.mark.parametrize(
    ("why", "is_about_it"),
    [
        ("TLS: self-signed certificate", True),
        ("TLS: hostname mismatch, certificate is not valid for 'a.example'.", True),
        ("TLS: no secure connection", False),
    ],
)
async def test_a_certificate_that_is_not_accepted_names_the_setting(why: str, is_about_it: bool) -> None:
    failed = Failed(why, FailureKind.TLS, is_site_wide=True)
    answer, _ = await fetched({PAGE: failed}, robots=rules())
    assert isinstance(answer.outcome, Failed)
    assert ("fetch.verify_tls" in answer.outcome.why) is is_about_it
