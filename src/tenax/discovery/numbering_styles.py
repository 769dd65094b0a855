"""Numbering styles: how the lists of a host number their pages, and which styles worked for guesses."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from tenax.discovery.paged_urls import parse_paged_url
from tenax.model import GuessState, GuessStats, ListRule, PendingGuess

MAX_STYLES = 16
LINKED = "linked "
_STYLE = re.compile(
    r"[?&](?P<param>[^=&?]++=\{n\})"
    r"|(?P<path>/(?:page|paged|seite|pagina|p%C3%A1gina|pagine|strona|sida|sivu|sayfa|stranka)[/_-]?\{n\}/?)(?:\?|$)"
)


def numbering_style(pattern: str) -> str:
    """`?page={n}` or `/page/{n}/`; rare styles share the name `other`."""
    found = _STYLE.search(pattern)
    if found is None:
        return "other"
    return f"?{found['param']}" if found["param"] else found["path"]


def has_numbered_lists(guess_state: GuessState) -> bool:
    """Whether lists of this host link their further pages by number."""
    return any(style.startswith(LINKED) and stats.worked for style, stats in guess_state.styles.items())


def guess_pattern(relative_url: str, guess_state: GuessState) -> str | None:
    """How a list without page numbers may be numbered: like other lists of its host, or in the most common style."""
    path, mark, _ = relative_url.partition("?")
    shown = {
        style: stats.worked
        for style, stats in guess_state.styles.items()
        if style.startswith(LINKED) and "{n}" in style
    }
    style = max(shown, key=lambda name: (shown[name], name)).removeprefix(LINKED) if shown else "?page={n}"
    if mark or "{n}" in path or (path == "/" and not shown):
        return None  # a home page is rarely the first page of a list, and a query is a filter
    if style.startswith("?"):
        return path + style
    return None if "." in path.rpartition("/")[2] else path.rstrip("/") + style


def guess_start(pattern: str | None, guess_state: GuessState) -> tuple[int, int]:
    """The first number and the step of a list that shows neither; for offsets, those of another list."""
    one = parse_paged_url(f"//x{pattern.replace('{n}', '2')}") if pattern is not None else None
    if one is None or pattern is None or not one.is_offset:
        return 1, 1
    style = numbering_style(pattern)
    return 0, next((rule.step for known, rule in guess_state.lists.items() if numbering_style(known) == style), 0)


def style_key(pattern: str, rule: ListRule | PendingGuess) -> str:
    return f"{'blank' if rule.is_unnumbered else 'beyond'} {numbering_style(pattern)}"


def count_style_result(
    guess_state: GuessState, key: str, now: float, what: Literal["open", "worked", "failed"]
) -> GuessState:
    styles = dict(guess_state.styles)
    old = styles.pop(key, GuessStats())
    if len(styles) >= MAX_STYLES:
        del styles[next(iter(styles))]
    styles[key] = GuessStats(
        worked=old.worked + (what == "worked"),
        failed=old.failed + (what == "failed"),
        unanswered=old.unanswered + 1 if what == "open" else max(0, old.unanswered - 1),
        at=now,
    )
    return msgspec.structs.replace(guess_state, styles=styles)
