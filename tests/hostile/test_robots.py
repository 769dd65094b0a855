"""robots.txt by RFC 9309, as a server sees us obey it: what was asked for, and what never was."""

from __future__ import annotations

import gzip
import time
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tenax.hosts.robots import MAX_ROBOTS_BYTES
from tenax.model import Ending, HostRecord, RobotsVerdict
from tests.hostile.by_hand import Days, crawl_by_hand
from tests.hostile.crawling import Crawled, Settings, crawl, crawled
from tests.loops import reached, rounds
from tests.site.certificates import tls_of
from tests.site.dns import NameServer, Says
from tests.site.politeness import gaps, given_up
from tests.site.robots import (
    bomb,
    changing,
    cut_off,
    garbage,
    moved,
    one_after_the_other,
    page,
    pages,
    reset,
    rules,
    silent,
    status,
)
from tests.site.server import Behaviour, Exchange, Site

TIMEOUT_SECONDS = 10.0


def asked(site: Site) -> list[str]:
    """The paths that were asked for, in order, robots.txt left out."""
    return [hit.path for hit in site.hits if hit.path != "/robots.txt"]


async def visited(robots: str | bytes | Behaviour, out: Path, *paths: str) -> set[str]:
    """Which of these pages of one host are asked for under this robots.txt."""
    text = rules(robots) if isinstance(robots, (str, bytes)) else robots
    async with Site({"/robots.txt": text, **pages(*paths)}) as site:
        done = await crawl([site.url("/")], out)
        assert done.ending is Ending.COMPLETE
        return set(asked(site)) - {"/"}


def robots_of(host: HostRecord) -> tuple[RobotsVerdict, str]:
    assert host.robots is not None
    return host.robots.verdict, host.robots.why


# ---- longest match in octets wins; a tie allows; `*` and `$` obeyed; groups for our token merged; `*` group only when
# ---- none matches; token compared case-insensitively, product token only


@pytest.mark.parametrize(
    ("robots", "open_paths", "closed_paths"),
    [
        pytest.param("Disallow: /a\nAllow: /a/b\n", ["/a/b", "/b"], ["/a", "/a/c"], id="longest match wins"),
        pytest.param("Allow: /a/b\nDisallow: /a\n", ["/a/b", "/b"], ["/a", "/a/c"], id="in any order"),
        # 7 letters but 8 octets against 8 letters: a count of letters would say otherwise.
        pytest.param("Allow: /naï*\nDisallow: /na*if\n", ["/na%C3%AFf"], [], id="counted in octets"),
        pytest.param("Disallow: /page\nAllow: /page\n", ["/page"], [], id="a tie allows"),
        pytest.param("Disallow: /*.php\n", ["/index.html"], ["/index.php", "/a/b.php?x=1"], id="* obeyed"),
        pytest.param("Disallow: /*.php$\n", ["/index.php?x=1"], ["/index.php"], id="$ obeyed"),
        pytest.param("Disallow:\n", ["/anything"], [], id="an empty Disallow allows"),
        pytest.param("Disallow: /caf%c3%a9\n", ["/cafe"], ["/caf%C3%A9"], id="escapes are spelled alike"),
    ],
)
async def test_longest_match_in_octets_wins_a_tie_allows_star_and_dollar_obeyed(
    tmp_path: Path, robots: str, open_paths: list[str], closed_paths: list[str]
) -> None:
    seen = await visited(f"User-agent: *\n{robots}", tmp_path, *open_paths, *closed_paths)
    assert seen == set(open_paths)


