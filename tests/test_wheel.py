"""What `pip install .` installs: with the native library if there is a compiler, without it if there is none."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parent.parent
NATIVE = "tenax/extract/native/"
ARCHITECTURES = ("x86_64", "aarch64")


def wheel(out: Path, **environment: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
    subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=True, capture_output=True)
    (built,) = out.iterdir()
    return built


def names_in(built: Path) -> set[str]:
    with ZipFile(built) as archive:
        return {name.removeprefix(NATIVE) for name in archive.namelist() if name.startswith(NATIVE)}


def test_wheel_has_the_library_and_not_its_sources(tmp_path: Path) -> None:
    built = wheel(tmp_path / "wheel")
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert built.name.startswith("tenax-") and f"-{version}-none-linux_" in built.name
    assert {"libtenax.so", "build.py"} <= names_in(built)
    assert not [name for name in names_in(built) if name.endswith((".c", ".h")) or name.startswith(("make_", "."))]
    assert [name for name in names_in(built) if name.startswith("libtenax")] == ["libtenax.so"]
    with ZipFile(built) as archive:
        archive.extractall(tmp_path / "installed")
    loading = "print(ctypes.CDLL(str(library_path()))._name)"
    asking = f"import ctypes; from tenax.extract.native.build import library_path; {loading}"
    surroundings = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    found = subprocess.check_output([sys.executable, "-c", asking], cwd=tmp_path, env=surroundings, text=True)
    assert found == f"{tmp_path}/installed/{NATIVE}libtenax.so\n"
    command = [sys.executable, "-m", "tenax", "--version", "--verbose"]
    said = subprocess.check_output(command, cwd=tmp_path, env=surroundings, text=True)
    assert said.endswith("\nextraction: by native code\n")


def test_source_distribution_has_what_a_wheel_is_built_from(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = tmp_path.iterdir()
    with tarfile.open(built) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    sources = {file.name for pattern in ("*.py", "*.[ch]") for file in (ROOT / "src" / NATIVE).glob(pattern)}
    generated = {"constants.h"}
    assert {name.removeprefix(f"src/{NATIVE}") for name in names if NATIVE in name} == sources - generated
    assert {"hatch_build.py", "pyproject.toml", "src/tenax/extract/html/tree.py"} <= names


def test_a_release_has_a_wheel_for_each_python_version() -> None:
    command = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", "--platform", "linux"]
    said = subprocess.check_output([*command, "--archs", "x86_64,aarch64", str(ROOT)], text=True)
    versions = ("cp311", "cp312", "cp313", "cp314")
    assert sorted(said.split()) == sorted(f"{one}-manylinux_{arch}" for one in versions for arch in ARCHITECTURES)


def test_wheel_without_a_compiler_is_pure_python(tmp_path: Path) -> None:
    built = wheel(tmp_path, PATH="/nowhere")
    assert built.name.endswith("-py3-none-any.whl")
    assert "build.py" in names_in(built) and "libtenax.so" not in names_in(built)
