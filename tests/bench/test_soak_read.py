"""What a run of the fuzzer is read from: its log and its exit code."""

from __future__ import annotations

from pathlib import Path

from bench.report import Report
from bench.soak_read import Tried, Weighed, write_report

LOG = """INFO: Seed: 1
#84\tINITED cov: 1812 ft: 4670 corp: 82/198Kb exec/s: 42 rss: 78Mb
FOUND crash: KeyError at links.py:12 (document-crash-0123456789ab)
#90\tNEW    cov: 1820 ft: 4700 corp: 83/199Kb lim: 8192 exec/s: 32 rss: 78Mb L: 9/4097 MS: 1 Custom-
#512\tDONE   cov: 1885 ft: 5614 corp: 194/527Kb lim: 8192 exec/s: 25 rss: 78Mb
"""


def test_a_log_is_read() -> None:
    tried = Tried()
    tried.add(LOG, 0)
    assert tried == Tried(512, 1885, ["crash: KeyError at links.py:12 (document-crash-0123456789ab)"])


def test_runs_of_one_target_add_up() -> None:
    tried = Tried()
    tried.add(LOG.replace("FOUND", "found"), 0)
    tried.add("#7\tDONE   cov: 12 ft: 5614 corp", 0)
    assert tried == Tried(519, 1885, [])


def test_an_ended_process_is_found_without_a_line() -> None:
    tried = Tried()
    tried.add("no line of progress", 77)
    assert (tried.runs, tried.found) == (0, ["the process ended with 77"])


COST_LOG = """{"found": "growth (read): 0.06 s of CPU at 120,000 bytes, 0.26 at twice that"}
{"tried": 70, "given_up": 2, "worst_microseconds_per_byte": {"read": 0.2, "python": 1.5}}
{"tried": 90, "given_up": 3, "worst_microseconds_per_byte": {"read": 0.25, "python": 1.5}}
"""


def test_a_log_of_costs_is_read() -> None:
    weighed = Weighed()
    weighed.add(COST_LOG, 0, "")
    found = "growth (read): 0.06 s of CPU at 120,000 bytes, 0.26 at twice that"
    assert weighed == Weighed(90, 3, {"read": 0.25, "python": 1.5}, [found])
    weighed.add("Traceback of a crash\n", -24, '["html", [["<p>", 1]]]')
    assert weighed.runs == 90
    assert weighed.found[1:] == ['the process ended with -24 at ["html", [["<p>", 1]]]']


def test_a_report_tells_of_both_fuzzers() -> None:
    report = Report("soak_read")
    write_report(report, {"charset": Tried(500, 12, [])}, Weighed(90_000, 3, {"read": 0.25}, []), 10.0, Path())
    assert report.ok
    assert report.figures["cost"] == {
        "inputs": 90_000, "given_up": 3, "worst_microseconds_per_byte": {"read": 0.25}, "found": [],
    }  # fmt: skip
    write_report(report, {}, Weighed(90_000, 3, {"read": 0.25}, ["growth (read)"]), 10.0, Path())
    assert not report.ok
