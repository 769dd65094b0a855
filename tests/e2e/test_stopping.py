"""Ctrl-C, twice, SIGTERM: every signal that stops a crawl, and the crawl resumes from there."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.fork_server import Running
from tests.e2e.program import INLINE, Demo, ended, holds_once, page_lines, start, status, stored, tenax, until

SLOW = ("--rate", "2")
FAST = ("--rate", "0", "--per-host", "4")


def begun(calm: Demo, out: Path, *options: str) -> Running:
    """A crawl in the middle of its work."""
    process = start("crawl", *calm.seeds, *options, "--dir", out)
    file = out / "pages.jsonl"
    until(lambda: process.poll() is not None or (file.exists() and file.stat().st_size), "the first page")
    assert process.poll() is None
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_gently_and_it_goes_on(calm: Demo, tmp_path: Path, number: signal.Signals) -> None:
    """As a terminal does it: the signal goes to the readers too, who leave the decision to their parent."""
    process = begun(calm, tmp_path, *SLOW, "--set", "pool.processes=1")
    os.killpg(process.pid, number) if number is signal.SIGINT else process.send_signal(number)
    stopped = ended(process)
    assert stopped.code == 130
    assert "finishing visits in flight" in stopped.err
    assert "Interrupted: all visits in flight were finished and stored." in stopped.out
    assert stopped.out.splitlines()[-1] == f"Resume with:  python -m tenax crawl --dir {tmp_path}"
    assert "Traceback" not in stopped.err
    before = len(page_lines(tmp_path))
    assert 0 < before == len(stored(tmp_path)) < len(calm.pages)
    resumed = tenax("crawl", *calm.seeds, *FAST, *INLINE, "--dir", tmp_path)
    assert resumed.code == 0
    assert f"resuming: {before} pages stored" in resumed.err
    assert holds_once(tmp_path, calm.pages)


def test_the_second_ctrl_c_stops_at_once(tmp_path: Path) -> None:
    """While one visit never ends by itself: the first signal waits for it, the second does not."""
    with closing(_Tarpit()) as tarpit:
        process = start("crawl", tarpit.url, *INLINE, "--dir", tmp_path)
        tarpit.accept()
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert any("finishing visits in flight" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        stopped = ended(process)
    assert stopped.code == 130
    assert stopped.err.startswith("tenax: stopped at once; everything committed is safe; resume with:  python -m tenax")
    assert status(tmp_path)["waiting"] == 1


def test_after_a_stop_the_waiting_urls_can_be_explained(calm: Demo, tmp_path: Path) -> None:
    process = begun(calm, tmp_path, *SLOW, *INLINE)
    process.send_signal(signal.SIGINT)
    assert ended(process).code == 130
    with closing(sqlite3.connect(tmp_path / "tenax.db")) as db:
        url = db.execute("SELECT url FROM url_frontier WHERE depth > 0 LIMIT 1").fetchone()[0]
    explained = tenax("explain", url, "--dir", tmp_path).out
    assert "Waiting to be visited, due now." in explained
    assert "as a link on" in explained
    status_text = tenax("status", "--dir", tmp_path).out
    assert "not running" in status_text
    assert "No process is crawling. Resume with:  python -m tenax crawl" in status_text


class _Tarpit:
    """A server that takes connections and says nothing."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(60)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/"

    def accept(self) -> None:
        self._visitor, _ = self._listening.accept()
        self._visitor.settimeout(60)
        self._visitor.recv(1)

    def close(self) -> None:
        self._visitor.close()
        self._listening.close()
