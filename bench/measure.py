"""The cost of a command and all its processes: wall time, CPU time and peak memory."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bench.report import BenchError

RSS_EVERY_SECONDS = 0.25
PSS_EVERY_SECONDS = 1.0
"""Less often: the kernel walks the page tables for it, at the cost of the process that is measured."""
STRAGGLERS_SECONDS = 10.0
MEGABYTE = 1_000_000
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

Result = TypeVar("Result")


@dataclass(frozen=True)
class Cost:
    """Cost of a command with its children."""

    wall_seconds: float
    cpu_seconds: float
    """User and system, of every process in the tree."""
    peak_rss_mb: float
    """The largest sum of resident memory over the tree; pages shared by processes count for each."""
    peak_pss_mb: float
    """The same with shared pages divided among their holders."""
    exit_code: int


def cost_of(
    command: Sequence[str | Path],
    *,
    log: Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_seconds: float = 1800.0,
    beside: Callable[[int, threading.Event], None] | None = None,
) -> Cost:
    """Run a command and measure it. Its output goes to `log`.

    The command gets its own session, by which its processes are found. Processes that outlive their parent
    (a fork server, pool workers) become our children, so that their CPU time is counted as well.

    `beside` runs in a thread meanwhile, with the session and an event that is set when the command has ended.
    """
    _adopt_orphans()
    with log.open("wb") as out:
        started = time.monotonic()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=cwd, env=env, start_new_session=True
        )
        try:
            with (
                _sampled(process.pid) as peak,
                _killed_after(timeout_seconds, process.pid),
                _accompanied(process.pid, beside),
            ):
                _, status, usage = os.wait4(process.pid, 0)
                wall = time.monotonic() - started
            process.returncode = os.waitstatus_to_exitcode(status)
            cpu = usage.ru_utime + usage.ru_stime + _reap_stragglers(process.pid)
        finally:
            _end_session(process.pid)
    return Cost(wall, cpu, peak.rss / MEGABYTE, peak.pss / MEGABYTE, process.returncode)


def interleaved(contestants: Mapping[str, Callable[[int], Result]], rounds: int) -> Iterator[tuple[str, Result]]:
    """Each contestant once per round; each round starts with another one, so that none gets all quiet times."""
    names = list(contestants)
    for number in range(rounds):
        start = number % len(names)
        for name in names[start:] + names[:start]:
            yield name, contestants[name](number)


def processes_of(session: int) -> list[int]:
    """The living processes of a session, which is named by the pid of its first process."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            with suppress(OSError, IndexError):
                if _stat(int(entry.name))[3] == str(session):
                    found.append(int(entry.name))
    return found


def rss_of_tree(session: int) -> int:
    """Resident bytes, summed over the processes of a session."""
    total = 0
    for pid in processes_of(session):
        with suppress(OSError, IndexError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    return total


def pss_of_tree(session: int) -> int:
    """Proportional resident bytes, summed over the processes of a session."""
    total = 0
    for pid in processes_of(session):
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def cpu_of_tree(session: int) -> float:
    """CPU seconds so far of the living processes of a session, and of those children that they have waited for."""
    ticks = 0
    for pid in processes_of(session):
        with suppress(OSError, IndexError):
            ticks += sum(map(int, _stat(pid)[11:15]))
    return ticks / TICKS_A_SECOND


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name, which may itself hold spaces and brackets."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


class _Peak:
    rss = 0
    pss = 0


@contextmanager
def _sampled(session: int) -> Iterator[_Peak]:
    peak, stop = _Peak(), threading.Event()

    def sample() -> None:
        next_pss = time.monotonic()
        while not stop.wait(RSS_EVERY_SECONDS):
            peak.rss = max(peak.rss, rss_of_tree(session))
            if time.monotonic() >= next_pss:
                peak.pss = max(peak.pss, pss_of_tree(session))
                next_pss = time.monotonic() + PSS_EVERY_SECONDS

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()


@contextmanager
def _accompanied(session: int, beside: Callable[[int, threading.Event], None] | None) -> Iterator[None]:
    ended = threading.Event()
    thread = threading.Thread(target=beside, args=(session, ended), daemon=True) if beside is not None else None
    if thread is not None:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if thread is not None:
            thread.join()


@contextmanager
def _killed_after(seconds: float, session: int) -> Iterator[None]:
    timer = threading.Timer(seconds, _end_session, [session])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def end_with_parent() -> None:
    """For `preexec_fn`: the new process gets SIGTERM when we die, even by kill -9."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


_libc = ctypes.CDLL(None)  # loaded before any fork: between fork and exec there is no time for it


def _adopt_orphans() -> None:
    if _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise BenchError("this kernel cannot hand us orphaned processes; their CPU time would be lost")


def _reap_stragglers(session: int) -> float:
    """CPU seconds of processes that outlived the command; they must end by themselves, and soon."""
    cpu, deadline = 0.0, time.monotonic() + STRAGGLERS_SECONDS
    while time.monotonic() < deadline:
        try:
            pid, _, usage = os.wait4(-session, os.WNOHANG)
        except ChildProcessError:
            return cpu
        if pid:
            cpu += usage.ru_utime + usage.ru_stime
        else:
            time.sleep(0.01)
    raise BenchError("the command left processes running behind it")


def _end_session(session: int) -> None:
    for pid in processes_of(session):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
