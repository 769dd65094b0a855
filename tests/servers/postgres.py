"""A PostgreSQL server in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

from tests.servers.processes import ServerProcess, free_port

USER = "tenax"
PASSWORD = "a secret: /@?#%"  # every mark that a URL must escape
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "autovacuum_naptime": "5s",
    "jit": "off",
}


class PostgresServer:
    """Started on entering, ended and removed on leaving. `is_durable`: it waits for the disk, as a real one must."""

    def __init__(self, is_durable: bool = False, folder: Path | None = None, **settings: str) -> None:
        """`folder`: where its own is made; None for where temporary ones are."""
        self._parent = folder
        self.port = free_port()
        self._settings = SETTINGS | ({} if is_durable else {"fsync": "off", "full_page_writes": "off"}) | settings
        # PostgreSQL does not run as root; Debian's package made a user for it.
        self._user = "postgres" if os.geteuid() == 0 else None

    def url(self, database: str = "postgres", password: str = PASSWORD) -> str:
        from urllib.parse import quote

        return f"postgresql://{USER}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def __enter__(self) -> PostgresServer:
        self._folder = Path(tempfile.mkdtemp(prefix="tenax-postgres-", dir=self._parent))
        try:
            self._initialise()
            self._server.start()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.stop(signal.SIGQUIT)  # "immediate": what it would still write is removed with it
        shutil.rmtree(self._folder, ignore_errors=True)

    def create(self, database: str) -> str:
        """A new empty database; its URL."""
        self.psql(f'CREATE DATABASE "{database}"')
        return self.url(database)

    def psql(self, sql: str, database: str = "postgres") -> str:
        """The result of a statement as plain text."""
        ran = subprocess.run(
            ["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql, self.url(database)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if ran.returncode:
            raise RuntimeError(ran.stderr)
        return ran.stdout.strip()

    def restart(self) -> None:
        self._server.stop(signal.SIGINT)
        self._server.start()

    def stop(self) -> None:
        self._server.stop(signal.SIGINT)

    def start(self) -> None:
        self._server.start()

    def kill(self) -> None:
        """End every session at once, losing what is not on disk."""
        self._server.stop(signal.SIGQUIT)

    def _initialise(self) -> None:
        data, secret = self._folder / "data", self._folder / "secret"
        secret.write_text(PASSWORD)
        if self._user is not None:
            owner = pwd.getpwnam(self._user)
            for path in (self._folder, secret):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        command = [
            _program("initdb"), "--pgdata", str(data), "--username", USER, "--pwfile", str(secret),
            "--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale", "--no-sync",
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, user=self._user, cwd="/")
        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        self._server = ServerProcess(
            [_program("postgres"), "-D", str(data), "-p", str(self.port), *options],
            self._folder / "log",
            self._answers,
            self._user,
        )

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return self.psql("SELECT 1") == "1"
        except (OSError, RuntimeError):
            return False


def _program(name: str) -> str:
    """Debian keeps the server's programs out of PATH, by version."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: float(path.parts[4]))
    found = str(versions[-1]) if versions else shutil.which(name)
    if found is None:
        raise RuntimeError(f"{name} is not installed: scripts/test installs it")
    return found
