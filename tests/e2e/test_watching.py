"""A crawl while it runs: what another process sees, log lines, the picture on a terminal, the metrics."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.fork_server import Running
from tests.e2e.program import (
    DEADLINE_SECONDS,
    INLINE,
    Demo,
    command,
    ended,
    environment,
    holds_once,
    start,
    tenax,
    until,
)

SLOW = ("--rate", "0.5")
"""So that it goes on for as long as others look at it, on a busy machine too: each look is a program to start."""
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ info +(notice|crawl started|crawling|crawl ended) .*")


@contextmanager
def running(demo: Demo, out: Path, *options: str) -> Iterator[Running]:
    process = start("crawl", *demo.seeds, *options, *INLINE, "--dir", out)
    try:
        until(lambda: process.poll() is not None or (out / "tenax.db").exists(), "the database")
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        ended(process)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def test_status_of_a_running_crawl(calm: Demo, tmp_path: Path) -> None:
    with running(calm, tmp_path, *SLOW):

        def looked() -> dict[str, object] | None:
            answer = tenax("status", "--json", "--dir", tmp_path)
            found: dict[str, object] = json.loads(answer.out) if answer.code == 0 else {}
            return found if found.get("pages") else None

        found = until(looked, "a page in the status")
        assert found["is_running"] is True
        assert 0 < int(str(found["pages"])) <= len(calm.pages)
        text = tenax("status", "--dir", tmp_path).out
        assert text.startswith(f"{tmp_path}   running   started ")
        assert "Nothing moves" not in text
        explained = tenax("explain", calm.seeds[0], "--dir", tmp_path)
        assert "Visited and stored" in explained.out
        assert tenax("export", "--dir", tmp_path).out.count("\n") >= 1


def test_log_lines_when_nobody_watches(calm: Demo, tmp_path: Path) -> None:
    done = tenax("crawl", *calm.seeds, "--rate", "0", "--per-host", "4", *INLINE, "--dir", tmp_path)
    lines = done.err.splitlines()
    assert all(LINE.fullmatch(line) for line in lines), done.err
    said = [found[1] for line in lines if (found := LINE.fullmatch(line))]
    assert (said[0], said[-1]) == ("notice", "crawl ended")
    assert "allowed because you typed them, these origins only" in lines[0]
    assert f"pages={len(calm.pages)}" in lines[-1]
    assert "\x1b" not in done.err + done.out


def test_log_lines_for_machines(calm: Demo, tmp_path: Path) -> None:
    done = tenax("crawl", calm.seeds[0], "--max-depth", "0", "--log-format", "json", *INLINE, "--dir", tmp_path)
    lines = [json.loads(line) for line in done.err.splitlines()]
    # Every few seconds it says that it is crawling, and who knows how long a busy machine takes.
    said = dict.fromkeys(line["message"] for line in lines)
    assert list(said) == ["notice", "crawl started", "crawling", "crawl ended"]
    assert lines[-1]["pages"] == 1


def test_metrics_while_it_crawls(calm: Demo, tmp_path: Path) -> None:
    port = free_port()
    with running(calm, tmp_path, *SLOW, "--metrics-port", str(port)):

        def scraped() -> str:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
                    text: str = answer.read().decode()
            except OSError:
                return ""
            wanted = (r"^crawler_frontier_size [1-9]", r"^crawler_pages_fetched_total [1-9]")
            return text if all(re.search(one, text, re.MULTILINE) for one in wanted) else ""

        text = until(scraped, "the metrics")
        assert re.search(r'^crawler_http_status_total\{code="200"\} [1-9]', text, re.MULTILINE)
        assert "crawler_active_workers 1.0" in text
        busy = tenax("crawl", calm.seeds[0], "--metrics-port", str(port), *INLINE, "--dir", tmp_path / "other")
        assert busy.code == 2
        assert f"port {port} on 127.0.0.1 is already in use" in busy.err


# ---- on a terminal ----------------------------------------------------------------------------------------


class Terminal:
    """A program on a pseudo-terminal, and what it wrote there."""

    def __init__(self, *arguments: str | Path, rows: int = 40, columns: int = 120) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        env = {k: v for k, v in environment(TERM="xterm-256color").items() if k not in ("COLUMNS", "NO_COLOR")}
        self.process = subprocess.Popen(
            command(*arguments),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=env,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self.written = ""

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def read_until(self, words: str) -> None:
        """Read what it writes until these words were among it, or until its end."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not words or words not in self.written:
            assert time.monotonic() < deadline, f"never wrote {words!r}:\n{self.written}"
            if not select.select([self._ours], [], [], 0.5)[0]:
                continue
            try:
                self.written += os.read(self._ours, 65536).decode(errors="replace")
            except OSError:  # the other side is closed: it has ended
                assert not words, f"ended without {words!r}:\n{self.written}"
                break

    def end(self) -> int:
        self.read_until("")
        return self.process.wait(DEADLINE_SECONDS)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *trouble: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(DEADLINE_SECONDS)
        os.close(self._ours)


def test_the_picture_on_a_terminal_and_a_clean_one_after_it(calm: Demo, tmp_path: Path) -> None:
    with Terminal("crawl", *calm.seeds, "--rate", "40", *INLINE, "--dir", tmp_path) as terminal:
        terminal.read_until("Ctrl-C finishes visits in flight and stops")
        assert "\x1b[?25l" in terminal.written  # the cursor is hidden while the picture is drawn
        assert terminal.end() == 0
    assert holds_once(tmp_path, calm.pages)
    hidden, shown = terminal.written.rindex("\x1b[?25l"), terminal.written.rindex("\x1b[?25h")
    assert hidden < shown
    left = terminal.written[shown:]
    assert "Crawl complete:" in left
    assert "waiting" not in left.partition("Try next")[0]
    assert "info " not in terminal.written  # no log lines in between
    assert "\x1b[?1049h" not in terminal.written  # what stood on the terminal before is still there


def test_ctrl_c_on_a_terminal(calm: Demo, tmp_path: Path) -> None:
    options = (*SLOW, "--set", "pool.processes=1", "--dir", tmp_path)
    with Terminal("crawl", *calm.seeds, *options) as terminal:
        terminal.read_until("pages")
        until(lambda: (tmp_path / "pages.jsonl").exists() and (tmp_path / "pages.jsonl").stat().st_size, "a page")
        terminal.type("\x03")
        assert terminal.end() == 130
    assert terminal.written.rindex("\x1b[?25h") > terminal.written.rindex("\x1b[?25l")
    assert "Interrupted:" in terminal.written
    assert "Resume with:" in terminal.written
    assert "Traceback" not in terminal.written


@pytest.mark.parametrize("columns", [40, 20])
def test_a_narrow_terminal_is_drawn_on_too(calm: Demo, tmp_path: Path, columns: int) -> None:
    options = ("--rate", "20", "--max-pages", "4", *INLINE, "--dir", tmp_path)
    with Terminal("crawl", calm.seeds[0], *options, columns=columns, rows=8) as terminal:
        assert terminal.end() == 0
    assert "Page limit reached" in terminal.written
