"""`tenax config`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tenax.cli import main
from tenax.config import all_settings


@pytest.fixture(autouse=True)
def _an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_each_value_is_shown_with_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my.toml").write_text("[crawl]\nmax_depth = 4\n")
    monkeypatch.setenv("TENAX_FETCH_CONTACT", "me@example.org")
    assert main(["config", "--config", "my.toml", "--set", "crawl.scope=any"]) == 0
    rows = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()[1:]}
    assert rows["crawl.max_depth"] == ["4", "my.toml"]
    assert rows["fetch.contact"] == ['"me@example.org"', "TENAX_FETCH_CONTACT"]
    assert rows["crawl.scope"] == ['"any"', "--set", "crawl.scope"]
    assert rows["database.fsync"] == ["true", "default"]
    assert set(rows) == {setting.key for setting in all_settings()}


def test_all_adds_meanings_and_variables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--all"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for setting in all_settings():
        assert setting.variable in text
        assert setting.meaning in text


def test_json_is_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["crawl.max_depth"]["value"] == 10
    assert document["crawl.max_depth"]["source"] == "default"


def test_an_unknown_key_in_the_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tenax.toml").write_text("[crawl]\nmax_detph = 4\n")
    assert main(["config"]) == 2
    assert "did you mean `crawl.max_depth`?" in capsys.readouterr().err


SITES = """
[politeness]
rate_per_second = 2
[proxy]
urls = ["http://me:hush@p.test:1", "socks5://me:hu/sh@p.test:2", "me:hush@p.test"]
[site."*.example.org"]
politeness.rate_per_second = 0.5
proxy.urls = ["http://me:hush@q.test:1"]
"""


def source_of(key: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, str]:
    assert main(["config", "--config", "site.toml", "--json", *words]) == 0
    row = json.loads(capsys.readouterr().out)[key]
    return row["value"], row["source"]


@pytest.mark.parametrize("host", ["www.example.org", "WWW.Example.org.", "https://www.example.org:8443/a?b"])
def test_a_host_is_shown_what_holds_for_it(host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "site.toml").write_text(SITES)
    key = "politeness.rate_per_second"
    assert source_of(key, ["--host", host], capsys) == (0.5, 'site.toml [site."*.example.org"]')
    assert source_of("crawl.max_depth", ["--host", host], capsys) == (10, "default")
    assert source_of(key, ["--host", host, "--set", f"{key}=3"], capsys) == (3, f"--set {key}")
    assert main(["config", "--config", "site.toml", "--host", host]) == 0
    rows = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()[1:]}
    assert rows[key] == ["0.5", "site.toml", '[site."*.example.org"]']
    assert set(rows) == {setting.key for setting in all_settings()}


def test_a_host_that_nothing_is_said_about_is_like_all_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "site.toml").write_text(SITES)
    for words in ([], ["--host", "example.org"], ["--host", "[::1]"]):
        assert source_of("politeness.rate_per_second", words, capsys) == (2, "site.toml")


def test_a_host_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--host", "no host"]) == 2
    assert "--host no host: give a host such as www.example.org" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--all"], ["--json"], ["--host", "a.example.org"]], ids=" ".join)
def test_passwords_of_proxies_are_never_shown(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "site.toml").write_text(SITES)
    assert main(["config", "--config", "site.toml", *words]) == 0
    shown = capsys.readouterr().out
    assert "hu" + "sh" not in shown.replace("hu/sh", "hush")
    assert "http://***@" in shown
