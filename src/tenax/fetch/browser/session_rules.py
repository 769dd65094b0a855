"""How long a browser is used, and when browsers are given up for a while: plain functions of what happened."""

from __future__ import annotations

from tenax.config import BrowserConfig
from tenax.model import Value

IDLE_SECONDS = 60.0
"""A browser nobody used for so long is ended; the next page starts another."""
GIVEN_UP_SECONDS = 300.0
BROKEN_BROWSERS = 3
"""A page that was open in so many browsers when they broke is taken for the cause."""
MAX_RENDERER_BYTES = 512 * 1024 * 1024
"""A page that takes more memory has its renderer ended, and fails alone. Heavy applications take half as much."""
MAX_OTHER_BYTES = 1024 * 1024 * 1024
"""Any other process of the browser: then the whole browser is replaced."""


class Use(Value, frozen=True):
    """How much a browser was used."""

    started_at: float
    last_used_at: float
    pages_begun: int = 0
    pages_open: int = 0

    def with_page(self, now: float) -> Use:
        return Use(self.started_at, now, self.pages_begun + 1, self.pages_open + 1)

    def without_page(self, now: float) -> Use:
        return Use(self.started_at, now, self.pages_begun, self.pages_open - 1)


def is_spent(use: Use, now: float, config: BrowserConfig) -> bool:
    """It takes no more pages: it had enough of them, or is old. What is open in it may end."""
    return use.pages_begun >= config.max_pages_per_session or now - use.started_at >= config.max_session_seconds


def is_over(use: Use, now: float, config: BrowserConfig) -> bool:
    """It can be ended: nothing is open, and it is spent or has not been needed for long."""
    return use.pages_open == 0 and (is_spent(use, now, config) or now - use.last_used_at >= IDLE_SECONDS)


class Trouble(Value, frozen=True):
    """Errors of the browser itself; those of pages are no trouble."""

    errors_in_a_row: int = 0
    given_up_until: float = 0.0
    why: str = ""


def after_error(trouble: Trouble, why: str, now: float, config: BrowserConfig) -> Trouble:
    """One more. Too many in a row, and nobody tries until a while has passed; then each error gives up again."""
    errors = trouble.errors_in_a_row + 1
    is_too_much = errors >= config.max_consecutive_errors
    return Trouble(errors, now + GIVEN_UP_SECONDS if is_too_much else 0.0, why)


def words(trouble: Trouble, now: float) -> str:
    """What a person reads while browsers are given up."""
    wait = max(trouble.given_up_until - now, 0.0)
    return (
        f"the browser failed {trouble.errors_in_a_row} times in a row ({trouble.why}): "
        f"it is tried again in {wait:.0f} s; does the Chromium of `browser.executable` start by hand?"
    )


class Suspicion(Value, frozen=True):
    """How often a browser broke while this page was open in it, though others rendered other pages well."""

    breaks: int = 0
    good_before: int = 0
    """How many pages had been rendered well when it was first suspected."""


def after_break(suspicion: Suspicion, good_pages: int) -> Suspicion:
    """One more browser broke; `good_pages` have been rendered well so far."""
    first = suspicion.good_before if suspicion.breaks else good_pages
    return Suspicion(suspicion.breaks + 1, first)


def is_culprit(suspicion: Suspicion, good_pages: int) -> bool:
    """Whether the page is to blame. Where no page goes well at all, none is."""
    return suspicion.breaks >= BROKEN_BROWSERS and good_pages > suspicion.good_before
