"""How the native library is built: sources of two lines in a separate folder, compilers of this machine."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tenax.extract.native import build as builder
from tenax.extract.native.build import (
    BUILD_FAILED,
    LOG_NAME,
    NO_COMPILER,
    UNICODE_TABLES_NAME,
    WHEEL_LIBRARY_NAME,
    library_path,
)

ANSWER = '/* Answers. */\n#include "twice.h"\nint answer(int x) { return twice(x) + 1; }\n'
TWICE = '/* Doubles. */\n#include "twice.h"\nint twice(int x) { return 2 * x; }\n'
HEADER = "/* Doubles. */\nint twice(int x);\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "a library"
    folder.mkdir()
    shutil.copy(builder.__file__, folder / "build.py")
    (folder / "answer.c").write_text(ANSWER)
    (folder / "twice.c").write_text(TWICE)
    (folder / "twice.h").write_text(HEADER)
    return folder


def build(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(folder / "build.py"), *arguments]
    clean = {name: value for name, value in os.environ.items() if name != "CC"}
    return subprocess.run(command, capture_output=True, text=True, cwd="/", env=clean | environment, check=False)


def libraries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.so"))


def answer(library: Path) -> int:
    """In a separate process, because a faulty library may crash it."""
    calling = f"import ctypes; print(ctypes.CDLL({str(library)!r}).answer(20))"
    return int(subprocess.check_output([sys.executable, "-I", "-c", calling]))


def test_library_is_built_beside_the_sources(folder: Path) -> None:
    assert library_path(folder) is None
    done = build(folder)
    (library,) = libraries(folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{library}\n", "")
    assert library_path(folder) == library and answer(library) == 41
    assert {file.suffix for file in folder.iterdir()} == {".c", ".h", ".py", ".so"}, "nothing else is left there"


def test_existing_library_is_not_rebuilt(folder: Path) -> None:
    build(folder)
    (library,) = libraries(folder)
    built_at = library.stat().st_mtime_ns
    assert build(folder, PATH="/nowhere").returncode == 0, "nor is a compiler looked for"
    assert library.stat().st_mtime_ns == built_at


@pytest.mark.parametrize("version", ["0.0.0", unicodedata.unidata_version])
def test_unicode_tables_match_this_python(folder: Path, version: str) -> None:
    shutil.copy(Path(builder.__file__).with_name("make_unicode.py"), folder)
    (folder / "unicode_data.h").write_text(f'#define UNICODE_VERSION "{version}"\n#define DECIMAL "not made anew"\n')
    about = '#include "unicode_data.h"\nconst char *version = UNICODE_VERSION;\nint size = sizeof DECIMAL;\n'
    (folder / "about.c").write_text(about)
    assert build(folder).returncode == 0
    library = ctypes.CDLL(str(library_path(folder)))
    assert ctypes.c_char_p.in_dll(library, "version").value == unicodedata.unidata_version.encode()
    is_made = ctypes.c_int.in_dll(library, "size").value != len("not made anew") + 1
    assert is_made == (version == "0.0.0")


def test_committed_unicode_tables_are_current() -> None:
    """By the Python version of the tables; another generates its own."""
    native = Path(builder.__file__).parent
    kept = (native / UNICODE_TABLES_NAME).read_text()
    output = subprocess.check_output([sys.executable, "-I", str(native / "make_unicode.py")], text=True)
    assert (output == kept) == (f'"{unicodedata.unidata_version}"' in kept)


@pytest.mark.parametrize("name", ["answer.c", "twice.h"])
def test_changed_source_makes_a_new_library_and_removes_the_old(folder: Path, name: str) -> None:
    build(folder)
    (older,) = libraries(folder)
    source = folder / name
    source.write_text(f"{source.read_text()}/* Changed. */\n")
    assert library_path(folder) is None
    build(folder)
    assert older not in libraries(folder) and libraries(folder) == [library_path(folder)]


def test_renamed_or_removed_source_makes_a_new_library(folder: Path) -> None:
    names = set()
    build(folder)
    names.add(library_path(folder))
    (folder / "twice.c").rename(folder / "double.c")
    build(folder)
    names.add(library_path(folder))
    (folder / "double.c").unlink()
    (folder / "answer.c").write_text("int answer(int x) { return x; }\n")
    build(folder)
    names.add(library_path(folder))
    assert len(names) == 3 and None not in names


def test_build_in_another_folder(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    done = build(folder, "--out", str(out))
    (library,) = libraries(out)
    assert done.stdout == f"{library}\n" and libraries(folder) == []


def test_missing_compiler_has_its_own_exit_code(folder: Path) -> None:
    done = build(folder, PATH="/nowhere")
    assert (done.returncode, done.stdout, done.stderr) == (NO_COMPILER, "", "there is no C compiler\n")
    assert library_path(folder) is None


def compiler(folder: Path, name: str, script: str) -> Path:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def test_broken_compiler_is_skipped(folder: Path, tmp_path: Path) -> None:
    broken = compiler(tmp_path, "cc", "echo 'fatal error: math.h: No such file' >&2; exit 1")
    compiler(tmp_path, "clang", f'exec {shutil.which("cc")} "$@"')
    assert build(folder, PATH=f"{tmp_path}:/usr/bin:/bin").returncode == 0
    assert library_path(folder)
    done = build(folder, "--out", str(tmp_path), "--cc", str(broken))
    assert done.returncode == NO_COMPILER
    assert done.stderr == f"no C compiler works here ({broken}: fatal error: math.h: No such file)\n"


def test_compiler_for_another_machine_is_skipped(folder: Path, tmp_path: Path) -> None:
    foreign = compiler(tmp_path, "foreign", 'while [ "$1" != -o ]; do shift; done; echo text >"$2"')
    done = build(folder, "--cc", str(foreign))
    assert done.returncode == NO_COMPILER and "probe.so" in done.stderr


def test_cc_variable_comes_first(folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "used"
    mine = compiler(tmp_path, "mine", f'echo used >"{mark}"; exec {shutil.which("cc")} "$@"')
    assert build(folder, CC=f"{mine} -DTHREE=3").returncode == 0
    assert mark.exists()


@pytest.mark.parametrize(
    ("source", "first_error"),
    [
        pytest.param("int answer(int x) { return }\n", "answer.c:1:", id="it is no C"),
        pytest.param("int answer(int x) { return thrice(x); }\n", "thrice", id="a function is nowhere"),
    ],
)
def test_compile_error_leaves_a_log_and_no_library(folder: Path, source: str, first_error: str) -> None:
    build(folder)
    (folder / "answer.c").write_text(source)
    done = build(folder)
    log = folder / LOG_NAME
    assert done.returncode == BUILD_FAILED and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.endswith(f"(details: {log})\n")
    assert first_error in done.stderr and first_error in log.read_text()
    assert libraries(folder) == [] and not list(folder.glob(".building-*"))
    (folder / "answer.c").write_text(ANSWER)
    assert build(folder).returncode == 0 and not log.exists()


def test_unwritable_folder_is_reported_in_one_line(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = build(folder, "--out", str(tmp_path / "file"))
    assert done.returncode == BUILD_FAILED and done.stderr.count("\n") == 1


def test_concurrent_builds(folder: Path) -> None:
    with ThreadPoolExecutor() as threads:
        done = list(threads.map(lambda _: build(folder), range(4)))
    assert [one.returncode for one in done] == [0] * 4
    assert len({one.stdout for one in done}) == 1
    (library,) = libraries(folder)
    assert answer(library) == 41 and not list(folder.glob(".building-*"))


def test_builds_are_reproducible(folder: Path, tmp_path: Path) -> None:
    contents = []
    for name in ("one", "two"):
        build(folder, "--out", str(tmp_path / name))
        contents.append(libraries(tmp_path / name)[0].read_bytes())
    assert contents[0] == contents[1]


def test_library_calls_its_own_functions(folder: Path) -> None:
    """Python itself has a `PyOS_strtol`, which every library would otherwise call instead of its own."""
    (folder / "twice.h").write_text("#define twice PyOS_strtol\nint twice(int x);\n")
    build(folder)
    (library,) = libraries(folder)
    assert answer(library) == 41


def test_checked_library_detects_errors(folder: Path) -> None:
    (folder / "answer.c").write_text("int answer(int x) { return x + 2147483647; }\n")
    build(folder)
    done = build(folder, "--checked")
    assert done.returncode == 0 and len(libraries(folder)) == 2
    checked = library_path(folder, is_checked=True)
    assert checked is not None and checked != library_path(folder) and done.stdout == f"{checked}\n"
    sanitizer = subprocess.check_output(["cc", "-print-file-name=libasan.so"], text=True).strip()
    calling = f"import ctypes; ctypes.CDLL({str(checked)!r}).answer(20)"
    called = subprocess.run(
        [sys.executable, "-I", "-c", calling],
        env={"LD_PRELOAD": sanitizer, "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert called.returncode != 0 and "signed integer overflow" in called.stderr


def test_wheel_library_is_found_without_sources(folder: Path) -> None:
    build(folder)
    (library,) = libraries(folder)
    for file in folder.glob("*.[ch]"):
        file.unlink()
    assert library_path(folder) is None, "one of sources that are not there"
    library.rename(folder / WHEEL_LIBRARY_NAME)
    assert library_path(folder) == folder / WHEEL_LIBRARY_NAME
    assert build(folder).returncode == BUILD_FAILED
