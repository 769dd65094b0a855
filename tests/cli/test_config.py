"""`tenax config`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tenax.cli import main
from tenax.config import knobs


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
    assert rows["ledger.fsync"] == ["true", "default"]
    assert set(rows) == {knob.key for knob in knobs()}


def test_all_adds_meanings_and_variables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--all"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for knob in knobs():
        assert knob.variable in text
        assert knob.meaning in text


def test_json_is_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["crawl.max_depth"]["value"] == 10
    assert document["crawl.max_depth"]["source"] == "default"


def test_an_unknown_key_in_the_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tenax.toml").write_text("[crawl]\nmax_detph = 4\n")
    assert main(["config"]) == 2
    assert "did you mean `crawl.max_depth`?" in capsys.readouterr().err
