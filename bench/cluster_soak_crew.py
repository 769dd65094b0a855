"""The workers of a cluster under trial: the real program, killed, put to sleep and replaced, as often as it takes."""

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
"""How a worker ends that finds a server away when it starts: whoever runs it starts it again."""
TAKEN_FOR_DEAD = "this worker was taken for dead"
TRACEBACK = "Traceback (most recent call last)"


class Member:
    """One process of the program."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, words: Path) -> None:
        self.name = name
        self.process = process
        self.words = words
        self.is_killed = False

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


class Crew:
    """Workers in their slots. `keep` sees to it that there is one in each; what ends on its own accord is a trouble."""

    def __init__(
        self,
        home: Path,
        environment: Mapping[str, str],
        options: Sequence[str],
        slots: int,
        of_the_first: Sequence[str] = (),
    ) -> None:
        """`of_the_first`: options of whoever works in the first slot."""
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
        """Starts in vain, because a server was away just then."""

    # -- workers --------------------------------------------------------------------------------------------

    async def keep(self) -> None:
        """Until it is cancelled."""
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
        """It does nothing for so long, and knows nothing of it; who it was, or nobody when it had not come yet."""
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
        """All of them gently; who does not go is a trouble."""
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
        """Leave nothing behind, whatever happened."""
        for member in self._all:
            if member.process.returncode is None:
                member.send(signal.SIGKILL)

    # -- other commands -------------------------------------------------------------------------------------

    async def command(self, *arguments: str) -> tuple[int, str]:
        """Run the program to its end; its exit code and what it said."""
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
        """As a person would: again, when the server is away just now."""
        deadline = time.monotonic() + RECOVER_SECONDS
        while time.monotonic() < deadline:
            code, said = await self.command("recover")
            if code == 0:
                return
            await asyncio.sleep(TRY_AGAIN_SECONDS)
        self.troubles.append(f"`tenax recover` ended with {code}: {said}")

    # -- what they said -------------------------------------------------------------------------------------

    @property
    def started(self) -> int:
        return len(self._all)

    def taken_for_dead(self) -> list[str]:
        """Who found that others had given it up."""
        return [member.name for member in self._all if TAKEN_FOR_DEAD in _said(member)]

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
        """One has ended. Killed by us it is replaced when that is due."""
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
