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
from bench.discover_behaviours import HOST_BEHAVIOURS, Trap
from bench.discover_log import Tally, is_guess, tally
from bench.discover_server import serving
from bench.discover_site import Source, build
from bench.measure import Cost
from bench.report import Report
from docs import from_results

PAGES, SEED, TODAY = 300, 3, date(2026, 3, 14)
SITE = build(PAGES, SEED, TODAY)


def test_the_server_logs_what_each_request_was_worth(tmp_path: Path) -> None:
    log = tmp_path / "access.tsv"
    article = SITE.hosts[0].articles[Source.SITEMAPS][0].path
    with serving(PAGES, SEED, TODAY, log) as origins:
        assert len(origins) == len(HOST_BEHAVIOURS)
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
        Counter({Source.SITEMAPS: 1}),
        Counter({Worth.AGAIN: 1, Worth.GONE: 1}),
    )


def test_shares_are_of_the_pages_there_are() -> None:
    counted = Tally(
        requests=200,
        real=Counter(
            {Source.LINKS: 60, Source.SITEMAPS: 20, Source.FEEDS: 5, Source.ARCHIVES: 10, Source.PAGINATION: 5}
        ),
        found=Counter({Source.LINKS: 60, Source.SITEMAPS: 10, Source.ARCHIVES: 10}),
        wasted=Counter({Worth.FACETS: 7, Worth.GONE: 3}),
    )
    assert counted.found_share == 0.8
    assert counted.hidden_share == 0.5
    assert counted.shares() == {"links": 1.0, "sitemaps": 0.5, "feeds": 0.0, "archives": 1.0, "pagination": 0.0}
    assert counted.wasted_share == 0.05
    assert counted.in_trap(Trap.FACETS) == 7


def judged(pages: int = 20_000, found: int = 1000, archives: int = 100, **wasted: int) -> Report:
    """Of a crawl with 1,000 requests."""
    report = Report("discover")
    counts = Counter({Worth(worth): count for worth, count in wasted.items()})
    real = {Source.LINKS: 600, Source.SITEMAPS: 100, Source.FEEDS: 100, Source.ARCHIVES: 100, Source.PAGINATION: 100}
    links = found - 300 - archives
    ours = Tally(1000, Counter(real), Counter({**real, Source.LINKS: links, Source.ARCHIVES: archives}), counts)
    discover.judge(report, ours, pages)
    return report


@pytest.mark.parametrize(
    ("report", "missed"),
    [
        (judged(gone=30, found=990), set()),
        (judged(found=989), {"found_share_20000"}),
        (judged(2000, found=970), set()),
        (judged(2000, found=969), {"found_share_2000"}),
        (judged(300, archives=97), set()),
        (judged(300, archives=96), {"found_archives_300"}),
        (judged(gone=31), {"wasted_share_20000"}),
        (judged(2000, gone=60), set()),
        (judged(2000, gone=61), {"wasted_share_2000"}),
        (judged(300, gone=100), set()),
        (judged(300, gone=60, calendar=20, facets=21), {"wasted_share_300"}),
        (judged(300, facets=51), set()),
        (judged(300, facets=52), {"requests_in_facets_300"}),
        (judged(300, calendar=22), {"requests_in_calendar_300"}),
        (judged(300, same_next=21), {"requests_in_same_next_300"}),
        (judged(300, junk_next=21), {"requests_in_junk_next_300"}),
    ],
)
def test_each_bar_is_about_one_thing(report: Report, missed: set[str]) -> None:
    assert {what for what, bar in report.bars.items() if not bar.ok} == missed
    assert report.ok == (not missed)


@pytest.mark.parametrize(("pages", "facets"), [(300, 50), (2000, 50), (20_000, 500)])
def test_facets_grow_with_the_site(pages: int, facets: int) -> None:
    assert discover.facets_of(pages) == facets


@pytest.mark.parametrize(
    ("host", "worth", "target", "is_guessed"),
    [
        (0, Worth.GONE, "/archive", True),
        (0, Worth.GONE, SITE.hosts[0].dead[0], False),
        (0, Worth.GONE, "/robots.txt", False),
        (0, Worth.PAST_END, "/news/page/3/", False),
        (0, Worth.PAST_END, "/news/page/4/", True),
        (1, Worth.PAST_END, "/city/?page=2", True),
        (2, Worth.PAST_END, "/garden/?offset=20", False),
        (2, Worth.SAME, "/gifts/?page=2", True),
        (3, Worth.GONE, "/sitemaps/missing.xml", False),
        (5, Worth.GONE, "/sitemaps/missing.xml", True),
        (5, Worth.GONE, "/sitemap.xml", True),
        (5, Worth.JUNK_NEXT, "/stream/?page=11", False),
        (0, Worth.AGAIN, "/", False),
    ],
)
def test_a_guess_is_what_nothing_on_the_site_names(host: int, worth: Worth, target: str, is_guessed: bool) -> None:
    assert is_guess(SITE.hosts[host], worth, target) is is_guessed


def test_every_trap_has_a_bar_and_a_worth() -> None:
    assert {f"requests_in_{trap}_20000" for trap in Trap} <= judged().bars.keys()
    assert all(Worth(trap.value).is_wasted for trap in Trap)


def test_what_was_measured_is_shown_in_the_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_results, "RESULTS", tmp_path)
    report = judged(gone=32)
    found = Counter({Source.LINKS: 10, Source.FEEDS: 5})
    counted = Tally(1000, Counter(dict.fromkeys(Source, 10)), found, Counter({Worth.GONE: 10}), guesses_wasted=5)
    figures = discover._figures(counted, Cost(10.0, 20.0, 1.0, 1.0, 0))
    machine = {"cores": 2, "cpu": "a CPU", "python": "3.11.7", "system": "Linux 6"}
    about = {"hosts": 6, "seed": 1, "machine": machine}
    sizes = {"pages_300": {"tenax": figures}, "pages_20000": {"tenax": figures, "scrapy": figures}}
    measured = {"figures": about | sizes, "bars": report.as_json()["bars"]}
    (tmp_path / "discover.json").write_text(json.dumps(measured))
    shown = from_results.discover_tables()
    assert "Sites on 6 hosts, seed 1." in shown
    row = "30.00% | 100.0% | 0.0% | 50.0% | 0.0% | 0.0% | 1,000 | 1.00% | 0.50% | 20 |"
    assert f"| 300 | Tenax | {row}" in shown
    assert f"| 20,000 | Scrapy, sitemaps and links | {row}" in shown
    assert "| 300 | Tenax | 10 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |" in shown
    assert "| `wasted_share_20000` | 0.032 | 0.03 | **missed** |" in shown
