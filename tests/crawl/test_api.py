"""A crawl as an object: its directory, notices, metrics and errors. See also `e2e/test_library`."""

from __future__ import annotations

import asyncio
import re
import resource
import sqlite3
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest

from tenax.config import Config, CrawlConfig, DatabaseConfig, MetricsConfig, PolitenessConfig, PoolConfig
from tenax.crawl.api import Crawl, default_directory
from tenax.demo import Site as Demo
from tenax.demo.server import expected_pages, serve
from tenax.errors import ConfigError, DatabaseBusy, NoPagesStored, NoSeedReachable, SinkError, StorageFull, UsageError
from tenax.model import Ending
from tests.site.hostile import page, serves
from tests.site.server import Behaviour, Exchange, Site

SITE = Demo(hosts=1, pages_per_host=24, behaviours="none")
FAST = Config(
    politeness=PolitenessConfig(rate_per_second=0, connections_per_host=4),
    pool=PoolConfig(processes=0),
    database=DatabaseConfig(fsync=False),
)


def some(pages: int) -> Config:
    """The same, for this many pages."""
    return msgspec.structs.replace(FAST, crawl=CrawlConfig(max_pages=pages))


@pytest.fixture
async def seed() -> AsyncIterator[str]:
    async with serve(SITE) as origins:
        yield f"{origins[0]}/"


def crawl_of(seed: str, out: Path, config: Config = FAST, fresh: bool = False) -> Crawl:
    return Crawl([seed], config, directory=out, restart=fresh, typed_by_person=True)


async def ran(crawl: Crawl) -> Ending:
    async with crawl:
        return await crawl.run()


def set_aside(out: Path) -> list[Path]:
    return list(out.glob("previous-*"))


def lines(out: Path) -> list[bytes]:
    return (out / "pages.jsonl").read_bytes().splitlines()


# ---- where it lives ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "directory"),
    [
        ("https://example.org/", "tenax-example.org"),
        ("https://www.example.org/a/b?c", "tenax-www.example.org"),
        ("http://127.0.0.1:8000/", "tenax-127.0.0.1-8000"),
        ("http://[::1]:8000/", "tenax----1--8000"),
        ("https://xn--mnchen-3ya.example/", "tenax-xn--mnchen-3ya.example"),
    ],
)
def test_a_directory_named_after_the_first_seed(seed: str, directory: str) -> None:
    assert default_directory(seed) == Path(directory)
    assert Crawl([seed, "https://other.example/"]).directory == Path(directory)


