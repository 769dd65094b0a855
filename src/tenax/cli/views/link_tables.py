"""Links as tables, JSON and CSV. Text of pages is sanitized in all of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from tenax.cli.output import (
    TextStyle,
    format_table,
    print_lines,
    sanitize_text,
    terminal_width,
    to_json,
    truncate_middle,
)
from tenax.cli.views.format_values import pluralize
from tenax.cli.views.pages import csv_rows
from tenax.database import TaskState
from tenax.model import PageLink, Value
from tenax.text.sanitize import escape_json

_STATE_NAMES = {
    TaskState.WAITING: "waiting",
    TaskState.SETTLED: "visited",
    TaskState.DEAD: "given up",
    TaskState.PARKED: "kept back",
}
_NOT_ADMITTED = "not admitted"
_URL_SHARE, _TEXT_SHARE = 0.5, 0.22
"""Shares of the terminal width."""
_REDRAW_SECONDS = 0.5

T = TypeVar("T")


class OutgoingLink(Value, frozen=True):
    """A link on the page, and the state of its target in the database."""

    url: str
    text: str
    rel: str
    is_nofollow: bool
    is_in_article: bool
    state: TaskState | None

    @classmethod
    def from_link(cls, link: PageLink, state: TaskState | None) -> OutgoingLink:
        return cls(
            link.url, link.text, link.rel, is_nofollow=link.is_nofollow, is_in_article=link.is_in_article, state=state
        )


class IncomingLink(Value, frozen=True):
    """A link to the URL."""

    source: str
    text: str
    rel: str
    is_nofollow: bool
    is_in_article: bool

    @classmethod
    def from_link(cls, source: str, link: PageLink) -> IncomingLink:
        return cls(source, link.text, link.rel, link.is_nofollow, link.is_in_article)


class TopUrl(Value, frozen=True):
    """One of the URLs to which most pages link."""

    rank: int
    url: str
    in_links: int
    score: float


class _Edge(Value, frozen=True):
    """A link in an export file."""

    source: str
    target: str
    text: str
    rel: str
    is_nofollow: bool
    is_in_article: bool


def print_items(
    items: Sequence[T], format_lines: Callable[[Sequence[T], TextStyle], list[str]], *, is_json: bool
) -> None:
    print_lines(
        [to_json(one, indent=0) for one in items] if is_json else format_lines(items, TextStyle.for_stream(sys.stdout))
    )


def outgoing_table(links: Sequence[OutgoingLink], style: TextStyle) -> list[str]:
    if not links:
        return ["The page has no links."]
    rows = [
        (_format_url(link.url), _format_text(link.text), _link_attributes(link), _state_name(link)) for link in links
    ]
    return [
        *format_table(("link to", "link text", "attributes", "state"), rows, style),
        "",
        f"{pluralize(len(links), 'link')}.",
    ]


def incoming_table(links: Sequence[IncomingLink], style: TextStyle) -> list[str]:
    if not links:
        return ["No stored page links to it."]
    rows = [(_format_url(link.source), _format_text(link.text), _link_attributes(link)) for link in links]
    return [
        *format_table(("found on", "link text", "attributes"), rows, style),
        "",
        f"{pluralize(len(links), 'page')}.",
    ]


def top_table(top_urls: Sequence[TopUrl], style: TextStyle) -> list[str]:
    if not top_urls:
        return ["There are no followed links."]
    rows = [(str(one.rank), _format_url(one.url), f"{one.in_links:,}", _format_score(one.score)) for one in top_urls]
    return format_table(("", "url", "in-links", "score"), rows, style, right_aligned=(0, 2, 3))


def _state_name(link: OutgoingLink) -> str:
    return _STATE_NAMES[link.state] if link.state is not None else _NOT_ADMITTED


def _format_score(score: float) -> str:
    return f"{score:,}" if isinstance(score, int) else f"{score:.6f}"


def _format_url(url: str) -> str:
    return truncate_middle(sanitize_text(url), int(terminal_width() * _URL_SHARE))


def _format_text(text: str) -> str:
    return truncate_middle(sanitize_text(text), int(terminal_width() * _TEXT_SHARE))


def _link_attributes(link: OutgoingLink | IncomingLink) -> str:
    attributes = ["in the article"] if link.is_in_article else []
    others = [word for word in link.rel.split() if word.lower() != "nofollow"]
    return ", ".join([*attributes, *(["nofollow"] if link.is_nofollow else []), *map(sanitize_text, others)])


EDGES_CSV_HEADER = csv_rows([_Edge.__struct_fields__])


def edges_csv(source: str, links: Iterable[PageLink]) -> str:
    return csv_rows(
        (source, link.url, link.text, link.rel, _format_bool(link.is_nofollow), _format_bool(link.is_in_article))
        for link in links
    )


def _format_bool(value: bool) -> str:
    return "true" if value else "false"


def edges_json(source: str, links: Iterable[PageLink]) -> str:
    edges = [
        _Edge(source, link.url, link.text, rel=link.rel, is_nofollow=link.is_nofollow, is_in_article=link.is_in_article)
        for link in links
    ]
    return escape_json(msgspec.json.Encoder().encode_lines(edges)).decode()


class ProgressLine:
    """Progress on one line of a terminal; prints nothing elsewhere."""

    def __init__(self, total: int) -> None:
        self.count = 0
        self._total = total
        self._is_terminal = sys.stderr.isatty()
        self._next = time.monotonic() + _REDRAW_SECONDS
        self._is_drawn = False

    def advance(self) -> None:
        self.count += 1
        if self._is_terminal and time.monotonic() >= self._next:
            self._next = time.monotonic() + _REDRAW_SECONDS
            self._is_drawn = True
            print(f"\r{self.count:,} of {pluralize(self._total, 'page')} read…", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._is_drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
