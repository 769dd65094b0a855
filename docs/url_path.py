"""Measures which Python files one URL passes through; run by `scripts/docs path`.

A small site is crawled with one visit at a time. The calls of the crawl and of its reader are recorded, from the claim
of one of its URLs until the line of that page is in `pages.jsonl`. The result, docs/url_path.txt, is shown in
docs/architecture.md. It is not measured again with the other generated parts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from docs.from_code import GROUPS, SOURCE
from docs.wording import table

RECORD = Path(__file__).parent / "url_path.txt"
TRACER = Path(__file__).parent / "trace_calls.py"
PAGES = 30
TRACED_VISIT = 15
"""By then everything is loaded and connected, and other pages still wait."""
TIMEOUT_SECONDS = 120
LEVEL = {package: level for level, group in enumerate(GROUPS) for package in group}


class Call(NamedTuple):
    caller: str
    """A file below src/tenax; empty for the event loop."""
    called: str


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        calls = measure(Path(directory))
    files = sorted({call.called for call in calls}, key=lambda file: (-level(file), file))
    upward = sorted({call for call in calls if is_upward(call)})
    RECORD.write_text("".join([*(f"{file}\n" for file in files), *(f"{up} > {to}\n" for up, to in upward)]))
    sys.stdout.write(f"{len(files)} files, {len(upward)} calls to an upper layer: {RECORD}\n")
    return 0


def measure(directory: Path) -> list[Call]:
    """The calls between files, for one visit."""
    site, tracer, records = (directory / name for name in ("site", "tracer", "records"))
    for folder in (site, tracer, records):
        folder.mkdir()
    for number in range(PAGES):
        (site / f"{number}.html").write_text(page(number))
    shutil.copy(TRACER, tracer / "sitecustomize.py")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tracer), str(SOURCE.parent)]),
        "TRACED_CALLS": os.pathsep.join([str(SOURCE), str(records), str(TRACED_VISIT)]),
    }
    with serve(site) as url:
        subprocess.run(
            [sys.executable, "-m", "tenax", "crawl", f"{url}/0.html", "--rate", "0", "--dir", directory / "crawl",
             "--set", "crawl.concurrency=1", "--set", "pool.processes=1"],
            env=environment, check=True, capture_output=True, timeout=TIMEOUT_SECONDS,
        )  # fmt: skip
    names = {file.name.partition("-")[0] for file in records.iterdir()}
    if names != {"crawl", "reader"}:
        raise SystemExit(f"recorded by {sorted(names)} only: the names in {TRACER.name} are out of date")
    return [Call(*line.split(" ")) for file in sorted(records.iterdir()) for line in file.read_text().splitlines()]


def page(number: int) -> str:
    links = "".join(f'<a href="{other}.html">Page {other}</a> ' for other in range(PAGES))
    text = "".join(
        f"<p>On page {number}, paragraph {line} has some words, and a few more of them.</p>" for line in range(9)
    )
    return (
        f"<html lang=en><title>Page {number}</title><h1>Page {number}</h1><article>{text}</article><nav>{links}</nav>"
    )


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open, as most servers do

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serve(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def url_path_table() -> str:
    """The measured files by layer, and the calls to an upper layer."""
    lines = RECORD.read_text().splitlines()
    files = [line for line in lines if ">" not in line]
    callbacks = [line.split(" > ") for line in lines if ">" in line]
    rows = []
    for group in reversed(GROUPS):
        for package in group:
            names = [file.removesuffix(".py") for file in files if file.partition("/")[0] == package]
            if names:
                rows.append([f"`{package}`", str(len(names)), ", ".join(name.partition("/")[2] for name in names)])
    loose = [file.removesuffix(".py") for file in files if "/" not in file]
    rows.append(["modules", str(len(loose)), ", ".join(loose)])
    calls = ", ".join(f"`{called}` by `{caller}`" for caller, called in callbacks) or "none"
    return f"{table(('package', 'files', 'which'), rows)}\n\n{len(files)} files. Callbacks to an upper layer: {calls}."


def level(file: str) -> int:
    """The layer of a file; modules beside the packages belong to the lowest."""
    return LEVEL.get(file.partition("/")[0], 0)


def is_upward(call: Call) -> bool:
    return bool(call.caller) and level(call.called) > level(call.caller)


if __name__ == "__main__":
    sys.exit(main())
