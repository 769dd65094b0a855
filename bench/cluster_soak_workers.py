"""The worker processes of a cluster soak: started, killed, paused and replaced."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bench.measure import end_with_parent
from bench.report import ROOT

WATCH_SECONDS = 0.1
TRY_AGAIN_SECONDS = 1.0
END_SECONDS = 45.0
RECOVER_SECONDS = 20.0
AWAY_CODES = frozenset({2, 5})
"""Exit code of a worker whose server is down at the start; the supervisor restarts it."""
LEASE_EXPIRED = "worker lease expired"
"""Logged by a worker that was declared dead."""
TRACEBACK = "Traceback (most recent call last)"


class Member:
    """One worker process."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, words: Path) -> None:
        self.name = name
        self.process = process
        self.words = words
        self.is_killed = False

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


class SoakWorkers:
    """Workers by slot. `keep` replaces killed workers; a worker that exits by itself is an error."""

    def __init__(
        self,
        home: Path,
        environment: Mapping[str, str],
        options: Sequence[str],
        slots: int,
        of_the_first: Sequence[str] = (),
    ) -> None:
        """`of_the_first`: options of the worker in slot 0."""
        self._of_the_first = of_the_first
        self._home = home
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TENAX_")},
            "PYTHONPATH": str(ROOT / "src"),
            **environment,
        }
        self._options = options
        self._members: list[Member | None] = [None] * slots
        self._due_at = [0.0] * slots
        self._numbers = Counter[int]()
        self._all: list[Member] = []
        self.troubles: list[str] = []
        self.kills = 0
        self.refused_starts = 0
        """Starts that failed because a server was down."""

    # -- workers --------------------------------------------------------------------------------------------

    async def keep(self) -> None:
        """Keep one worker per slot until cancelled."""
        while True:
            for slot, member in enumerate(self._members):
                if member is not None and member.process.returncode is not None:
                    self._members[slot] = None
                    self._judge(slot, member)
                if self._members[slot] is None and time.monotonic() >= self._due_at[slot]:
                    await self._start(slot)
            await asyncio.sleep(WATCH_SECONDS)

    def kill(self, slot: int, replaced_after_seconds: float) -> None:
        self._due_at[slot] = time.monotonic() + replaced_after_seconds
        if (member := self._members[slot]) is not None and not member.is_killed:
            member.is_killed = True
            member.send(signal.SIGKILL)
            self.kills += 1

    async def sleep(self, slot: int, seconds: float) -> str:
        """Pause the worker with SIGSTOP; returns its name, or nothing when the slot is empty."""
        member = self._members[slot]
        if member is None:
            return ""
        member.send(signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            member.send(signal.SIGCONT)
        return member.name

    async def end(self) -> None:
        """Stop all workers; one that does not end is an error."""
        members = [member for member in self._members if member is not None]
        self._members = [None] * len(self._members)
        for member in members:
            member.send(signal.SIGTERM)
        for member in members:
            try:
                code = await asyncio.wait_for(member.process.wait(), END_SECONDS)
            except TimeoutError:
                self.troubles.append(f"{member.name} did not end within {END_SECONDS:g} s: {last_words(member)}")
                continue
            if code:
                self.troubles.append(f"{member.name} ended with {code} when it was stopped: {last_words(member)}")

    def kill_all(self) -> None:
        """Kill every process that is left."""
        for member in self._all:
            if member.process.returncode is None:
                member.send(signal.SIGKILL)

    # -- other commands -------------------------------------------------------------------------------------

    async def command(self, *arguments: str) -> tuple[int, str]:
        """Run a command; returns its exit code and output."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tenax", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._environment,
        )
        said, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, said.decode(errors="replace").strip()

    async def recover(self) -> None:
        """Run `tenax recover`, again when the server is down."""
        deadline = time.monotonic() + RECOVER_SECONDS
        while time.monotonic() < deadline:
            code, said = await self.command("recover")
            if code == 0:
                return
            await asyncio.sleep(TRY_AGAIN_SECONDS)
        self.troubles.append(f"`tenax recover` ended with {code}: {said}")

    # -- output --------------------------------------------------------------------------------------------

    @property
    def started(self) -> int:
        return len(self._all)

    def taken_for_dead(self) -> list[str]:
        """Workers whose lease had expired."""
        return [member.name for member in self._all if LEASE_EXPIRED in _said(member)]

    def tracebacks(self) -> list[str]:
        return [f"{member.name} left a traceback: see {member.words}" for member in self._all if _broke(member)]

    async def _start(self, slot: int) -> None:
        self._numbers[slot] += 1
        name = f"worker-{slot}.{self._numbers[slot]}"
        words = self._home / f"{name}.log"
        options = [*self._options, "--set", f"fetch.user_agent={name}", *(() if slot else self._of_the_first)]
        with words.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tenax", "worker", *options),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=self._environment,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        self._members[slot] = member = Member(name, process, words)
        self._all.append(member)

    def _judge(self, slot: int, member: Member) -> None:
        """Handle an ended worker. One that we killed is replaced after its delay."""
        if member.is_killed:
            return
        self._due_at[slot] = time.monotonic() + TRY_AGAIN_SECONDS
        if member.process.returncode in AWAY_CODES and "worker started" not in _said(member):
            self.refused_starts += 1
            return
        self.troubles.append(f"{member.name} ended by itself with {member.process.returncode}: {last_words(member)}")


def last_words(member: Member) -> str:
    return _said(member).strip().rpartition("\n")[2]


def _said(member: Member) -> str:
    return member.words.read_text(encoding="utf-8", errors="replace")


def _broke(member: Member) -> bool:
    return TRACEBACK in _said(member)
