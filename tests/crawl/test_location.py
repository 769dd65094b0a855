"""The location of a crawl, and its name for display: never with a password."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenax.config import Config, DatabaseConfig
from tenax.crawl.location import Location, crawl_location

SERVER = "postgresql://me:hush@db.example/crawl"


@pytest.mark.parametrize(
    ("location", "name", "flags"),
    [
        (Location(Path("my crawl")), "my crawl", "--dir 'my crawl'"),
        (
            Location(None, SERVER),
            "postgresql://***@db.example/crawl",
            "--database 'postgresql://me:***@db.example/crawl'",
        ),
        (
            Location(Path("files"), SERVER, "news"),
            "postgresql://***@db.example/crawl, schema news",
            "--database 'postgresql://me:***@db.example/crawl' --set database.schema=news",
        ),
        (Location(None, SERVER, "news", is_named=False), "postgresql://***@db.example/crawl, schema news", ""),
    ],
    ids=["a directory", "a server", "a schema", "named elsewhere"],
)
def test_how_it_is_called_and_named_to_a_command(location: Location, name: str, flags: str) -> None:
    assert location.name == name
    assert location.flags == flags


def test_a_config_says_where() -> None:
    config = Config(database=DatabaseConfig(url=SERVER, schema="news"))
    assert crawl_location(config, None) == Location(None, SERVER, "news")
    assert crawl_location(Config(), Path("out")) == Location(Path("out"))
