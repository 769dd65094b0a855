"""Builds the native library: compiles the C files of this folder into one shared library beside them.

A script for Python 3.11 or later, without dependencies: `python -I build.py`. Exit code 0 when the library exists, 3
when no compiler was found, 1 when one fails. At run time only `library_path` is used.

The name of the library contains a digest of its sources and compiler flags, so a library of other sources is never
loaded. A wheel contains the library under a plain name, without the sources.

The library classifies and lowers characters as this Python does: if the tables among the sources are for another
version of Unicode, new ones are generated. The constants that it shares with Python are generated at every build, and
written beside the sources if they have changed.
"""

# Imports for compiling are local: usually there is nothing to compile, and `library_path` is called at every start.
from __future__ import annotations

import hashlib
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

SOURCE_DIR = Path(__file__).resolve().parent
WHEEL_LIBRARY_NAME = "libtenax.so"
LOG_NAME = "libtenax.log"
UNICODE_TABLES_NAME = "unicode_data.h"
CONSTANTS_NAME = "constants.h"
NO_COMPILER = 3
BUILD_FAILED = 1

# Without -ffp-contract=off a product and a sum may be rounded once instead of twice, and differ from Python's. With
# -Bsymbolic, the functions of the library call each other, never one of the same name elsewhere in the process.
COMPILE_FLAGS = ("-std=c11", "-fPIC", "-ffp-contract=off", "-fno-semantic-interposition")
LINK_FLAGS = ("-shared", "-Wl,-Bsymbolic")
FAST_FLAGS = (*COMPILE_FLAGS, "-O3", "-fstack-protector-strong")
FAST_LINK_FLAGS = (*LINK_FLAGS, "-Wl,-z,relro,-z,now", "-Wl,--no-undefined")
SANITIZER_FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
CHECKED_FLAGS = (*COMPILE_FLAGS, "-DTENAX_CHECKED", "-O1", "-g", "-fno-omit-frame-pointer", *SANITIZER_FLAGS)
CHECKED_LINK_FLAGS = (*LINK_FLAGS, *SANITIZER_FLAGS)
LIBRARY_FLAGS = ("-lm",)

# Tests whether the headers of the C library exist, and whether this Python can load the compiler's output.
COMPILER_TEST_SOURCE = """\
#include <math.h>
#include <stdlib.h>
#include <string.h>
double probe(double x) { return x < 0 ? strlen("no") : sqrt(x); }
"""


class CompilerNotFound(Exception):
    """There is none, or none that works."""


class CompileError(Exception):
    """The sources are wrong, or this compiler does not support them."""


def library_path(folder: Path = SOURCE_DIR, *, is_checked: bool = False) -> Path | None:
    """The library for the current sources; None when it has not been built."""
    sources = read_sources(folder)
    path = folder / (library_name(sources, is_checked=is_checked) if sources else WHEEL_LIBRARY_NAME)
    return path if path.exists() else None


def read_sources(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.glob("*.[ch]"))}


def library_name(sources: dict[str, bytes], *, is_checked: bool) -> str:
    how = (CHECKED_FLAGS, CHECKED_LINK_FLAGS) if is_checked else (FAST_FLAGS, FAST_LINK_FLAGS)
    # The machine type as well: several machines may share a clone on one disk.
    where = (sys.platform, os.uname().machine, unicodedata.unidata_version)
    digest = hashlib.sha256(repr((how, LIBRARY_FLAGS, where)).encode())
    for name, source in sources.items():
        digest.update(f"\n{name} {len(source)}\n".encode())
        digest.update(source)
    return f"libtenax{'_checked' if is_checked else ''}-{digest.hexdigest()[:16]}.so"


def build(out: Path = SOURCE_DIR, *, cc: str | None = None, is_checked: bool = False) -> Path:
    """The library for the sources beside this file, compiled unless it exists. Safe to run concurrently."""
    sources = read_sources(SOURCE_DIR)
    if not sources:
        raise CompileError(f"there are no C files in {SOURCE_DIR}")
    if header := _make_constants():
        sources = dict(sorted({**sources, CONSTANTS_NAME: header}.items()))
        if out == SOURCE_DIR:
            _write_constants(header)
    path = out / library_name(sources, is_checked=is_checked)
    if not path.exists():
        _build(sources, path, cc, is_checked)
    return path


def _build(sources: dict[str, bytes], path: Path, cc: str | None, is_checked: bool) -> None:
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    for older in path.parent.glob(f"{path.name.partition('-')[0]}-*.so"):
        if older != path:
            older.unlink(missing_ok=True)
    # Beside the library: tests that libraries can be loaded from there, and makes the final rename atomic.
    with tempfile.TemporaryDirectory(prefix=".building-", dir=path.parent) as build_dir:
        compiler = _find_compiler([cc] if cc else _find_compiler_commands(), Path(build_dir))
        # A copy is compiled, so that the digest in the name is right even if a source changes meanwhile.
        for name, source in sources.items():
            Path(build_dir, name).write_bytes(source)
        _make_unicode_tables(Path(build_dir, UNICODE_TABLES_NAME))
        library = _compile(compiler, Path(build_dir), path.parent / LOG_NAME, is_checked)
        library.replace(path)
    (path.parent / LOG_NAME).unlink(missing_ok=True)


