"""Where a crawl is stored: in a directory, or in a schema of a database server."""

from __future__ import annotations

import os
from pathlib import Path

from tenax.config import Config, DatabaseConfig
from tenax.logs import sanitize_text
from tenax.model import Value
from tenax.text.sanitize import mask_server_url, quote_shell_word


class Location(Value, frozen=True):
    """A database server, a directory for output files, or both."""

    directory: Path | None = None
    server: str = ""
    """The URL of the server with its password; empty: the database is a file in `database_directory`."""
    schema: str = DatabaseConfig().schema
    is_named: bool = True
    """A command must name it. False: a file or an environment variable names it."""

    @property
    def name(self) -> str:
        """The location for display, without control characters and secrets."""
        if not self.server:
            return sanitize_text(os.fspath(self.database_directory))
        is_usual = self.schema == DatabaseConfig().schema
        server = mask_server_url(self.server, hides_user=True)
        return server if is_usual else f"{server}, schema {self.schema}"

    @property
    def database_directory(self) -> Path:
        assert self.directory is not None, "a crawl without a server is in a directory"
        return self.directory

    @property
    def flags(self) -> str:
        """The flags that select this crawl, quoted for a shell and safe on a terminal."""
        if not self.server:
            return f"--dir {quote_shell_word(os.fspath(self.database_directory))}"
        if not self.is_named:
            return ""
        is_usual = self.schema == DatabaseConfig().schema
        schema = "" if is_usual else f" --set {quote_shell_word(f'database.schema={self.schema}')}"
        return f"--database {quote_shell_word(mask_server_url(self.server))}{schema}"


def crawl_location(config: Config, directory: Path | None, *, is_named: bool = True) -> Location:
    """The location that this config gives; `directory` is for the files of the crawl."""
    return Location(directory, config.database.url, config.database.schema, is_named)
