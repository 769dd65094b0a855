"""Navigation of a page: how far its document is loaded, and Chromium's error names translated into failures.

Chromium's events are more reliable than the driver's, which treats the start of a download as a navigation and waits
for ever.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tenax.fetch.failures import reset_failure, truncated_failure
from tenax.model import Failed, FailureKind

if TYPE_CHECKING:
    from playwright.async_api import CDPSession


DOM_CONTENT_LOADED = "DOMContentLoaded"
LOADED = "load"
NETWORK_IDLE = "networkIdle"
"""No request has been sent for half a second."""


class PageLifecycle:
    """The lifecycle of one page. Events of other frames are ignored."""

    def __init__(self, main_frame: str, on_navigated: Callable[[], None]) -> None:
        """`on_navigated` is called each time when the frame shows another document."""
        self._main_frame = main_frame
        self._on_navigated = on_navigated
        self._loader_id = ""
        self._reached_stages: set[tuple[str, str]] = set()
        self._changed = asyncio.Event()
        self.is_navigating = False
        """Another document was requested and has not arrived. To cancel it, `cancel_navigation` is called."""

    async def watch(self, control: CDPSession) -> None:
        control.on("Page.frameNavigated", self._on_frame_navigated)
        control.on("Page.lifecycleEvent", self._on_lifecycle_event)
        control.on("Page.frameStoppedLoading", self._on_stopped_loading)
        await control.send("Page.enable")
        await control.send("Page.setLifecycleEventsEnabled", {"enabled": True})

    def start_navigation(self) -> None:
        self.is_navigating = True

    def cancel_navigation(self) -> None:
        """The document that was requested last will not be shown."""
        self.is_navigating = False
        self._changed.set()

    async def wait_for(self, stage: str, *, is_settled: bool = False) -> None:
        """Wait until the current document has reached this stage; with `is_settled`, also until it is not
        navigating."""
        while (self._loader_id, stage) not in self._reached_stages or (is_settled and self.is_navigating):
            self._changed.clear()
            await self._changed.wait()

    def _on_frame_navigated(self, event: dict[str, Any]) -> None:
        if event["frame"]["id"] == self._main_frame:
            self._loader_id = event["frame"]["loaderId"]
            self._on_navigated()
            self.cancel_navigation()

    def _on_lifecycle_event(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._main_frame:
            self._reached_stages.add((event["loaderId"], event["name"]))
            self._changed.set()

    def _on_stopped_loading(self, event: dict[str, Any]) -> None:
        """Also called if a script of the page stopped loading. A document that is about to be replaced is loaded no
        further."""
        if event["frameId"] == self._main_frame:
            self._reached_stages |= {(self._loader_id, DOM_CONTENT_LOADED), (self._loader_id, LOADED)}
            self._changed.set()


_ERROR_NAME = re.compile(r"net::ERR_([A-Z0-9_]+)")

_RESET_ERRORS = frozenset({
    "CONNECTION_ABORTED", "CONNECTION_CLOSED", "CONNECTION_RESET", "EMPTY_RESPONSE", "HTTP2_PING_FAILED",
    "HTTP2_SERVER_REFUSED_STREAM", "SOCKET_NOT_CONNECTED",
})  # fmt: skip
_TRUNCATION_ERRORS = frozenset({"CONTENT_LENGTH_MISMATCH", "INCOMPLETE_CHUNKED_ENCODING"})
_CONNECT_ERRORS = frozenset({
    "ADDRESS_UNREACHABLE", "CONNECTION_FAILED", "CONNECTION_REFUSED", "INTERNET_DISCONNECTED",
})  # fmt: skip
_TIMEOUT_ERRORS = frozenset({"CONNECTION_TIMED_OUT", "TIMED_OUT"})
_TLS_PREFIXES = ("BAD_SSL_", "CERT_", "SSL_")


def error_name(message: str) -> str:
    """`CONNECTION_RESET` from Playwright's long text; empty if it names none."""
    match = _ERROR_NAME.search(message)
    return match[1] if match else ""


def is_truncation(message: str) -> bool:
    """Whether a document that had begun was cut off."""
    name = error_name(message)
    return (
        name in _TRUNCATION_ERRORS
        or name in _RESET_ERRORS
        or name in ("CONTENT_DECODING_FAILED", "INVALID_CHUNKED_ENCODING")
    )


def navigation_failure(message: str, *, in_body: bool = False) -> Failed:
    """The failure that this message means."""
    name = error_name(message)
    words = name.replace("_", " ").lower()
    if name in _TRUNCATION_ERRORS or (in_body and name in _RESET_ERRORS):
        return truncated_failure()
    if name in _RESET_ERRORS:
        return reset_failure()
    if name == "PROXY_CONNECTION_FAILED":
        return Failed("browser: it cannot connect to its gate", FailureKind.INTERNAL, is_site_wide=True)
    if name == "TUNNEL_CONNECTION_FAILED":  # the gate gave no other reason
        return Failed("the page has used up its connections", FailureKind.BAD_RESPONSE)
    if name in _CONNECT_ERRORS:
        return Failed(words, FailureKind.CONNECT, is_site_wide=True)
    if name in _TIMEOUT_ERRORS:
        return Failed("no connection: timed out", FailureKind.TIMEOUT_CONNECT, is_site_wide=True)
    if name == "NAME_NOT_RESOLVED":
        return Failed("no such host", FailureKind.DNS)
    if name.startswith(_TLS_PREFIXES):
        return Failed(f"TLS: {words}", FailureKind.TLS, is_site_wide=True)
    if name == "TOO_MANY_REDIRECTS":
        return Failed("redirect loop", FailureKind.REDIRECT)
    if name == "ABORTED" or "Download is starting" in message:
        return Failed("a download, not a page", FailureKind.BAD_RESPONSE)
    return Failed(f"invalid response: {words or 'the browser gave no reason'}", FailureKind.BAD_RESPONSE)
