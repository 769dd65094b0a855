"""What is crawled, and what the crawl keeps for the command that goes on with it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tenax.cli import options, settings
from tenax.cli.commands import VERBS
from tenax.cli.commands.crawl import run
from tenax.cli.options import ExistingCrawl, StoredOptions
from tenax.cli.parser import parse_arguments
from tenax.config import SettingValue
from tenax.crawl.location import Location
from tenax.errors import DatabaseNotFound, UsageError


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALLED_AS", "tenax")


def given(*words: str) -> dict[str, SettingValue]:
    return settings.flag_settings(parse_arguments(VERBS, ["crawl", "https://example.org", *words]))


def kept_after(*words: str, config: str | None = None) -> StoredOptions:
    return options.options_to_store(given(*words), config)


def test_what_ends_and_what_never_does_are_not_asked_for_together(tmp_path: Path) -> None:
    args = parse_arguments(VERBS, ["crawl", "https://example.org", "--continuous", "--max-pages", "5"])
    with pytest.raises(UsageError, match="--max-pages ends a crawl and --continuous never does"):
        run(args)
    assert list(tmp_path.iterdir()) == []


def test_without_a_url_there_must_be_a_crawl(tmp_path: Path) -> None:
    with pytest.raises(DatabaseNotFound, match=r"there is no crawl in .*; name its directory with --dir, or start one"):
        run(parse_arguments(VERBS, ["crawl"]))
    with pytest.raises(DatabaseNotFound, match="there is no crawl in here; start one with: tenax crawl URL"):
        run(parse_arguments(VERBS, ["crawl", "--dir", "here"]))
    assert list(tmp_path.iterdir()) == []


# ---- the command that resumes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "words", "command"),
    [
        (Location(Path("my crawl")), ("--max-depth", "0", "--max-pages", "5"), "tenax crawl --dir 'my crawl'"),
        (Location(Path("a")), ("--proxy", "socks5://127.0.0.1:1080"), "tenax crawl --dir a"),
        (Location(Path("a")), ("--proxy", "http://me:hush@p:1"), "tenax crawl --dir a --proxy 'http://***@p:1'"),
        (
            Location(server="postgresql://tenax@db/tenax"),
            ("--redis", "redis://cache"),
            "tenax crawl --database postgresql://tenax@db/tenax",
        ),
        (
            Location(server="postgresql://tenax:hush@db/tenax"),
            ("--redis", "redis://:hush@cache/1"),
            "tenax crawl --database 'postgresql://tenax:***@db/tenax' --redis 'redis://:***@cache/1'",
        ),
        (Location(Path("files"), "postgresql://db/tenax", is_named=False), (), "tenax crawl --dir files"),
        (Location(None, "postgresql://tenax:hush@db/tenax", is_named=False), (), "tenax crawl"),
    ],
)
def test_it_is_short_and_names_no_secret(where: Location, words: tuple[str, ...], command: str) -> None:
    assert options.build_resume_command(where, kept_after(*words)) == command


def test_a_file_of_settings_is_named_again() -> None:
    command = options.build_resume_command(Location(Path("a")), kept_after("--rate", "2", config="my site.toml"))
    assert command == "tenax crawl --dir a --config 'my site.toml'"


# ---- the settings that are kept ---------------------------------------------------------------------------


def test_what_was_typed_is_kept_but_for_secrets_and_what_is_of_one_run() -> None:
    words = ("--scope", "prefix", "--exclude", "*/a/*", "--exclude", "*/b/*", "--max-depth", "0", "--log-level", "info")
    secrets = (
        "--redis",
        "redis://:hush@cache",
        "--proxy",
        "http://me:hush@p:1",
        "--database",
        "postgresql://a:hush@db/x",
    )
    found = kept_after(*words, *secrets, "--metrics-port", "9464", "--set", "events.redis=redis://:hush@events")
    assert found.settings == {"crawl.scope": "prefix", "crawl.exclude": ("*/a/*", "*/b/*"), "crawl.max_depth": "0"}
    assert b"hush" not in msgspec.json.encode(found)


def taken_up(there: ExistingCrawl, *words: str, is_new_round: bool = False) -> tuple[dict[str, object], list[str]]:
    flags = given(*words)
    settings = options.merge_settings(there, flags, is_new_round=is_new_round)
    return {key: setting.value for key, setting in settings.items()}, options.resume_notices(there, settings, flags)


THERE = ExistingCrawl(
    ("https://example.org/",),
    {"crawl.scope": "prefix", "crawl.exclude": ("*/tag/*",), "politeness.rate_per_second": "2"},
)


def test_they_hold_and_are_said() -> None:
    settings, notices = taken_up(THERE)
    assert settings == THERE.settings
    assert notices == ["kept from the last run: --scope prefix --exclude '*/tag/*' --rate 2"]


def test_a_flag_is_stronger_and_the_change_is_said() -> None:
    settings, notices = taken_up(THERE, "--rate", "4", "--scope", "host")
    assert settings == {"crawl.scope": "host", "crawl.exclude": ("*/tag/*",), "politeness.rate_per_second": "4"}
    assert notices == [
        "kept from the last run: --exclude '*/tag/*'",
        "changed since the last run: politeness.rate_per_second 2 → 4",
    ]


def test_the_same_in_other_words_is_no_change() -> None:
    assert taken_up(THERE, "--rate", "2.0")[1] == ["kept from the last run: --scope prefix --exclude '*/tag/*'"]


def test_a_page_limit_holds_until_it_is_reached() -> None:
    limited = ExistingCrawl(THERE.seeds, {"crawl.max_pages": "500"})
    assert taken_up(limited)[0] == {"crawl.max_pages": "500"}
    reached = msgspec.structs.replace(limited, reached_page_limit=500)
    assert taken_up(reached) == ({}, ["the last run's --max-pages 500 was reached and no longer applies"])
    assert taken_up(reached, is_new_round=True)[0] == {"crawl.max_pages": "500"}
    assert taken_up(reached, "--max-pages", "900")[1] == ["changed since the last run: crawl.max_pages 500 → 900"]


def test_a_page_limit_and_fresh_pages_do_not_hold_together() -> None:
    limited = ExistingCrawl(THERE.seeds, {"crawl.max_pages": "500"})
    settings, notices = taken_up(limited, "--continuous")
    assert (settings, notices) == ({"recrawl.continuous": "true"}, ["the last run's --max-pages 500 no longer applies"])
    endless = ExistingCrawl(THERE.seeds, {"recrawl.continuous": "true"})
    settings, notices = taken_up(endless, "--max-pages", "5")
    assert (settings, notices) == ({"crawl.max_pages": "5"}, ["the last run's --continuous no longer applies"])


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("recrawl.continuous", "true", ["--continuous"]),
        ("recrawl.continuous", "false", ["--set", "recrawl.continuous=false"]),
        ("discovery.sources", ("links", "feeds"), ["--discover", "links,feeds"]),
        ("guard.ports", ("80", "81"), ["--set", "guard.ports=80,81"]),
        ("crawl.include", (), ["--set", "crawl.include="]),
    ],
)
def test_a_setting_is_shown_as_it_is_typed(key: str, value: options.FlagValue, words: list[str]) -> None:
    assert options.to_flags(key, value) == words
    assert given(*words)[key].value == value
