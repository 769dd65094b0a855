"""What counts as a run of a whole crawl, and what Tenax is held to beside each of the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import crawl, site
from bench.crawl import Ratio
from bench.measure import Cost
from bench.report import BenchError, Report

ORIGIN, PAGES = "http://127.0.0.1:1", 3


def row(number: int) -> dict[str, Any]:
    truth = site.article(number, PAGES)
    text = "\n".join(truth.paragraphs)
    return {
        "url": ORIGIN + truth.path, "status": 200, "content_hash": "", "title": truth.title,
        "description": truth.description, "language": "en", "text": f"Menu\n{text}", "links_count": len(truth.links),
        "article": text, "markdown": f"# {truth.title}\n\n{text}",
    }  # fmt: skip


def check(name: str, rows: list[dict[str, Any]], folder: Path) -> None:
    file = folder / "pages.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    crawl._check(name, file, ORIGIN, PAGES)


@pytest.mark.parametrize("name", crawl.NAMES)
def test_a_true_file_counts(name: str, tmp_path: Path) -> None:
    check(name, [row(number) for number in range(PAGES)], tmp_path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"article": "Only a teaser."}, "is not what stands there"),
        ({"markdown": ""}, "is not what stands there"),
        ({"text": "Menu"}, "is not what stands there"),
        ({"title": "Another"}, "is not what stands there"),
        ({"url": f"{ORIGIN}/elsewhere"}, "1 missing, 1 not of this site"),
    ],
    ids=["article", "markdown", "text", "title", "url"],
)
def test_tenax_must_have_read_every_page(change: dict[str, str], why: str, tmp_path: Path) -> None:
    rows = [row(number) for number in range(PAGES)]
    rows[0] |= change
    with pytest.raises(BenchError, match=why):
        check("tenax", rows, tmp_path)


def test_only_tenax_is_asked_for_what_reading_gives(tmp_path: Path) -> None:
    rows = [{k: v for k, v in row(number).items() if k not in crawl.READ_FIELDS} for number in range(PAGES)]
    check("scrapy", rows, tmp_path)
    with pytest.raises(BenchError, match="lacks article, markdown"):
        check("tenax", rows, tmp_path)


def test_a_crawl_for_title_and_text_is_not_asked_for_articles(tmp_path: Path) -> None:
    rows = [row(number) | {"article": "", "markdown": ""} for number in range(PAGES)]
    check("tenax-skim", rows, tmp_path)


SLOW = {"scrapy": 9.0, "scrapy-jobdir": 7.0, "scrapy-trafilatura": 30.0, "crawlee": 2.0}


def test_each_bar_is_about_its_own_form_of_scrapy() -> None:
    report = Report("crawl")
    found = [Ratio("tenax", name, times, times) for name, times in SLOW.items()]
    found += [Ratio("tenax-skim", name, 3 * times, 2 * times) for name, times in SLOW.items()]
    crawl._judge(report, found)
    assert {what: (bar.value, bar.limit) for what, bar in report.bars.items()} == {
        "pages_per_cpu_second_vs_scrapy": (14.0, 8.0),
        "pages_per_second_vs_scrapy": (21.0, 6.0),
        "reading_pages_per_cpu_second_vs_scrapy": (7.0, 5.0),
        "reading_pages_per_cpu_second_vs_scrapy_reading": (30.0, 10.0),
    }
    assert report.figures["tenax_vs_scrapy_trafilatura"] == {"pages_per_second": 30.0, "pages_per_cpu_second": 30.0}
    assert report.figures["tenax_skim_vs_scrapy"] == {"pages_per_second": 27.0, "pages_per_cpu_second": 18.0}


def test_only_what_was_run_is_judged() -> None:
    report = Report("crawl")
    crawl._judge(report, [Ratio("tenax", "scrapy-trafilatura", 20.0, 20.0)])
    assert list(report.bars) == ["reading_pages_per_cpu_second_vs_scrapy_reading"]


def test_ours_run_before_and_after_each_of_the_others() -> None:
    names = ["tenax", "tenax-skim", "scrapy", "crawlee"]
    first, second = ["tenax", "tenax-skim", "scrapy"], ["tenax", "tenax-skim", "crawlee"]
    assert list(crawl._schedule(names, 2)) == [*first, *second, *second, *first, *names[:2]]
    assert list(crawl._schedule(names[:2], 2)) == names[:2] * 2


def test_each_is_compared_with_the_runs_of_ours_around_it() -> None:
    def run(name: str, wall: float, cpu: float) -> tuple[str, Cost]:
        return name, Cost(wall, cpu, 0.0, 0.0, 0)

    runs = [
        *(run("tenax", 1.0, 2.0), run("scrapy", 8.0, 10.0)),
        *(run("tenax", 3.0, 2.0), run("tenax-skim", 1.0, 1.0), run("crawlee", 3.0, 8.0)),
    ]
    assert list(crawl.ratios_of(runs)) == [
        Ratio("tenax", "scrapy", 4.0, 5.0),
        Ratio("tenax-skim", "scrapy", 8.0, 10.0),
        Ratio("tenax", "crawlee", 1.0, 4.0),
        Ratio("tenax-skim", "crawlee", 3.0, 8.0),
    ]
