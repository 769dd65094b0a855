"""What a benchmark needs besides Tenax, provided by the same shell functions the scripts use."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from bench.report import ROOT, BenchError


def venv(name: str, lock: str, python: Path | None = None) -> Path:
    """The Python of a virtual environment that holds exactly what `locks/LOCK.txt` names, made by `python` if given."""
    _provide("provide_venv", name, lock, python=python)
    return ROOT / name / "bin" / "python"


def command(name: str, package: str) -> str:
    """The path of a system command, installed from a Debian package when missing and we are root."""
    _provide("provide_command", name, package)
    found = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if found is None:
        raise BenchError(f"{name} is not on PATH")
    return found


def _provide(function: str, *arguments: str, python: Path | None = None) -> None:
    script = ROOT / "scripts" / "_setup.sh"
    chosen = {} if python is None else {"PYTHON": str(python)}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", 'source "$1"; shift; "$@"', "bench", script, function, *arguments],
        check=False,
        env=os.environ | chosen,
    )
    if done.returncode != 0:
        raise BenchError(f"could not provide {arguments[0]}: see the line above")
