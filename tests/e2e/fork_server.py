"""Starts Tenax in a process of its own without importing it every time.

Most of the time of a short command is for importing. So a server imports everything once and forks for each command. A
command runs as the program does: with its own arguments, environment, directory, files, session, signals and exit code.

Run as a program with the number of its socket, this is the server.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO, NamedTuple, Protocol

MAX_REQUEST_BYTES = 200_000
USUAL_LIBRARIES = ("asyncpg", "publicsuffixlist", "re2", "redis.asyncio", "rich.live", "uvloop")
"""What Tenax imports when it first needs it, and most commands need."""


class Running(Protocol):
    """A process that was started: what tests use of `subprocess.Popen`."""

    @property
    def pid(self) -> int: ...
    @property
    def stdout(self) -> IO[str] | None: ...
    @property
    def stderr(self) -> IO[str] | None: ...
    @property
    def returncode(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int, /) -> None: ...
    def communicate(self, input: None = None, timeout: float | None = None) -> tuple[str, str]: ...


class Request(NamedTuple):
    """What a child becomes."""

    arguments: list[str]
    cwd: str
    env: dict[str, str]


class Forked:
    """A process that a server forked, with the interface of `subprocess.Popen`."""

    def __init__(self, pid: int, ending: socket.socket, stdout: IO[str], stderr: IO[str]) -> None:
        """`ending`: where the server sends the exit code."""
        self.pid = pid
        self.stdout = stdout
        self.stderr = stderr
        self._ending = ending
        self.returncode: int | None = None
        self._texts: dict[IO[str], str] = {}
        self._readers: list[Thread] = []

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0.0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._ending.settimeout(timeout)
            try:
                self.returncode = int(self._ending.recv(100))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("tenax", timeout or 0.0) from None
            self._ending.close()
        return self.returncode

    def send_signal(self, sig: int, /) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def communicate(self, input: None = None, timeout: float | None = None) -> tuple[str, str]:
        """What it wrote and was not read yet, once all who may write there have ended."""
        deadline = None if timeout is None else time.monotonic() + timeout
        if not self._readers:
            self._readers = [Thread(target=self._read, args=(one,), daemon=True) for one in (self.stdout, self.stderr)]
            for reader in self._readers:
                reader.start()
        for reader in self._readers:
            reader.join(None if deadline is None else max(deadline - time.monotonic(), 0.0))
            if reader.is_alive():
                raise subprocess.TimeoutExpired("tenax", timeout or 0.0)
        self.wait(None if deadline is None else max(deadline - time.monotonic(), 0.0))
        return self._texts[self.stdout], self._texts[self.stderr]

    def _read(self, stream: IO[str]) -> None:
        with stream:
            self._texts[stream] = stream.read()


class ForkServer:
    """The server, seen from the tests. It ends with the process that started it."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # Its children get other pipes for its own: a file would have a position, and Python has looked for it.
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                env=env,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )

    def start(
        self, arguments: Sequence[str], cwd: Path | None, env: Mapping[str, str], stdin: int | None = None
    ) -> Forked:
        """As `python arguments`, in a session of its own: `-m` with a module or `-c` with a program come first.

        `stdin`: an open file, which the caller closes.
        """
        request = json.dumps(Request([*arguments], str(cwd or Path.cwd()), {**env})).encode()
        assert len(request) <= MAX_REQUEST_BYTES
        ending, their_ending = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        (out, their_out), (err, their_err) = os.pipe(), os.pipe()
        with their_ending, Path(os.devnull).open() as nothing:
            files = (nothing.fileno() if stdin is None else stdin, their_out, their_err)
            socket.send_fds(self._socket, [request], (their_ending.fileno(), *files))
        os.close(their_out)
        os.close(their_err)
        pid = ending.recv(100)
        assert pid, f"the server ended: {self._process.communicate()[0].decode()}"
        return Forked(int(pid), ending, os.fdopen(out, newline=""), os.fdopen(err, newline=""))

    def close(self) -> None:
        self._socket.close()
        with self._process:
            """Wait for its end."""


# ---- the server ---------------------------------------------------------------------------------------------


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    sys.path.pop(0)  # the directory of this file
    import_all()
    gc.freeze()
    if (request := serve(control)) is not None:
        become(request)


def import_all() -> None:
    source = Path(importlib.import_module("tenax").__path__[0]).parent
    for file in source.rglob("*.py"):
        if not file.name.startswith(("__main__", "make_")):
            importlib.import_module(".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__"))
    for name in USUAL_LIBRARIES:
        importlib.import_module(name)


def serve(control: socket.socket) -> Request | None:
    """In a child: what it is to become. In the server: None, once nobody can ask for another."""
    running: dict[int, tuple[int, socket.socket]] = {}
    while True:
        for fileno in select.select([control.fileno(), *running], [], [])[0]:
            if fileno in running:
                tell_end(fileno, *running.pop(fileno))
                continue
            data, filenos, _, _ = socket.recv_fds(control, MAX_REQUEST_BYTES, 4)
            if not data:
                return None
            ending = socket.socket(fileno=filenos[0])
            pid = os.fork()
            if pid == 0:
                for other, (_, its_ending) in running.items():
                    os.close(other)
                    its_ending.close()
                control.close()
                take_files(ending, filenos[1:])
                return Request(*json.loads(data))
            running[os.pidfd_open(pid)] = pid, ending
            for one in filenos[1:]:
                os.close(one)


def tell_end(fileno: int, pid: int, ending: socket.socket) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fileno)
    with ending, suppress(OSError):  # nobody may care any more
        ending.send(str(code).encode())


def take_files(ending: socket.socket, filenos: Sequence[int]) -> None:
    os.setsid()
    for standard, fileno in enumerate(filenos):
        os.dup2(fileno, standard)
        os.close(fileno)
    with ending:
        ending.send(str(os.getpid()).encode())


def become(request: Request) -> None:
    os.chdir(request.cwd)
    os.environ.clear()
    os.environ.update(request.env)
    tempfile.tempdir = None  # as the environment says
    sys.path.insert(0, request.cwd)
    option, program, *arguments = request.arguments
    if option == "-m":
        sys.argv = [program, *arguments]
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.argv = [option, *arguments]
        exec(program, {"__name__": "__main__"})


if __name__ == "__main__":
    main()
