"""Crawls the demo site with the real command, kills it at random times, restarts it, and checks the result.

A *round* is one crawl in one directory. The command is killed and restarted until the crawl completes; then the
database and the JSONL file must have every page of the site exactly once. After each kill a copy of the files is
checked too, so that the restarted command finds the originals unchanged.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from bench.measure import processes_of
from tenax.crawl.location import Location
from tenax.crawl.wiring import open_database
from tenax.database import PageFilter
from tenax.demo.behaviours import host_behaviours
from tenax.demo.server import DemoProcess, expected_pages
from tenax.model import Cursor

ROOT = Path(__file__).parent.parent
STYLES: dict[str, tuple[str, ...]] = {
    "gentle": ("--rate", "25"),
    "brisk": ("--rate", "100", "--per-host", "4"),
    "flat out": ("--rate", "0", "--per-host", "8"),
}
"""Options of a round: one request at a time, several, and without a pace; rounds alternate."""
SOON = ("--set", "fetch.retry_base_seconds=0.2", "--set", "fetch.total_timeout_seconds=5")
"""Shorter delays before a retry, and before the permit of a killed process expires: else a round would mostly wait."""
DEAD_LETTERS = {
    "truncated": "/cut-short",
    "bomb": "/bomb",
    "redirect-loop": "/and-round",
    "redirect-file": "/passwords",
}
"""By behaviour of the demo site: the dead letters of a correct crawl."""

OPENING_SHARE, MAIN_ONLY_SHARE = 0.15, 0.25
OPENING_SECONDS = (0.0, 0.6)
MOVING_SECONDS = (0.05, 1.5)
STUCK_SECONDS = 120.0
STRAGGLERS_SECONDS = 10.0


@dataclass
class Round:
    """One crawl from its first start to its last page, and its errors."""

    style: str
    kills: Counter[str] = field(default_factory=Counter)
    """Kills by time: `opening`, `moving`, and `main only` when the readers were not killed."""
    pages: int = 0
    lost: int = 0
    doubled: int = 0
    foreign: int = 0
    troubles: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def is_whole(self) -> bool:
        return not (self.lost or self.doubled or self.foreign or self.troubles)


@dataclass(frozen=True)
class Range:
    """The running site, its request log, and the result of a correct crawl."""

    demo: DemoProcess
    log: Path

    @property
    def pages(self) -> set[str]:
        return expected_pages(self.demo.site, self.demo.origins)

    @property
    def dead_letters(self) -> set[str]:
        site, origins = self.demo.site, self.demo.origins
        return {
            origins[index] + path
            for index in range(site.hosts)
            for name, path in DEAD_LETTERS.items()
            if name in host_behaviours(site, index)
        }

    def requests_bytes(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0


async def survive(range_: Range, out: Path, style: str, dice: Random, most_kills: int) -> Round:
    """Crawl the site into `out` with up to `most_kills` kills, until the crawl is complete."""
    round_ = Round(style)
    started = time.monotonic()
    sessions = []
    while True:
        process = await _start(range_.demo.origins, out, style)
        sessions.append(process.pid)
        try:
            how = await _shot(process, range_, dice) if round_.kills.total() < most_kills else None
            code = await asyncio.wait_for(process.wait(), STUCK_SECONDS)
        except TimeoutError:
            round_.troubles.append(f"no end and no request within {STUCK_SECONDS:g} s")
            break
        finally:
            _end(process)
        if code != -signal.SIGKILL:
            break
        round_.kills[how or "nobody"] += 1
        round_.troubles += await wreck_troubles(out)
    if code != 0:
        round_.troubles.append(f"the command ended with {code}: {_last_words(out)}")
    round_.troubles += await _straggler_troubles(sessions)
    await _judge(round_, out, range_.pages, range_.dead_letters)
    round_.seconds = time.monotonic() - started
    return round_


# ---- killing ----------------------------------------------------------------------------------------------


async def _start(origins: Sequence[str], out: Path, style: str) -> asyncio.subprocess.Process:
    """Start the command in its own session."""
    seeds = [f"{origin}/" for origin in origins]
    with _words(out).open("ab") as words:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tenax", "crawl", *seeds, *STYLES[style], *SOON, "--dir", str(out)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            env=_environment(),
            start_new_session=True,
        )


async def _shot(process: asyncio.subprocess.Process, range_: Range, dice: Random) -> str | None:
    """Kill it at a random time; returns how, or None when it ended before. Remaining readers must end by themselves."""
    is_main_only = dice.random() < MAIN_ONLY_SHARE
    if dice.random() < OPENING_SHARE:
        when, seconds = "opening", dice.uniform(*OPENING_SECONDS)
    else:
        when, seconds = "moving", dice.uniform(*MOVING_SECONDS)
        await _moving(process, range_)
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), seconds)
    if process.returncode is not None:
        return None
    if is_main_only:
        process.kill()
        return f"{when}, main only"
    os.killpg(process.pid, signal.SIGKILL)
    return when


async def _moving(process: asyncio.subprocess.Process, range_: Range) -> None:
    """Wait for its first request."""
    before, deadline = range_.requests_bytes(), time.monotonic() + STUCK_SECONDS
    while range_.requests_bytes() == before and process.returncode is None:
        if time.monotonic() > deadline:
            raise TimeoutError
        await asyncio.sleep(0.005)


def _end(process: asyncio.subprocess.Process) -> None:
    """Kill its processes when we are interrupted."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