def _make_constants() -> bytes:
    """The header; empty without its generator."""
    return _generate("make_constants.py").encode() if (SOURCE_DIR / "make_constants.py").exists() else b""


def _write_constants(header: bytes) -> None:
    import tempfile

    written = SOURCE_DIR / CONSTANTS_NAME
    if written.exists() and written.read_bytes() == header:
        return
    with tempfile.TemporaryDirectory(prefix=".building-", dir=SOURCE_DIR) as build_dir:
        Path(build_dir, CONSTANTS_NAME).write_bytes(header)
        Path(build_dir, CONSTANTS_NAME).replace(written)


def _make_unicode_tables(tables: Path) -> None:
    """Generate them, unless there are none or they match this Python's Unicode version."""
    if tables.exists() and f'"{unicodedata.unidata_version}"' not in tables.read_text():
        tables.write_text(_generate("make_unicode.py"))


def _generate(script: str) -> str:
    status, output = _run([sys.executable, "-I", str(SOURCE_DIR / script)], SOURCE_DIR)
    if status:
        raise CompileError(f"{script} fails: {output.strip().rpartition(os.linesep)[2]}")
    return output


def _find_compiler_commands() -> Iterator[str]:
    """The commands to try, best first."""
    import shlex
    import shutil
    from importlib.util import find_spec

    if command := os.environ.get("CC"):
        yield command
    yield from filter(shutil.which, ("cc", "gcc", "clang"))
    if find_spec("ziglang"):
        yield f"{shlex.quote(sys.executable)} -m ziglang cc"


def _find_compiler(commands: Iterable[str], build_dir: Path) -> list[str]:
    """The first that makes a library which this Python can load."""
    import shlex

    failures = []
    source = build_dir / "probe.c"
    source.write_text(COMPILER_TEST_SOURCE)
    for command in commands:
        words = shlex.split(command)
        if words[-1:] == ["cc"] and "zig" in " ".join(words[-2:]):
            words.append("-mcpu=baseline")  # else it compiles for this very processor, but a wheel must run on others
        failure = _compiler_failure(words, source)
        if failure is None:
            source.unlink()
            return words
        failures.append(f"{command}: {failure}")
    raise CompilerNotFound(
        f"no C compiler works here ({'; '.join(failures)})" if failures else "there is no C compiler"
    )


def _compiler_failure(compiler: list[str], source: Path) -> str | None:
    import ctypes

    library = source.with_name("probe.so")
    status, output = _run(
        [*compiler, *FAST_FLAGS, *FAST_LINK_FLAGS, source.name, "-o", library.name, *LIBRARY_FLAGS], source.parent
    )
    if status:
        return _first_error(output)
    try:
        ctypes.CDLL(str(library))
    except OSError as error:
        return str(error)
    finally:
        library.unlink(missing_ok=True)
    return None


def _compile(compiler: list[str], build_dir: Path, log: Path, is_checked: bool) -> Path:
    """Compile each file, as many at a time as there are processors; then link."""
    from concurrent.futures import ThreadPoolExecutor

    flags, linking = (CHECKED_FLAGS, CHECKED_LINK_FLAGS) if is_checked else (FAST_FLAGS, FAST_LINK_FLAGS)
    units = sorted(file.name for file in build_dir.glob("*.c"))
    objects = [unit.replace(".c", ".o") for unit in units]
    link = [*compiler, *flags, *linking, *objects, "-o", "made.so", *LIBRARY_FLAGS]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        each = list(threads.map(lambda unit: _run_logged([*compiler, *flags, "-c", unit], build_dir), units))
    if not any(status for status, _ in each):
        each.append(_run_logged(link, build_dir))
    output = "".join(output for status, output in each if status)
    if output:
        log.write_text(output, encoding="utf-8")
        raise CompileError(f"{_first_error(output)} (details: {log})")
    return build_dir / "made.so"


def _run_logged(command: list[str], folder: Path) -> tuple[int, str]:
    status, output = _run(command, folder)
    return status, f"$ {' '.join(command)}\n{output}\n"


def _run(command: list[str], folder: Path) -> tuple[int, str]:
    """Run in its folder, so that messages and debug data contain no paths."""
    import subprocess

    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | {"LC_ALL": "C"},  # errors are recognized by that word
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        return 127, str(error)
    return done.returncode, done.stdout.decode(errors="replace")


def _first_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["it failed without a message"]
    signs = ("error:", "undefined reference", "undefined symbol")
    return next((line for line in lines if any(sign in line for sign in signs)), lines[-1])


def main(arguments: Sequence[str] | None = None) -> int:
    import argparse

    parser = argparse.ArgumentParser(description="Builds the native code of Tenax and prints its path.")
    parser.add_argument("--cc", help="the compiler, such as gcc or 'python -m ziglang cc'")
    parser.add_argument("--out", type=Path, default=SOURCE_DIR, help="the folder of the library (default: this one)")
    parser.add_argument("--checked", action="store_true", help="with sanitizers, for tests")
    args = parser.parse_args(arguments)
    try:
        print(build(args.out.absolute(), cc=args.cc, is_checked=args.checked))
    except CompilerNotFound as missing:
        print(missing, file=sys.stderr)
        return NO_COMPILER
    except (CompileError, OSError) as error:
        print(f"the native code cannot be built: {error}", file=sys.stderr)
        return BUILD_FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
