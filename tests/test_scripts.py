"""The scripts on a machine with only Python: in a copy, with a small lock and a small program."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tenax.cli.extras import LIBRARIES

ROOT = Path(__file__).parent.parent
PROGRAM = """
import os, sys
print(sys.argv[1:])
print(sorted(name for name in os.environ if name.startswith("TENAX_")))
"""
NATIVE = Path("src", "tenax", "extract", "native")
COMPILERS = {"cc", "gcc", "clang"}
COMPILING = "Compiling the native code…"
SET_UP = [
    "Setting up Tenax (first use)…",
    f"  making .venv with {Path(sys.executable).resolve()}",
    "  installing 0 packages of locks/runtime.txt",
    COMPILING,
]
SLOWER = "Pages will be extracted in Python, at several times the cost: "


def clone_in(folder: Path) -> Path:
    """A clone whose lock names no package, so that setting up needs no network."""
    clone = folder / "a clone"
    shutil.copytree(ROOT / "scripts", clone / "scripts")
    (clone / "locks").mkdir()
    (clone / "locks" / "runtime.txt").write_text("# nothing\n")
    (clone / "src" / "tenax").mkdir(parents=True)
    (clone / "src" / "tenax" / "__main__.py").write_text(PROGRAM)
    (clone / NATIVE).mkdir(parents=True)
    shutil.copy(ROOT / NATIVE / "build.py", clone / NATIVE)
    (clone / NATIVE / "answer.c").write_text("int answer(void) { return 42; }\n")
    return clone


@pytest.fixture
def new_clone(tmp_path: Path) -> Path:
    """A clone that is not set up."""
    return clone_in(tmp_path)


@pytest.fixture(scope="module")
def set_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment of a clone that was set up, without what it knows about its native code."""
    clone = clone_in(tmp_path_factory.mktemp("clone"))
    assert tenax(clone).returncode == 0
    (clone / ".venv" / "native.tried").unlink()
    return clone / ".venv"


@pytest.fixture
def clone(new_clone: Path, set_up: Path) -> Path:
    """A clone that is set up, but for its native code."""
    shutil.copytree(set_up, new_clone / ".venv", symlinks=True)
    return new_clone


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
    clone: Path,
    *arguments: str,
    script: Path | None = None,
    stdin: str = "",
    wheels: Path | None = None,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TENAX_", "PIP_", "PYTHON"))}
    command: list[str | Path] = [script or clone / "scripts" / "tenax", *arguments]
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)} if wheels is not None else {}
    surroundings = clean | {"PYTHON": sys.executable} | index | environment
    return subprocess.run(
        command, capture_output=True, input=stdin, text=True, cwd="/", env=surroundings, check=False, timeout=120
    )


