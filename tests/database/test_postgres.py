"""The PostgreSQL ledger: the contract, and what one worker alone does its own way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.database import Ledger, PageFilter
from tenax.database.postgres import PostgresLedger
from tenax.database.postgres.schema import queries
from tenax.model import FetchRecord
from tests.contracts.catalogues import CataloguesContract
from tests.contracts.cut_offs import CutOffsContract
from tests.contracts.freshness import FreshnessContract
from tests.contracts.held_pages import HeldPagesContract
from tests.contracts.in_links import InLinksContract
from tests.contracts.ledger import LedgerContract, Manners, Opened, claimed, drain, offer, page_of, visit_of
from tests.contracts.links import LinksContract
from tests.contracts.records import Crawled, RecordsContract
from tests.database.postgres_ledgers import Ledgers


@pytest.fixture
def opened(ledgers: Ledgers, clock: ManualClock, manners: Manners) -> Opened:
    async def open_it() -> Ledger:
        return await ledgers.open(clock=clock, manners=manners)

    return open_it


@pytest.fixture
def crawled() -> Crawled:
    async def row_of(ledger: Ledger, url: str) -> dict[str, object]:
        assert isinstance(ledger, PostgresLedger)
        row = await ledger._ears.ask(lambda db: db.fetchrow("SELECT * FROM crawled_pages WHERE url = $1", url))
        assert row is not None
        return dict(row)

    return row_of


class TestPostgresLedger(
    LedgerContract,
    HeldPagesContract,
    LinksContract,
    InLinksContract,
    CataloguesContract,
    FreshnessContract,
    CutOffsContract,
    RecordsContract,
):
    async def test_a_reader_looks_in_while_another_writes(self, ledgers: Ledgers) -> None:
        writer = await ledgers.open()
        await writer.admit([offer("https://a.test/")])
        reader = await ledgers.open(read_only=True)
        assert ((await reader.status()).waiting, (await reader.status()).is_running) == (1, False)
        await writer.commit(visit_of(await claimed(writer), ledgers.clock))
        status = await reader.status()
        assert (status.pages, status.is_running) == (1, True)
        assert (await writer.status()).is_running is False, "no other than itself"
        await writer.close()
        assert (await reader.status()).is_running is False

    async def test_new_urls_of_one_source_become_due_one_after_the_other(self, ledgers: Ledgers) -> None:
        ledger, now = await ledgers.open(links_per_second=10), ledgers.clock.now()
        await ledger.admit([offer("https://a.test/")])
        links = tuple(offer(f"https://a.test/{n}") for n in range(30))
        assert (await ledger.commit(visit_of(await claimed(ledger), ledgers.clock, offers=links))).admitted == 30
        dues = sorted([life.due for n in range(30) if (life := await ledger.life(f"https://a.test/{n}")) and life.due])
        assert dues[9] == pytest.approx(now, abs=0.01)
        assert dues[-1] == pytest.approx(now + 2, abs=0.11)

    async def test_a_nul_is_no_text_for_postgres(self, ledgers: Ledgers) -> None:
        ledger = await ledgers.open()
        await ledger.admit([offer("https://a.test/"), offer("https://b.test/")])
        for _ in range(2):
            claim = await claimed(ledger)
            page = page_of(claim, ledgers.clock, title="A\0title", text="A\0text", etag="\0")
            visit = visit_of(claim, ledgers.clock, page=page, offers=(offer(claim.task.url + "x"),))
            admission = await ledger.commit(msgspec.structs.replace(visit, fetch=FetchRecord(200, "\0")))
            assert admission.admitted == 1
        read = [page async for page in ledger.pages(PageFilter())]
        assert [(page.title, page.text) for page in read] == [("A\ufffdtitle", "A\ufffdtext")] * 2
        assert [event.page for event in await ledger.events(0, 10)] == read

    async def test_globs_mean_what_they_mean_in_a_file(self, ledgers: Ledgers) -> None:
        ledger = await ledgers.open()
        await ledger.admit([offer(f"https://a.test/{path}") for path in ("a.b", "axb", "x(1)", "+$")])
        await drain(ledger, ledgers.clock)
        meant = {
            "*/a.b": {"a.b"},
            "*/a?b": {"a.b", "axb"},
            "https://a.test/[ax]*": {"a.b", "axb", "x(1)"},
            "https://a.test/[^a]*": {"x(1)", "+$"},
            "*/x(1)": {"x(1)"},
            "*+$": {"+$"},
            "https://*": {"a.b", "axb", "x(1)", "+$"},
            "/a.b": set(),
        }
        for glob, found in meant.items():
            pages = {page.url.removeprefix("https://a.test/") async for page in ledger.pages(PageFilter(url_glob=glob))}
            assert pages == found, glob

    async def test_hosts_are_named_with_or_without_scheme_and_port(self, ledgers: Ledgers) -> None:
        ledger = await ledgers.open()
        await ledger.admit([offer("https://a.test/1"), offer("https://b.test:8080/2")])
        await drain(ledger, ledgers.clock)
        names = {"a.test": 1, "https://b.test:8080": 1, "b.test": 1, "*.test": 2, "*.b.test": 0, "b.tes": 0}
        for host, count in names.items():
            assert len([page async for page in ledger.pages(PageFilter(host=host))]) == count, host

    async def test_each_ledger_makes_its_own_keys(self, ledgers: Ledgers) -> None:
        keys = []
        for schema in ("one", "one", "two"):
            ledgers.config = msgspec.structs.replace(ledgers.config, schema=f"{ledgers.config.schema[:6]} {schema}")
            ledger = await ledgers.open()
            await ledger.admit([offer("https://a.test/")])
            keys.append([tuple(row) for row in await ledger._ears.ask(lambda db: db.fetch("SELECT key FROM seen"))])
        assert len(keys[0]) == 1
        assert keys[0] == keys[1] != keys[2]

    async def test_the_busiest_hosts_of_a_large_queue_are_estimated(
        self, ledgers: Ledgers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tenax.database.postgres.read.COUNTED_EXACTLY", 4500)
        ledger = await ledgers.open()
        await ledger.admit([offer(f"https://large.test/{n}") for n in range(9000)] + [offer("https://small.test/")])
        await ledger._ears.ask(lambda db: db.execute("ANALYZE queue"))
        (first, *_) = (await ledger.status()).busiest
        assert first.host.origin == "https://large.test"
        assert 3000 < first.waiting < 27_000

    async def test_no_statement_looks_at_every_url_or_host(self, ledgers: Ledgers) -> None:
        ledger = await ledgers.open()
        assert await read_whole(ledger, "SELECT * FROM record r LEFT JOIN host h ON h.id = r.host_id") >= {"record"}
        whole = {name: await read_whole(ledger, queries()[name]) for name in BY_KEY}
        assert {name: tables for name, tables in whole.items() if tables - {"worker", "meta", "outbox_end"}} == {}

    async def test_a_plan_that_was_made_for_small_tables_is_good_for_large_ones(self, ledgers: Ledgers) -> None:
        """PostgreSQL has counted the few rows there are; until it counts again, it goes by that."""
        ledger = await ledgers.open()
        await ledger.admit([offer(f"https://{host}.test/{n}") for host in "ab" for n in range(2)])
        await ledger._ears.ask(counted_anew)
        assert "host" in await read_whole(ledger, "SELECT * FROM record r JOIN host h ON h.id = r.host_id")
        whole = {name: await read_whole(ledger, queries()[name]) for name in BY_KEY_OF_SMALL_TABLES}
        assert {name: tables for name, tables in whole.items() if tables - {"worker", "meta"}} == {}

    async def test_plans_are_made_anew_as_the_tables_grow(
        self, ledgers: Ledgers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tenax.database.postgres.heartbeat.PULSE_SECONDS", 0.01)
        monkeypatch.setattr("tenax.database.postgres.heartbeat.PLAN_SECONDS", 0.0)
        ledger = await ledgers.open()
        await ledger._ears.ask(counted_anew)
        grow = "INSERT INTO host (origin, has_work, turn_at) SELECT n::text, false, 0 FROM generate_series(1, 20000) n"
        explain = "EXPLAIN EXECUTE learned (ARRAY[1], ARRAY['\\x']::bytea[])"

        async def plan(db: Any) -> str:
            return "\n".join(row[0] for row in await db.fetch(explain))

        await ledger._hands.ask(lambda db: db.execute(f"PREPARE learned AS {queries()['hosts_learn']}"))
        assert "Join Filter" in await ledger._hands.ask(plan)
        await ledger._ears.ask(lambda db: db.execute(grow))
        for _ in range(6000):
            if "Join Filter" not in await ledger._hands.ask(plan):
                break
            await asyncio.sleep(0.01)
        else:
            pytest.fail("the plan is still that for a small table")
        await ledger._ears.ask(lambda db: db.execute("TRUNCATE host"))


BY_KEY = (
    "queue_remove", "queue_again", "queue_due", "queue_later", "queue_find", "seen_add", "seen_forget", "visit_add",
    "visits_of", "record_of", "url_of_record", "events_after", "content_of", "stored_pages", "held", "record_confirm",
    "pages", "dead_letters", "revisit_part", "revisit", "replay", "hosts_free", "hosts_learn", "hosts_wake",
    "hosts_keep", "hosts_take", "hosts_of", "hosts_held_by", "hosts_next_turn", "outside", "budgets_put",
    "likeness_find", "likeness_add", "likeness_remove", "originals", "record_catalogue", "record_awaited",
    "record_freshness", "hasten_find", "hasten_queue", "hasten_record", "link_of", "states_of",
)  # fmt: skip
BY_KEY_OF_SMALL_TABLES = (
    "queue_remove", "queue_due", "queue_later", "hasten_find", "hasten_queue", "seen_add", "visit_add",
    "stored_pages", "hosts_take", "likeness_find", "likeness_remove", "originals", "requeue", "canonical_of",
)  # fmt: skip
"""Statements that find what they want by an index, however large the tables are."""
SMALL_INDEXES = {"host_free", "host_held", "record_dead", "record_canonical"}
"""Of a few rows only. (An empty array, as it is planned for here, would fit the condition of any partial index.)"""


async def counted_anew(db: Any) -> None:
    """The rows of this ledger's tables. `ANALYZE` alone would count those of every other test in this database too."""
    tables = await db.fetch(
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = $1",
        await db.fetchval("SELECT current_schema()"),
    )
    await db.execute(f"ANALYZE {', '.join(table for (table,) in tables)}")


async def read_whole(ledger: PostgresLedger, query: str) -> set[str]:
    """The tables that a statement of the loop reads from end to end."""

    async def plan(db: Any) -> Any:
        statement = await db.prepare(query)
        blanks: dict[str, object] = {"array": [], "text": None}
        return await statement.explain(
            *(blanks.get(one.kind, blanks.get(one.name, 0)) for one in statement.get_parameters())
        )

    def tables(node: dict[str, Any]) -> Iterator[str]:
        is_by_key = "Index Cond" in node or node.get("Index Name") in SMALL_INDEXES
        if "Scan" in node["Node Type"] and "Relation Name" in node and not is_by_key:
            yield node["Relation Name"]
        for below in node.get("Plans", ()):
            yield from tables(below)

    return {table for top in await ledger._hands.ask(plan) for table in tables(top["Plan"])}
