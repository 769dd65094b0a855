"""The native code under sanitizers: no access outside of its memory, no undefined behavior, no leak.

Its own sources are compiled with them, into a library that is kept until a source changes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tenax.extract.native.build import build
from tests.e2e.program import ROOT, environment
from tests.extract.native.checked_run import MUTATED_PAGES

# Names of functions would take longer than the tests. A stack of two calls shows who allocated.
OPTIONS = "detect_leaks=1:abort_on_error=1:symbolize=0:malloc_context_size=2"
NUMBERS = "numbers = (ctypes.c_uint64 * 70)(*range(1, 71))"
FAULTS = {
    "a read outside": (f"{NUMBERS}; library.native_set_tags(numbers)", "heap-buffer-overflow"),
    "memory used after it was freed": (
        "library.native_page_free(page), library.native_page_free(page)",
        "heap-use-after-free",
    ),
    "a misaligned read": (
        f"{NUMBERS}; library.native_set_tags(ctypes.addressof(numbers) + 1)",
        "misaligned address",
    ),
}
LEAK = "LeakSanitizer"


class Run(NamedTuple):
    status: int
    output: str
    report: str
    """Of the sanitizers."""


@pytest.fixture(scope="module")
def library() -> Path:
    return build(is_checked=True)


def run(folder: Path, *arguments: str | Path) -> Run:
    """A program under the sanitizers."""
    sanitizer = subprocess.check_output(["cc", "-print-file-name=libasan.so"], text=True).strip()
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={
            **environment(),
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
            "LD_PRELOAD": sanitizer,
            "ASAN_OPTIONS": f"{OPTIONS}:log_path={folder / 'report'}",
            "LSAN_OPTIONS": "exitcode=0",  # Python has leaks of its own
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Run(ran.returncode, ran.stdout, "".join(file.read_text() for file in folder.glob("report*")))


@pytest.fixture(scope="module")
def done(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(tmp_path_factory.mktemp("run"), "-m", "tests.extract.native.checked_run", library)


def test_native_code_has_no_faults(done: Run, library: Path) -> None:
    assert done.status == 0, f"{done.output}\n{done.report}"
    last = json.loads(done.output.splitlines()[-1])
    assert last == {"tests": 0, "pages": MUTATED_PAGES, "library": str(library)}, done.output


def test_native_code_has_no_leaks(done: Run, library: Path) -> None:
    assert LEAK in done.report, "Python's own are not found either"
    assert library.name not in done.report


def call(library: Path, calls: str) -> str:
    """A program that calls the library."""
    return (
        "import ctypes, sys; from tenax.extract.native import binding; from pathlib import Path\n"
        f"binding.library_path = lambda: Path({str(library)!r})\n"
        f"library = binding.load_native().functions; page = library.native_page_new(); {calls}"
    )


@pytest.mark.parametrize(("calls", "fault"), FAULTS.values(), ids=FAULTS)
def test_faults_are_detected(calls: str, fault: str, library: Path, tmp_path: Path) -> None:
    ran = run(tmp_path, "-c", call(library, calls))
    assert ran.status != 0 and fault in ran.report + ran.output


def test_leaks_are_detected(library: Path, tmp_path: Path) -> None:
    ran = run(tmp_path, "-c", call(library, "del page"))
    assert ran.status == 0 and LEAK in ran.report and library.name in ran.report
