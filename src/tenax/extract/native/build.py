"""Builds the kernel: compiles the C files of this folder into one shared library beside them.

A script for any Python from 3.11 on, with nothing installed: `python -I build.py`. It ends with 0 when the library is
there, 3 when no compiler is, and 1 when one fails. Whoever runs Tenax needs only `library_path`.

The name of the library holds a digest of its sources and of how they are compiled, so a library of other sources is
never taken for theirs. A wheel brings the library under a plain name, without the sources.

Which characters are letters, and what they are in lower case, it is to know as this Python does: where the tables among
the sources are of another edition of Unicode, others are made.
"""

# What compiling needs is imported where it is used: mostly there is nothing to compile, and `library_path` is asked for
# whenever Tenax starts.
from __future__ import annotations

import hashlib
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
IN_A_WHEEL = "libtenax.so"
LOG = "libtenax.log"
CHARACTERS = "unicode_data.h"
NO_COMPILER = 3
NOT_BUILT = 1

# Without -ffp-contract=off a product and a sum may be rounded once instead of twice, and differ from Python's. The
# functions of the library call each other, never one of the same name elsewhere in the process: -Bsymbolic.
COMPILING = ("-std=c11", "-fPIC", "-ffp-contract=off", "-fno-semantic-interposition")
LINKING = ("-shared", "-Wl,-Bsymbolic")
FAST = (*COMPILING, "-O3", "-fstack-protector-strong")
FAST_LINKING = (*LINKING, "-Wl,-z,relro,-z,now", "-Wl,--no-undefined")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
CHECKED = (*COMPILING, "-DTENAX_CHECKED", "-O1", "-g", "-fno-omit-frame-pointer", *SANITIZERS)
CHECKED_LINKING = (*LINKING, *SANITIZERS)
LIBRARIES = ("-lm",)

# Knows whether the headers of the C library are there, and whether this Python can load what the compiler makes.
TRIAL = """\
#include <math.h>
#include <stdlib.h>
#include <string.h>
double trial(double x) { return x < 0 ? strlen("no") : sqrt(x); }
"""


class NoCompiler(Exception):
    """None is there, or none that works."""


class NotCompiled(Exception):
    """The sources are wrong, or this compiler does not understand them."""


def library_path(folder: Path = HERE, *, is_checked: bool = False) -> Path | None:
    """The library of the sources as they are now; None when nobody has built it."""
    sources = sources_of(folder)
    path = folder / (library_name(sources, is_checked=is_checked) if sources else IN_A_WHEEL)
    return path if path.exists() else None


def sources_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.glob("*.[ch]"))}


def library_name(sources: dict[str, bytes], *, is_checked: bool) -> str:
    how = (CHECKED, CHECKED_LINKING) if is_checked else (FAST, FAST_LINKING)
    # The kind of machine as well: a clone may lie on a disk that several of them share.
    where = (sys.platform, os.uname().machine, unicodedata.unidata_version)
    digest = hashlib.sha256(repr((how, LIBRARIES, where)).encode())
    for name, source in sources.items():
        digest.update(f"\n{name} {len(source)}\n".encode())
        digest.update(source)
    return f"libtenax{'_checked' if is_checked else ''}-{digest.hexdigest()[:16]}.so"


def build(out: Path = HERE, *, cc: str | None = None, is_checked: bool = False) -> Path:
    """The library of the sources beside this file, compiled unless it is there. Others may do the same meanwhile."""
    sources = sources_of(HERE)
    if not sources:
        raise NotCompiled(f"there are no C files in {HERE}")
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
    # Beside the library: what can be loaded there is what counts, and moving it to its name is one step.
    with tempfile.TemporaryDirectory(prefix=".building-", dir=path.parent) as room:
        compiler = _find_compiler([cc] if cc else _compilers(), Path(room))
        # A copy is compiled, so that the digest in the name holds even if somebody writes to a source meanwhile.
        for name, source in sources.items():
            Path(room, name).write_bytes(source)
        _make_characters(Path(room, CHARACTERS))
        made = _compile(compiler, Path(room), path.parent / LOG, is_checked)
        made.replace(path)
    (path.parent / LOG).unlink(missing_ok=True)


