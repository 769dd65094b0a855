"""Puts the kernel into a wheel, where there is a C compiler; else the wheel is one for every machine, and slower."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import interpreter_name, interpreter_version

BUILD = Path("src", "tenax", "extract", "native", "build.py")
IN_THE_WHEEL = "tenax/extract/native/libtenax.so"


class KernelHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable install uses the sources where they are, and finds the library beside them."""
        command = [sys.executable, "-I", str(Path(self.root, BUILD))]
        if version != "editable":
            self.room = TemporaryDirectory()
            command += ["--out", self.room.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            self.app.display_warning(f"The kernel is left out, pages will be read in Python: {done.stderr.strip()}")
        elif version != "editable":
            build_data["force_include"][done.stdout.strip()] = IN_THE_WHEEL
            build_data["pure_python"] = False
            # For this version of Python, as the kernel knows the characters that it knows.
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"{interpreter_name()}{interpreter_version()}-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self.room.cleanup()
