"""A verb that lists what a site names, run against a site of the test."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

import pytest

from tenax.cli import main

HURRIED = ("--set", "politeness.rate_per_second=0", "--set", "fetch.fallbacks=")


class TerminalOutput(NamedTuple):
    code: int
    out: str
    err: str


class Listing:
    """The command, run in a thread, because the site it asks is served by this one; in an empty directory."""

    def __init__(
        self, verb: str, directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(directory)
        monkeypatch.setenv("COLUMNS", "100")
        self._verb = verb
        self._capsys = capsys

    async def __call__(self, *arguments: str) -> TerminalOutput:
        code = await asyncio.to_thread(main, [self._verb, *arguments, *HURRIED])
        return TerminalOutput(code, *self._capsys.readouterr())