def _make_characters(tables: Path) -> None:
    """Made anew unless they are of this Python's edition, or there are none."""
    if not tables.exists() or f'"{unicodedata.unidata_version}"' in tables.read_text():
        return
    status, made = _run([sys.executable, "-I", str(HERE / "make_unicode.py")], tables.parent)
    if status:
        raise NotCompiled(f"the tables of characters cannot be made: {made.strip().rpartition(os.linesep)[2]}")
    tables.write_text(made)


def _compilers() -> Iterator[str]:
    """The commands to try, best first."""
    import shlex
    import shutil
    from importlib.util import find_spec

    if wanted := os.environ.get("CC"):
        yield wanted
    yield from filter(shutil.which, ("cc", "gcc", "clang"))
    if find_spec("ziglang"):
        yield f"{shlex.quote(sys.executable)} -m ziglang cc"


def _find_compiler(commands: Iterable[str], room: Path) -> list[str]:
    """The first that makes a library which this Python can load."""
    import shlex

    failures = []
    source = room / "trial.c"
    source.write_text(TRIAL)
    for command in commands:
        words = shlex.split(command)
        if words[-1:] == ["cc"] and "zig" in " ".join(words[-2:]):
            words.append("-mcpu=baseline")  # else it compiles for this very processor, and a wheel goes to others
        failure = _fails(words, source)
        if failure is None:
            source.unlink()
            return words
        failures.append(f"{command}: {failure}")
    raise NoCompiler(f"no C compiler works here ({'; '.join(failures)})" if failures else "there is no C compiler")


def _fails(compiler: list[str], source: Path) -> str | None:
    import ctypes

    library = source.with_name("trial.so")
    status, said = _run([*compiler, *FAST, *FAST_LINKING, source.name, "-o", library.name, *LIBRARIES], source.parent)
    if status:
        return _first_error(said)
    try:
        ctypes.CDLL(str(library))
    except OSError as error:
        return str(error)
    finally:
        library.unlink(missing_ok=True)
    return None


def _compile(compiler: list[str], room: Path, log: Path, is_checked: bool) -> Path:
    """Each file by itself, as many at a time as there are processors; then all together."""
    from concurrent.futures import ThreadPoolExecutor

    flags, linking = (CHECKED, CHECKED_LINKING) if is_checked else (FAST, FAST_LINKING)
    units = sorted(file.name for file in room.glob("*.c"))
    objects = [unit.replace(".c", ".o") for unit in units]
    link = [*compiler, *flags, *linking, *objects, "-o", "made.so", *LIBRARIES]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        each = list(threads.map(lambda unit: _logged([*compiler, *flags, "-c", unit], room), units))
    if not any(status for status, _ in each):
        each.append(_logged(link, room))
    said = "".join(said for status, said in each if status)
    if said:
        log.write_text(said, encoding="utf-8")
        raise NotCompiled(f"{_first_error(said)} (details: {log})")
    return room / "made.so"


def _logged(command: list[str], folder: Path) -> tuple[int, str]:
    status, said = _run(command, folder)
    return status, f"$ {' '.join(command)}\n{said}\n"


def _run(command: list[str], folder: Path) -> tuple[int, str]:
    """Run in its folder, so that messages and what is compiled name files without a path."""
    import subprocess

    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | {"LC_ALL": "C"},  # errors are known by that word
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        return 127, str(error)
    return done.returncode, done.stdout.decode(errors="replace")


def _first_error(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()] or ["it failed without a word"]
    signs = ("error:", "undefined reference", "undefined symbol")
    return next((line for line in lines if any(sign in line for sign in signs)), lines[-1])


def main(arguments: Sequence[str] | None = None) -> int:
    import argparse

    parser = argparse.ArgumentParser(description="Builds the kernel of Tenax, and prints where it is.")
    parser.add_argument("--cc", help="the compiler, such as gcc or 'python -m ziglang cc'")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of the library (default: this one)")
    parser.add_argument("--checked", action="store_true", help="with sanitizers, for tests")
    args = parser.parse_args(arguments)
    try:
        print(build(args.out.absolute(), cc=args.cc, is_checked=args.checked))
    except NoCompiler as missing:
        print(missing, file=sys.stderr)
        return NO_COMPILER
    except (NotCompiled, OSError) as error:
        print(f"the kernel cannot be built: {error}", file=sys.stderr)
        return NOT_BUILT
    return 0


if __name__ == "__main__":
    sys.exit(main())
