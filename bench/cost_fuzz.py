"""Fuzzes the cost of extraction: it breeds documents that take much CPU time per byte.

`python -m bench.cost_fuzz SECONDS SEED FOUND_DIRECTORY` is the worker process of `bench/soak_read.py`. It prints one
line of JSON per finding, and its counts every few seconds. With `COUNTx` instead of the seconds it extracts that many
documents, the same for the same seed, with looser limits: the tests use this. Only CPU time counts, so a busy machine
has no effect. Findings are:

- `overrun`: a document took much longer than its budget, so some step does not check the budget;
- `growth`: twice the size takes more than three times as long, parsing excluded, and more than a minimum. The parser is
  known to; it checks the budget with every chunk.

A document that is given up within its budget is correct, and counted.
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

from bench.cost_shapes import CURRENT, Form, Shape, kept_shapes, mutated, random_shape
from tenax.config import Config, ExtractConfig
from tenax.crawl.reader.cpu_limit import extract_within_limit
from tenax.crawl.reader.messages import ExtractJob
from tenax.crawl.reader.read_page import Reader
from tenax.crawl.single_page import MAX_CPU_SECONDS, explain_page, read
from tenax.extract.budget import CpuBudget
from tenax.extract.html.parser import parse
from tenax.extract.html.tree import Feeder
from tenax.model import Source
from tenax.runtime.resources import CPU_GRACE_SECONDS, ProcessLimit, configure_memory, cpu_seconds
from tenax.urls.admit import build_rules

SMALL_BYTES: Final = 30_000
LARGE_BYTES: Final = 240_000
OVERRUN_SECONDS: Final = MAX_CPU_SECONDS + 2 * CPU_GRACE_SECONDS
GROWTH: Final = 3.0
GROWTH_SECONDS: Final = 0.25
"""Below this at the large size, growth is ignored."""
ENDING_SECONDS: Final = 60.0
"""The system kills the process after this much CPU time for one document."""
POPULATION: Final = 30
"""Shapes kept per mode."""
RANDOM_SHARE: Final = 0.25
"""Share of documents that are not bred from others."""
REPORT_SECONDS: Final = 5.0
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
    """The part of the HTML parser."""
    why: str = ""
    """Why it was given up; empty when it was extracted."""

    @property
    def reading(self) -> float:
        return self.seconds - self.parsing


Read = Callable[[bytes, Form], str]
"""Extracts a document and returns why it was given up, if it was."""


def _in_a_crawl(body: bytes, form: Form, reading: ExtractConfig) -> str:
    job = ExtractJob(
        1, URL, URL, 0, body, _TYPES[form], source=_SOURCES[form], is_url_list=form != "html", is_continuous=True,
        now=NOW, extract=reading,
    )  # fmt: skip
    failed = extract_within_limit(Reader().extract, job, _RULES).failure
    return failed.why if failed is not None else ""


def _alone(body: bytes, _form: Form) -> str:
    content = read(body, URL)
    return content.media_reason if content.media_reason.startswith(GIVEN_UP) else ""


def _explained(body: bytes, _form: Form) -> str:
    explain_page(body, URL)
    return ""


MODES: Final[dict[str, Read]] = {
    "read": _alone,
    "native": partial(_in_a_crawl, reading=ExtractConfig(keep_links=True)),
    "skim": partial(_in_a_crawl, reading=ExtractConfig(articles=False, native=False)),
    "python": partial(_in_a_crawl, reading=ExtractConfig(keep_links=True, native=False)),
    "explain": _explained,
}
"""Extraction modes: `tenax.read`; a page of a crawl with native code, without an article, and in Python only; the
explanation of each block."""
_ALIKE: Final = (("read", "native"), ("python", "python", "skim", "explain"))
"""Modes of similar cost: one of each group is enough for most documents."""
_URL_LIST_MODES: Final = ("native",)


_parsing = 0.0


def _timed_parse(html: bytes, budget: CpuBudget | None = None, feeder: Feeder | None = None) -> object:
    global _parsing
    began = cpu_seconds()
    try:
        return parse(html, budget, feeder)
    finally:
        _parsing += cpu_seconds() - began


def cost_of(body: bytes, form: Form, mode: str) -> Cost:
    """Call it outside the main thread, where nothing interrupts a step that does not check its budget."""
    global _parsing
    _parsing = 0.0
    began = cpu_seconds()
    with mock.patch("tenax.extract.html.dom.parse", _timed_parse):
        why = MODES[mode](body, form)
    return Cost(cpu_seconds() - began, _parsing, why)


def at_rest(work: Callable[[], None]) -> None:
    """Run it in its own thread, see `cost_of`; re-raises its exception."""
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
    """A URL list may take five times as long as a page."""
    most = most_seconds * (5 if shape.form != "html" else 1)
    if cost.seconds <= most:
        return None
    why = f"{cost.seconds:.1f} s of CPU, {cost.parsing:.1f} of them parsing; {cost.why or 'not given up'}"
    return Found("overrun", mode, why, shape)


def growth(shape: Shape, mode: str, cost: Cost) -> Found | None:
    """Whether the large document with this cost is out of proportion to half of it."""
    if cost.why or cost.reading < GROWTH_SECONDS:
        return None
    if cost.reading < GROWTH * cost_of(shape.made(LARGE_BYTES // 2), shape.form, mode).reading:
        return None
    # Again: the first run may include one-time work.
    half = cost_of(shape.made(LARGE_BYTES // 2), shape.form, mode).reading
    whole = min(cost.reading, cost_of(shape.made(LARGE_BYTES), shape.form, mode).reading)
    if whole < max(GROWTH * half, GROWTH_SECONDS):
        return None
    # Once more at twice the size: a step that depends on a size threshold costs extra only once.
    # If a limit stops that run, at half the size.
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
    """The costliest shapes of each mode so far, and the findings."""

    random: Random
    best: dict[str, dict[Shape, float]] = field(default_factory=lambda: {mode: {} for mode in MODES})
    """CPU seconds per byte without parsing."""
    tried: int = 0
    given_up: int = 0

    def next(self) -> Shape:
        random = self.random
        parents = list(self.best[random.choice(list(MODES))])
        if not parents or random.random() < RANDOM_SHARE:
            return random_shape(random)
        return mutated(random.choice(parents), parents, random)

    def _modes(self, shape: Shape) -> tuple[str, ...]:
        return tuple(map(self.random.choice, _ALIKE)) if shape.form == "html" else _URL_LIST_MODES

    def count(self, shape: Shape, mode: str, cost: Cost, size: int = LARGE_BYTES) -> None:
        """Record the cost of a document of this size; keeps the shape if it is among the costliest."""
        self.tried += 1
        self.given_up += bool(cost.why)
        best = self.best[mode]
        best[shape] = max(cost.reading / size, best.get(shape, 0.0))
        if len(best) > POPULATION:
            del best[min(best, key=best.__getitem__)]

    def weigh(self, shape: Shape) -> list[Found]:
        """Measure it in every mode: small, and large if it is among the costliest."""
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
    """The function that takes most of the time, by the profiler."""
    profile = cProfile.Profile()
    profile.runcall(MODES[mode], shape.made(LARGE_BYTES // 2), shape.form)
    stats: dict[tuple[str, int, str], tuple[int, int, float, float, object]] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    (file, line, name), _ = max(stats.items(), key=lambda one: one[1][2])
    return f"{Path(file).name}:{line} {name}"


def breed(seconds: float, seed: int, directory: Path) -> None:
    """Run for this long, starting with the kept shapes."""
    limit = ProcessLimit()
    breeder = Breeder(Random(seed))
    known: set[tuple[str, str, str]] = set()
    began = reported_at = time.monotonic()
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
        if now - reported_at > REPORT_SECONDS:
            reported_at = now
            _say(progress(breeder))
    _say(progress(breeder))
    with (directory / "cost-worst.jsonl").open("w", encoding="utf-8") as file:
        for best in breeder.best.values():
            for shape in sorted(best, key=best.__getitem__, reverse=True)[:10]:
                file.write(shape.line() + "\n")


TRIED_BYTES: Final = 400_000
TOLERANCE: Final = 4
"""Tolerance when run by count: machines differ."""
MOST_GROWTH: Final = 9.0
"""Cost ratio of a whole document to a quarter: 4 is linear, 16 is quadratic."""
SLACK_SECONDS: Final = 1.0


def try_out(count: int, seed: int, directory: Path) -> None:
    """The kept shapes, and this many bred from them regardless of cost."""
    limit, random, kept = ProcessLimit(), Random(seed), kept_shapes()
    breeder = Breeder(random)
    bred = [
        random_shape(random) if number % 2 else mutated(random.choice(kept), kept, random) for number in range(count)
    ]
    for shape in (*kept, *bred):
        (directory / CURRENT).write_text(shape.line(), "utf-8")
        for mode in ("native", "python") if shape.form == "html" else _URL_LIST_MODES:
            limit.allow(ENDING_SECONDS)
            cost = cost_of(shape.made(TRIED_BYTES), shape.form, mode)
            breeder.count(shape, mode, cost, TRIED_BYTES)
            found = overrun(shape, mode, cost, TOLERANCE * OVERRUN_SECONDS) or _is_disproportionate(shape, mode, cost)
            if found is not None:
                _say({"found": f"{found.what} ({mode}): {found.why}: {shape.line()}"})
    _say(progress(breeder))


def _is_disproportionate(shape: Shape, mode: str, cost: Cost) -> Found | None:
    if cost.reading < (OVERRUN_SECONDS if cost.why else SLACK_SECONDS):
        return None  # extracted, or given up within the budget
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