@pytest.mark.parametrize(
    ("robots", "open_paths"),
    [
        pytest.param(
            "User-agent: tenax\nDisallow: /a\n\nUser-agent: x\nDisallow: /b\n\nUser-agent: TENAX\nDisallow: /c\n",
            {"/b"},
            id="groups for our token merged",
        ),
        pytest.param(
            "User-agent: *\nDisallow: /a\n\nUser-agent: tenax\nDisallow: /b\n", {"/a", "/c"}, id="ours instead of *"
        ),
        pytest.param("User-agent: *\nDisallow: /a\n\nUser-agent: x\nDisallow: /b\n", {"/b", "/c"}, id="* when none is"),
        pytest.param("User-agent: TeNaX/9.9 (x)\nDisallow: /a\n", {"/b", "/c"}, id="the product token, in any case"),
        pytest.param("User-agent: ten\nDisallow: /a\n", {"/a", "/b", "/c"}, id="not a beginning of it"),
        pytest.param("User-agent: tenaxbot\nDisallow: /a\n", {"/a", "/b", "/c"}, id="not a longer one"),
        pytest.param("User-agent: x\nUser-agent: tenax\nDisallow: /a\n", {"/b", "/c"}, id="one of several"),
    ],
)
async def test_groups_for_our_token_merged_star_group_only_when_none_matches(
    tmp_path: Path, robots: str, open_paths: set[str]
) -> None:
    assert await visited(robots, tmp_path, "/a", "/b", "/c") == open_paths


# ---- BOM first, CR / LF / CRLF mixed, 16 KB line, NUL bytes → parsed, linear time


