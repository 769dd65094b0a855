"""Notices when the crawl stops moving, and says where it stands.

Two kinds of standstill: the event loop itself is blocked (something computes or waits where it must not), which a
thread watches; and the loop runs but no visit ends though some are in flight, which the loop watches itself.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Mapping

from tenax.clock import Clock

log = logging.getLogger(__name__)

STALL_SECONDS = 300.0
BLOCKED_SECONDS = 10.0
SHOWN = 10


class Supervisor:
    """Watches one engine."""

    def __init__(
        self,
        clock: Clock,
        in_flight: Mapping[str, float],
        last_activity: Callable[[], float],
        stall_seconds: float = STALL_SECONDS,
        blocked_seconds: float = BLOCKED_SECONDS,
        check_seconds: float = 1.0,
    ) -> None:
        self._clock = clock
        self._in_flight = in_flight
        self._last_activity = last_activity
        self._stall_seconds = stall_seconds
        self._blocked_seconds = blocked_seconds
        self._check_seconds = check_seconds
        self._beat = clock.now()
        self._ended = threading.Event()
        self._loop_thread = 0
        self.stalls = 0
        self.blocks = 0

    async def run(self) -> None:
        """Beat, and look at the visits in flight; ends when cancelled."""
        self._loop_thread = threading.get_ident()
        watcher = threading.Thread(target=self._watch_loop, name="supervisor", daemon=True)
        watcher.start()
        told_at = 0.0
        try:
            while True:
                self._beat = self._clock.now()
                silent_since = max(self._last_activity(), told_at)
                if self._in_flight and self._beat - silent_since > self._stall_seconds:
                    told_at = self._beat
                    self.stalls += 1
                    self._tell_stall()
                await asyncio.sleep(self._check_seconds)
        finally:
            self._ended.set()
            watcher.join()

    def _tell_stall(self) -> None:
        oldest = sorted(self._in_flight.items(), key=lambda item: item[1])[:SHOWN]
        log.error(
            "the crawl has stalled",
            extra={
                "silent_seconds": round(self._clock.now() - self._last_activity()),
                "in_flight": len(self._in_flight),
                "oldest": [url for url, _ in oldest],
            },
        )

    def _watch_loop(self) -> None:
        told_beat = 0.0
        while not self._ended.wait(self._check_seconds):
            beat = self._beat
            if self._clock.now() - beat > self._blocked_seconds and beat != told_beat:
                told_beat = beat
                self.blocks += 1
                log.error(
                    "the event loop is blocked",
                    extra={"seconds": round(self._clock.now() - beat), "at": self._where_the_loop_is()},
                )

    def _where_the_loop_is(self) -> list[str]:
        frame = sys._current_frames().get(self._loop_thread)
        return [line.strip().replace("\n", ": ") for line in traceback.format_stack(frame)[-SHOWN:]] if frame else []
