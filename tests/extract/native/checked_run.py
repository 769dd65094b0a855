"""Runs the tests of the native code, then mutated pages, with the library that has sanitizers; prints a line of JSON:

    LD_PRELOAD=libasan.so python -m tests.extract.native.checked_run LIBRARY

A process of its own: a sanitizer ends it at the first fault, and reports leaks when it exits.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from random import Random
from typing import Final

import pytest

from bench.fuzz_words import SEED_BYTES, mutated, seeds
from bench.soak_read import PAGES
from tenax.extract.document import extract_content
from tenax.extract.native import binding

MUTATED_PAGES: Final = 2_000
TESTS: Final = ("test_binding.py", "test_tree.py", "test_byline_marks.py", "test_near.py")


def extract_mutated_pages() -> int:
    """How many of them."""
    rng, pages = Random(1), [page[1:] for page in seeds("document", PAGES)]
    for number in range(MUTATED_PAGES):
        page = mutated(pages[number % len(pages)], 2 * SEED_BYTES, rng)
        extract_content(page, "text/html", url="https://h.example/2024/a-b", now=1.7e9)
    return MUTATED_PAGES


def loaded_library() -> str:
    """The path of the library in use, if its code and its memory are under the sanitizer."""
    ready = binding.load_native()
    if ready is None:
        return binding.native_refusal()
    page = ready.acquire_page()
    is_watched = ctypes.CDLL(None).__asan_address_is_poisoned
    is_watched.argtypes = (ctypes.c_void_p,)
    found = ready.functions._name if is_watched(page - 1) and not is_watched(page) else "memory without a sanitizer"
    ready.release_page(page)
    return found


def main() -> None:
    library = Path(sys.argv[1])
    pytest.MonkeyPatch().setattr(binding, "library_path", lambda: library)
    folder = Path(__file__).parent
    status = pytest.main(["-q", "-x", "-p", "no:cacheprovider", *(str(folder / name) for name in TESTS)])
    done = {"tests": int(status), "pages": extract_mutated_pages(), "library": loaded_library()}
    ready = binding.load_native()
    if ready is not None:
        ready.close()
    sys.stdout.write("\n" + json.dumps(done) + "\n")


if __name__ == "__main__":
    main()
