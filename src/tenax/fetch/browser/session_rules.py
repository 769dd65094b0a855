"""How long a browser is used, and when browsers are given up for a while: plain functions of what happened."""

from __future__ import annotations

from tenax.config import BrowserConfig
from tenax.model import Value

IDLE_SECONDS = 60.0
"""A browser nobody used for so long is ended; the next page starts another."""
DISABLED_SECONDS = 300.0
CRASHES_TO_BLAME = 3
"""A page that was open in so many browsers when they broke is taken for the cause."""
MAX_RENDERER_BYTES = 512 * 1024 * 1024
"""A page that takes more memory has its renderer ended, and fails alone. Heavy applications take half as much."""
MAX_OTHER_BYTES = 1024 * 1024 * 1024
"""Any other process of the browser: then the whole browser is replaced."""


class SessionUsage(Value, frozen=True):
    """How much a browser was used."""

    started_at: float
    last_used_at: float
    pages_started: int = 0
    pages_open: int = 0

    def with_page(self, now: float) -> SessionUsage:
        return SessionUsage(self.started_at, now, self.pages_started + 1, self.pages_open + 1)

    def without_page(self, now: float) -> SessionUsage:
        return SessionUsage(self.started_at, now, self.pages_started, self.pages_open - 1)


def is_exhausted(usage: SessionUsage, now: float, config: BrowserConfig) -> bool:
    """It takes no more pages: it had enough of them, or is old. What is open in it may end."""
    return usage.pages_started >= config.max_pages_per_session or now - usage.started_at >= config.max_session_seconds


def should_close(usage: SessionUsage, now: float, config: BrowserConfig) -> bool:
    """It can be ended: nothing is open, and it is spent or has not been needed for long."""
    return usage.pages_open == 0 and (is_exhausted(usage, now, config) or now - usage.last_used_at >= IDLE_SECONDS)


class BrowserErrors(Value, frozen=True):
    """Errors of the browser itself; those of pages are no trouble."""

    errors_in_a_row: int = 0
    disabled_until: float = 0.0
    why: str = ""


def record_error(history: BrowserErrors, why: str, now: float, config: BrowserConfig) -> BrowserErrors:
    """One more. Too many in a row, and nobody tries until a while has passed; then each error gives up again."""
    errors = history.errors_in_a_row + 1
    is_too_much = errors >= config.max_consecutive_errors
    return BrowserErrors(errors, now + DISABLED_SECONDS if is_too_much else 0.0, why)


def describe_errors(history: BrowserErrors, now: float) -> str:
    """What a person reads while browsers are given up."""
    wait = max(history.disabled_until - now, 0.0)
    return (
        f"the browser failed {history.errors_in_a_row} times in a row ({history.why}): "
        f"it is tried again in {wait:.0f} s; does the Chromium of `browser.executable` start by hand?"
    )


class CrashSuspicion(Value, frozen=True):
    """How often a browser broke while this page was open in it, though others rendered other pages well."""

    crashes: int = 0
    good_pages_before: int = 0
    """How many pages had been rendered well when it was first suspected."""


def record_crash(suspicion: CrashSuspicion, good_pages: int) -> CrashSuspicion:
    """One more browser broke; `good_pages` have been rendered well so far."""
    first = suspicion.good_pages_before if suspicion.crashes else good_pages
    return CrashSuspicion(suspicion.crashes + 1, first)


def is_crash_cause(suspicion: CrashSuspicion, good_pages: int) -> bool:
    """Whether the page is to blame. Where no page goes well at all, none is."""
    return suspicion.crashes >= CRASHES_TO_BLAME and good_pages > suspicion.good_pages_before
