"""Which requests a page may make, how long a browser is used, and when browsers are disabled for a while."""

from __future__ import annotations

from collections.abc import Mapping

from tenax.config import BrowserConfig
from tenax.model import Value

_PAGE_TYPES = ("text/html", "application/xhtml+xml", "")
# Visible only to a person, or used for statistics. `Ping` includes beacons and link pings.
_BLOCKED_TYPES = frozenset({
    "CSPViolationReport", "Font", "Image", "Manifest", "Media", "Ping", "Prefetch", "TextTrack",
})  # fmt: skip


class DocumentResponse(Value, frozen=True):
    """The response to one request for the main document."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def is_renderable(self) -> bool:
        """Whether a browser renders the response as a page. Other responses start a download, open a viewer, or show
        nothing."""
        kind = self.header("content-type").partition(";")[0].strip().lower()
        return (
            kind in _PAGE_TYPES
            and self.status not in (204, 205)
            and not self.header("content-disposition").lower().startswith("attachment")
        )


def is_request_needed(kind: str, headers: Mapping[str, str], priority: str) -> bool:
    """Whether a request of this kind, as Chromium names it, may change the page's text.

    Chromium has no name for some: icons, workers' scripts and speculation rules are all `Other`.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    if kind in _BLOCKED_TYPES or "prefetch" in sent.get("sec-purpose", ""):
        return False
    if kind != "Other":
        return True
    is_icon = sent.get("accept", "").startswith("image/")
    # A worker's script is same-origin, so it has no Origin header.
    is_speculation = "origin" in sent and priority == "VeryLow"
    return not is_icon and not is_speculation


IDLE_SECONDS = 60.0
"""A browser that was unused for this long is ended. The next page starts another one."""
DISABLED_SECONDS = 300.0
CRASHES_TO_BLAME = 3
"""A page that was open in this many failing browsers counts as the cause."""
MAX_RENDERER_BYTES = 512 * 1024 * 1024
"""If a page's renderer uses more memory, it is ended, and only that page fails. Heavy applications use half as much."""
MAX_OTHER_BYTES = 1024 * 1024 * 1024
"""If any other process of the browser uses more memory, the whole browser is replaced."""


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
    """Whether the browser takes no more pages, because it has had enough or is old. Its open pages may finish."""
    return usage.pages_started >= config.max_pages_per_session or now - usage.started_at >= config.max_session_seconds


def should_close(usage: SessionUsage, now: float, config: BrowserConfig) -> bool:
    """Whether the browser can be ended: no page is open, and it is exhausted or was idle for long."""
    return usage.pages_open == 0 and (is_exhausted(usage, now, config) or now - usage.last_used_at >= IDLE_SECONDS)


class BrowserErrors(Value, frozen=True):
    """Errors of the browser itself. Errors of pages do not count."""

    errors_in_a_row: int = 0
    disabled_until: float = 0.0
    why: str = ""


def record_error(history: BrowserErrors, why: str, now: float, config: BrowserConfig) -> BrowserErrors:
    """Count an error. After too many in a row, browsers are disabled for a while. After that, each further error
    disables them again."""
    errors = history.errors_in_a_row + 1
    is_too_much = errors >= config.max_consecutive_errors
    return BrowserErrors(errors, now + DISABLED_SECONDS if is_too_much else 0.0, why)


def describe_errors(history: BrowserErrors, now: float) -> str:
    """The message while browsers are disabled."""
    wait = max(history.disabled_until - now, 0.0)
    return (
        f"the browser failed {history.errors_in_a_row} times in a row ({history.why}): "
        f"it is tried again in {wait:.0f} s; does the Chromium of `browser.executable` start by hand?"
    )


class CrashSuspicion(Value, frozen=True):
    """How often a browser has failed while this page was open, although other pages were rendered well."""

    crashes: int = 0
    good_pages_before: int = 0
    """Pages that were rendered well before the page was first suspected."""


def record_crash(suspicion: CrashSuspicion, good_pages: int) -> CrashSuspicion:
    """Count a failed browser; `good_pages` were rendered well so far."""
    first = suspicion.good_pages_before if suspicion.crashes else good_pages
    return CrashSuspicion(suspicion.crashes + 1, first)


def is_crash_cause(suspicion: CrashSuspicion, good_pages: int) -> bool:
    """Whether the page is the cause. It is not, if no other page was rendered well since its first crash."""
    return suspicion.crashes >= CRASHES_TO_BLAME and good_pages > suspicion.good_pages_before
