"""Runs the demo site in a child process, so that it neither slows nor outlives the crawl."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from tenax.demo import Site
from tenax.errors import UsageError

STOP_TIMEOUT_SECONDS = 5.0


class DemoProcess:
    """`async with DemoProcess(site) as demo:` serves it while the block runs; `demo.origins` are its hosts.

    The child ends when the pipe to its stdin closes, also when this process is killed. It has its own session, so
    Ctrl-C stops the crawl first and the site after it.
    """

    def __init__(self, site: Site, *, port: int = 0, log: Path | None = None, is_warm: bool = False) -> None:
        self.site = site
        self.origins: tuple[str, ...] = ()
        self._options = [
            *("--hosts", str(site.hosts)),
            *("--pages", str(site.pages_per_host)),
            *("--seed", str(site.seed)),
            *("--behaviours", site.behaviours),
            *("--port", str(port)),
            *(() if log is None else ("--log", str(log))),
            *(("--warm",) if is_warm else ()),
        ]
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tenax.demo", *self._options),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=_child_environment(),
            start_new_session=True,
        )
        assert self._process.stdout is not None
        try:
            line = await self._process.stdout.readline()
        except BaseException:
            await self._stop_process(self._process)
            raise
        if not line:
            await self._stop_process(self._process)
            raise UsageError("the demo site could not start; see its message above")
        self.origins = tuple(msgspec.json.decode(line, type=dict[str, list[str]])["origins"])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process is not None:
            await self._stop_process(self._process)
            self._process = None

    async def _stop_process(self, process: asyncio.subprocess.Process) -> None:
        """Close its stdin, wait, and kill it after the timeout."""
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_SECONDS):
                await process.communicate()
        except TimeoutError:
            process.kill()
            await process.communicate()


def _child_environment() -> dict[str, str]:
    """Our environment, with the directory of this package first on PYTHONPATH."""
    here = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))}
