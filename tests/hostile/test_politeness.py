"""Politeness as the server sees it: the time of each request as it arrives, whoever of us sent it."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from tenax.model import Ending
from tests.e2e.fork_server import Running
from tests.e2e.program import ended
from tests.hostile.by_hand import Days, crawl_by_hand
from tests.hostile.crawling import crawl, crawled, database_in, start_crawl
from tests.site.dns import NameServer, says
from tests.site.politeness import gaps, now_and_then, nth, reopen, shut, slow, too_many_requests, unavailable
from tests.site.robots import page, pages, rules
from tests.site.server import Exchange, Hit, Site

NOISE_SECONDS = 1.5
"""How much later than it was sent a request may be noticed, when several share two cores.

Only where requests may overlap: there the distance is kept between the moments in which they are sent, and one that is
noticed late seems to be closer to the next. With one request at a time, which is the default, the distance counts from
the answer, and nothing is taken off. Less than the delay: a pace twice as fast shows in
three requests.
"""


def assert_apart(hits: list[Hit], seconds: float, noise_seconds: float) -> None:
    """No two requests closer than this, and no drift: noise is taken off once, however many requests lie between."""
    for number, earlier in enumerate(hits):
        for between, later in enumerate(hits[number + 1 :], 1):
            assert later.at - earlier.at >= between * seconds - noise_seconds, (number, between, gaps(hits))


async def until(condition: Callable[[], bool], what: str, seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        await asyncio.sleep(0.01)


async def until_rested(site: Site, *crawls: Path) -> None:
    """Until one of these crawls has written down why it leaves this host alone."""
    async with asyncio.timeout(180):
        while True:
            for out in crawls:
                async with database_in(out) as database:
                    host = await database.host(site.origin)
                if host is not None and host.backoff_reason:
                    return
            await asyncio.sleep(0.05)


async def kill(process: Running) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    assert (await asyncio.to_thread(ended, process)).code == -signal.SIGKILL


# ---- 8 workers, one host, 2 s delay → gaps ≥ 2 s as seen by the server, also across processes and after a restart


@pytest.mark.parametrize(
    ("connections", "answer_seconds", "noise_seconds"),
    [pytest.param(1, 0.2, 0.0, id="one after the other"), pytest.param(4, 2.5, NOISE_SECONDS, id="overlapping")],
)
async def test_8_workers_one_host_2_s_delay_across_processes_and_after_a_restart(
    tmp_path: Path, connections: int, answer_seconds: float, noise_seconds: float
) -> None:
    """Two crawls of one host, each with four visits in flight at most; one of them is killed just after a 429."""
    delay, backoff = 2.0, 4.0
    paths = [f"/{who}/{number}" for who in "ab" for number in range(8)]
    routes = {
        "/robots.txt": rules("User-agent: *\nDisallow: /x\n"),
        **dict.fromkeys(paths, slow(answer_seconds, page())),
    }
    settings = {
        "politeness.rate_per_second": 1 / delay,
        "politeness.per_ip_rate_factor": 10.0,
        "politeness.connections_per_host": connections,
        "politeness.share_rate_limit": True,
        "crawl.concurrency": 4,
        "fetch.total_timeout_seconds": 5.0,
        "crawl.max_idle_seconds": 60.0,
        "hosts.throttle_factor": 0.99,
    }
    limited = now_and_then(routes, too_many_requests(f"{backoff:.0f}"), nth({4}))
    async with Site(limited, host="127.0.0.41") as site:
        seeds = {who: [site.url(path) for path in paths if path.startswith(f"/{who}")] for who in "ab"}
        first, second = (start_crawl(seeds[who], tmp_path / who, settings) for who in "ab")
        await until(lambda: len(site.hits) >= 4, "the 429")
        # Not before it was read: what nobody has heard of when they die, nobody can keep.
        await until_rested(site, tmp_path / "a", tmp_path / "b")
        await kill(first)
        killed_at = time.monotonic()
        first = start_crawl(seeds["a"], tmp_path / "a", settings)

        def both_go_on() -> bool:
            later = {hit.path[:3] for hit in site.hits if hit.at > killed_at}
            return len(site.hits) >= 7 and {"/a/", "/b/"} <= later

        await until(both_go_on, "requests of both after the restart")
        await kill(first)
        await kill(second)
        hits, waits = site.hits, gaps(site.hits)
    assert_apart(hits, delay, noise_seconds)
    assert waits[3] >= backoff, waits  # counted from the answer, so that no noise makes it shorter
    # A crawl that finds the other's permit waits for it once, and does not try all its tasks.
    for who in "ab":
        assert (await crawled(tmp_path / who)).status.outcomes["deferred"] <= 4 * len(waits)


async def test_what_a_429_without_a_time_taught_one_crawl_holds_for_the_other(tmp_path: Path) -> None:
    """The blackout, and the pace afterwards: a host that has had enough of one crawl has had enough of both."""
    delay, backoff, slower = 0.25, 2.0, 1.0
    paths = [f"/{who}/{number}" for who in "ab" for number in range(30)]
    routes = {"/robots.txt": rules(""), **dict.fromkeys(paths, page())}
    settings = {
        "politeness.rate_per_second": 1 / delay,
        "politeness.share_rate_limit": True,
        "crawl.max_idle_seconds": 60.0,
        "hosts.throttle_first_seconds": backoff,
        "hosts.throttle_factor": delay / slower,
    }
    asked, said = set[str](), list[int]()

    def has_had_enough(exchange: Exchange) -> bool:
        """Once, as soon as both are at it."""
        asked.add(exchange.path[:3])
        if said or not asked >= {"/a/", "/b/"}:
            return False
        said.append(len(site.hits))
        return True

    async with Site(now_and_then(routes, too_many_requests(), has_had_enough), host="127.0.0.46") as site:
        running = [
            start_crawl([site.url(path) for path in paths if path.startswith(f"/{who}")], tmp_path / who, settings)
            for who in "ab"
        ]

        def both_go_on() -> bool:
            return bool(said) and {hit.path[:3] for hit in site.hits[said[0] + 2 :]} >= {"/a/", "/b/"}

        await until(both_go_on, "requests of both after the 429")
        for process in running:
            await kill(process)
        before, waits = gaps(site.hits[: said[0]]), gaps(site.hits[said[0] - 1 :])
    assert min(before) >= delay
    assert waits[0] >= backoff * 0.9, waits
    assert min(waits[1:]) >= slower, waits


async def test_8_workers_one_host_one_connection(tmp_path: Path) -> None:
    """One request after the other: then the delay counts from the answer, and the server sees no noise at all."""
    paths = [f"/{number}" for number in range(12)]
    async with Site(dict.fromkeys(paths, slow(0.02, page()))) as site:
        settings = {"politeness.rate_per_second": 10.0, "crawl.concurrency": 8}
        done = await crawl([site.url(path) for path in paths], tmp_path, settings)
        assert len(done.pages) == len(paths)
        assert min(gaps(site.hits)) >= 0.1
        assert site.connections <= 2


# ---- 429 with Retry-After → that host backs off, others unaffected; without → growing backoff, jitter, slow recovery


async def test_429_with_retry_after_rests_that_host_and_others_are_unaffected(tmp_path: Path) -> None:
    days, paths = Days(), [f"/{number}" for number in range(6)]
    limited = now_and_then(pages(*paths), too_many_requests("600"), nth({3}))
    async with Site(limited, now=days.time) as site, Site(pages(*paths), "127.0.0.2", now=days.time) as other:
        seeds = [site.url("/"), other.url("/")]
        async with crawl_by_hand(seeds, tmp_path, days, {"politeness.rate_per_second": 1.0}) as crawling:
            assert await crawling.run() is Ending.COMPLETE
            assert len(crawling.stored) == 2 * (1 + len(paths))
    # robots.txt is asked for first and is not there; then the front page, a page, and the 429.
    waits = gaps(site.hits)
    assert waits[:4] == [pytest.approx(1.0), pytest.approx(1.0), pytest.approx(1.0), pytest.approx(630, abs=31)]
    assert waits[3] >= 600
    assert waits[4:] == pytest.approx([4.0] * 4)
    assert gaps(other.hits) == pytest.approx([1.0] * 7)


async def test_429_without_retry_after_backs_off_further_each_time_and_recovers_slowly(tmp_path: Path) -> None:
    """45 s give or take a tenth, then 5 minutes, then 15. The pace is slowed down to one page a minute, and returns to
    the usual ten seconds by tenths."""
    days, paths = Days(), [f"/{number}" for number in range(120)]
    limited = now_and_then(pages(*paths), too_many_requests(), nth({2, 3, 4}))
    settings = {"politeness.rate_per_second": 0.1, "hosts.throttle_successes": 4}
    async with (
        Site(limited, now=days.time) as site,
        crawl_by_hand([site.url("/")], tmp_path, days, settings) as crawling,
    ):
        assert await crawling.run() is Ending.COMPLETE
        assert len(crawling.stored) == 1 + len(paths)
    waits = gaps(site.hits)
    first, second, third, *later = waits[2:]
    assert 40.5 <= first <= 49.5
    assert (second, third) == pytest.approx((300.0, 900.0))
    paces = list(Counter(round(wait, 2) for wait in later))
    assert (paces[0], paces[-1]) == (60.0, 10.0)
    assert paces == sorted(paces, reverse=True)
    assert all(slower / faster == pytest.approx(1.1, rel=0.01) for slower, faster in pairwise(paces[:-2]))


async def test_the_rests_after_a_429_have_jitter(tmp_path: Path) -> None:
    """Six hosts that say it at the same moment are not asked again at the same moment."""
    days = Days()
    again: list[float] = []
    for number in range(6):
        limited = now_and_then(pages("/a"), too_many_requests(), nth({1}))
        async with Site(limited, now=days.time) as site:
            settings = {"politeness.rate_per_second": 1.0}
            async with crawl_by_hand([site.url("/")], tmp_path / str(number), days, settings) as crawling:
                await crawling.run()
        again.append(gaps(site.hits)[1])
    assert all(40.5 <= wait <= 49.5 for wait in again)
    assert len({round(wait, 3) for wait in again}) > 1


# ---- 20 connect errors in a row → breaker opens, one probe per interval, closes on success; the 2-hour outage of
# ---- spec/page-fetcher.md loses nothing (see test_outage)


async def test_20_connect_errors_in_a_row_open_the_breaker_and_one_probe_per_interval_closes_it(
    tmp_path: Path,
) -> None:
    days, paths = Days(), [f"/{number}" for number in range(40)]
    is_sick = False
    routes = now_and_then({"/robots.txt": rules(""), **pages(*paths)}, unavailable, lambda _: is_sick)
    settings = {
        "politeness.rate_per_second": 1.0,
        "hosts.breaker_failures": 20,
        "hosts.budget_failures": 1000,
        "politeness.robots_ttl_seconds": 86_400.0,
    }

    async def half_back() -> None:
        """Somebody listens again, but only to say that nobody is in."""
        nonlocal is_sick
        is_sick = True
        await reopen(site)

    def back() -> None:
        nonlocal is_sick
        is_sick = False

    async with (
        Site(routes, "127.0.0.42", now=days.time) as site,
        crawl_by_hand([site.url("/")], tmp_path, days, settings) as crawling,
    ):
        days.at(5.5, lambda: shut(site))
        days.at(6000.0, half_back)
        days.at(8000.0, back)
        assert await crawling.run() is Ending.COMPLETE
        visits = crawling.visits
        assert len(crawling.stored) == 1 + len(paths)
    assert Counter(visit.outcome.label for visit in visits)["failed:connect"] == 20
    probes = [hit for hit in site.hits if hit.method == "HEAD"]
    assert {hit.path for hit in probes} == {"/"}
    assert gaps(probes) == pytest.approx([300.0] * (len(probes) - 1), rel=0.01)
    assert 6000 <= probes[0].at <= 6300
    assert 8000 <= probes[-1].at <= 8300
    # While it is down nothing but the probe is asked for; the first page comes a pace after the one that passed.
    pages_at = [hit.at for hit in site.hits if hit.method == "GET"]
    assert [at for at in pages_at if 5.5 < at < probes[-1].at] == []
    assert min(at for at in pages_at if at > 8000) - probes[-1].at == pytest.approx(1.0)


# ---- two names on one address → the address's budget holds too


async def test_two_names_on_one_address_share_its_budget(tmp_path: Path) -> None:
    """Each host may be asked twenty times a second, and the address that both live at five times."""
    days, paths = Days(), ["/a", "/b", "/c"]
    routes = {"/robots.txt": rules(""), **pages(*paths)}
    async with NameServer() as names, Site(routes, now=days.time) as site:
        seeds = [f"http://{name}.test:{site.port}/" for name in ("one", "two")]
        for name in ("one.test", "two.test"):
            names.knows(name, says("127.0.0.1"))
        settings = {
            "guard.nameservers": (names.address,),
            "politeness.rate_per_second": 20.0,
            "politeness.per_ip_rate_factor": 0.25,
        }
        async with crawl_by_hand(seeds, tmp_path, days, settings) as crawling:
            assert await crawling.run() is Ending.COMPLETE
        assert len(crawling.stored) == 2 * (1 + len(paths))
        by_name = Counter(hit.headers["host"] for hit in site.hits)
        assert set(by_name.values()) == {2 + len(paths)}
        assert min(gaps(site.hits)) >= 0.199


# ---- one host with a million URLs and a thousand small hosts → the small ones are not starved


LARGE = [f"/large/{number}" for number in range(1500)]
SMALL = ["/a", "/b", "/c"]


def crowd(port: int) -> list[str]:
    """The seeds: a large host that was there first, and a hundred small ones."""
    large = [f"http://127.0.0.1:{port}{path}" for path in LARGE]
    return large + [f"http://127.0.1.{number}:{port}/" for number in range(100)]


async def test_one_host_with_very_many_urls_does_not_starve_a_hundred_small_ones(tmp_path: Path) -> None:
    """As fast as it goes: when the last small host is done, the large one has had not much more than its share."""
    async with Site({**pages(*SMALL), **dict.fromkeys(LARGE, page())}, host="0.0.0.0") as site:
        settings = {"crawl.concurrency": 4, "crawl.max_pages": 700, "database.fsync": False}
        await crawl(crowd(site.port), tmp_path, settings)
        hosts = [hit.headers["host"].partition(":")[0] for hit in site.hits if hit.path != "/robots.txt"]
    assert [Counter(hosts)[f"127.0.1.{number}"] for number in range(100)] == [1 + len(SMALL)] * 100
    last_small = max(number for number, host in enumerate(hosts) if host != "127.0.0.1")
    assert hosts[:last_small].count("127.0.0.1") <= 20


async def test_nor_does_it_when_the_window_holds_but_ten_hosts(tmp_path: Path) -> None:
    """At one page a second: the small hosts, four pages and a robots.txt each, are done long before the large one."""
    days = Days()
    settings = {"politeness.rate_per_second": 1.0, "database.window_hosts": 10}
    async with Site({**pages(*SMALL), **dict.fromkeys(LARGE, page())}, host="0.0.0.0", now=days.time) as site:
        async with crawl_by_hand(crowd(site.port), tmp_path, days, settings) as crawling:
            days.at(120.0, crawling.stop)
            await crawling.run()
        small = [hit for hit in site.hits if hit.headers["host"].startswith("127.0.1.")]
    assert len(small) == 100 * (2 + len(SMALL))
    assert small[-1].at < 60


# ---- the wall clock jumps an hour → delays unaffected


async def test_the_wall_clock_jumps_an_hour_and_delays_are_unaffected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour ahead after the third request, two hours back after the sixth."""
    started_at, jump = datetime.now(UTC).timestamp() - time.monotonic(), 0.0
    monkeypatch.setattr(time, "time", lambda: started_at + time.monotonic() + jump)
    asked = 0

    def jumping(exchange: Exchange) -> bool:
        nonlocal asked, jump
        asked += 1
        jump = {3: 3600.0, 6: -3600.0}.get(asked, jump)
        return False

    paths = [f"/{number}" for number in range(8)]
    routes = now_and_then({"/robots.txt": rules(""), **pages(*paths)}, unavailable, jumping)
    async with Site(routes) as site:
        done = await crawl([site.url("/")], tmp_path, {"politeness.rate_per_second": 5.0})
        assert done.ending is Ending.COMPLETE
        assert len(done.pages) == 1 + len(paths)
        waits = gaps(site.hits)
    assert min(waits) >= 0.2
    assert max(waits) <= 60.0
