"""What a reader process loads before it reads, and how it ends."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import tenax

ENVIRONMENT = {"PYTHONPATH": str(Path(tenax.__file__).parents[1])}
LIGHT = """
import sys
import tenax.reader
from tenax.parse.kernel.binding import kernel
assert kernel() is not None
unused = (
    *("tenax.parse.plain_body", "tenax.parse.markdown_", "tenax.logs", "tenax.catalogues"),
    *("asyncio", "re2", "tomllib", "importlib.resources"),
)
print(sorted(name for name in sys.modules if name.startswith(unused) and name != "tenax.parse.markdown_text"))
"""


def test_with_the_kernel_a_reader_starts_without_what_reads_in_python() -> None:
    answer = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert (answer.stdout, answer.stderr) == ("[]\n", "")


def test_it_ends_with_its_socket() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-m", "tenax.reader_process", str(theirs.fileno())]
        reader = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=ENVIRONMENT)
    ours.close()
    assert reader.wait(timeout=30) == 0
