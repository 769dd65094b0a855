"""One URL tried out: every kind of end, each decision in order, and nothing written down."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from tenax.clock import SteadyClock
from tenax.config import Config, SiteConfig
from tenax.crawl.location import Location
from tenax.errors import DatabaseNotFound, UsageError
from tenax.model import (
    DeadLetter,
    Deferred,
    Done,
    Failed,
    FailureKind,
    Fetched,
    HostRecord,
    Redirected,
    Refused,
    Rejected,
    Reschedule,
    TransportKind,
    Unchanged,
)
from tenax.trace import Trace, TraceRequest, trace_url
from tenax.trace.describe import describe_host, format_duration
from tests.hostile.crawling import Settings, config_for, crawl
from tests.site.hostile import EVERY_END, in_turn, moves, page, serves
from tests.site.proxies import LocalProxy
from tests.site.server import Site

TLS = Path(__file__).parents[1] / "site" / "self_signed.pem"
PLAIN: Settings = {"fetch.fallbacks": (), "guard.allow_networks": ()}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site(EVERY_END) as site:
        yield site


def config(site: Site, settings: Settings | None = None) -> Config:
    return config_for([site.url("/")], {**PLAIN, **(settings or {})})


async def trace(
    site: Site,
    path: str,
    settings: Settings | None = None,
    *,
    transport: TransportKind | None = None,
    is_unconditional: bool = False,
    out: Path | None = None,
) -> Trace:
    crawl = Location(out) if out else None
    return await trace_url(TraceRequest(site.url(path), transport, is_unconditional, crawl), config(site, settings))


def step(trace: Trace, name: str) -> str:
    """What was said at this step, with its mark."""
    (found,) = [step for step in trace.steps if step.name == name]
    return {None: "", True: "✓ ", False: "✗ "}[found.passed] + found.why


async def test_each_decision_about_a_page_is_told_in_order(site: Site) -> None:
    done = await trace_url(TraceRequest(f"{site.origin.upper()}/page#top"), config(site))
    assert [step.name for step in done.steps] == [
        *("normalize", "scope", "guard", "host", "robots", "cache", "network", "validate"),
    ]  # fmt: skip
    assert step(done, "normalize") == f"typed as {site.origin.upper()}/page#top"
    assert step(done, "scope") == "✓ without a crawl: the URL counts as a seed"
    assert step(done, "guard") == "✓ 127.0.0.1: not a public address; allowed because you typed it"
    assert step(done, "host") == "✓ no rate limit; no stored record"
    assert step(done, "robots") == "✓ robots.txt allows it; fetched now"
    assert step(done, "cache") == "no stored copy"
    assert step(done, "network") == "HTTP/1.1 200 by plain HTTP"
    assert step(done, "validate") == "✓ a valid page"
    assert (done.url, done.outcome, done.plan, done.backoff) == (site.url("/page"), Fetched(200), Done(), None)
    assert (done.title, done.charset, done.links_count, done.candidate_count) == ("A page", "utf-8", 2, 2)
    assert done.body.startswith(b"<!doctype html>")
    fetch = done.fetch
    assert (fetch.protocol, fetch.transport, fetch.address_class, fetch.charset_source, fetch.validation) == (
        "HTTP/1.1", TransportKind.HTTP, "typed", "header", "valid",
    )  # fmt: skip
    assert fetch.wire_bytes == fetch.body_bytes == len(done.body)
    assert 0 < fetch.ttfb_seconds <= fetch.total_seconds


async def test_steps_are_heard_of_as_they_fall(site: Site) -> None:
    heard: list[str] = []
    done = await trace_url(TraceRequest(site.url("/page")), config(site), on_step=lambda step: heard.append(step.name))
    assert heard == [step.name for step in done.steps]


ENDS = [
    ("/nowhere", Failed("HTTP 404", FailureKind.NOT_FOUND, status=404), Done),
    ("/gone", Failed("HTTP 410", FailureKind.GONE, status=410), Done),
    ("/500", Failed("HTTP 500", FailureKind.SERVER_ERROR, status=500), Reschedule),
    ("/403", Failed("HTTP 403", FailureKind.BLOCKED, status=403), DeadLetter),
    ("/bomb/gzip", Failed("larger than 10485760 bytes (`fetch.max_body_bytes`)", FailureKind.TOO_LARGE), DeadLetter),
    ("/reset", Failed("the connection was closed before a response", FailureKind.RESET, is_site_wide=True), Reschedule),
    ("/wall", Rejected("challenge: the site checks the browser first"), DeadLetter),
    ("/shut-out", Rejected("blocked: the site blocks us", is_hard=True), Reschedule),
    ("/picture", Rejected("content: PNG image sent as text/html"), Done),
    ("/noindex", Rejected("noindex: the page asks not to be kept"), Done),
    ("/empty", Rejected("empty"), Done),
]


@pytest.mark.parametrize(("path", "outcome", "plan"), ENDS, ids=[path for path, *_ in ENDS])
async def test_every_end_is_told(site: Site, path: str, outcome: object, plan: type) -> None:
    done = await trace(site, path)
    assert done.outcome == outcome
    assert isinstance(done.plan, plan)


async def test_a_redirect_to_itself_is_a_loop(site: Site) -> None:
    done = await trace(site, "/loop")
    why = f"redirect loop, HTTP 302 to {site.url('/loop')}"
    assert done.outcome == Failed(why, FailureKind.REDIRECT, status=302)
    assert isinstance(done.plan, DeadLetter)


async def test_a_redirect_is_not_followed_but_told(site: Site) -> None:
    done = await trace(site, "/moved")
    assert done.outcome == Redirected(302, site.url("/page"))
    assert step(done, "redirect") == "Location: /page"
    assert [hit.path for hit in site.hits] == ["/robots.txt", "/moved"]


async def test_a_target_that_is_no_text_can_be_told() -> None:
    async with Site({"/": moves("/caf\xe9\x9b")}) as site:
        done = await trace(site, "/")
    assert done.outcome == Redirected(302, site.url("/caf%E9%9B"))
    assert step(done, "redirect") == "Location: /caf??"
    assert b"caf" in msgspec.json.encode(done)


async def test_what_robots_txt_closes_is_not_asked_for(site: Site) -> None:
    done = await trace(site, "/closed")
    assert isinstance(done.outcome, Refused)
    assert step(done, "robots") == "✗ robots.txt does not allow it; fetched now"
    assert [hit.path for hit in site.hits] == ["/robots.txt"]
    assert not any(step.name in ("cache", "network") for step in done.steps)


async def test_a_429_and_the_rest_it_brings(site: Site) -> None:
    before = SteadyClock().now()
    done = await trace(site, "/429")
    assert isinstance(done.plan, Reschedule)
    assert done.backoff is not None
    assert done.backoff.why == "rate limited: asked to wait 7 s"
    assert 7 <= done.backoff.until - before < 12
    assert done.plan.at >= done.backoff.until


async def test_a_wall_sends_it_to_the_browser_where_there_is_one(site: Site) -> None:
    done = await trace(site, "/wall", {"fetch.fallbacks": ("browser",)})
    assert "evidence: Cloudflare: _cf_chl_opt" in step(done, "validate")
    assert isinstance(done.plan, Reschedule)
    assert done.plan.transport is TransportKind.BROWSER


async def test_the_host_s_pace_is_kept(site: Site) -> None:
    done = await trace(site, "/page", {"politeness.rate_per_second": 5.0})
    assert step(done, "wait") == "0.2 s until the next request to the host"
    assert step(done, "host").startswith("✓ one request every 0.2 s")
    assert isinstance(done.outcome, Fetched)


async def test_a_turn_that_is_too_far_away_is_not_waited_for() -> None:
    robots = serves(b"User-agent: *\nCrawl-delay: 90\n", "text/plain")
    async with Site({"/robots.txt": robots, "/page": EVERY_END["/page"]}) as site:
        done = await trace(site, "/page", {"politeness.rate_per_second": 5.0})
    assert isinstance(done.outcome, Deferred)
    assert "too far away" in done.outcome.why
    assert step(done, "robots") == "✓ robots.txt allows it; fetched now; it asks for 90 s between requests"


async def test_an_unreachable_robots_txt_closes_the_host() -> None:
    async with Site({"/robots.txt": EVERY_END["/500"], "/page": EVERY_END["/page"]}) as site:
        done = await trace(site, "/page")
    assert step(done, "robots") == "✗ robots.txt is unreachable (HTTP 500), so nothing may be fetched; fetched now"
    assert isinstance(done.outcome, Deferred)
    assert done.backoff is not None
    assert len(site.hits) == 1


async def test_names_that_do_not_exist_and_ports_where_nobody_listens(site: Site) -> None:
    done = await trace_url(TraceRequest("http://nowhere.invalid/"), config(site))
    assert step(done, "guard") == "✗ nowhere.invalid: no such host"
    assert done.outcome == Failed("no such host", FailureKind.DNS)
    done = await trace_url(TraceRequest("http://127.0.0.1:1/"), config(site))
    assert "connection refused" in step(done, "robots")
    assert isinstance(done.outcome, Failed)
    assert done.outcome.kind is FailureKind.CONNECT


async def test_tls_that_nobody_vouches_for() -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(TLS)
    async with Site(EVERY_END, tls=tls) as site:
        refused = await trace(site, "/page")
        taken = await trace(site, "/page", {"fetch.verify_tls": False})
    assert isinstance(refused.outcome, Failed)
    assert refused.outcome.kind is FailureKind.TLS
    assert isinstance(taken.outcome, Fetched)
    assert taken.fetch.is_unverified


@pytest.mark.parametrize("transport", TransportKind)
async def test_by_a_proxy_whose_password_nobody_sees(site: Site, transport: TransportKind) -> None:
    async with LocalProxy("http", user="me", password="hunter2") as proxy:
        done = await trace(site, "/page", {"proxy.urls": (proxy.url("me", "hunter2"),)}, transport=transport)
        failed = await trace(site, "/page", {"proxy.urls": (proxy.url("me", "hunter3"),)}, transport=transport)
    assert done.fetch.transport is transport
    assert done.fetch.proxy == proxy.name
    assert isinstance(failed.outcome, Failed)
    assert b"hunter" not in msgspec.json.encode((done, failed))


async def test_a_way_that_cannot_be_gone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenax.fetch.curl.transport.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'tenax\[curl\]'"):
        await trace(site, "/page", transport=TransportKind.CURL)
    assert site.hits == []


async def test_by_curl(site: Site) -> None:
    done = await trace(site, "/page", transport=TransportKind.CURL)
    assert done.fetch.transport is TransportKind.CURL
    assert step(done, "network") == "HTTP/1.1 200 by curl"


async def test_a_password_in_the_url_is_neither_sent_nor_shown(site: Site) -> None:
    done = await trace_url(TraceRequest(site.url("/page").replace("//", "//me:hunter2@")), config(site))
    assert "hunter2" not in msgspec.json.encode(done).decode()
    assert not any("authorization" in hit.headers for hit in site.hits)


# ---- with a crawl that knows it ---------------------------------------------------------------------------


@pytest.fixture
async def crawled(site: Site, tmp_path: Path) -> Path:
    await crawl([site.url("/")], tmp_path / "out")
    site.hits.clear()
    return tmp_path / "out"


async def test_a_stored_copy_is_asked_about(site: Site, crawled: Path) -> None:
    database = (crawled / "tenax.db").read_bytes()
    done = await trace(site, "/etag", out=crawled)
    assert done.outcome == Unchanged()
    assert done.fetch.saved_bytes > 0
    assert "conditional request with If-None-Match" in step(done, "cache")
    assert [hit.path for hit in site.hits] == ["/etag"], "the crawl's robots.txt holds"
    assert step(done, "robots").startswith("✓ robots.txt allows it; fetched ")
    assert step(done, "robots").endswith(" ago")
    assert (crawled / "tenax.db").read_bytes() == database, "nothing is written down"


async def test_a_stored_copy_that_is_not_wanted(site: Site, crawled: Path) -> None:
    done = await trace(site, "/etag", out=crawled, is_unconditional=True)
    assert isinstance(done.outcome, Fetched)
    assert step(done, "cache").endswith("; not used, as requested")
    assert "if-none-match" not in site.hits[0].headers


async def test_a_stored_copy_that_is_young_enough_spares_the_request(site: Site, crawled: Path) -> None:
    done = await trace(site, "/etag", {"cache.max_age_seconds": 3600.0}, out=crawled)
    assert isinstance(done.outcome, Unchanged)
    assert done.outcome.why
    assert site.hits == []


async def test_a_stored_page_that_names_it_as_its_canonical_url_serves_too(tmp_path: Path) -> None:
    printed = page("A story").replace(b"<body>", b"<link rel=canonical href='/story'><body>")
    async with Site({"/print": serves(printed), "/story": serves(page())}) as site:
        await crawl([site.url("/print")], tmp_path, {"crawl.max_depth": 0})
        site.hits.clear()
        done = await trace(site, "/story", {"cache.prefer_cache": True}, out=tmp_path)
        assert isinstance(done.outcome, Unchanged)
        assert f"the stored copy of {site.url('/print')}, which names this as its canonical URL" in step(done, "cache")
        assert site.hits == []
        assert step(await trace(site, "/story", out=tmp_path), "cache") == "no stored copy"


async def test_a_stored_copy_serves_when_the_network_does_not(tmp_path: Path) -> None:
    fine = serves(page("Fine"), ETag='"1"')
    broken = {"/unwell": EVERY_END["/500"], "/moved": EVERY_END["/moved"], "/walled": EVERY_END["/wall"]}
    async with Site({path: in_turn(fine, behaviour) for path, behaviour in broken.items()}) as site:
        await crawl([site.url(path) for path in broken], tmp_path)
        traces = [await trace(site, path, out=tmp_path) for path in broken]
    for done in traces:
        assert step(done, "stale").endswith("old and marked as stale")
        assert done.stale_page is not None
        assert done.stale_page.title == "Fine"


async def test_what_the_crawl_would_not_take_is_said_and_asked_all_the_same(site: Site, crawled: Path) -> None:
    async with Site(EVERY_END) as other:
        done = await trace_url(
            TraceRequest(other.url("/page"), crawl_location=Location(crawled)), config(site, {"guard.ports": (80,)})
        )
        assert "✗ the rule `scope` of the crawl in" in step(done, "scope")
        assert step(done, "scope").endswith("; fetched anyway")
        assert step(done, "guard") == (
            f"✗ port {other.port} is not allowed; as a seed of the crawl it would be allowed"
        )
        assert isinstance(done.outcome, Refused)
        assert other.connections == 0
        found = await trace_url(
            TraceRequest(other.url("/page"), crawl_location=Location(crawled), is_crawl_given=False), config(site)
        )
        assert isinstance(found.outcome, Fetched), "a crawl that never met the host has nothing to say"


async def test_a_directory_without_a_crawl(site: Site, tmp_path: Path) -> None:
    with pytest.raises(DatabaseNotFound):
        await trace(site, "/page", out=tmp_path / "nothing")


# ---- words ------------------------------------------------------------------------------------------------


def test_the_state_of_a_host_in_words() -> None:
    now, at = 1_000_000.0, SiteConfig()
    host = HostRecord("http://a.example", "a.example", page_count=1, error_count=2)
    backing_off = msgspec.structs.replace(host, next_at=now + 45, backoff_reason="rate limited")
    slowed = msgspec.structs.replace(host, rate_per_minute=15.0)
    down = msgspec.structs.replace(host, breaker="open")
    learned = msgspec.structs.replace(host, transport=TransportKind.BROWSER, transport_until=now + 1)
    assert describe_host(backing_off, at, True, now).why == "backing off for 45 s: rate limited"
    assert describe_host(backing_off, at, True, now).passed is False
    assert describe_host(host, at, True, now).why == "one request every 1 s; 1 page and 2 failures so far"
    assert "one request every 4 s; slowed to 15/min after a 429" in describe_host(slowed, at, True, now).why
    assert "a small probe request comes first" in describe_host(down, at, True, now).why
    assert describe_host(learned, at, True, now).why.endswith("; found to need the browser")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0, "0 s"), (0.2, "0.2 s"), (1.0, "1 s"), (45.4, "45 s"), (90, "90 s"), (300, "5 min"), (86_400, "24 h")],
)
def test_spans(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


async def test_a_page_is_extracted_with_the_settings_of_its_site(site: Site) -> None:
    done = await trace(site, "/page", {"extract.max_cpu_seconds": 1e-9})
    assert isinstance(done.outcome, Failed) and done.outcome.kind is FailureKind.UNREADABLE
