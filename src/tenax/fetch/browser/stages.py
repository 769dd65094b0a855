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

READ = "DOMContentLoaded"
LOADED = "load"
QUIET = "networkIdle"
"""Nothing was asked for during half a second."""


class Stages:
    """Of one page; what Chromium tells of other frames is passed over."""

    def __init__(self, main_frame: str, on_shown: Callable[[], None]) -> None:
        """`on_shown` is called each time that the frame shows another document."""
        self._main_frame = main_frame
        self._on_shown = on_shown
        self._loader = ""
        self._passed: set[tuple[str, str]] = set()
        self._changed = asyncio.Event()
        self.is_leaving = False
        """Another document was asked for, and is not here yet. Whoever stops it says so."""

    async def watch(self, control: CDPSession) -> None:
        control.on("Page.frameNavigated", self._shown)
        control.on("Page.lifecycleEvent", self._reached)
        control.on("Page.frameStoppedLoading", self._stopped)
        await control.send("Page.enable")
        await control.send("Page.setLifecycleEventsEnabled", {"enabled": True})

    def leaves(self) -> None:
        self.is_leaving = True

    def stays(self) -> None:
        """What was asked for last will not be shown."""
        self.is_leaving = False
        self._changed.set()

    async def until(self, stage: str, *, settled: bool = False) -> None:
        """Until the document that is shown then has come so far; `settled`: and is not about to be left."""
        while (self._loader, stage) not in self._passed or (settled and self.is_leaving):
            self._changed.clear()
            await self._changed.wait()

    def _shown(self, event: dict[str, Any]) -> None:
        if event["frame"]["id"] == self._main_frame:
            self._loader = event["frame"]["loaderId"]
            self._on_shown()
            self.stays()

    def _reached(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._main_frame:
            self._passed.add((event["loaderId"], event["name"]))
            self._changed.set()

    def _stopped(self, event: dict[str, Any]) -> None:
        """Also when its own script has put an end to it: a document that is about to be left is read no further."""
        if event["frameId"] == self._main_frame:
            self._passed |= {(self._loader, READ), (self._loader, LOADED)}
            self._changed.set()
