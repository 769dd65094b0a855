"""Nothing a command spends escapes the scales."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.measure import cost_of, interleaved

SPIN = "import time\nwhile time.process_time() < 0.3: pass\n"
HOLD = "import time; block = bytearray(60_000_000); time.sleep(0.5)"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_cpu_of_children_and_of_orphans_is_counted(tmp_path: Path) -> None:
    """The parent spins, waits for one spinning child, and leaves another one behind."""
    code = f"{SPIN}\nimport subprocess, sys\nspin = [sys.executable, '-c', {SPIN!r}]\n"
    code += "subprocess.run(spin)\nsubprocess.Popen(spin).returncode = 0"
    cost = cost_of(python(code), log=tmp_path / "log")
    assert cost.exit_code == 0
    assert 0.9 <= cost.cpu_seconds < 1.5


def test_memory_of_all_processes_together(tmp_path: Path) -> None:
    code = f"import subprocess, sys\nboth = [subprocess.Popen([sys.executable, '-c', {HOLD!r}]) for _ in 'ab']\n"
    cost = cost_of(python(code + "[one.wait() for one in both]"), log=tmp_path / "log")
    assert 120 < cost.peak_rss_mb < 220
    assert 120 < cost.peak_pss_mb <= cost.peak_rss_mb


def test_a_command_that_hangs_is_ended(tmp_path: Path) -> None:
    cost = cost_of(python("import time; time.sleep(60)"), log=tmp_path / "log", timeout_seconds=0.3)
    assert cost.exit_code == -9
    assert cost.wall_seconds < 10


def test_each_round_starts_with_another_contestant() -> None:
    order = [name for name, _ in interleaved({"a": str, "b": str, "c": str}, 3)]
    assert "".join(order) == "abcbcacab"