async def _straggler_troubles(sessions: Sequence[int]) -> list[str]:
    """Readers end when their socket closes; one that stays is an error."""
    deadline = time.monotonic() + STRAGGLERS_SECONDS
    while alive := [pid for session in sessions for pid in processes_of(session) if _is_alive(pid)]:
        if time.monotonic() > deadline:
            return [f"{len(alive)} processes outlived the crawl"]
        await asyncio.sleep(0.05)
    return []


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def _environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    return {**ours, "PYTHONPATH": str(ROOT / "src")}


def _words(out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    return out / "words.txt"


def _last_words(out: Path) -> str:
    return _words(out).read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]


# ---- checking the files -----------------------------------------------------------------------------------


async def wreck_troubles(out: Path) -> list[str]:
    """Errors in the files of a killed crawl; there must be none at any time."""
    if not (out / "tenax.db").exists():
        return []
    with tempfile.TemporaryDirectory(prefix="wreck-", dir=out) as directory:
        for name in ("tenax.db", "tenax.db-wal", "pages.jsonl"):
            if (out / name).exists():
                shutil.copy(out / name, directory)
        return await _troubles(Path(directory))


async def _troubles(out: Path) -> list[str]:
    """Checks that the database is consistent, and agrees with the file up to its cursor."""
    with closing(sqlite3.connect(out / "tenax.db")) as db:
        [(health,)] = db.execute("PRAGMA integrity_check").fetchall()
        if health != "ok":
            return [f"the database is damaged: {health}"]
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'url_frontier'").fetchone() is None:
            return []  # killed before the tables were created
        [(waiting,)] = db.execute("SELECT count(*) FROM url_frontier").fetchall()
        [(pages,)] = db.execute("SELECT count(*) FROM crawled_pages WHERE content_hash <> ''").fetchall()
        [(known,)] = db.execute(
            "SELECT count(*) FROM (SELECT url FROM url_frontier UNION SELECT url FROM crawled_pages)"
        ).fetchall()
    database = await open_database(Location(out), read_only=True)
    try:
        status = await database.status()
        cursor = status.cursors.get("jsonl", Cursor())
        outbox = [event.seq for event in await database.events(cursor.seq, pages + 1)]
    finally:
        await database.close()
    counted = {
        "waiting": (status.waiting, waiting),
        "pages": (status.pages, pages),
        "known": (status.waiting + status.settled + status.dead + sum(status.parked.values()), known),
    }
    troubles = [
        f"{name}: {said} are counted, {there} are there" for name, (said, there) in counted.items() if said != there
    ]
    if outbox != list(range(cursor.seq + 1, pages + 1)):
        troubles.append(f"{pages} pages are stored, but the outbox does not hold the events after {cursor.seq}")
    return troubles + _file_troubles(out / "pages.jsonl", cursor)


def _file_troubles(file: Path, cursor: Cursor) -> list[str]:
    """The file up to the cursor's position has the events up to the cursor's number."""
    data = file.read_bytes()[: cursor.position] if file.exists() else b""
    seqs = [json.loads(line)["seq"] for line in data.splitlines()] if data.endswith(b"\n") or not data else []
    if len(data) == cursor.position and seqs == list(range(1, cursor.seq + 1)):
        return []
    return [f"the file does not hold events 1 to {cursor.seq} in {cursor.position} bytes"]


async def _judge(round_: Round, out: Path, pages: set[str], dead_letters: set[str]) -> None:
    """Check a complete crawl: lost and duplicate pages in the database and in the file."""
    if not (out / "tenax.db").exists() or not (out / "pages.jsonl").exists():
        round_.troubles.append("there is no database or no file at the end")
        round_.lost += len(pages)
        return
    round_.troubles += await _troubles(out)
    lines = _lines(round_, out / "pages.jsonl")
    database = await open_database(Location(out), read_only=True)
    try:
        stored = [(page.url, page.content_hash) async for page in database.pages(PageFilter())]
        dead = {dead_letter.url async for dead_letter in database.dead_letters()}
        waiting = database.counts().waiting
    finally:
        await database.close()
    for found in (Counter(url for url, _ in stored), Counter(str(line["url"]) for line in lines)):
        round_.lost += len(pages - found.keys())
        round_.foreign += len(found.keys() - pages)
        round_.doubled += found.total() - len(found)
    round_.pages = len(stored)
    if waiting:
        round_.troubles.append(f"{waiting} URLs still wait")
    if dead != dead_letters:
        round_.troubles.append(f"dead letters: {sorted(dead ^ dead_letters)}")
    if set(stored) != {(line["url"], line["content_hash"]) for line in lines}:
        round_.troubles.append("the file differs from the database")
    if [line["seq"] for line in lines] != list(range(1, len(lines) + 1)):
        round_.troubles.append("event numbers are not consecutive")


def _lines(round_: Round, file: Path) -> list[dict[str, object]]:
    data = file.read_bytes()
    if data and not data.endswith(b"\n"):
        round_.troubles.append("the last line of the file is cut off")
    lines = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            lines.append(json.loads(line))
        except ValueError:
            round_.troubles.append(f"line {number} of the file is no JSON")
    return lines
