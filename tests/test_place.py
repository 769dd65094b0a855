"""Where a crawl is kept, and how that is called: never with a password in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenax.config import Config, LedgerConfig
from tenax.place import Place, place_of, shown

SERVER = "postgresql://me:hush@db.example/crawl"


@pytest.mark.parametrize(
    ("place", "name", "flags"),
    [
        (Place(Path("my crawl")), "my crawl", "--out 'my crawl'"),
        (Place(None, SERVER), "postgresql://***@db.example/crawl", "--ledger 'postgresql://***@db.example/crawl'"),
        (
            Place(Path("files"), SERVER, "news"),
            "postgresql://***@db.example/crawl, schema news",
            "--ledger 'postgresql://***@db.example/crawl' --set ledger.schema=news",
        ),
        (Place(None, SERVER, "news", is_named=False), "postgresql://***@db.example/crawl, schema news", ""),
    ],
    ids=["a directory", "a server", "a schema", "named elsewhere"],
)
def test_how_it_is_called_and_named_to_a_command(place: Place, name: str, flags: str) -> None:
    assert place.name == name
    assert place.flags == flags


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("postgresql://db/crawl", "postgresql://db/crawl"),
        (
            "postgresql://db/crawl?user=me&password=hush&sslmode=require",
            "postgresql://db/crawl?user=me&password=***&sslmode=require",
        ),
        ("--ledger=postgres://db/crawl?sslpassword=hush", "--ledger=postgres://db/crawl?sslpassword=***"),
        ("redis://:hush@cache/0", "redis://***@cache/0"),
        ("https://example.org/login?password=forgotten", "https://example.org/login?password=forgotten"),
        ("--ledger", "--ledger"),
    ],
)
def test_a_url_fit_to_be_seen(url: str, seen: str) -> None:
    assert shown(url) == seen


def test_a_config_says_where() -> None:
    config = Config(ledger=LedgerConfig(url=SERVER, schema="news"))
    assert place_of(config, None) == Place(None, SERVER, "news")
    assert place_of(Config(), Path("out")) == Place(Path("out"))
