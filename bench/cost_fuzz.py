"""A fuzzer of what reading costs: it breeds documents for the CPU time they take for a byte.

`python -m bench.cost_fuzz SECONDS SEED FOUND_DIRECTORY` is the process in which it works, run by `bench/soak_read.py`.
It prints a line of JSON for whatever it finds, and one of what it has tried every few seconds. With `COUNTx` in place
of the seconds it reads so many documents, the same ones for the same seed, and is content with less: so the tests run
it. CPU time alone counts: a busy machine finds nothing more. Two things are found:

- `overrun`: a document took much longer than it may, so some step does not look at its time;
- `growth`: at twice the size it takes more than three times as long, parsing aside, and that is no small time. The
  parser is known to; it looks at its time with every piece.

A document that is given up in time is as it should be, and counted.
"""

from __future__ import annotations

import cProfile
import hashlib
import json
import pstats
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, NamedTuple
from unittest import mock

from bench.cost_shapes import CURRENT, Form, Shape, fresh, kept_shapes, mutated
from tenax.config import Config, ExtractConfig
from tenax.crawl.reader.messages import ExtractJob
from tenax.crawl.reader.read_page import extract_page
from tenax.crawl.single_page import MAX_CPU_SECONDS, explain_page, read
from tenax.extract.budget import CpuBudget
from tenax.extract.html.parser import parse
from tenax.model import Source
from tenax.runtime.cpu_time import GRACE_SECONDS, ProcessLimit, cpu_seconds
from tenax.runtime.memory import configure_memory
from tenax.urls.admit import build_rules

SMALL_BYTES: Final = 30_000
LARGE_BYTES: Final = 240_000
OVERRUN_SECONDS: Final = MAX_CPU_SECONDS + 2 * GRACE_SECONDS
GROWTH: Final = 3.0
GROWTH_SECONDS: Final = 0.25
"""What takes less at the large size may grow as it likes."""
ENDING_SECONDS: Final = 60.0
"""After so much CPU time for one document the system ends the process."""
POPULATION: Final = 30
"""Of each mode."""
FRESH: Final = 0.25
"""How many of the documents are not bred from others."""
TELL_SECONDS: Final = 5.0
URL: Final = "https://www.example.org/news/2023/11/10/a-lighthouse-story.html?p=1"
NOW: Final = 1_700_000_000.0
GIVEN_UP: Final = "too costly to read"
_RULES: Final = build_rules([URL], Config(), 2026)
_SOURCES: Final = {"html": Source.LINK, "feed": Source.FEED, "sitemap": Source.SITEMAP}
_TYPES: Final = {"html": "text/html; charset=utf-8", "feed": "application/rss+xml", "sitemap": "application/xml"}


class Cost(NamedTuple):
    """CPU time of one document."""

    seconds: float
    parsing: float
    """Of these, those of the HTML parser."""
    why: str = ""
    """Why it was given up; empty when it was read."""

    @property
    def reading(self) -> float:
        return self.seconds - self.parsing


Read = Callable[[bytes, Form], str]
"""Reads a document, and tells why it was given up, if it was."""


def _in_a_crawl(body: bytes, form: Form, reading: ExtractConfig) -> str:
    job = ExtractJob(
        1, URL, URL, 0, body, _TYPES[form], source=_SOURCES[form], is_url_list=form != "html", is_continuous=True,
        now=NOW, extract=reading,
    )  # fmt: skip
    failed = extract_page(job, _RULES).failure
    return failed.why if failed is not None else ""


def _alone(body: bytes, _form: Form) -> str:
    content = read(body, URL)
    return content.media_reason if content.media_reason.startswith(GIVEN_UP) else ""


def _explained(body: bytes, _form: Form) -> str:
    explain_page(body, URL)
    return ""


MODES: Final[dict[str, Read]] = {
    "read": _alone,
    "kernel": partial(_in_a_crawl, reading=ExtractConfig(keep_links=True)),
    "skim": partial(_in_a_crawl, reading=ExtractConfig(articles=False, native=False)),
    "python": partial(_in_a_crawl, reading=ExtractConfig(keep_links=True, native=False)),
    "explain": _explained,
}
"""Ways of reading: `tenax.read`; a page of a crawl, with the kernel, without an article, and in Python alone; the
reasons for each block."""
_ALIKE: Final = (("read", "kernel"), ("python", "python", "skim", "explain"))
"""What costs much in one of them does so in the other, mostly: one is enough for most documents."""
_URL_LIST_MODES: Final = ("kernel",)


_parsing = 0.0


