"""What happens when we are broken."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from tenax import cli
from tenax.cli.commands import config
from tenax.errors import StorageFull


def breaking(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(args: argparse.Namespace) -> int:
        raise error

    monkeypatch.setattr(config, "run", run)


def test_our_own_break_is_one_line_and_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    breaking(RuntimeError("http://u:secret@h/ broke"), monkeypatch)
    assert cli.main(["config"]) == 1
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    found = re.search(r"details are in (\S+), or run it again with --debug", line)
    assert found is not None
    story = Path(found[1]).read_text()
    assert "Traceback" in story
    assert "secret" not in story + line


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    breaking(RuntimeError("broke"), monkeypatch)
    assert cli.main(["config", "--debug"]) == 1
    text = capsys.readouterr().err
    assert "Traceback" in text
    assert "tenax: internal error: RuntimeError: broke" in text


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StorageFull("the disk is full"), 6),
        (ExceptionGroup("tasks", [ValueError("x"), ExceptionGroup("more", [StorageFull("the disk is full")])]), 6),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 0),
    ],
)
def test_what_becomes_of_failures(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # The real descriptor is let go of when a pipe breaks; give the test one of its own to lose.
    monkeypatch.setattr("os.dup2", lambda *_: None)
    breaking(error, monkeypatch)
    assert cli.main(["config"]) == code
    assert "Traceback" not in capfd.readouterr().err
