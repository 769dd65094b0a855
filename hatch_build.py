"""Adds the native library to a wheel if there is a C compiler; otherwise the wheel is pure Python, and slower."""

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
WHEEL_PATH = "tenax/extract/native/libtenax.so"


class NativeHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable install uses the sources in place, and finds the library beside them."""
        command = [sys.executable, "-I", str(Path(self.root, BUILD))]
        if version != "editable":
            self.build_dir = TemporaryDirectory()
            command += ["--out", self.build_dir.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            self.app.display_warning(
                f"No native code in this wheel, pages will be read in Python: {done.stderr.strip()}"
            )
        elif version != "editable":
            build_data["force_include"][done.stdout.strip()] = WHEEL_PATH
            build_data["pure_python"] = False
            # For this version of Python only: the library has its Unicode data.
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"{interpreter_name()}{interpreter_version()}-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self.build_dir.cleanup()
