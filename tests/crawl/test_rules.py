"""The rules of a crawl: stored with it, and widened when a seed redirects out of the scope."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from itertools import count
from pathlib import Path

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.config import Config, CrawlConfig, DatabaseConfig, UrlsConfig
from tenax.crawl import rules as crawl_rules
from tenax.crawl.rules import CrawlRules, extend_rules, load_rules
from tenax.database.postgres import PostgresDatabase
from tenax.database.sqlite import SqliteDatabase
from tenax.errors import DatabaseBusy
from tenax.model import Priority, Source, Task
from tenax.urls.admit import Rules, build_rules
from tests.contracts.database import FixedPace


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    database = await SqliteDatabase.open(tmp_path / "tenax.db", DatabaseConfig(), ManualClock(), FixedPace())
    yield database
    await database.close()


def rules(scope: str = "host", **crawl: object) -> Rules:
    config = msgspec.convert({"crawl": {"scope": scope, **crawl}}, Config)
    return build_rules(["https://example.org/"], config, 2026)


def task(source: Source = Source.SEED, depth: int = 0) -> Task:
    return Task("https://example.org/", "https://example.org", depth, Priority.HIGH, source, None, 0.0, 0.0)


async def test_rules_survive_storage(database: SqliteDatabase) -> None:
    assert await load_rules(database) is None
    config = Config(
        crawl=CrawlConfig(scope="domain", include=("*/a/*",), exclude=("/b$/",), max_depth=3),
        urls=UrlsConfig(strip_trailing_slash=True),
    )
    given = build_rules(["https://www.example.org/a", "https://münchen.example/"], config, 2026)
    await CrawlRules(database, given).change(lambda rules: rules)
    assert await load_rules(database) == given


@pytest.mark.parametrize(
    ("url", "task", "why"),
    [
        ("https://example.org/inside", task(), None),
        ("https://www.example.org/", task(), None),
        ("https://elsewhere.test/", task(Source.LINK, 1), "scope"),
        ("https://elsewhere.test/", task(Source.REDIRECT, 1), "scope"),
        ("https://elsewhere.test/", task(Source.REPLAY, 0), "scope"),
        ("https://example.org/a/b/a/b/a/b/", task(), "trap:max_repeated_segments"),
        ("ftp://example.org/", task(), "invalid"),
    ],
)
async def test_a_redirect_is_judged_like_a_link(
    database: SqliteDatabase, url: str, task: Task, why: str | None
) -> None:
    book = CrawlRules(database, rules())
    before = book.rules
    assert await book.redirect_refusal(url, task) == why
    assert book.rules is before


@pytest.mark.parametrize("source", [Source.SEED, Source.REDIRECT])
async def test_where_a_seed_leads_the_crawl_was_meant_to_go(database: SqliteDatabase, source: Source) -> None:
    """The scope grows by that host, for its links too, and the next run has it."""
    book = CrawlRules(database, rules())
    assert await book.redirect_refusal("https://new.test/start", task(source)) is None
    assert await book.redirect_refusal("https://new.test/further", task(Source.LINK, 2)) is None
    assert await book.redirect_refusal("https://third.test/", task(Source.LINK, 2)) == "scope"
    assert await load_rules(database) == book.rules


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        ("host", "https://new.test/other", "https://shop.new.test/"),
        ("domain", "https://shop.new.test/other", "https://new.example/"),
        ("prefix", "https://new.test/docs/other", "https://new.test/other"),
    ],
)
async def test_it_grows_as_its_kind_of_scope_does(
    database: SqliteDatabase, scope: str, inside: str, outside: str
) -> None:
    book = CrawlRules(database, rules(scope))
    assert await book.redirect_refusal("https://www.new.test/docs/", task()) is None
    assert await book.redirect_refusal(inside, task(Source.LINK, 1)) is None
    assert await book.redirect_refusal(outside, task(Source.LINK, 1)) == "scope"


@pytest.mark.parametrize(
    ("at", "to", "why"),
    [
        ("https://example.org/sitemap.xml", "https://www.example.org/maps/all.xml", None),
        ("https://example.org/sitemap.xml", "https://example.org/a/b/a/b/a/b/", None),
        ("https://example.org/sitemap.xml", "https://elsewhere.test/all.xml", "scope"),
        ("https://maps.test/a.xml", "https://maps.test/b.xml", None),
        ("https://maps.test/a.xml", "https://elsewhere.test/b.xml", "scope"),
        ("https://maps.test/a.xml", "https://example.org/b.xml", None),
    ],
)
@pytest.mark.parametrize("source", [Source.SITEMAP, Source.REDIRECT])
async def test_a_sitemap_is_followed_whatever_patterns_say_but_takes_no_scope_along(
    database: SqliteDatabase, source: Source, at: str, to: str, why: str | None
) -> None:
    book = CrawlRules(database, rules(exclude=["*.xml"], max_depth=0))
    before = book.rules
    url_list = msgspec.structs.replace(task(source), url=at, is_url_list=True)
    assert await book.redirect_refusal(to, url_list) == why
    assert book.rules is before


async def test_a_crawl_begins_where_a_seed_leads_whatever_is_to_be_included(database: SqliteDatabase) -> None:
    book = CrawlRules(database, rules(include=["*/docs/*"], exclude=["*/login*"]))
    assert await book.redirect_refusal("https://new.test/", task()) is None
    assert await book.redirect_refusal("https://new.test/login", task()) == "exclude"
    assert await book.redirect_refusal("https://new.test/other", task(Source.LINK, 1)) == "include"


async def test_a_wider_scope_lifts_no_other_rule(database: SqliteDatabase) -> None:
    book = CrawlRules(database, rules(exclude=["*/login*"]))
    assert await book.redirect_refusal("https://new.test/login", task()) == "exclude"
    deep = CrawlRules(database, rules(max_depth=0))
    assert await deep.redirect_refusal("https://example.org/", task(Source.LINK, 1)) == "depth"


# ---- many work on one crawl ---------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same promises, ten times as fast."""
    monkeypatch.setattr(crawl_rules, "CACHE_SECONDS", crawl_rules.CACHE_SECONDS / 10)
    monkeypatch.setattr(crawl_rules, "PROPAGATION_SECONDS", crawl_rules.PROPAGATION_SECONDS / 10)


