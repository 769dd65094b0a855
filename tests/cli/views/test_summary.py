"""What is said when a run has ended."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tenax.cli.options import CrawlOptions
from tenax.cli.output import TextStyle
from tenax.cli.views.format_values import format_until
from tenax.cli.views.summary import Report, closing_line, format_brief_summary, format_summary
from tenax.crawl.location import Location
from tenax.database import Status
from tenax.model import Ending, HostBackoff, Progress

NOW = 1_750_000_000.0
OPTIONS = CrawlOptions(
    seeds=("https://example.org",),
    location=Location(Path("my crawl")),
    resume_command="tenax crawl https://example.org --dir 'my crawl'",
    examples=(("https://example.org/?a=1&b", "the life of one URL"),),
)
PROGRESS = Progress(now=NOW, elapsed_seconds=102, pages=1204, pages_this_run=1004, wire_bytes=18_200_000)
STATUS = Status(
    created_at=NOW,
    now=NOW,
    pages=1204,
    articles=812,
    outcomes={"fetched": 1204, "failed:timeout_total": 12, "refused:robots": 3, "deferred": 9},
    refusals={"scope": 310, "trap:max_length": 2},
)


def report(ending: Ending = Ending.COMPLETE, **status: object) -> Report:
    return Report(OPTIONS, ending, PROGRESS, msgspec.structs.replace(STATUS, **status), "pages.jsonl")


def text_of(report: Report) -> str:
    return "\n".join(format_summary(report, TextStyle()))


def test_it_says_what_came_of_it_where_it_is_and_what_to_try() -> None:
    text = text_of(report())
    for part in (
        "Crawl complete: nothing is left to visit.",
        "1,204  (812 articles, 1,004 in this run)",
        "received      18.2 MB\n",
        "time          1 min 42 s   9.8 pages/s\n",
        "failures      12 timed out",
        "3 closed by robots.txt",
        "not followed  310 out of scope",
        "my crawl/tenax.db",
        "my crawl/pages.jsonl",
        "tenax status --dir 'my crawl'",
        "tenax explain 'https://example.org/?a=1&b' --dir 'my crawl'",
        "tenax export --format markdown --dir 'my crawl'",
    ):
        assert part in text
    assert "Resume" not in text
    assert "dead-letters" not in text
    assert "9 deferred" not in text


def test_it_says_why_extraction_was_slow() -> None:
    slow = msgspec.structs.replace(PROGRESS, pages_in_python=1004, native_refusal="the native code was not built")
    text = text_of(msgspec.structs.replace(report(), progress=slow))
    assert "extraction    1,004 pages in Python, several times slower: the native code was not built\n" in text
    assert "extraction" not in text_of(report())


def test_a_crawl_that_needs_a_browser_is_not_complete() -> None:
    needy = report(dead=2, needs_browser=2)
    text = text_of(needy)
    assert "Nothing else is left to visit. 2 URLs need a browser: install one" in text
    assert "complete" not in text
    assert text.splitlines()[-1] == f"Resume with:  {OPTIONS.resume_command}"
    assert "2 URLs need a browser" in "\n".join(format_brief_summary(needy, TextStyle()))
    assert "2 URLs need a browser" in closing_line(report(pages=0, needs_browser=2), TextStyle())


@pytest.mark.parametrize("ending", [Ending.INTERRUPTED, Ending.PAGE_LIMIT, Ending.MAX_IDLE])
def test_the_last_line_is_the_command_that_resumes(ending: Ending) -> None:
    assert text_of(report(ending, waiting=5)).splitlines()[-1] == f"Resume with:  {OPTIONS.resume_command}"


def test_hosts_that_are_backing_off_are_named() -> None:
    hosts = tuple(HostBackoff(f"https://h{number}.example", NOW + 600, "rate limited") for number in range(7))
    progress = msgspec.structs.replace(PROGRESS, backing_off=hosts, hosts_backing_off=9)
    text = text_of(msgspec.structs.replace(report(Ending.MAX_IDLE), progress=progress))
    assert f"https://h0.example  until {format_until(NOW + 600, PROGRESS.now)}: rate limited" in text
    assert "and 4 more hosts" in text


def test_nothing_stored_points_to_the_reason() -> None:
    line = closing_line(report(Ending.NOTHING_STORED, pages=0), TextStyle())
    assert line == "Nothing could be stored. `tenax explain https://example.org --dir 'my crawl'` says why"


def test_what_conditional_requests_saved_is_said() -> None:
    outcomes = {"fetched": 3, "unchanged": 1201}
    assert "unchanged     1,201 visits (saved 36.0 MB)" in text_of(report(outcomes=outcomes, saved_bytes=36_000_000))
    assert "unchanged" not in text_of(report())


def test_duplicates_are_counted() -> None:
    assert "1,204  (812 articles, 17 duplicates, 1,004 in this run)" in text_of(report(duplicates=17))


def test_dead_letters_are_something_to_try() -> None:
    assert "tenax dead-letters list --dir 'my crawl'" in text_of(report(dead=2))


def test_quiet_means_quiet_unless_there_is_something_to_do() -> None:
    assert format_brief_summary(report(), TextStyle()) == []
    assert (
        format_brief_summary(report(Ending.INTERRUPTED, waiting=3), TextStyle())[-1]
        == f"Resume with:  {OPTIONS.resume_command}"
    )
    assert format_brief_summary(report(Ending.NOTHING_STORED, pages=0), TextStyle())[0].startswith(
        "Nothing could be stored."
    )


def test_how_pages_were_found_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    found = {"seed": 1, "link": 269, "sitemap": 33, "feed": 11, "archive": 6, "pagination": 5}
    text = text_of(report(found=found, outcomes={"fetched": 320, "missed": 6}))
    assert "  found         1 seed, 269 by links, 33 by sitemaps, 11 by feeds,\n" in text
    assert "                6 guessed as archives, 5 guessed as next pages\n" in text
    assert "guesses       6 found nothing new" in text
    assert "failures" not in text, "that nothing is where nobody said so is no failure"


def test_what_was_never_counted_is_not_spoken_of() -> None:
    assert "found" not in text_of(report()) and "guesses" not in text_of(report())
