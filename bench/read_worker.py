"""The process in which one extractor runs, with time and memory limits: run by `bench/read_run.py`.

It runs in the extractor's own environment, so it needs only the standard library:
`python -P read_worker.py MODULE:FUNCTION PAGES.jsonl OUT.jsonl FIRST STOP SECONDS MEGABYTES`.
"""

from __future__ import annotations

import importlib
import json
import logging
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

WARM_UP = (
    "<html><head><title>Warm up</title></head><body><article>"
    + "<p>The first page pays for what is made once in a process.</p>" * 30
    + "</article></body></html>"
)

Extract = Callable[[str, "str | None"], "dict[str, Any]"]


def work(where: str, pages: str, out: str, first: int, stop: int, seconds: float, megabytes: int) -> None:
    """Read the pages from the first to before `stop`, a line each. A page over its limits ends the process."""
    sys.addaudithook(_stay_offline)
    module, _, name = where.partition(":")
    extract: Extract = getattr(importlib.import_module(module), name)
    extract(WARM_UP, "https://example.org/warm-up")
    resource.setrlimit(resource.RLIMIT_AS, (megabytes * 1_000_000, megabytes * 1_000_000))
    # The operating system's default action also ends code that never returns to the interpreter. Wall clock,
    # because while one of CPU time is set, Linux keeps the CPU clock of the process in ticks of milliseconds.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    with Path(pages).open(encoding="utf-8") as lines, Path(out).open("a", encoding="utf-8") as results:
        for number, line in enumerate(islice(lines, stop)):
            if number >= first:
                page = json.loads(line)
                found = _timed(extract, page["html"], page["url"], seconds)
                results.write(json.dumps({"page": number, **found}) + "\n")
                results.flush()


def _timed(extract: Extract, html: str, url: str | None, seconds: float) -> dict[str, Any]:
    signal.setitimer(signal.ITIMER_REAL, seconds)
    started = time.process_time()
    try:
        found = extract(html, url)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of Rust is no Exception
        found = {"error": f"{type(error).__name__}: {error}"[:200]}
    cpu_ms = (time.process_time() - started) * 1000
    signal.setitimer(signal.ITIMER_REAL, 0)
    return {"cpu_ms": cpu_ms, **found}


def _stay_offline(event: str, _arguments: tuple[Any, ...]) -> None:
    """Some would fetch a list of domains or images; they get only the page."""
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise OSError("no extractor may use the network")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable()
    where, pages, out, first, stop, seconds, megabytes = sys.argv[1:]
    work(where, pages, out, int(first), int(stop), float(seconds), int(megabytes))
