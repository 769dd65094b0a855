"""What a run of the fuzzer is read from: its log and its exit code."""

from __future__ import annotations

from bench.soak_read import Tried

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