def _timed_parse(html: bytes, budget: CpuBudget | None = None) -> object:
    global _parsing
    began = cpu_seconds()
    try:
        return parse(html, budget)
    finally:
        _parsing += cpu_seconds() - began


def cost_of(body: bytes, form: Form, mode: str) -> Cost:
    """To be called in another thread than the main one, where nothing cuts off what does not look at its time."""
    global _parsing
    _parsing = 0.0
    began = cpu_seconds()
    with mock.patch("tenax.extract.html.dom.parse", _timed_parse):
        why = MODES[mode](body, form)
    return Cost(cpu_seconds() - began, _parsing, why)


def at_rest(work: Callable[[], None]) -> None:
    """Do it in a thread of its own, see `cost_of`; what it raises is raised here."""
    raised: list[BaseException] = []

    def caught() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=caught)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


class Found(NamedTuple):
    what: str
    """`overrun` or `growth`."""
    mode: str
    why: str
    shape: Shape


def overrun(shape: Shape, mode: str, cost: Cost, most_seconds: float = OVERRUN_SECONDS) -> Found | None:
    """A list may take five times as long as a page."""
    most = most_seconds * (5 if shape.form != "html" else 1)
    if cost.seconds <= most:
        return None
    why = f"{cost.seconds:.1f} s of CPU, {cost.parsing:.1f} of them parsing; {cost.why or 'not given up'}"
    return Found("overrun", mode, why, shape)