@pytest.mark.parametrize(
    "robots",
    [
        pytest.param(b"\xef\xbb\xbfUser-agent: *\nDisallow: /a\n", id="BOM first"),
        pytest.param(b"User-agent: *\rDisallow: /x\r\nDisallow: /y\n\rDisallow: /a", id="CR LF CRLF mixed"),
        pytest.param(b"User-agent: *\nDisallow: /" + b"x" * 16_384 + b"\nDisallow: /a\n", id="16 KB line"),
        pytest.param(b"User-agent: *\nAllow: /\0\0\nDisallow: /a\n\0\0\0", id="NUL bytes"),
        pytest.param(
            b"# caf\xe9\nUser-agent: x\nDisallow: /\xff\n\x80\x81\nUser-agent: *\nDisallow: /a\n", id="no UTF-8"
        ),
    ],
)
async def test_bom_mixed_line_ends_long_lines_and_nul_bytes_are_parsed(tmp_path: Path, robots: bytes) -> None:
    assert await visited(robots, tmp_path, "/a", "/b") == {"/b"}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"Disallow: /" + b"*a" * 8_000 + b"$\n", id="stars"),
        pytest.param(b"Disallow: /" + b"*" * 16_000 + b"a$\n", id="only stars"),
        pytest.param(b"User-agent: tenax\nDisallow: /x\n", id="groups"),
        pytest.param(b"\xe2\x80\xa8\x0b\x0c" * 20 + b"Disallow: /a b c\n", id="odd spaces"),
    ],
)
async def test_the_worst_file_is_parsed_in_linear_time(tmp_path: Path, line: bytes) -> None:
    """500 KiB of what makes careless patterns go back and forth; seconds of CPU would be minutes then."""
    body = b"User-agent: *\n" + line * (MAX_ROBOTS_BYTES // len(line))
    paths = [f"/{'a' * 200}-{number}" for number in range(5)]
    began = time.process_time()
    seen = await visited(body, tmp_path, *paths)
    assert seen == set(paths)
    assert time.process_time() - began < 60


# ---- 404/403/401/410 → allow all. 500/503/429/timeout/DNS/TLS/reset → disallow all, retried with backoff; last good
# ---- copy ≤ 24 h


@pytest.mark.parametrize("words", ["404 Not Found", "403 Forbidden", "401 Unauthorized", "410 Gone"])
async def test_404_403_401_410_allow_all(tmp_path: Path, words: str) -> None:
    """The body says otherwise, and is not read."""
    assert await visited(status(words), tmp_path, "/a") == {"/a"}


TRIED_ONCE: Settings = {"fetch.max_attempts": 1}
"""What the first failures mean is a matter of retries; what the last one means, of robots.txt."""


@pytest.mark.parametrize(
    "robots",
    [
        pytest.param(status("500 Internal Server Error"), id="500"),
        pytest.param(status("503 Service Unavailable"), id="503"),
        pytest.param(status("429 Too Many Requests"), id="429"),
        pytest.param(given_up(TIMEOUT_SECONDS, silent), id="timeout"),
        pytest.param(reset, id="reset"),
    ],
)
async def test_500_503_429_timeout_reset_disallow_all(tmp_path: Path, robots: Behaviour) -> None:
    async with Site({"/robots.txt": robots, **pages("/a")}) as site:
        done = await crawl([site.url("/")], tmp_path, {"fetch.total_timeout_seconds": TIMEOUT_SECONDS, **TRIED_ONCE})
        assert asked(site) == []
    await assert_no_page_requested(done, site.origin)


async def test_tls_disallows_all(tmp_path: Path) -> None:
    async with Site({"/robots.txt": rules(""), **pages("/a")}, tls=tls_of("self_signed")) as site:
        done = await crawl([site.url("/")], tmp_path, TRIED_ONCE)
        assert site.hits == []
    await assert_no_page_requested(done, site.origin)


async def test_dns_disallows_all(tmp_path: Path) -> None:
    """A name that cannot be looked up just now; the other host goes on."""
    days, short_wait = Days(), {"crawl.max_idle_seconds": 2.0}
    async with NameServer() as names, Site({"/robots.txt": rules(""), **pages("/a")}) as site:
        names.knows("gone.test", Says(behaviour="servfail"))
        seeds = [f"http://gone.test:{site.port}/", site.url("/")]
        settings = {"guard.nameservers": (names.address,), **short_wait, **TRIED_ONCE}
        async with crawl_by_hand(seeds, tmp_path, days, settings) as crawling:
            assert await crawling.run() is Ending.MAX_IDLE
        assert {hit.headers["host"] for hit in site.hits} == {f"127.0.0.1:{site.port}"}
        assert asked(site) == ["/", "/a"]
    await assert_no_page_requested(await crawled(tmp_path, clock=days.clock), f"http://gone.test:{site.port}")


async def assert_no_page_requested(done: Crawled, origin: str) -> None:
    """Nothing is lost and nothing is given up: it waits."""
    assert done.dead_letters == {}
    assert done.status.waiting == 1
    host = await done.host(origin)
    assert host.robots is not None and host.robots.verdict is RobotsVerdict.UNREACHABLE
    assert host.next_at > host.robots.fetched_at + 30


async def test_an_unreachable_file_is_retried_with_backoff(tmp_path: Path) -> None:
    """Six refusals, then the file: asked at growing distances, and nothing else is asked for before it came."""
    days = Days()
    sick, well = status("503 Service Unavailable"), rules("User-agent: *\nDisallow: /private\n")
    routes = {"/robots.txt": one_after_the_other(*[sick] * 6, well), **pages("/a", "/private")}
    async with Site(routes, now=days.time) as site, crawl_by_hand([site.url("/")], tmp_path, days) as crawling:
        assert await crawling.run() is Ending.COMPLETE
    assert [hit.path for hit in site.hits] == ["/robots.txt"] * 7 + ["/", "/a"]
    assert gaps(site.hits[:7]) == pytest.approx([60, 120, 240, 480, 960, 1920], rel=0.01)


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(status("429 Too Many Requests"), id="429"),
        pytest.param(given_up(TIMEOUT_SECONDS, silent), id="timeout"),
        pytest.param(reset, id="reset"),
        pytest.param(bomb, id="bomb"),
        pytest.param(cut_off, id="cut off"),
        pytest.param(garbage, id="garbage"),
    ],
)
async def test_a_page_does_not_pay_for_its_robots_txt(tmp_path: Path, trouble: Behaviour) -> None:
    """A dozen times in a row, more often than any page is tried; then the file comes, and so does the page."""
    days = Days()

    async def troubled(exchange: Exchange) -> None:
        """The other site has answered by then: time that passes here would pass there as well."""
        await reached(lambda: [hit.path for hit in other.hits] == ["/robots.txt", "/"])
        await rounds()
        await trouble(exchange)

    routes = {"/robots.txt": one_after_the_other(*[troubled] * 12, rules("")), **pages("/a")}
    settings = {"fetch.total_timeout_seconds": TIMEOUT_SECONDS}
    async with Site(routes) as site, Site(pages(), "127.0.0.2") as other:
        seeds = [site.url("/"), other.url("/")]  # a crawl that nobody has answered yet would not wait
        async with crawl_by_hand(seeds, tmp_path, days, settings) as crawling:
            assert await crawling.run() is Ending.COMPLETE
        order = [(hit.method, hit.path) for hit in site.hits]
    assert order.count(("GET", "/robots.txt")) == 13
    assert set(order[:-2]) <= {("GET", "/robots.txt"), ("HEAD", "/")}
    assert crawling.stored == {*seeds, site.url("/a")}


