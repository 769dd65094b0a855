"""Where a crawl is kept: in a directory, or in a schema of a database server."""

from __future__ import annotations

import os
from pathlib import Path

from tenax.config import Config, DatabaseConfig
from tenax.logs import sanitize_text
from tenax.model import Value
from tenax.text.escaping import quote_shell_word
from tenax.text.masking import mask_server_url


class Location(Value, frozen=True):
    """One of both, or both: a server that holds the database, and a directory for files that are written."""

    directory: Path | None = None
    server: str = ""
    """The URL of the server, its password included; empty: the database is a file in `database_directory`."""
    schema: str = DatabaseConfig().schema
    is_named: bool = True
    """A command has to name it; else a file or a variable does."""

    @property
    def name(self) -> str:
        """How it is called to a person: inert, and without secrets."""
        if not self.server:
            return sanitize_text(os.fspath(self.database_directory))
        is_usual = self.schema == DatabaseConfig().schema
        server = mask_server_url(self.server, hides_user=True)
        return server if is_usual else f"{server}, schema {self.schema}"

    @property
    def database_directory(self) -> Path:
        assert self.directory is not None, "a crawl that is on no server is in a directory"
        return self.directory

    @property
    def flags(self) -> str:
        """What a command needs to mean this crawl, as a shell reads it; inert on a terminal."""
        if not self.server:
            return f"--dir {quote_shell_word(os.fspath(self.database_directory))}"
        if not self.is_named:
            return ""
        is_usual = self.schema == DatabaseConfig().schema
        schema = "" if is_usual else f" --set {quote_shell_word(f'database.schema={self.schema}')}"
        return f"--database {quote_shell_word(mask_server_url(self.server))}{schema}"


def crawl_location(config: Config, directory: Path | None, *, is_named: bool = True) -> Location:
    """Where this config keeps a crawl; `database_directory` is the directory for its files."""
    return Location(directory, config.database.url, config.database.schema, is_named)
