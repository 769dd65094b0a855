"""Which extras a command needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenax.cli import extras, settings
from tenax.cli.commands import VERBS
from tenax.cli.parser import parse_arguments

POSTGRES, REDIS = "postgresql://db/x", "redis://cache"


@pytest.mark.parametrize(
    ("words", "needs"),
    [
        (["crawl", "a.example"], ()),
        (["crawl", "a.example", "--database", POSTGRES], ("postgres",)),
        (["crawl", "a.example", "--database", POSTGRES, "--dir", "files"], ("postgres",)),
        (["crawl", "a.example", "--redis", REDIS], ("redis",)),
        (["crawl", "a.example", "--set", "events.kafka=k:9092"], ("kafka",)),
        (["crawl", "a.example", "--set", f"events.redis={REDIS}", "--redis", REDIS], ("redis",)),
        (["crawl", "a.example", "--set", "guard.nameservers=127.0.0.1"], ("dns",)),
        (["crawl", "a.example", "--set", "fetch.fallbacks=browser"], ("browser",)),
        (["worker", "--database", POSTGRES, "--redis", REDIS], ("postgres", "redis")),
        (["status", "--database", POSTGRES], ("postgres",)),
        (["explain", "a.example", "--database", POSTGRES], ("postgres",)),
        (["db", "init", "--database", POSTGRES], ("postgres",)),
        (["recover", "--database", POSTGRES], ("postgres",)),
        (["seed", "a.example", "--database", POSTGRES], ("postgres",)),
        (["fetch", "a.example", "--browser"], ("browser",)),
        (["read", "https://a.example", "--curl"], ("curl",)),
        (["links", "--top", "5", "--by", "pagerank"], ("graph",)),
        (["links", "--top", "5"], ()),
        (["page-fetcher"], ("redis", "kafka")),
        (["schedule", "seeds.yaml"], ("redis", "schedule")),
        (["export"], ()),
        (["config", "--set", f"redis.url={REDIS}"], ()),
        (["demo", "--set", f"events.redis={REDIS}"], ()),
    ],
    ids=" ".join,
)
def test_by_its_verb_its_flags_and_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], needs: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    args = parse_arguments(VERBS, words)
    assert extras.required_extras(args, settings.load(args)) == needs


def test_files_and_variables_count_and_a_directory_needs_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tenax.toml").write_text(f'[redis]\nurl = "{REDIS}"\n')
    monkeypatch.setenv("TENAX_DATABASE_URL", POSTGRES)
    for words, needs in ((["status"], ("postgres", "redis")), (["status", "--dir", "x"], ("redis",))):
        args = parse_arguments(VERBS, words)
        assert extras.required_extras(args, settings.load(args)) == needs


@pytest.mark.parametrize(
    "message", ['Redis needs an extra: pip install "tenax[redis]"', "curl is missing: pip install 'tenax[curl]'"]
)
def test_the_image_cannot_install_and_says_what_can(message: str) -> None:
    assert extras.adapt_install_hint(message, {}) == message
    advice = extras.adapt_install_hint(message, {"INSTALLED_AS": "image"})
    assert "pip install" not in advice
    assert "build the image with the argument EXTRAS=" in advice


@pytest.mark.parametrize(
    ("environment", "advice"),
    [
        ({"PROVIDED_BY": "/clone/scripts/tenax"}, "--set fetch.fallbacks=curl,browser"),
        ({"INSTALLED_AS": "image"}, "from a clone or with pip"),
        ({}, "pip install 'tenax[browser]'"),
    ],
    ids=["clone", "image", "wheel"],
)
def test_the_advice_about_a_browser_works_where_tenax_runs(environment: dict[str, str], advice: str) -> None:
    assert advice in extras.browser_advice(2, environment)
    assert ("pip install" in extras.browser_advice(1, environment)) == (not environment)
