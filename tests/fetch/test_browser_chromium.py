from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tenax
from tenax.fetch.browser.chromium import BrowserDirectory, remove_stale_directories

SOURCE = str(Path(tenax.__file__).parents[1])
OWNER = (
    "import sys; from tenax.fetch.browser.chromium import BrowserDirectory; "
    "print(BrowserDirectory.create().path, flush=True); sys.stdin.read()"
)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Not pytest's own, whose path is too long for sockets; must be set first."""
    with tempfile.TemporaryDirectory() as directory:
        monkeypatch.setattr(tempfile, "tempdir", directory)
        yield Path(directory)


@contextmanager
def owner(temporary: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """Another process that has created a directory."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": SOURCE},
    ) as process:
        assert process.stdout is not None
        yield Path(process.stdout.readline().strip()), process
        process.kill()


def test_a_folder_is_there_until_it_is_removed(temporary: Path) -> None:
    folder = BrowserDirectory.create()
    assert folder.path.parent == temporary and folder.path.stat().st_mode & 0o777 == 0o700
    preferences = json.loads((folder.profile / "Default" / "Preferences").read_bytes())
    assert preferences["net"]["network_prediction_options"] == 2, "never"
    remove_stale_directories()
    assert folder.profile.is_dir(), "somebody lives there"
    folder.remove()
    assert list(temporary.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_nothing_else(temporary: Path) -> None:
    own = BrowserDirectory.create()
    with owner(temporary) as (alive, _), owner(temporary) as (dead, process):
        assert len(list(temporary.iterdir())) == 3
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert dead.is_dir()
        remove_stale_directories()
        assert sorted(temporary.iterdir()) == sorted([own.path, alive])
        assert alive.is_dir() and own.path.is_dir()
    own.remove()


def test_a_name_alone_does_not_make_it_ours(temporary: Path) -> None:
    other_location = temporary / "elsewhere"
    other_location.mkdir()
    (other_location / "kept").write_text("kept")
    (temporary / "tenax-browser-link").symlink_to(other_location)
    (temporary / "tenax-browser-file").write_text("a file")
    remove_stale_directories()
    assert {path.name for path in temporary.iterdir()} == {"elsewhere", "tenax-browser-link", "tenax-browser-file"}
    assert (other_location / "kept").read_text() == "kept"


def test_one_that_is_taken_away_while_it_is_made_is_made_anew(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that starts at the same moment finds it before it is locked."""
    made, really_made = [], tempfile.mkdtemp

    def made_and_taken(prefix: str, dir: Path) -> str:
        made.append(really_made(prefix=prefix, dir=dir))
        if len(made) == 1:
            remove_stale_directories()
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", made_and_taken)
    folder = BrowserDirectory.create()
    assert len(made) == 2 and str(folder.path) == made[1]
    folder.remove()
    assert list(temporary.iterdir()) == []


def test_a_default_directory_with_too_long_a_name_for_sockets_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / ("long" * 10)
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    folder = BrowserDirectory.create()
    assert len(f"{folder.path}/org.chromium.Chromium.XXXXXX/SingletonSocket") <= 107
    folder.remove()
