"""Where a crawl is kept: in a directory, or in a schema of a database server."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from tenax.config import Config, LedgerConfig
from tenax.logs import MASK, masked
from tenax.model import Value

_SERVER = re.compile(r"(?i)(?:--[a-z]+=)?(?:postgres(?:ql)?|rediss?)://")
_PASSWORD = re.compile(r"(?i)([?&]\w*passw\w*=)[^&]*")


class Place(Value, frozen=True):
    """One of both, or both: a server that holds the ledger, and a directory for files that are written."""

    out: Path | None = None
    server: str = ""
    """The URL of the server, its password included; empty: the ledger is a file in `out`."""
    schema: str = LedgerConfig().schema
    is_named: bool = True
    """A command has to name it; else a file or a variable does."""

    @property
    def name(self) -> str:
        """How it is called to a person; keeps no secret."""
        if not self.server:
            return os.fspath(self.directory)
        is_usual = self.schema == LedgerConfig().schema
        return shown(self.server) if is_usual else f"{shown(self.server)}, schema {self.schema}"

    @property
    def directory(self) -> Path:
        assert self.out is not None, "a crawl that is on no server is in a directory"
        return self.out

    @property
    def flags(self) -> str:
        """What a command needs to mean this crawl, as a shell reads it."""
        if not self.server:
            return f"--out {shlex.quote(os.fspath(self.directory))}"
        if not self.is_named:
            return ""
        is_usual = self.schema == LedgerConfig().schema
        schema = "" if is_usual else f" --set {shlex.quote(f'ledger.schema={self.schema}')}"
        return f"--ledger {shlex.quote(shown(self.server))}{schema}"


def shown(url: str) -> str:
    """A URL fit to be seen. That of a server may hold its password in the query as well."""
    url = masked(url)
    return _PASSWORD.sub(rf"\1{MASK}", url) if _SERVER.match(url) else url


def place_of(config: Config, out: Path | None, *, is_named: bool = True) -> Place:
    """Where this config keeps a crawl; `out` is the directory for its files."""
    return Place(out, config.ledger.url, config.ledger.schema, is_named)