def test_sets_itself_up_once_and_passes_its_arguments_on(new_clone: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere"
    link.symlink_to(new_clone / "scripts" / "tenax")
    first = tenax(new_clone, "crawl", "two words", "", script=link)
    assert (first.returncode, first.stdout) == (0, "['crawl', 'two words', '']\n[]\n")
    assert first.stderr.splitlines() == SET_UP
    second = tenax(new_clone, "status")
    assert (second.returncode, second.stdout, second.stderr) == (0, "['status']\n[]\n", "")


def test_two_that_start_together_set_up_once(new_clone: Path) -> None:
    with ThreadPoolExecutor() as threads:
        both = list(threads.map(lambda word: tenax(new_clone, word), ["one", "two"]))
    assert [done.returncode for done in both] == [0, 0]
    assert sorted(line for done in both for line in done.stderr.splitlines()) == sorted(SET_UP)


def test_a_changed_lock_is_installed_again(clone: Path) -> None:
    tenax(clone)
    (clone / "locks" / "runtime.txt").write_text("# nothing, but other words\n")
    steps = ["Updating .venv to locks/runtime.txt…", "  installing 0 packages of locks/runtime.txt"]
    assert tenax(clone).stderr.splitlines() == steps
    assert tenax(clone).stderr == ""


def test_a_lost_interpreter_is_replaced(clone: Path) -> None:
    tenax(clone)
    for link in (clone / ".venv" / "bin").glob("python*"):
        link.unlink()
    assert tenax(clone, "again").stdout.startswith("['again']")


def test_an_old_python_is_refused_in_one_line(new_clone: Path) -> None:
    old = new_clone / "python-of-yore"
    old.write_text("#!/bin/sh\necho 3.9.2\n")
    old.chmod(0o755)
    done = tenax(new_clone, PYTHON=str(old))
    assert done.returncode == 1
    assert re.fullmatch(r"tenax: Tenax needs Python 3\.11 or newer, found 3\.9\.2: .*\n", done.stderr)


def test_no_network_is_said_in_one_line_and_leaves_nothing_half_done(new_clone: Path) -> None:
    lock = new_clone / "locks" / "runtime.txt"
    lock.write_text(f"nothing-of-that-name==1.0 --hash=sha256:{'0' * 64}\n")
    done = tenax(new_clone, PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_CONFIG_FILE=os.devnull)
    assert done.returncode == 1
    *_, error = done.stderr.splitlines()
    assert error.startswith("tenax: set-up needs the network")
    lock.write_text("# nothing\n")
    assert tenax(new_clone, "later").stdout.startswith("['later']")


# ---- extras -----------------------------------------------------------------------------------------------


PROGRAM_WITH_AN_EXTRA = """
import os, sys
from tenax import extras
extras.install_extras(["redis"] if "--redis" in sys.argv else [], sys.argv[1:])
if "--redis" in sys.argv:
    import redis
    print("redis", redis.VERSION)
print(sys.argv[1:], os.path.basename(os.environ["CALLED_AS"]), sys.stdin.read())
"""


def wheel_of(name: str, version: str, folder: Path) -> str:
    """A wheel with one module, VERSION in it, in this folder; the line of a lock that names it."""
    file = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr(f"{name}.py", f"VERSION = {version!r}\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"


def test_an_extra_is_installed_when_a_command_first_needs_it(clone: Path, tmp_path: Path) -> None:
    package = clone / "src" / "tenax"
    shutil.copy(ROOT / "src" / "tenax" / "cli" / "extras.py", package)
    (package / "__main__.py").write_text(PROGRAM_WITH_AN_EXTRA)
    lock = clone / "locks" / "extra-redis.txt"
    lock.write_text(wheel_of("redis", "1.0", tmp_path))
    link = tmp_path / "my-tenax"
    link.symlink_to(clone / "scripts" / "tenax")
    assert tenax(clone, "crawl", wheels=tmp_path).stderr.splitlines() == [COMPILING]
    first = tenax(clone, "crawl", "--redis", "two words", script=link, stdin="what it is given", wheels=tmp_path)
    assert first.stdout == "redis 1.0\n['crawl', '--redis', 'two words'] my-tenax what it is given\n"
    steps = ["Installing the extra `redis` (first use)…", "  installing 1 packages of locks/extra-redis.txt"]
    assert first.stderr.splitlines() == steps
    again = tenax(clone, "crawl", "--redis", wheels=tmp_path)
    assert (again.returncode, again.stderr) == (0, "")
    lock.write_text(wheel_of("redis", "1.1", tmp_path))
    changed = tenax(clone, "crawl", "--redis", wheels=tmp_path)
    assert "Updating .venv to locks/extra-redis.txt…" in changed.stderr
    assert changed.stdout.startswith("redis 1.1\n")


def test_on_a_terminal_the_package_in_work_is_named(new_clone: Path, tmp_path: Path) -> None:
    """Where a machine or its network is slow, the longest step does not look like a standstill."""
    (new_clone / "locks" / "runtime.txt").write_text(wheel_of("redis", "1.0", tmp_path))
    terminal, other_end = os.openpty()
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PYTHON": sys.executable}
    script = new_clone / "scripts" / "tenax"
    with subprocess.Popen([script], stdin=subprocess.DEVNULL, stderr=other_end, env=os.environ | index) as process:
        os.close(other_end)
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal says that nobody writes to it any more
            while data := os.read(terminal, 4096):
                shown += data
    os.close(terminal)
    assert process.returncode == 0
    lines = [line.removeprefix("\x1b[K").strip() for line in shown.decode().replace("\n", "\r").split("\r")]
    step = "installing 1 packages of locks/runtime.txt"
    assert [line for line in lines if line.startswith(step)] == [
        *(step, f"{step}: 1 redis", f"{step}: writing files", step)
    ]


def test_an_extra_that_cannot_be_installed_is_said_once(clone: Path, tmp_path: Path) -> None:
    """Not without end: neither when installing fails, nor when it brings nothing."""
    package = clone / "src" / "tenax"
    shutil.copy(ROOT / "src" / "tenax" / "cli" / "extras.py", package)
    (package / "__main__.py").write_text(PROGRAM_WITH_AN_EXTRA)
    lock = clone / "locks" / "extra-redis.txt"
    lock.write_text(f"redis==1.0 --hash=sha256:{'0' * 64}\n")
    failed = tenax(clone, "crawl", "--redis", PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_CONFIG_FILE=os.devnull)
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1].startswith("tenax: set-up needs the network")
    lock.write_text("# nothing\n")
    without = tenax(clone, "crawl", "--redis")
    assert without.returncode == 1
    assert "No module named 'redis'" in without.stderr


@pytest.mark.parametrize("extra", LIBRARIES)
def test_the_lock_of_an_extra_is_what_the_runtime_lacks(extra: str) -> None:
    """In the versions that are tested."""
    own, runtime, dev = (pins(name) for name in (f"extra-{extra}", "runtime", "dev"))
    assert own and own <= dev and not own & runtime


def test_every_extra_has_a_lock_and_a_library() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert LIBRARIES.keys() == project.keys() - {"dev"}


def pins(lock: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+==[^ ]+)", (ROOT / "locks" / f"{lock}.txt").read_text(), re.MULTILINE))


# ---- native code -------------------------------------------------------------------------------------------


def build_failure() -> str:
    """How build.py reports that a source does not compile."""
    (message,) = re.findall(r'print\(f"([^:"]+ cannot be built): ', (ROOT / NATIVE / "build.py").read_text())
    return str(message)


def libraries(clone: Path) -> list[str]:
    return [file.name for file in (clone / NATIVE).glob("*.so")]


def test_the_native_code_is_built_once_and_again_when_a_source_changes(clone: Path) -> None:
    tenax(clone)
    (first,) = (clone / NATIVE).glob("libtenax-*.so")
    built_at = first.stat().st_mtime_ns
    assert tenax(clone).stderr == "" and first.stat().st_mtime_ns == built_at
    (clone / NATIVE / "answer.c").write_text("int answer(void) { return 43; }\n")
    done = tenax(clone, "later")
    assert (done.stdout, done.stderr) == ("['later']\n[]\n", f"{COMPILING}\n")
    (second,) = libraries(clone)
    assert second != first.name


def test_a_removed_native_library_is_built_again(clone: Path) -> None:
    tenax(clone)
    before = libraries(clone)
    (clone / NATIVE / before[0]).unlink()
    tenax(clone)
    assert libraries(clone) == before


def test_without_a_compiler_one_line_says_so_once_and_a_new_compiler_is_used(clone: Path, bare_path: str) -> None:
    first = tenax(clone, "crawl", PATH=bare_path)
    assert first.stdout.startswith("['crawl']") and libraries(clone) == []
    *_, line = first.stderr.splitlines()
    assert line.startswith(f"{SLOWER}there is no C compiler. Install one, and it will be used")
    assert tenax(clone, PATH=bare_path).stderr == ""
    assert tenax(clone).stderr == f"{COMPILING}\n" and len(libraries(clone)) == 1


def test_a_compiler_that_does_not_work_is_not_tried_at_every_start(clone: Path, bare_path: str) -> None:
    tried = clone / "tried"
    compiler = Path(bare_path, "cc")
    compiler.write_text(f"#!/bin/sh\necho once >>'{tried}'\necho 'no headers here' >&2\nexit 1\n")
    compiler.chmod(0o755)
    assert f"{SLOWER}no C compiler works here (cc: no headers here)" in tenax(clone, PATH=bare_path).stderr
    assert tenax(clone, PATH=bare_path).stderr == ""
    assert tried.read_text() == "once\n"


def test_native_code_that_does_not_compile_does_not_stop_tenax(clone: Path) -> None:
    source = clone / NATIVE / "answer.c"
    source.write_text("int answer(void) { return }\n")
    done = tenax(clone, "crawl")
    assert (done.returncode, done.stdout) == (0, "['crawl']\n[]\n")
    *_, line = done.stderr.splitlines()
    log = clone / NATIVE / "libtenax.log"
    assert line.startswith(f"{SLOWER}{build_failure()}: answer.c:1:") and line.endswith(f"(details: {log})")
    assert "answer.c:1:" in log.read_text()
    assert tenax(clone).stderr == ""
    source.write_text("int answer(void) { return 42; }\n")
    assert tenax(clone).stderr == f"{COMPILING}\n" and len(libraries(clone)) == 1 and not log.exists()


def test_the_tests_require_the_native_code(clone: Path, bare_path: str) -> None:
    tenax(clone, PATH=bare_path)
    asking = clone / "scripts" / "asking"
    asking.write_text('#!/usr/bin/env bash\nset -euo pipefail\nsource "${0%/*}/_setup.sh"\nrequire_native\n')
    asking.chmod(0o755)
    without = tenax(clone, script=asking, PATH=bare_path)
    assert without.returncode == 1
    assert without.stderr == (
        "asking: cc is not on PATH: install it (Debian and Ubuntu: apt-get install gcc libc6-dev)\n"
    )
    source = clone / NATIVE / "answer.c"
    source.write_text("int answer(void) { return }\n")
    for _ in range(2):
        broken = tenax(clone, script=asking)
        assert broken.returncode == 1
        assert broken.stderr.startswith(f"asking: the tests need the native code: {build_failure()}: answer.c:1:")
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
    assert pins("runtime") < pins("dev")


def test_every_script_may_be_run() -> None:
    scripts = [file for file in (ROOT / "scripts").iterdir() if not file.name.startswith("_")]
    assert all(os.access(file, os.X_OK) for file in [*scripts, ROOT / ".ci" / "run"])
