"""What counts as found and as wasted, and what Tenax is held to."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from bench import discover
from bench.discover_answers import Worth
from bench.discover_log import Tally, tally
from bench.discover_manners import MANNERS, Trap
from bench.discover_server import serving
from bench.discover_site import Way, build
from bench.measure import Cost
from bench.report import Report
from docs import from_results

PAGES, SEED, TODAY = 300, 3, date(2026, 3, 14)
SITE = build(PAGES, SEED, TODAY)


def test_the_server_logs_what_each_request_was_worth(tmp_path: Path) -> None:
    log = tmp_path / "access.tsv"
    article = SITE.hosts[0].articles[Way.SITEMAPS][0].path
    with serving(PAGES, SEED, TODAY, log) as origins:
        assert len(origins) == len(MANNERS)
        connection = http.client.HTTPConnection(origins[0].removeprefix("http://"), timeout=60)
        for target, status in [("/", 200), (article, 200), (article, 200), ("/nothing", 404), ("/news", 301)]:
            connection.request("GET", target, headers={"User-Agent": "a tester"})
            answer = connection.getresponse()
            assert answer.status == status
            assert answer.read() or status == 301
        connection.close()
    assert log.read_text().splitlines() == [
        "document\t200\t0\t/\ta tester",
        f"page\t200\t0\t{article}\ta tester",
        f"again\t200\t0\t{article}\ta tester",
        "gone\t404\t0\t/nothing\ta tester",
        "document\t301\t0\t/news\ta tester",
    ]
    counted = tally(SITE, log)
    assert (counted.requests, counted.found, counted.wasted) == (
        5,
        Counter({Way.SITEMAPS: 1}),
        Counter({Worth.AGAIN: 1, Worth.GONE: 1}),
    )


def test_shares_are_of_the_pages_there_are() -> None:
    counted = Tally(
        requests=200,
        real=Counter({Way.LINKS: 60, Way.SITEMAPS: 20, Way.FEEDS: 5, Way.ARCHIVES: 10, Way.PAGINATION: 5}),
        found=Counter({Way.LINKS: 60, Way.SITEMAPS: 10, Way.ARCHIVES: 10}),
        wasted=Counter({Worth.FACETS: 7, Worth.GONE: 3}),
    )
    assert counted.found_share == 0.8
    assert counted.hidden_share == 0.5
    assert counted.shares() == {"links": 1.0, "sitemaps": 0.5, "feeds": 0.0, "archives": 1.0, "pagination": 0.0}
    assert counted.wasted_share == 0.05
    assert counted.in_trap(Trap.FACETS) == 7


def judged(*, is_quick: bool = False, found: int = 100, **wasted: int) -> Report:
    """Of a crawl with 1,000 requests."""
    report = Report("discover", is_quick=is_quick)
    counts = Counter({Worth(worth): count for worth, count in wasted.items()})
    real = {Way.LINKS: 60, Way.SITEMAPS: 40}
    ours = Tally(1000, Counter(real), Counter({Way.LINKS: 60, Way.SITEMAPS: found - 60}), counts)
    discover.judge(report, ours, facets=20)
    return report


@pytest.mark.parametrize(
    ("report", "missed"),
    [
        (judged(gone=30, found=99), set()),
        (judged(found=98), {"found_share"}),
        (judged(gone=31), {"wasted_share"}),
        (judged(gone=31, is_quick=True), set()),
        (judged(facets=21), set()),
        (judged(facets=22), {"requests_in_facets"}),
        (judged(calendar=22), {"requests_in_calendar"}),
        (judged(same_next=21), {"requests_in_same_next"}),
        (judged(junk_next=21), {"requests_in_junk_next"}),
    ],
)
def test_each_bar_is_about_one_thing(report: Report, missed: set[str]) -> None:
    assert {what for what, bar in report.bars.items() if not bar.ok} == missed
    assert report.ok == (not missed)


def test_every_trap_has_a_bar_and_a_worth() -> None:
    assert {f"requests_in_{trap}" for trap in Trap} <= judged().bars.keys()
    assert all(Worth(trap.value).is_wasted for trap in Trap)


def test_what_was_measured_is_shown_in_the_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_results, "RESULTS", tmp_path)
    report = judged(gone=12, facets=20)
    counted = Tally(
        1000, Counter(dict.fromkeys(Way, 10)), Counter({Way.LINKS: 10, Way.FEEDS: 5}), Counter({Worth.GONE: 1})
    )
    figures = discover._figures(counted, Cost(10.0, 20.0, 1.0, 1.0, 0))
    machine = {"cores": 2, "cpu": "a CPU", "python": "3.11.7", "system": "Linux 6"}
    about = {"pages": 20_000, "hosts": 6, "seed": 1, "machine": machine}
    measured = {"figures": about | {"tenax": figures}, "bars": report.as_json()["bars"]}
    (tmp_path / "discover.json").write_text(json.dumps(measured))
    shown = from_results.discover_tables()
    assert "20,000 pages on 6 hosts, seed 1." in shown
    assert "| Tenax | 30.00% | 100.0% | 0.0% | 50.0% | 0.0% | 0.0% | 1,000 | 0.10% | 20 |" in shown
    assert "| Tenax | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |" in shown
    assert "| `wasted_share` | 0.032 | 0.03 | **missed** |" in shown
