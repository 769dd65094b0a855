"""Without the native code everything works, only slower: the program says so, and why."""

from __future__ import annotations

import re
import shutil
import signal
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pytest

from tenax.extract.native.build import library_path
from tests.e2e.program import ROOT, Demo, ended, environment, start, tenax, until
from tests.e2e.test_watching import free_port

NOT_BUILT = "the native code was not built"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with this package, without the native library."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(ROOT / "src" / "tenax", folder / "tenax", ignore=shutil.ignore_patterns("libtenax*"))
    return folder


@pytest.fixture
def without_native(package: Path) -> Mapping[str, str]:
    """The environment of a program that uses it."""
    return environment(PYTHONPATH=str(package))


def test_version_says_how_pages_are_extracted(without_native: Mapping[str, str], package: Path) -> None:
    head = r"tenax \S+\nPython 3\.\S+, Linux\S+\n"
    assert re.fullmatch(head + "extraction: by native code\n", tenax("--version", "--verbose").out)
    slower = "extraction: in Python, several times slower: "
    assert re.fullmatch(f"{head}{slower}{NOT_BUILT}\n", tenax("--verbose", "--version", env=without_native).out)
    built = library_path()
    assert built is not None
    broken = package / built.relative_to(ROOT / "src")
    broken.write_text("no library")
    said = tenax("--version", "--verbose", env=without_native).out
    broken.unlink()
    assert re.fullmatch(f"{head}{slower}the native code cannot be loaded: .*{built.name}: .+\n", said)


def test_crawl_says_that_it_was_slower_and_why(calm: Demo, tmp_path: Path, without_native: Mapping[str, str]) -> None:
    port = free_port()
    options = ("--rate", "10", "--metrics-port", str(port), "--dir", tmp_path)
    process = start("crawl", calm.seeds[0], *options, env=without_native)

    def count_pages() -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
                text: str = answer.read().decode()
        except OSError:
            return 0
        found = re.search(r"^crawler_pages_extracted_in_python_total ([\d.]+)$", text, re.MULTILINE)
        return int(float(found[1])) if found is not None else 0

    until(lambda: count_pages() > 1, "pages extracted in Python")
    process.send_signal(signal.SIGINT)
    done = ended(process)
    warnings = [line for line in done.err.splitlines() if "warning" in line]
    assert len(warnings) == 1 and "extracting in Python, several times slower" in warnings[0], done.err
    assert f'why="{NOT_BUILT}"' in warnings[0]
    rows = re.findall(r"^ *extraction +(\d+ pages) in Python, several times slower: (.*)$", done.out, re.MULTILINE)
    pages = re.search(r"^ *pages +(\d+)", done.out, re.MULTILINE)
    assert pages is not None and rows == [(f"{pages[1]} pages", NOT_BUILT)], done.out


def test_crawl_that_was_not_slower_than_wanted_says_nothing(calm: Demo, tmp_path: Path) -> None:
    options = ("--max-depth", "0", "--set", "pool.processes=0", "--dir", tmp_path)
    for wanted in ((), ("--set", "extract.native=false", "--restart")):
        done = tenax("crawl", calm.seeds[0], *options, *wanted)
        assert done.code == 0 and "in Python" not in done.err + done.out, done
