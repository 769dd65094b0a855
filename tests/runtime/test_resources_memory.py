"""Memory in a process that reads pages."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tenax.extract import extract_content
from tenax.runtime.resources import container_limit_bytes, pause_collection, used_bytes


@pytest.mark.parametrize("is_on", [True, False])
def test_nothing_is_collected_meanwhile_and_all_is_as_before_afterwards(is_on: bool) -> None:
    (gc.enable if is_on else gc.disable)()
    try:
        with pause_collection():
            assert not gc.isenabled()
        assert gc.isenabled() is is_on
        with pytest.raises(ZeroDivisionError), pause_collection():
            raise ZeroDivisionError
        assert gc.isenabled() is is_on
    finally:
        gc.enable()


def test_reading_a_page_leaves_nothing_to_collect() -> None:
    """So nothing grows while the collector is paused."""
    page = b"<!doctype html><title>T</title>" + b"<ul><li><a href=/x>one</a><td><p>Some words. <b>More" * 500
    extract_content(page, "text/html", url="https://h.example/", now=1.0)
    gc.collect()
    gc.disable()
    try:
        extract_content(page, "text/html", url="https://h.example/", now=1.0)
        assert gc.collect() < 1000
    finally:
        gc.enable()


HEAPS = """
import ctypes, threading
from tenax.runtime.resources import configure_memory
configure_memory()
blocks = []
threads = [threading.Thread(target=lambda: blocks.extend(bytes(4000) for _ in range(2000))) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc = ctypes.CDLL(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


def test_all_threads_have_their_memory_from_one_heap() -> None:
    malloc_info = subprocess.run([sys.executable, "-c", HEAPS], capture_output=True, text=True, check=True).stdout
    assert malloc_info.count("<heap nr=") == 1


# ---- how much is used, and may be -------------------------------------------------------------------------


GROWING = """
import subprocess, sys
from tenax.runtime.resources import used_bytes
before = used_bytes()
held = bytearray(b"x") * 80_000_000
print(used_bytes() - before)
program = "import sys; held = bytearray(b'x') * 80_000_000; print(flush=True); sys.stdin.read()"
child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print(used_bytes() - before)
child.communicate()
"""


def test_used_memory_grows_with_this_process_and_its_children() -> None:
    """In its own process: one that keeps freed memory may allocate without growing."""
    malloc_info = subprocess.run([sys.executable, "-c", GROWING], capture_output=True, text=True, check=True).stdout
    here, with_child = map(int, malloc_info.split())
    assert here > 60_000_000
    assert with_child > here + 60_000_000


def test_a_child_may_have_a_lower_number_than_its_parent(tmp_path: Path) -> None:
    """Process ids start again after the maximum."""
    family = {os.getpid(): 1, 7: os.getpid(), 5: 7, 9: 1}
    for pid, parent in family.items():
        directory = tmp_path / str(pid)
        directory.mkdir()
        (directory / "stat").write_text(f"{pid} (a ) name) S {parent} 0")
        (directory / "statm").write_text("900 100 10 0 0 0 0")
    assert used_bytes(tmp_path) == 3 * 90 * os.sysconf("SC_PAGE_SIZE")


def test_only_descendants_count(tmp_path: Path) -> None:
    ours = os.getpid()
    family = {ours: 1, ours + 1: ours, ours + 2: ours + 1, ours + 3: 1}
    for pid, parent in family.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a ) 1 (b) S {parent} 0 0")
        (tmp_path / str(pid) / "statm").write_text("1000 110 10 1 0 1 0")
    (tmp_path / str(ours + 4)).mkdir()  # it has just ended
    (tmp_path / "self").mkdir()
    assert used_bytes(tmp_path) == 3 * 100 * os.sysconf("SC_PAGE_SIZE")
    assert used_bytes(tmp_path / "nowhere") == 0


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/", {}, None),
        ("0::/", {"memory.max": "max"}, None),
        ("0::/", {"memory.max": "1000"}, 1000),
        ("0::/system.slice/tenax.service", {"system.slice/tenax.service/memory.max": "500", "memory.max": "900"}, 500),
        ("0::/system.slice/tenax.service", {"system.slice/tenax.service/memory.max": "max", "memory.max": "900"}, 900),
        ("5:cpu,memory:/a\n0::/", {"memory/a/memory.limit_in_bytes": "9223372036854771712"}, None),
        ("5:cpu,memory:/a\n0::/", {"memory/memory.limit_in_bytes": "700"}, 700),
        ("5:cpu:/a", {"memory/memory.limit_in_bytes": "700"}, None),
    ],
)
def test_what_a_container_allows(tmp_path: Path, groups: str, files: dict[str, str], limit: int | None) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups + "\n")
    for name, text in files.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    assert container_limit_bytes(tmp_path) == limit
    assert container_limit_bytes(tmp_path / "elsewhere") is None
