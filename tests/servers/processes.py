"""Starts and ends servers: no server process outlives the tests."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

START_SECONDS = 60.0
END_SECONDS = 60.0


def free_port() -> int:
    """A loopback port that is free at this moment."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


class ServerProcess:
    """One server program that a test can start, stop, kill and start again."""

    def __init__(
        self, command: Sequence[str], log: Path, is_ready: Callable[[], bool], user: str | None = None
    ) -> None:
        self._command = command
        self._log = log
        self._is_ready = is_ready
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, user=self._user
            )
        end = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if not self.is_running or time.monotonic() > end:
                self.kill()
                raise RuntimeError(f"{self._command[0]} did not start: {self._log.read_text()[-2000:]}")
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask it to end, and wait until it has."""
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """As a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)
