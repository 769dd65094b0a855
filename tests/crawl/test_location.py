"""Where a crawl is kept, and how that is called: never with a password in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenax.config import Config, LedgerConfig
from tenax.crawl.location import Place, place_of

SERVER = "postgresql://me:hush@db.example/crawl"


@pytest.mark.parametrize(
    ("place", "name", "flags"),
    [
        (Place(Path("my crawl")), "my crawl", "--out 'my crawl'"),
        (Place(None, SERVER), "postgresql://***@db.example/crawl", "--ledger 'postgresql://me:***@db.example/crawl'"),
        (
            Place(Path("files"), SERVER, "news"),
            "postgresql://***@db.example/crawl, schema news",
            "--ledger 'postgresql://me:***@db.example/crawl' --set ledger.schema=news",
        ),
        (Place(None, SERVER, "news", is_named=False), "postgresql://***@db.example/crawl, schema news", ""),
    ],
    ids=["a directory", "a server", "a schema", "named elsewhere"],
)
def test_how_it_is_called_and_named_to_a_command(place: Place, name: str, flags: str) -> None:
    assert place.name == name
    assert place.flags == flags


def test_a_config_says_where() -> None:
    config = Config(ledger=LedgerConfig(url=SERVER, schema="news"))
    assert place_of(config, None) == Place(None, SERVER, "news")
    assert place_of(Config(), Path("out")) == Place(Path("out"))
