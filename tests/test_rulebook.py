"""The rules of a crawl: kept with it, and widened where a seed turns out to live elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.config import Config, CrawlConfig, LedgerConfig, UrlsConfig
from tenax.ledger.sqlite import SqliteLedger
from tenax.model import Priority, Source, Task
from tenax.rulebook import Rulebook, kept_rules
from tenax.urls.admit import Rules, rules_of
from tests.contracts.ledger import Manners


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[SqliteLedger]:
    ledger = await SqliteLedger.open(tmp_path / "tenax.db", LedgerConfig(), ManualClock(), Manners())
    yield ledger
    await ledger.close()


def rules(scope: str = "host", **crawl: object) -> Rules:
    config = msgspec.convert({"crawl": {"scope": scope, **crawl}}, Config)
    return rules_of(["https://example.org/"], config, 2026)


def task(source: Source = Source.SEED, depth: int = 0) -> Task:
    return Task("https://example.org/", "https://example.org", depth, Priority.HIGH, source, None, 0.0, 0.0)


async def test_what_is_kept_is_what_was_given(ledger: SqliteLedger) -> None:
    assert await kept_rules(ledger) is None
    config = Config(
        crawl=CrawlConfig(scope="domain", include=("*/a/*",), exclude=("/b$/",), max_depth=3),
        urls=UrlsConfig(strip_trailing_slash=True),
    )
    given = rules_of(["https://www.example.org/a", "https://münchen.example/"], config, 2026)
    await Rulebook(ledger, given).keep()
    assert await kept_rules(ledger) == given


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
async def test_a_redirect_is_judged_like_a_link(ledger: SqliteLedger, url: str, task: Task, why: str | None) -> None:
    book = Rulebook(ledger, rules())
    before = book.rules
    assert await book.redirect_refusal(url, task) == why
    assert book.rules is before


@pytest.mark.parametrize("source", [Source.SEED, Source.REDIRECT])
async def test_where_a_seed_leads_the_crawl_was_meant_to_go(ledger: SqliteLedger, source: Source) -> None:
    """The scope grows by that host, for its links too, and the next run knows it."""
    book = Rulebook(ledger, rules())
    assert await book.redirect_refusal("https://new.test/start", task(source)) is None
    assert await book.redirect_refusal("https://new.test/further", task(Source.LINK, 2)) is None
    assert await book.redirect_refusal("https://third.test/", task(Source.LINK, 2)) == "scope"
    assert await kept_rules(ledger) == book.rules


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        ("host", "https://new.test/other", "https://shop.new.test/"),
        ("domain", "https://shop.new.test/other", "https://new.example/"),
        ("prefix", "https://new.test/docs/other", "https://new.test/other"),
    ],
)
async def test_it_grows_as_its_kind_of_scope_does(ledger: SqliteLedger, scope: str, inside: str, outside: str) -> None:
    book = Rulebook(ledger, rules(scope))
    assert await book.redirect_refusal("https://www.new.test/docs/", task()) is None
    assert await book.redirect_refusal(inside, task(Source.LINK, 1)) is None
    assert await book.redirect_refusal(outside, task(Source.LINK, 1)) == "scope"


async def test_a_wider_scope_lifts_no_other_rule(ledger: SqliteLedger) -> None:
    book = Rulebook(ledger, rules(exclude=["*/login*"]))
    assert await book.redirect_refusal("https://new.test/login", task()) == "exclude"
    deep = Rulebook(ledger, rules(max_depth=0))
    assert await deep.redirect_refusal("https://example.org/", task(Source.LINK, 1)) == "depth"
