"""`tenax demo`: the first thing a stranger runs."""

from __future__ import annotations

import re
from pathlib import Path

from tests.e2e.program import ended, page_lines, start, status, stored, tenax, until


def test_the_demo_shows_everything_and_says_what_to_try_next(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    quicker = ("--set", "fetch.total_timeout_seconds=2.5", "--set", "fetch.retry_base_seconds=0.1")
    process = start("demo", "--pages", "24", *quicker, "--dir", out)
    until(lambda: (out / "pages.jsonl").exists() and (out / "pages.jsonl").stat().st_size, "the first page")
    assert status(out)["is_running"] is True
    done = ended(process)
    assert done.code == 0
    assert "6 small websites run on this machine now; some of them behave badly" in done.err
    assert "Crawl complete: nothing is left to visit." in done.out
    assert len(stored(out)) == len(page_lines(out)) == status(out)["pages"] > 6 * 24
    steps = re.findall(r"python -m tenax (explain|status|export|dead-letters) ", done.out)
    assert steps == ["status", "explain", "explain", "explain", "export", "dead-letters"]
    [flaky] = re.findall(r"explain (http://\S+/moody) ", done.out)
    assert "Visited and stored" in tenax("explain", flaky, "--dir", out).out
    assert {"timed out", "truncated", "closed by robots.txt"} <= set(re.findall(r"\d+ ([a-z .]+)\n", done.out))


def test_one_host_with_the_failures_of_six_is_not_left_alone_for_minutes(tmp_path: Path) -> None:
    done = tenax("demo", "--hosts", "1", "--pages", "24", "--set", "fetch.retry_base_seconds=0.1", "--dir", tmp_path)
    assert done.code == 0
    assert "Crawl complete: nothing is left to visit." in done.out
    assert "retry budget" not in done.err
