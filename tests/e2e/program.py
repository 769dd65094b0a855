"""Tenax as its users have it: a process with arguments, files, signals and an exit code."""

from __future__ import annotations

import atexit
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tenax.demo import Site
from tenax.demo.server import LogLine, expected_pages
from tests.e2e.fork_server import ForkServer, Running

ROOT = Path(__file__).parents[2]
DEADLINE_SECONDS = 180.0
INLINE = ("--set", "pool.processes=0")
"""No reader processes: they are of no use to a crawl of a few pages, and starting them takes time."""

ONE_AFTER_THE_OTHER = """
import json, sys
from tenax.cli import main
codes = []
for arguments in json.loads(sys.argv[1]):
    for stream in (sys.stdout, sys.stderr):
        print(end=chr(0), file=stream, flush=True)
    codes.append(main(arguments))
print(chr(0), *codes)
"""
"""Commands in one process. What each prints comes after a NUL, in both streams; last of all come their exit codes."""

Found = TypeVar("Found")
_started: list[Running] = []
_numbers = count()


class Ended(NamedTuple):
    """A command that came to its end."""

    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    """Ours, without settings that would reach into the program under test."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    return {**ours, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "200", "NO_COLOR": "1", **more}


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "tenax", *map(str, arguments)]


def start(
    *arguments: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> Running:
    """The program, running in a session of its own, so that a signal can reach it and its readers together."""
    return _start_python("-m", "tenax", *map(str, arguments), cwd=cwd, env=env, before=before)


def _start_python(
    *arguments: str, cwd: Path | None, env: Mapping[str, str] | None, before: Callable[[], None] | None = None
) -> Running:
    """Forked by a server that has imported the program, unless something is to be done `before` it starts, or other
    modules are to be imported."""
    env = env or environment()
    process: Running
    if before is None and env["PYTHONPATH"] == environment()["PYTHONPATH"]:
        process = _fork_server().start(arguments, cwd, env)
    else:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env=env,
            preexec_fn=before,
            start_new_session=True,
        )
    _started.append(process)
    return process


def _fork_server() -> ForkServer:
    """One of two, in turn: each has other hashes of texts, so what one command stores is read with other hashes."""
    return _numbered_server(next(_numbers) % 2)


@cache
def _numbered_server(number: int) -> ForkServer:
    server = ForkServer(environment())
    atexit.register(server.close)
    return server


def end_all() -> None:
    """After a test that failed in the middle: leave nothing running."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def ended(process: Running) -> Ended:
    """Wait for its end; one that does not come to it is killed, and fails the test."""
    try:
        out, err = process.communicate(timeout=DEADLINE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"no end within {DEADLINE_SECONDS:g} s:\n{out}\n{err}") from None
    return Ended(process.wait(), out, err)


def tenax(
    *arguments: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> Ended:
    return ended(start(*arguments, cwd=cwd, env=env, before=before))


def together(*commands: Sequence[str | Path]) -> list[Ended]:
    """Several commands at the same time."""
    return [ended(process) for process in [start(*arguments) for arguments in commands]]


def in_turn(
    *commands: Sequence[str | Path],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> list[Ended]:
    """Several commands, run one after the other in one process."""
    words = json.dumps([[str(word) for word in arguments] for arguments in commands])
    code, output, errors = ended(_start_python("-c", ONE_AFTER_THE_OTHER, words, cwd=cwd, env=env, before=before))
    assert code == 0, errors
    _, *prints, codes = output.split("\0")
    said, *complaints = errors.split("\0")
    assert said == "", errors
    return [Ended(int(code), out, err) for code, out, err in zip(codes.split(), prints, complaints, strict=True)]


def in_one_process(*commands: Sequence[str | Path], cwd: Path | None = None) -> list[str]:
    """What several commands that only ask print."""
    answers = in_turn(*commands, cwd=cwd)
    assert {(answer.code, answer.err) for answer in answers} == {(0, "")}, answers
    return [answer.out for answer in answers]


def until(condition: Callable[[], Found | None], what: str, pause_seconds: float = 0.01) -> Found:
    """Wait for a condition, and give what made it true. One that is dear to ask for wants a longer pause."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(pause_seconds)
    return found


# ---- the demo site ----------------------------------------------------------------------------------------


class Demo(NamedTuple):
    """A demo site that runs."""

    site: Site
    origins: tuple[str, ...]
    log: Path

    @property
    def seeds(self) -> tuple[str, ...]:
        return tuple(f"{origin}/" for origin in self.origins)

    @property
    def pages(self) -> set[str]:
        """What a correct crawl of all hosts stores."""
        return expected_pages(self.site, self.origins)

    def requests(self) -> list[LogLine]:
        """What the site was asked, in order; a line that is just being written is left out."""
        import msgspec

        whole = self.log.read_bytes().rpartition(b"\n")[0] if self.log.exists() else b""
        return [msgspec.json.decode(line, type=LogLine) for line in whole.splitlines()]

    def asked(self, path: str) -> int:
        return sum(request.path == path for request in self.requests())


@contextmanager
def serving(site: Site, log: Path, port: int = 0) -> Iterator[Demo]:
    """The demo site in a process of its own while the block runs; on any port that is free, unless one is given."""
    options = [
        *("--hosts", str(site.hosts), "--pages", str(site.pages_per_host), "--seed", str(site.seed)),
        *("--behaviours", site.behaviours, "--log", str(log), "--port", str(port)),
    ]
    stdin, until_closed = os.pipe()
    process = _fork_server().start(["-m", "tenax.demo", *options], None, environment(), stdin)
    os.close(stdin)
    try:
        yield Demo(site, tuple(json.loads(process.stdout.readline())["origins"]), log)
    finally:
        os.close(until_closed)
        process.communicate(timeout=DEADLINE_SECONDS)


# ---- what a crawl left behind -----------------------------------------------------------------------------


def page_lines(out: Path) -> list[dict[str, Any]]:
    """The lines of `pages.jsonl`, each of them whole."""
    data = (out / "pages.jsonl").read_bytes()
    assert not data or data.endswith(b"\n")
    return [json.loads(line) for line in data.splitlines()]


def urls(out: Path) -> list[str]:
    return [line["url"] for line in page_lines(out)]


def stored(out: Path) -> list[str]:
    """The URLs of the pages in the database, in the words it has for people who open it."""
    with closing(sqlite3.connect(out / "tenax.db")) as db:
        return [url for (url,) in db.execute("SELECT url FROM crawled_pages WHERE content_hash <> ''")]


def holds_once(out: Path, pages: set[str]) -> bool:
    """Each of these pages exactly once, in the database and in the file, and nothing else."""
    wanted = sorted(pages)
    seqs = [line["seq"] for line in page_lines(out)]
    return sorted(stored(out)) == sorted(urls(out)) == wanted and seqs == list(range(1, len(wanted) + 1))


def status(out: Path) -> dict[str, Any]:
    answer = tenax("status", "--json", "--dir", out)
    assert answer.code == 0, answer.err
    found: dict[str, Any] = json.loads(answer.out)
    return found
