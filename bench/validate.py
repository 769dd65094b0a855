"""Accuracy and cost of distinguishing block pages from good short pages.

The pages are in tests/pages: 300 good short ones and 60 block pages, a third of each held out. Verdicts are timed on
parsed pages, by CPU time, the minimum of several rounds; long pages are made of the same texts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from bench.report import Figure, Report, run, say, table
from tenax.config import ValidationConfig
from tenax.extract.document import Content, extract_with_dom
from tenax.extract.html.block_page_signals import read_block_page_signals
from tenax.extract.html.dom import Dom
from tenax.fetch.validate import Verdict, validate
from tests.pages import good_pages, wall_pages
from tests.pages.layouts import plain
from tests.pages.texts import TEXTS

ROUNDS, QUICK_ROUNDS = 30, 5
LONG_PAGES = 100
CAUGHT_BAR = 0.95
LONG_BAR_MICROSECONDS = 5
SHORT_BAR_MICROSECONDS = 100
_CONFIG = ValidationConfig()


class Read(NamedTuple):
    """A parsed page."""

    document: Content
    dom: Dom | None
    body_bytes: int


def main() -> None:
    run("validate", measure)


def measure(report: Report, chosen: argparse.Namespace) -> None:
    rounds = QUICK_ROUNDS if chosen.quick else ROUNDS
    good, walls = good_pages(), wall_pages()
    rejected = {page.name for page in good if _judge(_read(page.html)).status != "valid"}
    missed = {wall.name for wall in walls if _judge(_read(wall.html)).status == "valid"}
    rows = []
    for name, is_held_out in (("seen while writing the rules", False), ("held out", True)):
        of_good = [page.name for page in good if page.is_held_out is is_held_out]
        of_walls = [wall.name for wall in walls if wall.is_held_out is is_held_out]
        kept, caught = len(set(of_good) - rejected), len(set(of_walls) - missed)
        rows.append([name, f"{kept} of {len(of_good)}", f"{caught} of {len(of_walls)}"])
    table(["pages", "good ones kept", "walls caught"], rows)
    for name in sorted(rejected | missed):
        say(f"wrong: {name}")
    long_pages = [_read(_long_page(number)) for number in range(LONG_PAGES)]
    micros = {
        "long_page": _microseconds(long_pages, rounds),
        "short_page": _microseconds([_read(page.html) for page in good], rounds),
        "wall": _microseconds([_read(wall.html) for wall in walls], rounds),
    }
    for name, taken in micros.items():
        report.figure(f"{name}_microseconds", taken)
    report.figure("good_pages", len(good))
    report.figure("walls", len(walls))
    report.figure("walls_missed", list[Figure](sorted(missed)))
    report.at_most("good_pages_rejected", len(rejected), 0)
    report.at_least("walls_caught", 1 - len(missed) / len(walls), CAUGHT_BAR)
    report.at_most("long_page_microseconds", micros["long_page"], LONG_BAR_MICROSECONDS)
    report.at_most("short_page_microseconds", micros["short_page"], SHORT_BAR_MICROSECONDS)


def _long_page(number: int) -> str:
    texts = [TEXTS[(number + step) % len(TEXTS)] for step in range(40)]
    return plain("en", texts[0][2], "".join(body for *_, body in texts))


def _read(html: str) -> Read:
    body = html.encode()
    return Read(*extract_with_dom(body, "text/html; charset=utf-8"), len(body))


def _judge(page: Read) -> Verdict:
    return validate(page.document, partial(read_block_page_signals, page.dom), _CONFIG, page.body_bytes)


def _microseconds(pages: Sequence[Read], rounds: int) -> float:
    """Mean per page, in the fastest round."""
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        for page in pages:
            _judge(page)
        best = min(best, time.process_time() - started)
    return best / len(pages) * 1_000_000


if __name__ == "__main__":
    main()
