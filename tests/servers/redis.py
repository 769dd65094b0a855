"""A Redis server in a temporary folder."""

from __future__ import annotations

import shutil
import socket
import tempfile
from pathlib import Path
from types import TracebackType

from tests.servers.processes import ServerProcess, free_port


class RedisServer:
    """Started on entering, ended and removed on leaving. Its data survives a restart, not a kill."""

    def __init__(self, *options: str) -> None:
        self.port = free_port()
        self._options = options

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def __enter__(self) -> RedisServer:
        self._folder = Path(tempfile.mkdtemp(prefix="tenax-redis-"))
        command = [
            "redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self._folder),
            "--save", "3600 1", "--daemonize", "no", *self._options,
        ]  # fmt: skip
        self._server = ServerProcess(command, self._folder / "log", self._answers)
        try:
            self._server.start()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def say(self, *words: str) -> bytes:
        """One command, and the first piece of its answer."""
        parts = "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
        with socket.create_connection(("127.0.0.1", self.port), 2) as line:
            line.sendall(f"*{len(words)}\r\n{parts}".encode())
            return line.recv(65_536)

    def restart(self) -> None:
        self.stop()
        self.start()

    def stop(self) -> None:
        self._server.stop()

    def start(self) -> None:
        self._server.start()

    def kill(self) -> None:
        self._server.kill()

    def pause(self) -> None:
        """Accept connections, and answer none."""
        self._server.pause()

    def go_on(self) -> None:
        self._server.go_on()

    def _answers(self) -> bool:
        try:
            return self.say("PING").startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False
