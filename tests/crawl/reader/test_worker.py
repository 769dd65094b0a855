"""What a reader process imports before it reads, and how it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import tenax
from tenax.crawl.reader.worker import ReaderProgress

ENVIRONMENT = {"PYTHONPATH": str(Path(tenax.__file__).parents[1])}
LIGHT = """
import sys
import tenax.crawl.reader.read_page
from tenax.extract.native.binding import load_native
assert load_native() is not None
unused = (
    *("tenax.extract.markdown.", "tenax.logs", "tenax.crawl.url_lists"),
    *("asyncio", "re2", "tomllib", "importlib.resources"),
)
print(sorted(name for name in sys.modules if name.startswith(unused) and name != "tenax.extract.markdown.escape"))
"""


def test_with_native_code_a_reader_does_not_import_what_it_does_not_need() -> None:
    answer = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert (answer.stdout, answer.stderr) == ("[]\n", "")


def test_it_ends_with_its_socket() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        progress = ReaderProgress.create()
        files = [theirs.fileno(), progress.fileno]
        command = [sys.executable, "-m", "tenax.crawl.reader.worker", *map(str, files)]
        reader = subprocess.Popen(command, pass_fds=files, env=ENVIRONMENT)
    ours.close()
    assert reader.wait(timeout=60) == 0
    progress.close()


def test_what_it_leaves_word_of_outlives_it() -> None:
    progress = ReaderProgress.create()
    code = f"""
import os, signal
from tenax.crawl.reader.worker import ReaderProgress
progress = ReaderProgress({progress.fileno})
for _ in range(3):
    progress.begin()
    progress.end()
progress.begin()
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert (progress.started_count, progress.is_extracting) == (0, False)
    died = subprocess.run([sys.executable, "-c", code], pass_fds=[progress.fileno], env=ENVIRONMENT, check=False)
    assert died.returncode == -signal.SIGKILL
    assert (progress.started_count, progress.is_extracting) == (4, True)
    progress.close()