def adding(*seeds: str) -> Callable[[Rules], Rules]:
    return lambda kept: extend_rules(kept, seeds, Config(), 2026)


@pytest.mark.usefixtures("quick")
async def test_a_change_returns_when_all_processes_use_it(database: SqliteDatabase) -> None:
    first, second = CrawlRules(database, rules(), is_shared=True), CrawlRules(database, rules(), is_shared=True)
    await first.change(lambda rules: rules)
    assert await second.current() == first.rules
    await first.change(adding("https://new.test/"))
    assert "new.test" in (await second.current()).scope.hosts
    assert await load_rules(database) == second.rules


@pytest.mark.usefixtures("quick")
async def test_concurrent_changes_are_both_applied(database: SqliteDatabase) -> None:
    books = [CrawlRules(database, rules(), is_shared=True) for _ in range(4)]
    await asyncio.gather(*(book.change(adding(f"https://new{n}.test/")) for n, book in enumerate(books)))
    hosts = {"example.org", *(f"new{n}.test" for n in range(4))}
    for book in books:
        assert (await book.current()).scope.hosts == hosts


@pytest.mark.usefixtures("quick")
async def test_of_many_changes_from_many_databases_none_is_lost(postgres: str) -> None:
    """Five changes by each of four workers, all at the same time."""
    opening = (PostgresDatabase.open(postgres, DatabaseConfig(), ManualClock(), FixedPace()) for _ in range(4))
    databases = await asyncio.gather(*opening)
    try:
        books = [CrawlRules(database, rules(), is_shared=True) for database in databases for _ in range(5)]
        await asyncio.gather(*(book.change(adding(f"https://new{n}.test/")) for n, book in enumerate(books)))
        hosts = {"example.org", *(f"new{n}.test" for n in range(20))}
        for book in books:
            assert (await book.current()).scope.hosts == hosts
        kept = await load_rules(databases[0])
        assert kept is not None and kept.scope.hosts == hosts
    finally:
        await asyncio.gather(*(database.close() for database in databases))


