"""The PostgreSQL database: the contract, and what is specific to one worker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.database import Database, PageFilter
from tenax.database.admission import WriteRules
from tenax.database.postgres import PostgresDatabase
from tenax.database.postgres.schema import queries
from tenax.model import FetchRecord
from tests.contracts.cut_offs import CutOffsContract
from tests.contracts.database import DatabaseContract, FixedPace, Opened, candidate, claimed, drain, page_of, visit_of
from tests.contracts.in_links import InLinksContract
from tests.contracts.links import LinksContract
from tests.contracts.records import Crawled, RecordsContract
from tests.contracts.recrawl import RecrawlContract
from tests.contracts.stored_copies import StoredCopiesContract
from tests.contracts.url_lists import UrlListsContract
from tests.database.postgres_databases import Databases


@pytest.fixture
def opened(databases: Databases, clock: ManualClock, pace_rules: FixedPace) -> Opened:
    async def open_it() -> Database:
        return await databases.open(clock=clock, pace_rules=pace_rules)

    return open_it


@pytest.fixture
def crawled() -> Crawled:
    async def row_of(database: Database, url: str) -> dict[str, object]:
        assert isinstance(database, PostgresDatabase)
        row = await database._query_connection.run_idempotent(
            lambda db: db.fetchrow("SELECT * FROM crawled_pages WHERE url = $1", url)
        )
        assert row is not None
        return dict(row)

    return row_of


class TestPostgresDatabase(
    DatabaseContract,
    StoredCopiesContract,
    LinksContract,
    InLinksContract,
    UrlListsContract,
    RecrawlContract,
    CutOffsContract,
    RecordsContract,
):
    async def test_a_reader_looks_in_while_another_writes(self, databases: Databases) -> None:
        writer = await databases.open()
        await writer.admit([candidate("https://a.test/")])
        reader = await databases.open(read_only=True)
        assert ((await reader.status()).waiting, (await reader.status()).is_running) == (1, False)
        await writer.commit(visit_of(await claimed(writer), databases.clock))
        status = await reader.status()
        assert (status.pages, status.is_running) == (1, True)
        assert (await writer.status()).is_running is False, "no other than itself"
        await writer.close()
        assert (await reader.status()).is_running is False

    async def test_new_urls_of_one_source_become_due_one_after_the_other(self, databases: Databases) -> None:
        database, now = await databases.open(write_rules=WriteRules(links_per_second=10)), databases.clock.now()
        await database.admit([candidate("https://a.test/")])
        links = tuple(candidate(f"https://a.test/{n}") for n in range(30))
        assert (
            await database.commit(visit_of(await claimed(database), databases.clock, candidates=links))
        ).admitted == 30
        dues = sorted(
            [
                history.due
                for n in range(30)
                if (history := await database.url_history(f"https://a.test/{n}")) and history.due
            ]
        )
        assert dues[9] == pytest.approx(now, abs=0.01)
        assert dues[-1] == pytest.approx(now + 2, abs=0.11)

    async def test_a_nul_is_no_text_for_postgres(self, databases: Databases) -> None:
        database = await databases.open()
        await database.admit([candidate("https://a.test/"), candidate("https://b.test/")])
        for _ in range(2):
            claim = await claimed(database)
            page = page_of(claim, databases.clock, title="A\0title", text="A\0text", etag="\0")
            visit = visit_of(claim, databases.clock, page=page, candidates=(candidate(claim.task.url + "x"),))
            admission = await database.commit(msgspec.structs.replace(visit, fetch=FetchRecord(200, "\0")))
            assert admission.admitted == 1
        read = [page async for page in database.pages(PageFilter())]
        assert [(page.title, page.text) for page in read] == [("A\ufffdtitle", "A\ufffdtext")] * 2
        assert [event.page for event in await database.events(0, 10)] == read

    async def test_globs_mean_what_they_mean_in_a_file(self, databases: Databases) -> None:
        database = await databases.open()
        await database.admit([candidate(f"https://a.test/{path}") for path in ("a.b", "axb", "x(1)", "+$")])
        await drain(database, databases.clock)
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
            pages = {
                page.url.removeprefix("https://a.test/") async for page in database.pages(PageFilter(url_glob=glob))
            }
            assert pages == found, glob

    async def test_hosts_are_named_with_or_without_scheme_and_port(self, databases: Databases) -> None:
        database = await databases.open()
        await database.admit([candidate("https://a.test/1"), candidate("https://b.test:8080/2")])
        await drain(database, databases.clock)
        names = {"a.test": 1, "https://b.test:8080": 1, "b.test": 1, "*.test": 2, "*.b.test": 0, "b.tes": 0}
        for host, count in names.items():
            assert len([page async for page in database.pages(PageFilter(host=host))]) == count, host

    async def test_each_database_makes_its_own_keys(self, databases: Databases) -> None:
        keys = []
        for schema in ("one", "one", "two"):
            databases.config = msgspec.structs.replace(
                databases.config, schema=f"{databases.config.schema[:6]} {schema}"
            )
            database = await databases.open()
            await database.admit([candidate("https://a.test/")])
            keys.append(
                [
                    tuple(row)
                    for row in await database._query_connection.run_idempotent(
                        lambda db: db.fetch("SELECT key FROM seen")
                    )
                ]
            )
        assert len(keys[0]) == 1
        assert keys[0] == keys[1] != keys[2]

    async def test_the_busiest_hosts_of_a_large_queue_are_estimated(
        self, databases: Databases, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tenax.database.postgres.read.EXACT_COUNT_LIMIT", 4500)
        database = await databases.open()
        await database.admit(
            [candidate(f"https://large.test/{n}") for n in range(9000)] + [candidate("https://small.test/")]
        )
        await database._query_connection.run_idempotent(lambda db: db.execute("ANALYZE queue"))
        (first, *_) = (await database.status()).busiest
        assert first.host.origin == "https://large.test"
        assert 3000 < first.waiting < 27_000

    async def test_no_statement_looks_at_every_url_or_host(self, databases: Databases) -> None:
        database = await databases.open()
        assert await read_whole(database, "SELECT * FROM record r LEFT JOIN host h ON h.id = r.host_id") >= {"record"}
        whole = {name: await read_whole(database, queries()[name]) for name in BY_KEY}
        assert {name: tables for name, tables in whole.items() if tables - {"worker", "meta", "outbox_end"}} == {}

    async def test_a_plan_that_was_made_for_small_tables_is_good_for_large_ones(self, databases: Databases) -> None:
        """PostgreSQL has analyzed the few rows there are, and relies on that until the next time."""
        database = await databases.open()
        await database.admit([candidate(f"https://{host}.test/{n}") for host in "ab" for n in range(2)])
        await database._query_connection.run_idempotent(analyze)
        assert "host" in await read_whole(database, "SELECT * FROM record r JOIN host h ON h.id = r.host_id")
        whole = {name: await read_whole(database, queries()[name]) for name in BY_KEY_OF_SMALL_TABLES}
        assert {name: tables for name, tables in whole.items() if tables - {"worker", "meta"}} == {}

    async def test_plans_are_discarded_as_the_tables_grow(
        self, databases: Databases, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tenax.database.postgres.heartbeat.HEARTBEAT_LOOP_SECONDS", 0.01)
        monkeypatch.setattr("tenax.database.postgres.heartbeat.DISCARD_PLANS_INTERVAL_SECONDS", 0.0)
        database = await databases.open()
        await database._query_connection.run_idempotent(analyze)
        grow = "INSERT INTO host (origin, has_work, ready_at) SELECT n::text, false, 0 FROM generate_series(1, 20000) n"
        explain = "EXPLAIN EXECUTE update_host (ARRAY[1], ARRAY['\\x']::bytea[])"

        async def plan(db: Any) -> str:
            return "\n".join(row[0] for row in await db.fetch(explain))

        await database._write_connection.run_idempotent(
            lambda db: db.execute(f"PREPARE update_host AS {queries()['hosts_update']}")
        )
        assert "Join Filter" in await database._write_connection.run_idempotent(plan)
        await database._query_connection.run_idempotent(lambda db: db.execute(grow))
        for _ in range(6000):
            if "Join Filter" not in await database._write_connection.run_idempotent(plan):
                break
            await asyncio.sleep(0.01)
        else:
            pytest.fail("the plan is still that for a small table")
        await database._query_connection.run_idempotent(lambda db: db.execute("TRUNCATE host"))


BY_KEY = (
    "queue_remove", "queue_reschedule", "queue_due", "queue_next_due_after", "queue_find", "seen_add", "seen_forget",
    "visit_add", "visits_get", "record_get", "record_url", "events_after", "content_get", "stored_pages",
    "stored_copy", "record_confirm", "pages", "dead_letters", "requeue_settled_range", "requeue_settled", "replay",
    "hosts_release", "hosts_update", "hosts_mark_ready", "hosts_lock_shared", "hosts_lease", "hosts_lock_leased",
    "hosts_leased_by", "hosts_next_claim", "worker_load", "budgets_put", "duplicate_index_find",
    "duplicate_index_add", "duplicate_index_remove", "originals", "record_url_list", "record_missing_url_list",
    "record_change_history", "expedite_find", "expedite_queue", "expedite_record", "link_get", "states_get",
)  # fmt: skip
BY_KEY_OF_SMALL_TABLES = (
    "queue_remove", "queue_due", "queue_next_due_after", "expedite_find", "expedite_queue", "seen_add", "visit_add",
    "stored_pages", "hosts_lease", "duplicate_index_find", "duplicate_index_remove", "originals", "requeue",
    "canonical_get",
)  # fmt: skip
"""Statements that use an index, however large the tables are."""
SMALL_INDEXES = {"host_free", "host_leased", "record_dead", "record_canonical"}
"""Partial indexes of a few rows. (An empty array, as planned for here, matches the condition of any partial index.)"""


async def analyze(db: Any) -> None:
    """Analyze this database's tables. `ANALYZE` alone would include those of every other test in this database."""
    tables = await db.fetch(
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = $1",
        await db.fetchval("SELECT current_schema()"),
    )
    await db.execute(f"ANALYZE {', '.join(table for (table,) in tables)}")


async def read_whole(database: PostgresDatabase, query: str) -> set[str]:
    """The tables that a statement of the loop scans."""

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

    return {table for top in await database._write_connection.run_idempotent(plan) for table in tables(top["Plan"])}
