"""An event loop whose time a test moves: a wait of minutes ends at once, and no deadline passes on a busy machine
before the test moves the time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple, Unpack

import uvloop

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

FAULT_SECONDS = 60.0
"""Waits end long before this, unless something is broken."""
ROUNDS = 20
"""Data sent on one side of a connection in this loop is read on the other after a few iterations."""


class TurnedLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop, for code that keeps a reference to `time` before a test moves it."""

    ahead_seconds = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_seconds

    def turn(self, seconds: float) -> None:
        self.ahead_seconds += seconds


class TurnedUvloop(uvloop.Loop):
    """libuv's time cannot be changed, so every timer is also kept here."""

    ahead_seconds = 0.0

    def __init__(self) -> None:
        super().__init__()
        self._timers: dict[int, tuple[asyncio.TimerHandle, asyncio.TimerHandle]] = {}
        """By timer id: the timer, and libuv's own, which ends it if no test moves the time."""

    def time(self) -> float:
        return super().time() + self.ahead_seconds

    def turn(self, seconds: float) -> None:
        self.ahead_seconds += seconds
        now = self.time()
        for timer, own in list(self._timers.values()):
            if timer.when() <= now:
                own.cancel()
                self.call_soon(self._fire, timer)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_later(when - self.time(), callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(self.time() + delay, callback, args, self, context)
        self._timers[id(timer)] = timer, super().call_later(max(delay, 0.0), self._fire, timer)
        return timer

    def _fire(self, timer: asyncio.TimerHandle) -> None:
        self._timers.pop(id(timer), None)
        if not timer.cancelled():
            timer._run()

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        if (found := self._timers.pop(id(handle), None)) is not None:
            found[1].cancel()


def turn(seconds: float) -> None:
    """Move the time of this loop forward."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, (TurnedLoop, TurnedUvloop)):
        loop.turn(seconds)
    else:
        assert isinstance(loop, asyncio.BaseEventLoop), "the time of this loop cannot be turned"
        before = loop.time
        vars(loop)["time"] = lambda: before() + seconds


async def rounds(count: int = ROUNDS) -> None:
    """Run everything that is ready in this loop, and what that makes ready."""
    for _ in range(count):
        await asyncio.sleep(0)


async def reached(condition: Callable[[], bool], what: str = "it") -> None:
    """Wait until the condition is true; use an event where there is one."""
    loop = asyncio.get_running_loop()
    until = loop.time() + FAULT_SECONDS
    while not condition():
        assert loop.time() < until, f"waited in vain for {what}"
        await asyncio.sleep(0.001)


async def outlasted(
    asking: Coroutine[Any, Any, Result], step_seconds: float, once: Callable[[], bool], steps: int = 1
) -> Result:
    """The result when, once `once` is true, `step_seconds` pass `steps` times. Between steps, senders and receivers get
    to run."""
    task = asyncio.ensure_future(asking)
    await reached(lambda: once() or task.done())
    for step in range(steps):
        if step:
            await asyncio.sleep(0.02)
        await rounds()
        if not task.done():
            turn(step_seconds)
    return await asyncio.wait_for(task, FAULT_SECONDS)
