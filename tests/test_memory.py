"""Memory in a process that reads pages."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from tenax.memory import uncollected
from tenax.parse import read_document


@pytest.mark.parametrize("is_on", [True, False])
def test_nothing_is_collected_meanwhile_and_all_is_as_before_afterwards(is_on: bool) -> None:
    (gc.enable if is_on else gc.disable)()
    try:
        with uncollected():
            assert not gc.isenabled()
        assert gc.isenabled() is is_on
        with pytest.raises(ZeroDivisionError), uncollected():
            raise ZeroDivisionError
        assert gc.isenabled() is is_on
    finally:
        gc.enable()


def test_reading_a_page_leaves_nothing_to_collect() -> None:
    """So nothing grows while the collector does not look."""
    page = b"<!doctype html><title>T</title>" + b"<ul><li><a href=/x>one</a><td><p>Some words. <b>More" * 500
    read_document(page, "text/html", url="https://h.example/", now=1.0)
    gc.collect()
    gc.disable()
    try:
        read_document(page, "text/html", url="https://h.example/", now=1.0)
        assert gc.collect() < 1000
    finally:
        gc.enable()


HEAPS = """
import ctypes, threading
from tenax.memory import settle_memory
settle_memory()
blocks = []
threads = [threading.Thread(target=lambda: blocks.extend(bytes(4000) for _ in range(2000))) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc = ctypes.CDLL(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


def test_all_threads_have_their_memory_from_one_heap() -> None:
    told = subprocess.run([sys.executable, "-c", HEAPS], capture_output=True, text=True, check=True).stdout
    assert told.count("<heap nr=") == 1