async def test_the_last_good_copy_serves_for_24_hours(tmp_path: Path) -> None:
    """Well for the first half hour, then away for good: its last rules hold for a day, after that nothing is asked."""
    days, hour = Days(), 3600.0
    good = rules("User-agent: *\nDisallow: /private\n")
    robots = changing(lambda: good if days.time() < hour / 2 else status("503 Service Unavailable"))
    paths = [f"/{number}" for number in range(60)]
    routes = {"/robots.txt": robots, **pages("/private", *paths)}
    seldom = {"politeness.rate_per_second": 1 / 1800}
    async with Site(routes, now=days.time) as site, crawl_by_hand([site.url("/")], tmp_path, days, seldom) as crawling:
        days.at(40 * hour, crawling.stop)
        assert await crawling.run() is Ending.INTERRUPTED
        host = await crawling.database.host(site.origin)
    assert host is not None
    assert robots_of(host)[0] is RobotsVerdict.UNREACHABLE
    fetched_at = {hit.path: hit.at for hit in site.hits if hit.path != "/robots.txt"}
    assert 23 * hour < max(fetched_at.values()) <= 24 * hour
    assert 20 < len(fetched_at) < len(paths)
    assert "/private" not in fetched_at


# ---- 5 redirects, across hosts too → followed, rules belong to the first authority; the 6th → unavailable; redirect to
# ---- a private address → blocked


async def test_5_redirects_across_hosts_are_followed_and_the_rules_belong_to_the_first_authority(
    tmp_path: Path,
) -> None:
    """The rules are kept at another host, four hops inside of it; they hold for the host that was asked, only."""
    kept = {f"/r{number}": moved(f"/r{number + 1}") for number in range(1, 5)} | {
        "/r5": rules("User-agent: *\nDisallow: /a\n"),
        "/robots.txt": rules("User-agent: *\nDisallow: /b\n"),
        **pages("/a", "/b"),
    }
    async with Site(kept, host="127.0.0.2") as keeper:
        async with Site({"/robots.txt": moved(keeper.url("/r1")), **pages("/a", "/b")}) as site:
            done = await crawl([site.url("/"), keeper.url("/")], tmp_path)
            assert done.ending is Ending.COMPLETE
            assert asked(site) == ["/", "/b"]
        hops = [hit.path for hit in keeper.hits if hit.path.startswith("/r")]
        assert sorted(hops) == ["/r1", "/r2", "/r3", "/r4", "/r5", "/robots.txt"]
        assert [path for path in asked(keeper) if not path.startswith("/r")] == ["/", "/a"]


async def test_the_6th_redirect_is_unavailable(tmp_path: Path) -> None:
    """Unavailable: there are no rules. The file behind the sixth is never asked for."""
    hops = {"/robots.txt": moved("/r1"), **{f"/r{number}": moved(f"/r{number + 1}") for number in range(1, 6)}}
    hops["/r6"] = rules("User-agent: *\nDisallow: /\n")
    async with Site({**hops, **pages("/a")}) as site:
        done = await crawl([site.url("/")], tmp_path)
        assert [hit.path for hit in site.hits] == ["/robots.txt", "/r1", "/r2", "/r3", "/r4", "/r5", "/", "/a"]
    assert robots_of(await done.host(site.origin)) == (RobotsVerdict.ALLOW_ALL, "redirects lead nowhere: no rules")


@pytest.mark.parametrize("target", ["http://169.254.169.254/latest/", "http://10.0.0.1/", "http://[::1]/"])
async def test_a_redirect_to_a_private_address_is_blocked(tmp_path: Path, target: str) -> None:
    async with Site({"/robots.txt": moved(target), **pages("/a")}) as site:
        done = await crawl([site.url("/")], tmp_path)
        assert asked(site) == []
    await assert_no_page_requested(done, site.origin)
    verdict, why = robots_of(await done.host(site.origin))
    assert (verdict, "is not a public address" in why) == (RobotsVerdict.UNREACHABLE, True)


