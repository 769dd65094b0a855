"""The time of an event loop, turned by a test: a wait of minutes is over at once, and no deadline strikes on a busy
machine before the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple, Unpack

import uvloop

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

FAULT_SECONDS = 60.0
"""What is waited for comes long before, unless something is broken."""
ROUNDS = 20
"""What one side of a connection in this loop has sent, the other side has read after a few rounds of the loop."""


class TurnedLoop(asyncio.SelectorEventLoop):
    """asyncio's own, for those who keep its `time` before it is turned for the first time."""

    ahead_seconds = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_seconds

    def turn(self, seconds: float) -> None:
        self.ahead_seconds += seconds


class TurnedUvloop(uvloop.Loop):
    """libuv keeps its time to itself, so every timer is also kept here."""

    ahead_seconds = 0.0

    def __init__(self) -> None:
        super().__init__()
        self._timers: dict[int, tuple[asyncio.TimerHandle, asyncio.TimerHandle]] = {}
        """By the id of the timer: it, and libuv's timer that ends it when nobody turns the time."""

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
    """So many seconds have passed for all that wait in this loop."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, (TurnedLoop, TurnedUvloop)):
        loop.turn(seconds)
    else:
        assert isinstance(loop, asyncio.BaseEventLoop), "the time of this loop cannot be turned"
        before = loop.time
        vars(loop)["time"] = lambda: before() + seconds


async def rounds(count: int = ROUNDS) -> None:
    """What is ready in this loop is done, by those too who wait for it."""
    for _ in range(count):
        await asyncio.sleep(0)


async def reached(condition: Callable[[], bool], what: str = "it") -> None:
    """Until this holds; an event would do where one can be had."""
    loop = asyncio.get_running_loop()
    until = loop.time() + FAULT_SECONDS
    while not condition():
        assert loop.time() < until, f"waited in vain for {what}"
        await asyncio.sleep(0.001)


async def outlasted(
    asking: Coroutine[Any, Any, Result], step_seconds: float, once: Callable[[], bool], steps: int = 1
) -> Result:
    """What comes of it when, once this holds, so much time passes, so many times. With several steps, who sends and
    who hears something have a moment between them."""
    task = asyncio.ensure_future(asking)
    await reached(lambda: once() or task.done())
    for step in range(steps):
        if step:
            await asyncio.sleep(0.02)
        await rounds()
        if not task.done():
            turn(step_seconds)
    return await asyncio.wait_for(task, FAULT_SECONDS)
