"""No text of a stranger costs more than its length: every regular expression is found, and tried on what it repeats."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

import pytest

from tenax.extract.article import blocks, class_hints
from tenax.extract.html import charset, head
from tenax.text import fingerprint
from tenax.urls import traps
from tests.patterns import ANCHORED, Hard, Made, Pattern, Site, hard_texts, sites

CHARS = 200_000
MOST_SECONDS = 0.4
"""Of this process' own time. What is linear takes a few hundredths; what takes longer is measured at other lengths."""
FEWEST_CHARS = 1000
"""What takes that long for so few is not linear."""
MOST_GROWTH = 9.0
"""How much more four times the length may cost: four times, if it is linear, and sixteen times by the square."""
RUNS = 8
TRIES = 3
"""A busy machine may make one measurement wrong, not each of these."""
AFTER_ONE_RUN = ("", "\0", "\n", ">")
AFTER_RUNS = ("", "\0!a\né")
"""What comes after a run of what a pattern repeats, for methods that match at one position, and at every position."""

MADE_LATER = {
    # As of `/a{n}{yyyy}{mm}{m}{n}`.
    "tenax.cli.views.format_host._matches_pattern": Made(
        lambda: [re.compile(r"/a\d++\d{4}\d\d\d\d?\d++")], frozenset({"fullmatch"})
    ),
    "tenax.extract.article.blocks._dense_pattern": Made(lambda: [blocks._dense_pattern()]),
    "tenax.extract.html.charset._make_model": Made(lambda: [re.compile(odd) for *_, odd in charset._ALPHABETS]),
    "tenax.text.fingerprint._punctuation_pattern": Made(lambda: [fingerprint._punctuation_pattern()]),
    "tenax.text.fingerprint._window_patterns": Made(lambda: fingerprint._window_patterns(9)),
    "tenax.extract.html.head._any_word_pattern": Made(lambda: [head._ANY_WORD]),
    "tenax.extract.html.head.address_patterns": Made(head.address_patterns),
    "tenax.extract.article.class_hints._beginning_pattern": Made(
        lambda: [class_hints._beginning_pattern()], frozenset({"match"})
    ),
    "tenax.urls.traps._unusual_year_pattern": Made(lambda: [traps._unusual_year_pattern(2030)]),
}

OWN_TEXT = {
    "tenax.database.postgres.read._glob_regex": "a glob that a person typed for `export` or `dead-letters`",
}
"""Patterns that no stranger's text reaches, and what reaches them instead."""


class TooLong(BaseException):
    """Nothing may catch it."""


class Case(NamedTuple):
    """A pattern with one method and one kind of text."""

    pattern: Pattern
    method: str
    hard: Hard
    tails: str

    def seconds(self, chars: int) -> float:
        """The time of this process that it takes; without end when it is broken off."""
        text = self.hard.text(chars, self.tails)
        began = time.process_time()
        try:
            with at_most(MOST_SECONDS):
                if self.method in ANCHORED:
                    getattr(self.pattern, self.method)(text)
                else:
                    for _ in self.pattern.finditer(text):
                        pass
        except TooLong:
            return float("inf")
        return time.process_time() - began

    def is_linear(self) -> bool:
        chars = CHARS
        while self.seconds(chars) == float("inf"):
            chars //= 4
            if chars < FEWEST_CHARS:
                return False
        if chars == CHARS:
            return True
        return any(self.seconds(chars) < MOST_GROWTH * self._mean_seconds(chars // 4) for _ in range(TRIES))

    def _mean_seconds(self, chars: int) -> float:
        """Of several runs, for the clock is coarse."""
        return sum(self.seconds(chars) for _ in range(RUNS)) / RUNS

    def __str__(self) -> str:
        return f"{self.method} in {self.hard.start!r} + {self.hard.unit!r} * n before each of {self.tails!r}"


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Ends what is within after so much time of this process; `re` looks for signals while it works."""

    def end(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def cases_of(site: Site) -> Iterator[Case]:
    for pattern in site.patterns:
        for hard in hard_texts(pattern):
            for method in site.methods.intersection(ANCHORED):
                yield from (Case(pattern, method, hard, tail) for tail in AFTER_ONE_RUN)
            if site.methods.difference(ANCHORED):
                yield from (Case(pattern, "finditer", hard, tails) for tails in AFTER_RUNS)


def test_every_pattern_takes_time_in_proportion_to_the_text() -> None:
    slow = []
    for site in sites(MADE_LATER):
        if site.name not in OWN_TEXT:
            found = next((case for case in cases_of(site) if not case.is_linear()), None)
            slow += [f"{site.name}: {found}"] if found is not None else []
    assert not slow, "\n".join(slow)


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\s*[\n]+\s*", "search"),
        (r"(\w+)\s*=", "search"),
        (r"(?:a|a)*b", "match"),
        (r"a*a*b", "fullmatch"),
        (r"<a[^>]*>", "search"),
        (rb"[^b]*b", "search"),
        (r"\s+$", "search"),
        (r"x.*?y", "search"),
    ],
)
def test_a_pattern_that_takes_the_square_of_the_length_is_found(pattern: Any, method: str) -> None:
    site = Site("", (re.compile(pattern),), frozenset({method}))
    assert any(not case.is_linear() for case in cases_of(site))
