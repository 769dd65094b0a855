"""What `tenax links` answers, of a database written for the purpose; and how it says that there is nothing to tell."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from pathlib import Path

import msgspec
import pytest

from tenax.cli import main
from tenax.cli.output import TextStyle
from tenax.cli.views.link_tables import (
    IncomingLink,
    OutgoingLink,
    TopUrl,
    edges_csv,
    edges_json,
    incoming_table,
    outgoing_table,
    top_table,
)
from tenax.clock import ManualClock
from tenax.config import Config, DatabaseConfig
from tenax.crawl.rules import CrawlRules
from tenax.database import TaskState
from tenax.database.page_codec import pack_links
from tenax.database.sqlite import SqliteDatabase, lock_database
from tenax.model import PageLink, Priority, Source
from tenax.urls.admit import build_rules
from tests.contracts.database import FixedPace, candidate, claimed, visit_of
from tests.link_columns import link_columns

A, B = "https://a.test", "https://b.test"
PLAIN = TextStyle()
LINKS = {
    f"{A}/": (
        PageLink(f"{A}/one", "The first", "", False, True),
        PageLink(f"{A}/two", "=cmd|' /C calc'!A0", "nofollow next", True, False),
        PageLink(f"{B}/", "Elsewhere\x1b[31m"),
    ),
    f"{A}/one": (PageLink(f"{A}/", "Home"), PageLink(f"{B}/", "Neighbour"), PageLink(f"{A}/rare", "rare")),
    f"{A}/two": (),
}


async def written(out: Path, *, is_kept: bool = True) -> None:
    """A crawl of three pages; `b.test` and `/rare` wait."""
    clock = ManualClock()
    database = await SqliteDatabase.open(out / "tenax.db", DatabaseConfig(), clock, FixedPace())
    await CrawlRules(database, build_rules((f"{A}/",), Config(), 2026)).change(lambda rules: rules)
    await database.admit([candidate(url, due=clock.now() + place) for place, url in enumerate(LINKS)])
    for _ in LINKS:
        claim = await claimed(database)
        links = LINKS[claim.task.url]
        packed = pack_links(A, link_columns(links))
        visit = visit_of(claim, clock)
        await database.commit(msgspec.structs.replace(visit, link_targets=packed if is_kept else None))
        clock.advance(2)
    waiting = [candidate(f"{A}/rare", priority=Priority.HIGH), candidate(f"{B}/", priority=Priority.LOW)]
    await database.admit([*waiting, candidate("https://c.test/", priority=Priority.MEDIUM, source=Source.SITEMAP)])
    await database.close()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    asyncio.run(written(tmp_path / "crawl"))
    return tmp_path / "crawl"


class Asked:
    """The program, asked about one crawl."""

    def __init__(self, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._out = out
        self._capsys = capsys

    def __call__(self, *words: str, code: int = 0) -> str:
        assert main(["links", *words, "--dir", str(self._out)]) == code
        captured = self._capsys.readouterr()
        assert captured.err == "" or code or "written to" in captured.err
        return captured.err if code else captured.out

    def json(self, *words: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in self(*words, "--json").splitlines()]


@pytest.fixture
def asked(out: Path, capsys: pytest.CaptureFixture[str]) -> Asked:
    return Asked(out, capsys)


def test_where_a_page_leads(asked: Asked) -> None:
    found = asked.json("--from", "https://a.test/?utm_source=x")
    assert [(link["url"], link["state"]) for link in found] == [
        (f"{A}/one", "settled"),
        (f"{A}/two", "settled"),
        (f"{B}/", "waiting"),
    ]
    assert (found[0]["text"], found[0]["is_in_article"], found[1]["rel"]) == ("The first", True, "nofollow next")
    assert "3 links." in asked("--from", f"{A}/")
    assert asked("--from", f"{A}/two") == "The page has no links.\n"


def test_who_leads_to_a_page(asked: Asked) -> None:
    found = asked.json("--to", f"{B}/")
    assert [(link["source"], link["text"]) for link in found] == [
        (f"{A}/", "Elsewhere\x1b[31m"),
        (f"{A}/one", "Neighbour"),
    ]
    assert "\x1b" not in asked("--to", f"{B}/")
    assert asked("--to", f"{A}/nobody") == "No stored page links to it.\n"


def test_the_best(asked: Asked) -> None:
    assert asked.json("--top", "2") == [
        {"rank": 1, "url": f"{B}/", "in_links": 2, "score": 2},
        {"rank": 2, "url": f"{A}/", "in_links": 1, "score": 1},
    ]
    by_pagerank = asked.json("--top", "9", "--by", "pagerank")
    assert by_pagerank[0]["url"] == f"{B}/"
    assert len(by_pagerank) == 4


def test_all_links_in_a_file(asked: Asked, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in asked("--export", "-").splitlines()]
    assert [(line["source"], line["target"]) for line in lines] == [
        (source, link.url) for source, links in LINKS.items() for link in links
    ]
    for name in ("links.csv", "links.jsonl"):
        asked("--export", str(tmp_path / name))
    assert [json.loads(line) for line in (tmp_path / "links.jsonl").read_text().splitlines()] == lines
    table = list(csv.DictReader(io.StringIO((tmp_path / "links.csv").read_text())))
    assert [(row["source"], row["target"]) for row in table] == [(line["source"], line["target"]) for line in lines]
    assert table[1]["text"] == "'=cmd|' /C calc'!A0", "no formula for a spreadsheet"
    assert (table[1]["is_nofollow"], table[1]["is_in_article"]) == ("true", "false")


async def priorities(out: Path, *urls: str) -> list[Priority]:
    database = await SqliteDatabase.open(out / "tenax.db", DatabaseConfig(), ManualClock(), FixedPace(), read_only=True)
    lives = [await database.url_history(url) for url in urls]
    await database.close()
    return [history.priority for history in lives if history is not None]


def test_priorities_by_links(asked: Asked, out: Path) -> None:
    assert "Changed the priority of 2 of 3 waiting URLs. Resume with:" in asked("--prioritize")
    levels = asyncio.run(priorities(out, f"{A}/rare", f"{B}/", "https://c.test/"))
    assert levels == [Priority.LOW, Priority.MEDIUM, Priority.MEDIUM]
    assert "0 of 3 waiting URLs" in asked("--prioritize", "--by", "in-degree")


def test_priorities_of_a_crawl_that_runs(asked: Asked, out: Path) -> None:
    with lock_database(out / "tenax.db"):
        assert "in use by another process" in asked("--prioritize", code=4)
        assert asked.json("--top", "1")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--from", f"{A}/missing"), f"{A}/missing is not in this crawl; `tenax explain {A}/missing` says why"),
        (("--from", f"{A}/rare"), "no links of https://a.test/rare are stored: no page was stored for it while"),
        (("--from", "no url at all"), "no url at all"),
        (("--top", "0"), "--top 0: give a number from 1"),
        (("--top", "many"), "invalid int value: 'many'"),
        (("--export", "links.txt"), "must end in .csv or .jsonl"),
        (("--to", f"{A}/", "--by", "pagerank"), "--by needs --top or --prioritize"),
        (("--to", f"{A}/", "--top", "1"), "not allowed with"),
        ((), "one of the arguments"),
    ],
)
def test_what_cannot_be_answered(asked: Asked, words: tuple[str, ...], says: str) -> None:
    assert says.lower() in asked(*words, code=2).lower()


def test_a_file_that_cannot_be_written(asked: Asked, tmp_path: Path) -> None:
    assert "choose another with --export" in asked("--export", str(tmp_path / "nowhere" / "x.csv"), code=7)


def test_a_crawl_that_keeps_no_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(written(tmp_path / "without", is_kept=False))
    asked = Asked(tmp_path / "without", capsys)
    for words in (("--top", "3"), ("--to", f"{A}/"), ("--prioritize",), ("--export", "-")):
        assert "--set extract.link_graph=true" in asked(*words, code=2)


def test_tables() -> None:
    out = outgoing_table([OutgoingLink(f"{A}/", "x", "nofollow me", True, True, TaskState.DEAD)], PLAIN)
    assert out[1].split() == [f"{A}/", "x", "in", "the", "article,", "nofollow,", "me", "given", "up"]
    assert "not admitted" in outgoing_table([OutgoingLink(f"{A}/", "", "", False, False, None)], PLAIN)[1]
    assert incoming_table([IncomingLink(f"{A}/", "", "", False, False)], PLAIN)[-1] == "1 page."
    assert top_table([], PLAIN) == ["There are no followed links."]
    assert top_table([TopUrl(1, A, 2000, 0.25)], PLAIN)[1].split() == ["1", A, "2,000", "0.250000"]
    assert edges_csv(A, [PageLink(B, "+1")]) == f"{A},{B},'+1,,false,false\r\n"
    assert edges_json(A, []) == edges_csv(A, []) == ""
