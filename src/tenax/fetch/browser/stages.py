"""The lifecycle of a page: which document its main frame shows, how far it is loaded, and whether it is navigating.

Chromium's events are more reliable than the driver's, which treats the start of a download as a navigation and waits
for ever.
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
"""No request for half a second."""


class PageLifecycle:
    """Of one page; events of other frames are ignored."""

    def __init__(self, main_frame: str, on_navigated: Callable[[], None]) -> None:
        """`on_navigated` is called each time that the frame shows another document."""
        self._main_frame = main_frame
        self._on_navigated = on_navigated
        self._loader_id = ""
        self._reached_stages: set[tuple[str, str]] = set()
        self._changed = asyncio.Event()
        self.is_navigating = False
        """Another document was requested and has not arrived. Cancelling it calls `cancel_navigation`."""

    async def watch(self, control: CDPSession) -> None:
        control.on("Page.frameNavigated", self._on_frame_navigated)
        control.on("Page.lifecycleEvent", self._on_lifecycle_event)
        control.on("Page.frameStoppedLoading", self._on_stopped_loading)
        await control.send("Page.enable")
        await control.send("Page.setLifecycleEventsEnabled", {"enabled": True})

    def start_navigation(self) -> None:
        self.is_navigating = True

    def cancel_navigation(self) -> None:
        """The last requested document will not be shown."""
        self.is_navigating = False
        self._changed.set()

    async def wait_for(self, stage: str, *, is_settled: bool = False) -> None:
        """Wait until the current document reaches this stage; `is_settled`: and is not navigating."""
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
        """Also when its own script stopped it: a document about to be replaced is loaded no further."""
        if event["frameId"] == self._main_frame:
            self._reached_stages |= {(self._loader_id, DOM_CONTENT_LOADED), (self._loader_id, LOADED)}
            self._changed.set()
