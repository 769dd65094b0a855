"""How far a page has come: which document its main frame shows, what of it is loaded, and whether it is about to go on.

Chromium tells this better than the driver, which takes a page that starts a download for one that has gone on, and
waits for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.async_api import CDPSession

DOM_CONTENT_LOADED = "DOMContentLoaded"
LOADED = "load"
NETWORK_IDLE = "networkIdle"
"""Nothing was asked for during half a second."""


class PageLifecycle:
    """Of one page; what Chromium tells of other frames is passed over."""

    def __init__(self, main_frame: str, on_navigated: Callable[[], None]) -> None:
        """`on_navigated` is called each time that the frame shows another document."""
        self._main_frame = main_frame
        self._on_navigated = on_navigated
        self._loader_id = ""
        self._reached_stages: set[tuple[str, str]] = set()
        self._changed = asyncio.Event()
        self.is_navigating = False
        """Another document was asked for, and is not here yet. Whoever stops it says so."""

    async def watch(self, control: CDPSession) -> None:
        control.on("Page.frameNavigated", self._on_frame_navigated)
        control.on("Page.lifecycleEvent", self._on_lifecycle_event)
        control.on("Page.frameStoppedLoading", self._on_stopped_loading)
        await control.send("Page.enable")
        await control.send("Page.setLifecycleEventsEnabled", {"enabled": True})

    def start_navigation(self) -> None:
        self.is_navigating = True

    def cancel_navigation(self) -> None:
        """What was asked for last will not be shown."""
        self.is_navigating = False
        self._changed.set()

    async def wait_for(self, stage: str, *, is_settled: bool = False) -> None:
        """Until the document that is shown then has come so far; `is_settled`: and is not about to be left."""
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
        """Also when its own script has put an end to it: a document that is about to be left is read no further."""
        if event["frameId"] == self._main_frame:
            self._reached_stages |= {(self._loader_id, DOM_CONTENT_LOADED), (self._loader_id, LOADED)}
            self._changed.set()