async def test_a_change_by_a_dead_process_is_published_by_the_next(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl_rules, "CACHE_SECONDS", 0.0)
    monkeypatch.setattr(crawl_rules, "PROPAGATION_SECONDS", 0.0)
    reader = CrawlRules(database, rules(), is_shared=True)
    await reader.change(lambda rules: rules)
    changed = adding("https://new.test/")(reader.rules)
    await database.set_meta("rules", msgspec.json.encode(changed))
    assert await reader.current() != changed, "nobody has told it"
    await CrawlRules(database, rules(), is_shared=True).change(adding("https://new.test/"))
    assert await reader.current() == changed


async def test_a_change_that_never_comes_first_raises(
    database: SqliteDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl_rules, "MAX_TRIES", 3)
    times = count()

    def always_late(kept: Rules) -> Rules:
        """Another change comes between our read and our write."""
        other = adding(f"https://other{next(times)}.test/")(kept)
        with closing(sqlite3.connect(tmp_path / "tenax.db", isolation_level=None)) as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('rules', ?)", (msgspec.json.encode(other),))
        return adding("https://new.test/")(kept)

    with pytest.raises(DatabaseBusy, match="other processes keep changing the rules of this crawl"):
        await CrawlRules(database, rules(), is_shared=True).change(always_late)
    assert next(times) == 3
    kept = await load_rules(database)
    assert kept is not None and "new.test" not in kept.scope.hosts and "other2.test" in kept.scope.hosts


@pytest.mark.usefixtures("quick")
async def test_where_a_seed_leads_others_go_too(database: SqliteDatabase) -> None:
    finder, other = CrawlRules(database, rules(), is_shared=True), CrawlRules(database, rules(), is_shared=True)
    await finder.change(lambda rules: rules)
    assert await finder.redirect_refusal("https://new.test/start", task()) is None
    assert await other.redirect_refusal("https://new.test/further", task(Source.LINK, 2)) is None


async def test_unshared_rules_are_not_read_again(database: SqliteDatabase) -> None:
    book = CrawlRules(database, rules())
    await database.close()
    assert await book.current() == rules()


@pytest.mark.parametrize(
    ("kept", "config", "hosts", "domains"),
    [
        ("host", Config(), {"example.org", "new.test", "learned.test"}, set()),
        ("host", Config(crawl=CrawlConfig(scope="domain")), set(), {"example.org", "new.test"}),
        ("domain", Config(crawl=CrawlConfig(scope="domain")), set(), {"example.org", "new.test", "learned.test"}),
    ],
)
def test_more_seeds_leave_what_a_scope_has_learned(
    kept: str, config: Config, hosts: set[str], domains: set[str]
) -> None:
    before = rules(kept)
    learned = (
        {"hosts": {"example.org", "learned.test"}} if kept == "host" else {"domains": {"example.org", "learned.test"}}
    )
    scope = msgspec.structs.replace(before.scope, **{name: frozenset(value) for name, value in learned.items()})
    after = extend_rules(msgspec.structs.replace(before, scope=scope), ["https://new.test/"], config, 2026)
    assert after.seeds == ("https://example.org/", "https://new.test/")
    assert (set(after.scope.hosts), set(after.scope.domains)) == (hosts, domains)
    assert extend_rules(after, ["https://new.test/"], config, 2026) == after, "what is there already changes nothing"
