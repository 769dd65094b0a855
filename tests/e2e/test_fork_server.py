"""What is forked by a server is the program that its users start, but for the time that it takes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Crawled
from tests.e2e.fork_server import ForkServer
from tests.e2e.program import Ended, command, ended, environment, start, tenax, until

PROBE = """
import json, os, sys
json.dump([sys.argv[1:], os.getcwd(), sorted(os.listdir("/proc/self/fd")), os.getsid(0) == os.getpid(),
           [name for name in os.environ if name.startswith("PROBE")], sys.stdin.read()], sys.stdout)
sys.stderr.write("an error")
sys.exit(9)
"""


def started(*arguments: str | Path, cwd: Path) -> Ended:
    """By a Python of its own."""
    done = subprocess.run(
        command(*arguments), cwd=cwd, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "words", [("--version",), ("crwal",), ("db", "check"), ("export", "--where", "host=127.0.0.2")]
)
def test_it_says_what_one_that_is_started_says(crawled: Crawled, tmp_path: Path, words: tuple[str, ...]) -> None:
    arguments = (*words, *(("--dir", str(crawled.out)) if words[0] in ("db", "export") else ()))
    assert tenax(*arguments, cwd=tmp_path) == started(*arguments, cwd=tmp_path)


def test_a_process_has_what_one_that_is_started_has(tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(PROBE)
    env = environment(PROBE="1")
    plain = subprocess.run(
        [sys.executable, "-m", "probe", "two words", ""],
        cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, start_new_session=True,
    )  # fmt: skip
    server = ForkServer(environment())
    forked = server.start(["-m", "probe", "two words", ""], tmp_path, env)
    assert (*forked.communicate(), forked.wait()) == (plain.stdout, plain.stderr, plain.returncode)
    server.close()
    assert plain.returncode == 9


def test_a_signal_reaches_its_session_and_is_its_end(crawled: Crawled, tmp_path: Path) -> None:
    process = start("crawl", *crawled.demo.seeds, "--rate", "0.1", "--dir", tmp_path)
    until((tmp_path / "tenax.db").exists, "a crawl")
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.communicate(timeout=0.01)
    os.killpg(process.pid, signal.SIGKILL)
    assert ended(process).code == -signal.SIGKILL