def growth(shape: Shape, mode: str, cost: Cost) -> Found | None:
    """Whether reading the large document, which costs this, is out of proportion to reading half of it."""
    if cost.why or cost.reading < GROWTH_SECONDS:
        return None
    if cost.reading < GROWTH * cost_of(shape.made(LARGE_BYTES // 2), shape.form, mode).reading:
        return None
    # Again: a first time may include what every first time does.
    half = cost_of(shape.made(LARGE_BYTES // 2), shape.form, mode).reading
    whole = min(cost.reading, cost_of(shape.made(LARGE_BYTES), shape.form, mode).reading)
    if whole < max(GROWTH * half, GROWTH_SECONDS):
        return None
    # Once more, at twice the size: what costs more from some size on, for it is read in another way, does so once.
    # Where a limit ends that one, at half the size.
    twice = cost_of(shape.made(2 * LARGE_BYTES), shape.form, mode)
    if not twice.why:
        goes_on = twice.reading > GROWTH * whole
    else:
        quarter = cost_of(shape.made(LARGE_BYTES // 4), shape.form, mode).reading
        goes_on = twice.seconds > MAX_CPU_SECONDS or half > GROWTH * quarter
    if not goes_on:
        return None
    return Found("growth", mode, f"{half:.2f} s of CPU at {LARGE_BYTES // 2:,} bytes, {whole:.2f} at twice that", shape)


@dataclass
class Breeder:
    """The costliest shapes of each mode so far, and what was found on the way."""

    random: Random
    best: dict[str, dict[Shape, float]] = field(default_factory=lambda: {mode: {} for mode in MODES})
    """CPU seconds for a byte, parsing aside."""
    tried: int = 0
    given_up: int = 0

    def next(self) -> Shape:
        random = self.random
        parents = list(self.best[random.choice(list(MODES))])
        if not parents or random.random() < FRESH:
            return fresh(random)
        return mutated(random.choice(parents), parents, random)

    def _modes(self, shape: Shape) -> tuple[str, ...]:
        return tuple(map(self.random.choice, _ALIKE)) if shape.form == "html" else _URL_LIST_MODES

    def count(self, shape: Shape, mode: str, cost: Cost, size: int = LARGE_BYTES) -> None:
        """Take what a document of this size cost; the shape is kept if few cost more."""
        self.tried += 1
        self.given_up += bool(cost.why)
        best = self.best[mode]
        best[shape] = max(cost.reading / size, best.get(shape, 0.0))
        if len(best) > POPULATION:
            del best[min(best, key=best.__getitem__)]

    def weigh(self, shape: Shape) -> list[Found]:
        """Measure it in every mode, small; and large, where it is among the costly ones."""
        found: list[Found] = []
        small, large = shape.made(SMALL_BYTES), shape.made(LARGE_BYTES)
        for mode in self._modes(shape):
            best = self.best[mode]
            cost = cost_of(small, shape.form, mode)
            least = min(best.values()) if len(best) >= POPULATION else 0.0
            if not cost.why and cost.reading / len(small) < least / 2:
                self.tried += 1
                continue
            cost = cost_of(large, shape.form, mode)
            self.count(shape, mode, cost)
            found += filter(None, (overrun(shape, mode, cost), growth(shape, mode, cost)))
        return found


def hottest(shape: Shape, mode: str) -> str:
    """The function that takes most of the time, as Python sees it."""
    profile = cProfile.Profile()
    profile.runcall(MODES[mode], shape.made(LARGE_BYTES // 2), shape.form)
    stats: dict[tuple[str, int, str], tuple[int, int, float, float, object]] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    (file, line, name), _ = max(stats.items(), key=lambda one: one[1][2])
    return f"{Path(file).name}:{line} {name}"


def breed(seconds: float, seed: int, directory: Path) -> None:
    """For so long; with the shapes that were found before to begin with."""
    limit = ProcessLimit()
    breeder = Breeder(Random(seed))
    known: set[tuple[str, str, str]] = set()
    began = told = time.monotonic()
    waiting = kept_shapes()
    while (now := time.monotonic()) - began < seconds:
        shape = waiting.pop() if waiting else breeder.next()
        (directory / CURRENT).write_text(shape.line(), "utf-8")
        limit.allow(ENDING_SECONDS)
        for one in breeder.weigh(shape):
            limit.allow(ENDING_SECONDS)
            key = one.what, one.mode, hottest(shape, one.mode)
            if key not in known:
                known.add(key)
                line = one.shape.line()
                name = f"cost-{one.what}-{hashlib.sha256(line.encode()).hexdigest()[:12]}.json"
                (directory / name).write_text(line, "utf-8")
                _say({"found": f"{one.what} ({one.mode}): {one.why}; most of it in {key[2]} ({name})"})
        if now - told > TELL_SECONDS:
            told = now
            _say(progress(breeder))
    _say(progress(breeder))
    with (directory / "cost-worst.jsonl").open("w", encoding="utf-8") as file:
        for best in breeder.best.values():
            for shape in sorted(best, key=best.__getitem__, reverse=True)[:10]:
                file.write(shape.line() + "\n")


TRIED_BYTES: Final = 400_000
TOLERANCE: Final = 4
"""What is tried by count may take so many times as long as it should: machines differ."""
MOST_GROWTH: Final = 9.0
"""Between a quarter of a document and all of it: four times would be linear, sixteen by the square."""
SLACK_SECONDS: Final = 1.0


def try_out(count: int, seed: int, directory: Path) -> None:
    """What was found before, and so many more bred of it without regard to what they cost."""
    limit, random, kept = ProcessLimit(), Random(seed), kept_shapes()
    breeder = Breeder(random)
    bred = [fresh(random) if number % 2 else mutated(random.choice(kept), kept, random) for number in range(count)]
    for shape in (*kept, *bred):
        (directory / CURRENT).write_text(shape.line(), "utf-8")
        for mode in ("kernel", "python") if shape.form == "html" else _URL_LIST_MODES:
            limit.allow(ENDING_SECONDS)
            cost = cost_of(shape.made(TRIED_BYTES), shape.form, mode)
            breeder.count(shape, mode, cost, TRIED_BYTES)
            found = overrun(shape, mode, cost, TOLERANCE * OVERRUN_SECONDS) or _is_disproportionate(shape, mode, cost)
            if found is not None:
                _say({"found": f"{found.what} ({mode}): {found.why}: {shape.line()}"})
    _say(progress(breeder))


def _is_disproportionate(shape: Shape, mode: str, cost: Cost) -> Found | None:
    if cost.reading < (OVERRUN_SECONDS if cost.why else SLACK_SECONDS):
        return None  # read, or given up in time
    quarter = cost_of(shape.made(TRIED_BYTES // 4), shape.form, mode).reading
    if cost.reading <= MOST_GROWTH * quarter + SLACK_SECONDS:
        return None
    return Found("growth", mode, f"{quarter:.2f} s of CPU for a quarter, {cost.reading:.2f} for all of it", shape)


def progress(breeder: Breeder) -> dict[str, object]:
    worst = {mode: round(1e6 * max(best.values(), default=0.0), 2) for mode, best in breeder.best.items()}
    return {"tried": breeder.tried, "given_up": breeder.given_up, "worst_microseconds_per_byte": worst}


def _say(line: dict[str, object]) -> None:
    print(json.dumps(line, ensure_ascii=False), flush=True)


def main() -> None:
    how_long, seed, directory = sys.argv[1:]
    configure_memory()  # as a reader does
    if how_long.endswith("x"):
        at_rest(lambda: try_out(int(how_long[:-1]), int(seed), Path(directory)))
    else:
        at_rest(lambda: breed(float(how_long), int(seed), Path(directory)))


if __name__ == "__main__":
    main()
