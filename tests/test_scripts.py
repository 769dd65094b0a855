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
KERNEL = Path("src", "tenax", "parse", "kernel")
COMPILERS = {"cc", "gcc", "clang"}
SLOWER = "Pages will be read in Python, at several times the cost: "


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone whose lock names no package, so that setting up needs no network."""
    clone = tmp_path / "a clone"
    shutil.copytree(ROOT / "scripts", clone / "scripts")
    (clone / "locks").mkdir()
    (clone / "locks" / "runtime.txt").write_text("# nothing\n")
    (clone / "src" / "tenax").mkdir(parents=True)
    (clone / "src" / "tenax" / "__main__.py").write_text(PROGRAM)
    (clone / KERNEL).mkdir(parents=True)
    shutil.copy(ROOT / KERNEL / "build.py", clone / KERNEL)
    (clone / KERNEL / "answer.c").write_text("int answer(void) { return 42; }\n")
    return clone


@pytest.fixture
def bare_path(tmp_path: Path) -> str:
    """A PATH with the commands of this machine, but no compiler and nothing to install one by."""
    folder = tmp_path / "commands"
    folder.mkdir()
    for directory in ("/usr/bin", "/bin"):
        for command in Path(directory).iterdir():
            if command.name not in COMPILERS | {"apt-get"} and not (folder / command.name).is_symlink():
                (folder / command.name).symlink_to(command)
    return str(folder)


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


def libraries(clone: Path) -> list[str]:
    return [file.name for file in (clone / KERNEL).glob("*.so")]


def test_the_kernel_is_built_once_and_again_when_a_source_changes(clone: Path) -> None:
    tenax(clone)
    (first,) = (clone / KERNEL).glob("libtenax-*.so")
    built_at = first.stat().st_mtime_ns
    assert tenax(clone).stderr == "" and first.stat().st_mtime_ns == built_at
    (clone / KERNEL / "answer.c").write_text("int answer(void) { return 43; }\n")
    done = tenax(clone, "later")
    assert (done.stdout, done.stderr) == ("['later']\n[]\n", "")
    (second,) = libraries(clone)
    assert second != first.name


def test_a_kernel_that_was_removed_is_built_again(clone: Path) -> None:
    tenax(clone)
    before = libraries(clone)
    (clone / KERNEL / before[0]).unlink()
    tenax(clone)
    assert libraries(clone) == before


def test_without_a_compiler_one_line_says_so_once_and_a_new_compiler_is_used(clone: Path, bare_path: str) -> None:
    first = tenax(clone, "crawl", PATH=bare_path)
    assert first.stdout.startswith("['crawl']") and libraries(clone) == []
    _, line = first.stderr.splitlines()
    assert line.startswith(f"{SLOWER}there is no C compiler. Install one, and it will be used")
    assert tenax(clone, PATH=bare_path).stderr == ""
    assert tenax(clone).stderr == "" and len(libraries(clone)) == 1


def test_a_compiler_that_does_not_work_is_not_tried_at_every_start(clone: Path, bare_path: str) -> None:
    tried = clone / "tried"
    compiler = Path(bare_path, "cc")
    compiler.write_text(f"#!/bin/sh\necho once >>'{tried}'\necho 'no headers here' >&2\nexit 1\n")
    compiler.chmod(0o755)
    assert f"{SLOWER}no C compiler works here (cc: no headers here)" in tenax(clone, PATH=bare_path).stderr
    assert tenax(clone, PATH=bare_path).stderr == ""
    assert tried.read_text() == "once\n"


def test_a_kernel_that_does_not_compile_stops_nobody(clone: Path) -> None:
    source = clone / KERNEL / "answer.c"
    source.write_text("int answer(void) { return }\n")
    done = tenax(clone, "crawl")
    assert (done.returncode, done.stdout) == (0, "['crawl']\n[]\n")
    _, line = done.stderr.splitlines()
    log = clone / KERNEL / "libtenax.log"
    assert line.startswith(f"{SLOWER}the kernel cannot be built: answer.c:1:") and line.endswith(f"(details: {log})")
    assert "answer.c:1:" in log.read_text()
    assert tenax(clone).stderr == ""
    source.write_text("int answer(void) { return 42; }\n")
    assert tenax(clone).stderr == "" and len(libraries(clone)) == 1 and not log.exists()


def test_whoever_tests_tenax_cannot_do_without_the_kernel(clone: Path, bare_path: str) -> None:
    tenax(clone, PATH=bare_path)
    asking = clone / "scripts" / "asking"
    asking.write_text('#!/usr/bin/env bash\nset -euo pipefail\nsource "${0%/*}/_setup.sh"\nrequire_kernel\n')
    asking.chmod(0o755)
    without = tenax(clone, script=asking, PATH=bare_path)
    assert without.returncode == 1
    assert without.stderr == (
        "asking: cc is not on PATH: install it (Debian and Ubuntu: apt-get install gcc libc6-dev)\n"
    )
    source = clone / KERNEL / "answer.c"
    source.write_text("int answer(void) { return }\n")
    for _ in range(2):
        broken = tenax(clone, script=asking)
        assert broken.returncode == 1
        assert broken.stderr.startswith("asking: the tests need the kernel: the kernel cannot be built: answer.c:1:")
    source.write_text("int answer(void) { return 42; }\n")
    assert tenax(clone, script=asking).returncode == 0


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
