"""Links as lines: tables for people, JSON for programs, rows of a file; text of strangers inert in each."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from tenax.cli.views.format_values import several
from tenax.cli.views.json_output import as_json
from tenax.cli.views.page_formats import csv_rows
from tenax.cli.views.tables import Ink, columns, plain, shortened, show, table
from tenax.database import TaskState
from tenax.model import PageLink, Value
from tenax.text.escaping import escape_json

_STATES = {
    TaskState.WAITING: "waiting",
    TaskState.SETTLED: "visited",
    TaskState.DEAD: "given up",
    TaskState.PARKED: "kept back",
}
_NEVER = "not admitted"
_URL_SHARE, _TEXT_SHARE = 0.5, 0.22
"""Of the width of a terminal."""
_TICK_SECONDS = 0.5

T = TypeVar("T")


class Outgoing(Value, frozen=True):
    """A link of the page that was asked about, and what the ledger knows of where it leads."""

    url: str
    text: str
    rel: str
    is_nofollow: bool
    is_in_article: bool
    state: TaskState | None

    @classmethod
    def of(cls, link: PageLink, state: TaskState | None) -> Outgoing:
        return cls(link.url, link.text, link.rel, link.is_nofollow, link.is_in_article, state)


class Incoming(Value, frozen=True):
    """A link to what was asked about."""

    source: str
    text: str
    rel: str
    is_nofollow: bool
    is_in_article: bool

    @classmethod
    def of(cls, source: str, link: PageLink) -> Incoming:
        return cls(source, link.text, link.rel, link.is_nofollow, link.is_in_article)


class Best(Value, frozen=True):
    """One of those that are linked to most."""

    rank: int
    url: str
    in_links: int
    score: float


class _Edge(Value, frozen=True):
    """A link as it is written to a file."""

    source: str
    target: str
    text: str
    rel: str
    is_nofollow: bool
    is_in_article: bool


def show_each(found: Sequence[T], lines_of: Callable[[Sequence[T], Ink], list[str]], *, is_json: bool) -> None:
    show([as_json(one, indent=0) for one in found] if is_json else lines_of(found, Ink.on(sys.stdout)))


def outgoing_table(links: Sequence[Outgoing], ink: Ink) -> list[str]:
    if not links:
        return ["It leads nowhere."]
    rows = [(_url(link.url), _text(link.text), _marks(link), _state(link)) for link in links]
    return [*table(("leads to", "with the words", "marks", "state"), rows, ink), "", f"{several(len(links), 'link')}."]


def incoming_table(links: Sequence[Incoming], ink: Ink) -> list[str]:
    if not links:
        return ["No page that was stored leads there."]
    rows = [(_url(link.source), _text(link.text), _marks(link)) for link in links]
    return [*table(("found on", "with the words", "marks"), rows, ink), "", f"{several(len(links), 'page')}."]


def best_table(best: Sequence[Best], ink: Ink) -> list[str]:
    if not best:
        return ["No link is followed anywhere."]
    rows = [(str(one.rank), _url(one.url), f"{one.in_links:,}", _score(one.score)) for one in best]
    return table(("", "url", "in-links", "score"), rows, ink, right=(0, 2, 3))


def _state(link: Outgoing) -> str:
    return _STATES[link.state] if link.state is not None else _NEVER


def _score(score: float) -> str:
    return f"{score:,}" if isinstance(score, int) else f"{score:.6f}"


def _url(url: str) -> str:
    return shortened(plain(url), int(columns() * _URL_SHARE))


def _text(text: str) -> str:
    return shortened(plain(text), int(columns() * _TEXT_SHARE))


def _marks(link: Outgoing | Incoming) -> str:
    marks = ["in the article"] if link.is_in_article else []
    others = [word for word in link.rel.split() if word.lower() != "nofollow"]
    return ", ".join([*marks, *(["nofollow"] if link.is_nofollow else []), *map(plain, others)])


EDGES_HEAD = csv_rows([_Edge.__struct_fields__])


def edges_csv(source: str, links: Iterable[PageLink]) -> str:
    return csv_rows(
        (source, link.url, link.text, link.rel, _word(link.is_nofollow), _word(link.is_in_article)) for link in links
    )


def _word(is_so: bool) -> str:
    return "true" if is_so else "false"


def edges_json(source: str, links: Iterable[PageLink]) -> str:
    edges = [_Edge(source, link.url, link.text, link.rel, link.is_nofollow, link.is_in_article) for link in links]
    return escape_json(msgspec.json.Encoder().encode_lines(edges)).decode()


class Ticker:
    """How far we are, on one line of a terminal; nothing where there is none."""

    def __init__(self, total: int) -> None:
        self.count = 0
        self._total = total
        self._shows = sys.stderr.isatty()
        self._next = time.monotonic() + _TICK_SECONDS
        self._is_drawn = False

    def tick(self) -> None:
        self.count += 1
        if self._shows and time.monotonic() >= self._next:
            self._next = time.monotonic() + _TICK_SECONDS
            self._is_drawn = True
            print(f"\r{self.count:,} of {several(self._total, 'page')} read…", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._is_drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
