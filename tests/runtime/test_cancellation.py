"""Cancelling tasks that ignore the first cancellation, or all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tenax.clock import SteadyClock
from tenax.errors import ConfigError
from tenax.hosts.redis import BestEffortRedis
from tenax.runtime import cancellation
from tenax.runtime.cancellation import cancel_and_wait, preserve_cancellation, run_until_set
from tenax.runtime.redis import WaitingRedis, create_redis_client
from tests.servers.redis import RedisServer

ROUNDS = 40
"""Of the event loop; a call to Redis takes fewer."""


async def swallowing(trouble: Exception | None = None) -> str:
    """Like `asyncio.wait_for` of Python 3.11: returns the result instead of raising the cancellation."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        if trouble is not None:
            raise trouble from None
    return "a result"


async def heeding(trouble: Exception | None = None) -> None:
    with preserve_cancellation():
        await swallowing(trouble)


@pytest.mark.parametrize("trouble", [None, OSError("the connection broke")], ids=["with a result", "with an error"])
async def test_a_call_to_stop_that_was_swallowed_is_raised(trouble: Exception | None) -> None:
    task = asyncio.ensure_future(heeding(trouble))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_timeout_inside_is_no_call_to_stop() -> None:
    with pytest.raises(TimeoutError), preserve_cancellation():
        async with asyncio.timeout(0):
            await asyncio.Event().wait()
    with preserve_cancellation():
        async with asyncio.timeout(0):
            await swallowing()


async def test_an_earlier_cancellation_is_not_raised_again() -> None:
    async def leave() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            with preserve_cancellation():
                await asyncio.sleep(0)
            return "left in order"
        return ""

    task = asyncio.ensure_future(leave())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "left in order"


async def test_redis_calls_heed_every_call_to_stop() -> None:
    """At any moment."""
    with RedisServer() as server:
        reach = await BestEffortRedis.open(server.url, SteadyClock())
        client, link = create_redis_client(server.url, "invalid `a.setting`"), WaitingRedis(server.url, "a.setting")
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "reach": lambda: reach.call(lambda redis: redis.ping()),
            "patiently": lambda: link.call_with_retry(lambda: client.ping()),
            "first": lambda: link.call_once(lambda: client.ping()),
        }
        ignored = [
            (name, rounds) for name, call in calls.items() for rounds in range(ROUNDS) if not await heeds(call, rounds)
        ]
        await client.aclose()
        await reach.close()
    assert ignored == []


async def heeds(call: Callable[[], Awaitable[object]], rounds: int) -> bool:
    """Whether a task that calls Redis in an endless loop ends after one cancellation."""
    went_on = asyncio.Event()

    async def run() -> None:
        await call()
        if task.cancelling():
            went_on.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(run())
    for _ in range(rounds):
        await asyncio.sleep(0)
    task.cancel()
    others = asyncio.ensure_future(went_on.wait())
    await asyncio.wait((task, others), return_when=asyncio.FIRST_COMPLETED)
    has_heeded = task.done()
    await cancel_and_wait(task, others)
    return has_heeded


async def test_tasks_are_called_again_until_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancellation, "CANCEL_AGAIN_SECONDS", 0.001)

    async def deaf() -> None:
        for _ in range(3):
            await swallowing()
        await asyncio.Event().wait()

    async def broken() -> None:
        raise ConfigError("for whoever asks")

    tasks = [asyncio.ensure_future(work) for work in (deaf(), swallowing(), broken())]
    await asyncio.sleep(0)
    assert await cancel_and_wait(*tasks)
    assert tasks[0].cancelled() and tasks[1].done() and isinstance(tasks[2].exception(), ConfigError)


async def test_one_that_never_ends_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    is_over = False

    async def deaf() -> None:
        while not is_over:
            await swallowing()

    task = asyncio.ensure_future(deaf())
    await asyncio.sleep(0)
    assert not await cancel_and_wait(task, timeout_seconds=0.01)
    assert [record.message for record in caplog.records] == ["tasks did not end in time"]
    is_over = True
    assert await cancel_and_wait(task)


async def test_work_unless_something_happens_first() -> None:
    event = asyncio.Event()
    assert await run_until_set(event, asyncio.sleep(0, "done")) == "done"
    with pytest.raises(ConfigError):
        await run_until_set(event, raising())
    asyncio.get_running_loop().call_soon(event.set)
    assert await run_until_set(event, asyncio.sleep(3600, "never")) is None


async def test_work_that_came_to_its_end_all_the_same_is_not_lost() -> None:
    """Otherwise nobody would close what it has opened."""
    event = asyncio.Event()
    asyncio.get_running_loop().call_soon(event.set)
    assert await run_until_set(event, swallowing()) == "a result"
    assert await run_until_set(event, swallowing(OSError("of no interest any more"))) is None


async def raising() -> None:
    raise ConfigError("wrong")
