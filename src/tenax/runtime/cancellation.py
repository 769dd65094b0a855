"""Waiting and cancelling: no cancellation is lost in client libraries, and every wait for a task has a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias, TypeVar

from tenax import logs

log = logs.logger(__name__)

T = TypeVar("T")

CANCEL_AGAIN_SECONDS = 1.0
"""A task that has not ended by then is cancelled again. It has had time to clean up."""
CANCEL_TIMEOUT_SECONDS = 10.0


@contextmanager
def preserve_cancellation() -> Iterator[None]:
    """Wraps calls of a library that may swallow a cancellation: the cancellation is raised here instead.

    `asyncio.wait_for` of Python 3.11 swallows it if its awaitable finishes at the same moment; redis-py uses
    `wait_for`. Put this around a timeout, not inside of one.
    """
    task = asyncio.current_task()
    assert task is not None
    before = task.cancelling()
    try:
        yield
    except Exception:
        if task.cancelling() > before:
            raise asyncio.CancelledError from None
        raise
    if task.cancelling() > before:
        raise asyncio.CancelledError


async def cancel_and_wait(*tasks: asyncio.Future[Any], timeout_seconds: float = CANCEL_TIMEOUT_SECONDS) -> bool:
    """Cancel the tasks and wait until they end. False if one of them did not end in time. Their exceptions stay in the
    tasks."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_seconds
    while left := [task for task in tasks if not task.done()]:
        seconds = min(CANCEL_AGAIN_SECONDS, deadline - loop.time())
        if seconds <= 0:
            log.warning("tasks did not end in time", tasks=[_task_name(task) for task in left])
            return False
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=seconds)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # otherwise Python reports that the exception was never retrieved
    return True


def _task_name(task: asyncio.Future[Any]) -> str:
    """What the task runs, and its location."""
    if not isinstance(task, asyncio.Task):
        return repr(task)
    stack = task.get_stack(limit=1)
    where = f" at {stack[0].f_code.co_filename}:{stack[0].f_lineno}" if stack else ""
    return f"{getattr(task.get_coro(), '__qualname__', task.get_name())}{where}"


async def run_until_set(event: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """Run the work until it ends or the event is set.

    Returns the result of the work, or None if it was cancelled. The work has ended by then.
    """
    working, waiting = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
        is_done = working.done()
    finally:
        await cancel_and_wait(working, waiting)
    # If the work has completed nevertheless, the caller must close its result.
    if is_done or (working.done() and not working.cancelled() and working.exception() is None):
        return working.result()
    return None


Pause: TypeAlias = Callable[[asyncio.Event, float], Awaitable[None]]


async def pause(event: asyncio.Event, seconds: float) -> None:
    """Returns when the event is set, or after this time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
