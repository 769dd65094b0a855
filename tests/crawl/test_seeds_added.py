"""More seeds for an existing crawl: admitted once, known to all workers, and nothing else changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tenax.clock import ManualClock
from tenax.config import Config, CrawlConfig, DatabaseConfig, GuardConfig, UrlsConfig
from tenax.crawl.rules import load_rules
from tenax.crawl.seeds import AddedSeeds, add_seeds, find_refused_origins
from tenax.database import Admission
from tenax.database.sqlite import SqliteDatabase
from tenax.model import Refused
from tenax.urls.admit import Rules, build_rules
from tests.contracts.database import FixedPace, claimed, visit_of

STRICT = Config(
    crawl=CrawlConfig(scope="domain", exclude=("*/tag/*",), max_depth=3), urls=UrlsConfig(strip_trailing_slash=True)
)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    database = await SqliteDatabase.open(tmp_path / "tenax.db", DatabaseConfig(), ManualClock(), FixedPace())
    yield database
    await database.close()


async def added(database: SqliteDatabase, *seeds: str, config: Config, decided: set[str]) -> tuple[AddedSeeds, Rules]:
    done = await add_seeds(database, seeds, config, 2026, decided, is_shared=False)
    rules = await load_rules(database)
    assert rules is not None
    return done, rules


async def test_settings_that_are_not_given_stay(database: SqliteDatabase) -> None:
    """One more seed, given without the flags of the first ones, must not lift the limits of the crawl."""
    _, first = await added(database, "https://example.org/", config=STRICT, decided=set())
    done, rules = await added(database, "https://new.test/a/", config=Config(), decided=set())
    assert done == AddedSeeds(Admission(admitted=1))
    assert rules.seeds == ("https://example.org/", "https://new.test/a")
    assert rules.scope.domains == {"example.org", "new.test"}
    assert (rules.exclude, rules.max_depth, rules.urls) == (first.exclude, first.max_depth, first.urls)


async def test_what_is_decided_anew_holds_for_all_and_is_named(database: SqliteDatabase) -> None:
    await added(database, "https://example.org/", config=STRICT, decided=set())
    config = Config(crawl=CrawlConfig(max_depth=5))
    done, rules = await added(
        database, "https://new.test/", config=config, decided={"crawl.max_depth", "urls.max_length"}
    )
    assert done.changed_rules == ("max_depth", "urls")
    assert (rules.max_depth, rules.exclude, rules.urls) == (5, STRICT.crawl.exclude, config.urls)


async def test_a_seed_that_is_known_is_not_added_again(database: SqliteDatabase) -> None:
    await added(database, "https://example.org/", config=Config(), decided=set())
    done, rules = await added(database, "example.org", "https://new.test/", config=Config(), decided=set())
    assert done.admission == Admission(admitted=1, known=1)
    assert rules.seeds == ("https://example.org/", "https://new.test/")


async def test_a_known_seed_without_a_page_is_visited_again(database: SqliteDatabase) -> None:
    await added(database, "https://example.org/", config=Config(), decided=set())
    clock = ManualClock()
    refused = visit_of(await claimed(database), clock, Refused("robots: closed"))
    await database.commit(refused)
    done, _ = await added(database, "https://example.org/", config=Config(), decided=set())
    assert (done.admission, done.requeued) == (Admission(known=1), 1)
    assert database.counts().waiting == 1


@pytest.mark.parametrize(
    ("seed", "is_closed"),
    [
        ("https://example.org/", False),
        ("https://example.org:2222/", True),
        ("https://93.184.216.34/", False),
        ("http://10.1.2.3/", False),
        ("http://10.2.2.3/", True),
        ("http://[::1]/", True),
        ("http://localhost/", True),
        ("http://intranet.example/", False),
    ],
)
def test_what_a_worker_refuses_is_known_from_its_text(seed: str, is_closed: bool) -> None:
    """A name is not resolved: it may lead anywhere."""
    rules = build_rules([seed, f"{seed}again"], Config(), 2026)
    closed = find_refused_origins(rules, GuardConfig(allow_networks=("10.1.0.0/16",)))
    assert closed == ((seed.rstrip("/"),) if is_closed else ())
