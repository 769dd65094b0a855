"""Nothing a command spends escapes the scales."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from subprocess import PIPE

from bench.measure import (
    PSS_EVERY_SECONDS,
    RSS_EVERY_SECONDS,
    cost_of,
    cpu_of_tree,
    interleaved,
    processes_of,
    pss_of_tree,
    rss_of_tree,
)
from tests.loops import FAULT_SECONDS

SPIN = "import time\nwhile time.process_time() < 0.4: pass\n"
HOLD = "import sys; block = b'x' * 60_000_000; sys.stdout.write('holding\\n'); sys.stdout.flush(); sys.stdin.read()"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_cpu_of_children_and_of_orphans_is_counted(tmp_path: Path) -> None:
    """The parent spins, waits for one spinning child, and leaves another one behind."""
    code = f"{SPIN}\nimport subprocess, sys\nspin = [sys.executable, '-c', {SPIN!r}]\n"
    code += "subprocess.run(spin)\nsubprocess.Popen(spin).returncode = 0"
    cost = cost_of(python(code), log=tmp_path / "log")
    assert cost.exit_code == 0
    assert 1.2 <= cost.cpu_seconds < 2.4, "each once"


def test_memory_of_all_processes_together() -> None:
    """Two children that hold 60 MB each until their parent, whose session it is, is told to end."""
    code = f"import subprocess, sys\nboth = [subprocess.Popen([sys.executable, '-c', {HOLD!r}]) for _ in 'ab']\n"
    code += "[one.wait() for one in both]"
    with subprocess.Popen(python(code), stdin=PIPE, stdout=PIPE, text=True, start_new_session=True) as parent:
        assert parent.stdin is not None and parent.stdout is not None
        assert [parent.stdout.readline() for _ in "ab"] == ["holding\n", "holding\n"]
        rss, pss = rss_of_tree(parent.pid), pss_of_tree(parent.pid)
        parent.stdin.close()
    assert len(processes_of(parent.pid)) == 0
    assert 120e6 < pss <= rss < 220e6


def test_the_peak_is_seen_while_it_lasts(tmp_path: Path) -> None:
    """The command holds its memory until both have been sampled after it was there."""
    release = tmp_path / "release"
    hold = "import os, time\nblock = b'x' * 60_000_000\nprint('holding', flush=True)\n"
    hold += f"while not os.path.exists({str(release)!r}): time.sleep(0.01)"

    def beside(session: int, ended: threading.Event) -> None:
        until = time.monotonic() + FAULT_SECONDS
        while "holding" not in (tmp_path / "log").read_text() and time.monotonic() < until:
            ended.wait(0.01)
        ended.wait(2 * PSS_EVERY_SECONDS + 2 * RSS_EVERY_SECONDS)
        release.touch()

    cost = cost_of(python(hold), log=tmp_path / "log", beside=beside)
    assert 60 < cost.peak_pss_mb <= cost.peak_rss_mb < 110


def test_someone_may_stand_beside_a_command_and_end_it(tmp_path: Path) -> None:
    spent: list[float] = []

    def beside(session: int, ended: threading.Event) -> None:
        while not ended.is_set() and cpu_of_tree(session) < 0.3:
            ended.wait(0.01)
        spent.append(cpu_of_tree(session))
        os.kill(session, signal.SIGTERM)

    cost = cost_of(python("while True: pass"), log=tmp_path / "log", timeout_seconds=60, beside=beside)
    assert cost.exit_code == -signal.SIGTERM
    assert 0.3 <= spent[0] <= cost.cpu_seconds + 0.02


def test_a_command_that_hangs_is_ended(tmp_path: Path) -> None:
    cost = cost_of(python("import time; time.sleep(3600)"), log=tmp_path / "log", timeout_seconds=0.3)
    assert cost.exit_code == -9
    assert cost.wall_seconds < 60


def test_each_round_starts_with_another_contestant() -> None:
    order = [name for name, _ in interleaved({"a": str, "b": str, "c": str}, 3)]
    assert "".join(order) == "abcbcacab"