# ---- 600 KiB → at least the first 500 KiB count; gzip bomb → unreachable; an HTML page sent as robots.txt → no rules →
# ---- allow, flagged


async def test_of_600_kib_the_first_500_kib_count(tmp_path: Path) -> None:
    filler = b"# nothing but a remark, to fill the file up to where it counts\n"
    early = b"User-agent: *\nDisallow: /early\n"
    body = early + filler * ((MAX_ROBOTS_BYTES - 200) // len(filler)) + b"Disallow: /last\n"
    assert MAX_ROBOTS_BYTES - 300 < len(body) < MAX_ROBOTS_BYTES
    body += filler * (100 * 1024 // len(filler)) + b"Disallow: /late\n"
    assert len(body) > 600 * 1000
    assert await visited(body, tmp_path, "/early", "/last", "/late") <= {"/late"}


@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
async def test_of_12_mb_the_first_500_kib_count_and_the_site_stays_open(tmp_path: Path, is_packed: bool) -> None:
    """Larger than any page may be. That the file is long is no reason to leave the site alone (RFC 9309, 2.5)."""
    filler = b"".join(b"Disallow: /never/%d\n" % number for number in range(20_000))
    body = b"User-agent: *\nDisallow: /early\n" + filler
    body += filler * (12_000_000 // len(filler)) + b"Disallow: /late\n"
    packed = rules(gzip.compress(body), {"Content-Type": "text/plain", "Content-Encoding": "gzip"})
    assert await visited(packed if is_packed else body, tmp_path, "/early", "/open", "/late") == {"/open", "/late"}


async def test_a_gzip_bomb_is_unreachable(tmp_path: Path) -> None:
    async with Site({"/robots.txt": bomb, **pages("/a")}) as site:
        done = await crawl([site.url("/")], tmp_path)
        assert asked(site) == []
    await assert_no_page_requested(done, site.origin)


async def test_an_html_page_sent_as_robots_txt_allows_and_is_flagged(tmp_path: Path) -> None:
    html = b"<!doctype html><title>Not found</title><pre>User-agent: *\nDisallow: /\n</pre>"
    async with Site({"/robots.txt": rules(html, {"Content-Type": "text/html"}), **pages("/a")}) as site:
        done = await crawl([site.url("/")], tmp_path)
        assert asked(site) == ["/", "/a"]
    _, why = robots_of(await done.host(site.origin))
    assert why == "an HTML page was sent as robots.txt: no rules"


# ---- http and https, and other ports, have separate rules; rules that change mid-crawl apply to queued URLs; a
# ---- redirect into a disallowed path is not fetched


async def test_http_and_https_and_other_ports_have_separate_rules(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        sites = [
            await stack.enter_async_context(Site({"/robots.txt": rules(text), **pages("/a", "/b")}, tls=secured))
            for text, secured in [
                ("User-agent: *\nDisallow: /a\n", None),
                ("User-agent: *\nDisallow: /b\n", None),
                ("User-agent: *\nDisallow: /\nAllow: /$\n", tls_of("self_signed")),
            ]
        ]
        done = await crawl([site.url("/") for site in sites], tmp_path, {"fetch.verify_tls": False})
        assert done.ending is Ending.COMPLETE
        assert [sorted(asked(site)) for site in sites] == [["/", "/b"], ["/", "/a"], ["/"]]


async def test_rules_that_change_mid_crawl_apply_to_queued_urls(tmp_path: Path) -> None:
    """Ten minutes a page; the file is good for an hour, and then it closes what is still waiting."""
    days = Days()
    paths = [f"/section/{number}" for number in range(20)]
    robots = one_after_the_other(rules("User-agent: *\nAllow: /\n"), rules("User-agent: *\nDisallow: /section\n"))
    routes = {"/robots.txt": robots, **pages(*paths)}
    slow = {"politeness.rate_per_second": 1 / 600, "politeness.robots_ttl_seconds": 3600.0}
    async with Site(routes) as site, crawl_by_hand([site.url("/")], tmp_path, days, slow) as crawling:
        assert await crawling.run() is Ending.COMPLETE
        order = [hit.path for hit in site.hits]
        refused = [visit for visit in crawling.visits if visit.outcome.label == "refused:robots"]
    again = order.index("/robots.txt", 1)
    assert 4 <= again <= 7
    assert order[again + 1 :] == []
    assert len(refused) == len(paths) - (again - 2)


async def test_a_redirect_into_a_disallowed_path_is_not_fetched(tmp_path: Path) -> None:
    routes = {
        "/robots.txt": rules("User-agent: *\nDisallow: /private\n"),
        **pages("/open", "/in"),
        "/in": moved("/private/page"),
        "/private/page": page("/"),
    }
    async with Site(routes) as site:
        done = await crawl([site.url("/")], tmp_path)
        assert done.ending is Ending.COMPLETE
        assert sorted(asked(site)) == ["/", "/in", "/open"]
        history = await done.history(site.url("/private/page"))
    assert history.page is None
    assert history.visits[-1].outcome.label == "refused:robots"


# ---- Crawl-delay 0.5 / 30 / 86400 / −1 / "abc" → used / used / slow lane / ignored / ignored


@pytest.mark.parametrize(
    ("delay", "gap"),
    [("0.5", 0.5), ("30", 30), ("86400", 86_400), ("-1", 0.2), ("abc", 0.2)],
)
async def test_crawl_delay_is_used_or_ignored(tmp_path: Path, delay: str, gap: float) -> None:
    """At a pace of five pages a second without it. A host in the slow lane, a page a day, keeps no other waiting."""
    days = Days()
    robots = rules(f"User-agent: *\nCrawl-delay: {delay}\nDisallow: /private\n")
    routes = {"/robots.txt": robots, **pages("/a", "/b", "/c")}
    async with Site(routes, now=days.time) as site, Site(pages("/a", "/b"), "127.0.0.2", now=days.time) as other:
        seeds = [site.url("/"), other.url("/")]
        async with crawl_by_hand(seeds, tmp_path, days, {"politeness.rate_per_second": 5.0}) as crawling:
            assert await crawling.run() is Ending.COMPLETE
    assert sorted(asked(site)) == ["/", "/a", "/b", "/c"]
    waits = gaps(site.hits)
    assert waits == pytest.approx([gap] * len(waits), rel=0.01)
    assert gaps(other.hits) == pytest.approx([0.2] * 3, rel=0.01)


# ---- `meta robots` and `X-Robots-Tag` nofollow/noindex → links skipped / stored per policy


@pytest.mark.parametrize(
    ("head", "headers", "is_stored", "is_followed"),
    [
        ("", {}, True, True),
        ('<meta name="robots" content="noindex">', {}, False, True),
        ('<meta name="ROBOTS" content="NoFollow, noarchive">', {}, True, False),
        ('<meta name="tenax" content="none">', {}, False, False),
        ('<meta name="otherbot" content="none">', {}, True, True),
        ("", {"X-Robots-Tag": "noindex"}, False, True),
        ("", {"X-Robots-Tag": "nofollow"}, True, False),
        ("", {"x-robots-tag": "tenax: noindex, nofollow"}, False, False),
        ("", {"X-Robots-Tag": "otherbot: none"}, True, True),
        ('<meta name="robots" content="noindex">', {"X-Robots-Tag": "nofollow"}, False, False),
    ],
)
async def test_meta_robots_and_x_robots_tag(
    tmp_path: Path, head: str, headers: dict[str, str], is_stored: bool, is_followed: bool
) -> None:
    routes = {"/": page("/linked", head=head, headers=headers), "/linked": page()}
    async with Site(routes) as site:
        done = await crawl([site.url("/")], tmp_path)
        assert asked(site) == (["/", "/linked"] if is_followed else ["/"])
    assert (site.url("/") in done.pages) is is_stored
    assert (site.url("/linked") in done.pages) is is_followed
    assert done.dead_letters == {}
