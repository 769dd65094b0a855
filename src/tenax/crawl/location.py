"""Where a crawl is kept: in a directory, or in a schema of a database server."""

from __future__ import annotations

import os
from pathlib import Path

from tenax.config import Config, LedgerConfig
from tenax.logs import plain
from tenax.model import Value
from tenax.text.escaping import shell_word
from tenax.text.masking import mask_server_url


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
        """How it is called to a person: inert, and without secrets."""
        if not self.server:
            return plain(os.fspath(self.directory))
        is_usual = self.schema == LedgerConfig().schema
        server = mask_server_url(self.server, hides_user=True)
        return server if is_usual else f"{server}, schema {self.schema}"

    @property
    def directory(self) -> Path:
        assert self.out is not None, "a crawl that is on no server is in a directory"
        return self.out

    @property
    def flags(self) -> str:
        """What a command needs to mean this crawl, as a shell reads it; inert on a terminal."""
        if not self.server:
            return f"--out {shell_word(os.fspath(self.directory))}"
        if not self.is_named:
            return ""
        is_usual = self.schema == LedgerConfig().schema
        schema = "" if is_usual else f" --set {shell_word(f'ledger.schema={self.schema}')}"
        return f"--ledger {shell_word(mask_server_url(self.server))}{schema}"


def place_of(config: Config, out: Path | None, *, is_named: bool = True) -> Place:
    """Where this config keeps a crawl; `out` is the directory for its files."""
    return Place(out, config.ledger.url, config.ledger.schema, is_named)
