"""Flags, variables and a file become one config."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from tenax.cli import settings
from tenax.cli.commands import VERBS
from tenax.cli.parser import Verb, parse_arguments
from tenax.config import SettingValue, all_settings
from tenax.errors import ConfigError, UsageError


@pytest.fixture(autouse=True)
def _an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def arguments(*words: str) -> argparse.Namespace:
    return parse_arguments(VERBS, ["crawl", "https://example.org", *words])


def taken_by(verb: Verb) -> set[str]:
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    return {action.dest for action in parser._actions}


def test_every_flag_turns_a_setting_that_exists() -> None:
    assert set(settings.FLAGS.values()) <= {setting.key for setting in all_settings()}
    assert set(settings.FLAGS) <= set().union(*map(taken_by, VERBS))


def test_flags_become_values_with_their_names() -> None:
    loaded = settings.load(
        arguments("--rate", "2.5", "--max-pages", "9", "--exclude", "*/a,b/*", "--exclude", "/x+/", "--scope", "domain")
    )
    assert loaded.config.politeness.rate_per_second == 2.5
    assert loaded.config.crawl.max_pages == 9
    assert loaded.config.crawl.exclude == ("*/a,b/*", "/x+/")
    assert loaded.config.crawl.scope == "domain"
    assert loaded.sources["politeness.rate_per_second"] == "--rate"
    assert loaded.sources["crawl.max_depth"] == "default"


def test_any_setting_can_be_set_and_a_named_flag_is_stronger() -> None:
    loaded = settings.load(
        arguments(
            "--set",
            "guard.ports=80, 8080",
            "--set",
            "crawl.max_depth=3",
            "--max-depth",
            "4",
            "--set",
            "pool.processes=0",
        )
    )
    assert loaded.config.guard.ports == (80, 8080)
    assert loaded.config.crawl.max_depth == 4
    assert loaded.sources["guard.ports"] == "--set guard.ports"


def test_the_file_here_is_used_and_the_environment_is_stronger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tenax.toml").write_text("[crawl]\nmax_depth = 2\nmax_pages = 5\n")
    monkeypatch.setenv("TENAX_CRAWL_MAX_PAGES", "6")
    loaded = settings.load(arguments())
    assert (loaded.config.crawl.max_depth, loaded.config.crawl.max_pages) == (2, 6)
    assert loaded.sources["crawl.max_depth"] == "tenax.toml"


def test_what_lies_beneath_gives_way_to_all_others(tmp_path: Path) -> None:
    (tmp_path / "tenax.toml").write_text("[crawl]\nmax_depth = 2\n")
    beneath = {"crawl.max_depth": SettingValue(7, "demo"), "crawl.max_pages": SettingValue(8, "demo")}
    loaded = settings.load(arguments(), default_overrides=beneath)
    assert (loaded.config.crawl.max_depth, loaded.config.crawl.max_pages) == (2, 8)
    assert loaded.sources["crawl.max_pages"] == "demo"


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (["--rate", "fast"], ConfigError, "--rate: bad value 'fast'"),
        (["--scope", "galaxy"], ConfigError, "--scope: bad value 'galaxy'"),
        (["--max-pages", "-1"], ConfigError, "--max-pages: bad value '-1'"),
        (["--set", "crawl.max_dept=3"], UsageError, "did you mean `crawl.max_depth`"),
        (["--set", "crawl.max_depth"], UsageError, "write it as SECTION.KEY=VALUE"),
        (["--config", "nowhere.toml"], ConfigError, "nowhere.toml: no such file"),
        (["--discover", "links,rumours"], ConfigError, "--discover: bad value"),
        (["--discover", "none,links"], ConfigError, "--discover: `discovery.sources` takes a list"),
        (["--discover", ","], ConfigError, "--discover: `discovery.sources` takes a list"),
        (
            ["--set", "discovery.sources=links,none"],
            ConfigError,
            "--set discovery.sources: `discovery.sources`",
        ),
    ],
)
def test_mistakes_name_the_flag(words: list[str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message.replace("[", r"\[")):
        settings.load(arguments(*words))


@pytest.mark.parametrize(
    ("words", "sources"),
    [
        ([], ("links", "sitemaps", "feeds", "archives", "pagination")),
        (["--discover", "links, feeds"], ("links", "feeds")),
        (["--discover", "none"], ("none",)),
    ],
)
def test_the_ways_to_find_pages_are_a_list(words: list[str], sources: tuple[str, ...]) -> None:
    assert settings.load(arguments(*words)).config.discovery.sources == sources


def test_a_site_may_not_be_told_two_things_either(tmp_path: Path) -> None:
    (tmp_path / "tenax.toml").write_text('[site."example.org"]\ndiscovery.sources = ["none", "links"]\n')
    with pytest.raises(ConfigError, match=r'\[site."example.org"\]: `discovery.sources` takes a list'):
        settings.load(arguments())


def test_keeping_fresh_is_a_switch() -> None:
    assert settings.load(arguments("--continuous")).config.recrawl.continuous
    assert not settings.load(arguments()).config.recrawl.continuous
