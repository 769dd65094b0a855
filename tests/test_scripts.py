"""The scripts on a machine that has only Python: in a copy of their own, with a small lock and a small program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = """
import os, sys
print(sys.argv[1:])
print(sorted(name for name in os.environ if name.startswith("TENAX_")))
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone whose lock names no package, so that setting up needs no network."""
    clone = tmp_path / "a clone"
    shutil.copytree(ROOT / "scripts", clone / "scripts")
    (clone / "locks").mkdir()
    (clone / "locks" / "runtime.txt").write_text("# nothing\n")
    (clone / "src" / "tenax").mkdir(parents=True)
    (clone / "src" / "tenax" / "__main__.py").write_text(PROGRAM)
    return clone


def tenax(
    clone: Path, *arguments: str, script: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TENAX_", "PIP_", "PYTHON"))}
    command: list[str | Path] = [script or clone / "scripts" / "tenax", *arguments]
    surroundings = clean | {"PYTHON": sys.executable} | environment
    return subprocess.run(command, capture_output=True, text=True, cwd="/", env=surroundings, check=False, timeout=120)


def test_sets_itself_up_once_and_passes_its_arguments_on(clone: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere"
    link.symlink_to(clone / "scripts" / "tenax")
    first = tenax(clone, "crawl", "two words", "", script=link)
    assert (first.returncode, first.stdout) == (0, "['crawl', 'two words', '']\n[]\n")
    assert first.stderr == "Setting up Tenax (first use)…\n"
    second = tenax(clone, "status")
    assert (second.returncode, second.stdout, second.stderr) == (0, "['status']\n[]\n", "")


def test_two_that_start_together_set_up_once(clone: Path) -> None:
    with ThreadPoolExecutor() as threads:
        both = list(threads.map(lambda word: tenax(clone, word), ["one", "two"]))
    assert [done.returncode for done in both] == [0, 0]
    assert sorted(done.stderr for done in both) == ["", "Setting up Tenax (first use)…\n"]


def test_a_changed_lock_is_installed_again(clone: Path) -> None:
    tenax(clone)
    (clone / "locks" / "runtime.txt").write_text("# nothing, but other words\n")
    assert tenax(clone).stderr == "Bringing .venv up to locks/runtime.txt…\n"
    assert tenax(clone).stderr == ""


def test_a_lost_interpreter_is_replaced(clone: Path) -> None:
    tenax(clone)
    for link in (clone / ".venv" / "bin").glob("python*"):
        link.unlink()
    assert tenax(clone, "again").stdout.startswith("['again']")


def test_an_old_python_is_refused_in_one_line(clone: Path) -> None:
    old = clone / "python-of-yore"
    old.write_text("#!/bin/sh\necho 3.9.2\n")
    old.chmod(0o755)
    done = tenax(clone, PYTHON=str(old))
    assert done.returncode == 1
    assert re.fullmatch(r"tenax: Tenax needs Python 3\.11 or newer, found 3\.9\.2: .*\n", done.stderr)


def test_no_network_is_said_in_one_line_and_leaves_nothing_half_done(clone: Path) -> None:
    lock = clone / "locks" / "runtime.txt"
    lock.write_text(f"nothing-of-that-name==1.0 --hash=sha256:{'0' * 64}\n")
    done = tenax(clone, PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_CONFIG_FILE=os.devnull)
    assert done.returncode == 1
    _, error = done.stderr.splitlines()
    assert error.startswith("tenax: set-up needs the network")
    lock.write_text("# nothing\n")
    assert tenax(clone, "later").stdout.startswith("['later']")


@pytest.mark.parametrize("lock", sorted((ROOT / "locks").glob("*.txt")), ids=lambda lock: lock.stem)
def test_a_lock_holds_names_versions_markers_and_hashes_only(lock: Path) -> None:
    package = re.compile(r"[a-z0-9-]+==[0-9][^ ]*( ; [^\\]+)? \\")
    digest = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
    for line in lock.read_text().splitlines():
        assert package.fullmatch(line) or digest.fullmatch(line), line


def test_the_development_lock_agrees_with_the_runtime_lock() -> None:
    """Both are installed into one environment."""
    pins = [
        set(re.findall(r"^([a-z0-9-]+==[^ ]+)", (ROOT / "locks" / name).read_text(), re.MULTILINE))
        for name in ("runtime.txt", "dev.txt")
    ]
    assert pins[0] < pins[1]


def test_every_script_may_be_run() -> None:
    scripts = [file for file in (ROOT / "scripts").iterdir() if not file.name.startswith("_")]
    assert all(os.access(file, os.X_OK) for file in [*scripts, ROOT / ".ci" / "run"])