def test_what_cannot_be_crawled_is_said_before_anything_is_opened(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        Crawl([], directory=tmp_path / "out")
    with pytest.raises(UsageError, match="not a URL"):
        Crawl(["https://"], directory=tmp_path / "out")
    with pytest.raises(ConfigError, match="bad pattern"):
        Crawl(["https://example.org"], Config(crawl=CrawlConfig(include=("/(/",))), directory=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (Config(crawl=msgspec.structs.replace(CrawlConfig(), scope="foo")), "bad value 'foo' for `crawl.scope`"),
        (Config(crawl=msgspec.structs.replace(CrawlConfig(), max_depth="3")), "bad value '3' for `crawl.max_depth`"),
        (Config(politeness=PolitenessConfig(rate_per_second=-4)), "bad value -4 for `politeness.rate_per_second`"),
        (Config(sites={"example.org": {"fetch.max_atempts": 3}}), "unknown key `fetch.max_atempts`"),
    ],
)
def test_settings_of_a_program_are_checked(tmp_path: Path, config: Config, says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)):
        Crawl(["https://example.org"], config, directory=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_one_seed_is_a_list_of_one() -> None:
    with pytest.raises(UsageError, match=re.escape("seeds must be a list of URLs; write ['https://example.org']")):
        Crawl("https://example.org")


# ---- what it says -----------------------------------------------------------------------------------------


async def test_notices_describe_the_earlier_crawl(seed: str, tmp_path: Path) -> None:
    first = crawl_of(seed, tmp_path, some(5))
    assert await ran(first) is Ending.PAGE_LIMIT
    [private] = first.notices
    assert "allowed because you typed it" in private
    second = crawl_of(seed, tmp_path)
    assert await ran(second) is Ending.COMPLETE
    assert second.notices[1].startswith("resuming: 5 pages stored, ")
    third = crawl_of(seed, tmp_path)
    assert await ran(third) is Ending.COMPLETE
    assert (
        third.notices[1]
        == "this crawl is complete: 24 pages stored; --restart starts it over, --recrawl visits every page again"
    )


async def test_changed_rules_are_said_by_name(seed: str, tmp_path: Path) -> None:
    await ran(crawl_of(seed, tmp_path, some(1)))
    changed = msgspec.structs.replace(FAST, crawl=CrawlConfig(max_pages=2, max_depth=3, exclude=("*/x/*",)))
    crawl = crawl_of(seed, tmp_path, changed)
    await ran(crawl)
    assert "changed since the last run: exclude none → */x/*, max_depth 10 → 3" in crawl.notices
    again = crawl_of(seed, tmp_path, changed)
    await ran(again)
    assert not [notice for notice in again.notices if "changed" in notice]


async def test_restart_moves_the_earlier_crawl_and_says_where(seed: str, tmp_path: Path) -> None:
    await ran(crawl_of(seed, tmp_path, some(3)))
    before = lines(tmp_path)
    crawl = crawl_of(seed, tmp_path, some(2), fresh=True)
    await ran(crawl)
    [aside] = set_aside(tmp_path)
    assert f"the earlier crawl was moved to {aside}" in crawl.notices
    assert lines(aside) == before
    assert len(lines(tmp_path)) == 2
    nothing = crawl_of(seed, tmp_path / "new", some(1), fresh=True)
    await ran(nothing)
    assert not [notice for notice in nothing.notices if "moved" in notice]


async def test_restart_does_not_touch_a_crawl_in_use(seed: str, tmp_path: Path) -> None:
    async with crawl_of(seed, tmp_path, some(2)) as crawl:
        await crawl.run()
        with pytest.raises(DatabaseBusy):
            await ran(crawl_of(seed, tmp_path, fresh=True))
        assert (await crawl.status()).pages == 2
    assert not set_aside(tmp_path)


async def test_progress_counts_this_run_and_the_whole(seed: str, tmp_path: Path) -> None:
    await ran(crawl_of(seed, tmp_path, some(5)))
    async with crawl_of(seed, tmp_path, some(9)) as crawl:
        assert (crawl.progress().pages, crawl.progress().pages_this_run) == (5, 0)
        await crawl.run()
        progress = crawl.progress()
        assert (progress.pages, progress.pages_this_run, progress.in_flight) == (9, 4, 0)
        assert progress.wire_bytes > 0
        assert progress.pages_per_second > 0
        assert progress.hosts_active == 1


# ---- what it leaves running -------------------------------------------------------------------------------


async def test_metrics_are_served_while_it_is_open(seed: str, tmp_path: Path, unused_tcp_port: int) -> None:
    config = msgspec.structs.replace(some(3), metrics=MetricsConfig(port=unused_tcp_port))

    def scraped() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{unused_tcp_port}/metrics", timeout=60) as answer:
            text: str = answer.read().decode()
            return text

    async with crawl_of(seed, tmp_path, config) as crawl:
        await crawl.run()
        assert "crawler_pages_fetched_total 3.0" in scraped()
        with pytest.raises(ConfigError, match="already in use"):
            await ran(crawl_of(seed, tmp_path / "other", config))
    with pytest.raises(OSError, match="refused"):
        scraped()


async def test_a_crawl_that_could_not_start_lets_go_of_its_database(seed: str, tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").mkdir()
    with pytest.raises(SinkError, match="cannot be written: Is a directory"):
        await ran(crawl_of(seed, tmp_path))
    (tmp_path / "pages.jsonl").rmdir()
    assert await ran(crawl_of(seed, tmp_path, some(1))) is Ending.PAGE_LIMIT


async def test_without_a_file_of_events_the_pages_are_in_the_database_all_the_same(seed: str, tmp_path: Path) -> None:
    config = msgspec.convert({"events": {"jsonl": ""}, "politeness": {"rate_per_second": 0}}, Config)
    config = msgspec.structs.replace(config, pool=FAST.pool)
    async with crawl_of(seed, tmp_path, config) as crawl:
        pages = {page.url async for page in crawl}
    assert pages == expected_pages(SITE, (seed.rstrip("/"),))
    assert not (tmp_path / "pages.jsonl").exists()
    crawl = crawl_of(seed, tmp_path)
    await ran(crawl)
    assert len(lines(tmp_path)) == len(pages)  # a sink added later gets everything


# ---- trouble ----------------------------------------------------------------------------------------------


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_trouble_reaches_the_program_as_itself(tmp_path: Path) -> None:
    """Not as a group of one, which `except tenax.TenaxError` would not catch."""
    with pytest.raises(NoSeedReachable, match="no seed answers"):
        await ran(crawl_of("http://127.0.0.1:9/", tmp_path))


@pytest.mark.parametrize("room", [100, 20_000], ids=["for no line", "for some lines"])
async def test_a_full_disk_under_the_file_of_events_is_said_as_such(seed: str, tmp_path: Path, room: int) -> None:
    """The program gets the one error that it can fix, not a group of them."""
    await ran(crawl_of(seed, tmp_path, some(2)))
    long = _grown(tmp_path, 8 * 1024 * 1024)
    with no_file_beyond(long + room), pytest.raises(StorageFull, match="everything committed is safe"):
        await ran(crawl_of(seed, tmp_path))
    assert await ran(crawl_of(seed, tmp_path)) is Ending.COMPLETE
    assert len(_rest(tmp_path, long)) == 22


def _grown(out: Path, size: int) -> int:
    """Make the file this long, and the cursor too."""
    with (out / "pages.jsonl").open("ab") as file:
        file.truncate(size)
    with closing(sqlite3.connect(out / "tenax.db")) as db:
        db.execute("UPDATE cursor SET position = ?", (size,))
        db.commit()
    return size


def _rest(out: Path, after: int) -> list[bytes]:
    return (out / "pages.jsonl").read_bytes()[after:].splitlines()


NOTHING_TO_SHOW: dict[str, tuple[str, dict[str, Behaviour]]] = {
    "not found": ("failed:not_found", {}),
    "closed by robots.txt": (
        "refused:robots",
        {"/robots.txt": serves(b"User-agent: *\nDisallow: /", "text/plain"), "/": serves(page())},
    ),
    "not a page": ("rejected:content", {"/": serves(b"\x89PNG\r\n\x1a\n" * 100, "image/png")}),
}


@pytest.mark.parametrize("why", NOTHING_TO_SHOW)
async def test_a_crawl_without_a_page_does_not_look_like_success(tmp_path: Path, why: str) -> None:
    outcome, behaviours = NOTHING_TO_SHOW[why]
    async with Site(behaviours) as site:
        assert await ran(crawl_of(site.url("/"), tmp_path / "run")) is Ending.NOTHING_STORED
        async with crawl_of(site.url("/"), tmp_path / "loop") as crawl:
            with pytest.raises(NoPagesStored, match=f"nothing was stored .*{outcome}.* says why"):
                assert [page async for page in crawl] == []
            assert outcome in (await crawl.status()).outcomes


async def test_a_crawl_that_was_complete_before_is_no_failure(seed: str, tmp_path: Path) -> None:
    await ran(crawl_of(seed, tmp_path))
    async with crawl_of(seed, tmp_path) as crawl:
        assert [page async for page in crawl] == []
    assert await ran(crawl_of(seed, tmp_path)) is Ending.COMPLETE


# ---- again ------------------------------------------------------------------------------------------------


async def test_a_recrawl_of_unchanged_pages_adds_nothing(seed: str, tmp_path: Path) -> None:
    await ran(crawl_of(seed, tmp_path))
    before = lines(tmp_path)
    again = Crawl([seed], FAST, directory=tmp_path, recrawl=True, typed_by_person=True)
    async with again:
        assert again.notices[1] == "visiting 25 URLs again: 24 pages stored"  # and one well-known path
        assert await again.run() is Ending.COMPLETE
        status = await again.status()
    assert (status.pages, status.waiting) == (24, 0)
    assert status.outcomes["fetched"] == 48
    assert lines(tmp_path) == before


async def test_a_recrawl_is_conditional_and_keeps_missing_pages(tmp_path: Path) -> None:
    texts = {"/": page("The seed", ["/same", "/other", "/down"]), "/other": page("Other")}

    def versioned(path: str) -> Behaviour:
        async def behaviour(exchange: Exchange) -> None:
            tag = f'"{hash(texts[path])}"'
            if exchange.headers.get("if-none-match") == tag:
                await exchange.send(b"HTTP/1.1 304 Not Modified\r\n\r\n")
            else:
                await exchange.answer(texts[path], headers={"ETag": tag, "Content-Type": "text/html"})

        return behaviour

    behaviours = {path: versioned(path) for path in ("/", "/other")}
    behaviours |= {"/same": serves(page("Without a validator")), "/down": serves(page("Not for long"))}
    async with Site(behaviours) as site:
        await ran(crawl_of(site.url("/"), tmp_path))
        texts["/other"] = page("Another one")
        behaviours["/down"] = serves(b"oh no", "text/plain", "403 Forbidden")
        again = Crawl([site.url("/")], FAST, directory=tmp_path, recrawl=True, typed_by_person=True)
        async with again:
            assert await again.run() is Ending.COMPLETE
            status = await again.status()
            lives = {path: await again._entered_app.database.url_history(site.url(path)) for path in ("/", "/down")}
    assert (status.pages, status.outcomes["unchanged"], status.saved_bytes) == (4, 1, len(texts["/"]))
    assert len(lines(tmp_path)) == 5, "one page changed"
    seed, down = lives["/"], lives["/down"]
    assert seed is not None and seed.page is not None and seed.visits[-1].is_conditional
    assert down is not None and down.page is not None and down.page.stale_why == "HTTP 403"


async def test_what_runs_beside_a_crawl_may_swallow_a_call_to_stop(seed: str, tmp_path: Path) -> None:
    """As `asyncio.wait_for` of Python 3.11 does, which redis-py uses: the crawl ends all the same."""
    calls = 0

    async def deaf() -> None:
        nonlocal calls
        while calls < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                calls += 1

    async with crawl_of(seed, tmp_path / "out", some(1)) as crawl:
        assert await crawl._entered_app.run(deaf) is Ending.PAGE_LIMIT
    assert calls == 2
