"""Starting while a server is unavailable: retried until it answers, logged once, and stopped on request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from tenax.cli.run_service import JITTER_SHARE, RETRY_DELAYS_SECONDS, StopSignal, open_when_available
from tenax.errors import ConfigError, DatabaseUnavailable, DatabaseUnusable, ServerUnavailable, TenaxError

DONE = "a service"
AWAY = ServerUnavailable("Redis does not answer")


class Pauses:
    """Takes no time, and records how long it would have taken."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, news: asyncio.Event, seconds: float) -> None:
        self.seconds.append(seconds)


def after(*troubles: TenaxError) -> Callable[[], Coroutine[Any, Any, str]]:
    left: Iterator[TenaxError] = iter(troubles)

    async def open() -> str:
        if (trouble := next(left, None)) is not None:
            raise trouble
        return DONE

    return open


async def test_an_available_server_is_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    pauses = Pauses()
    assert await open_when_available(after(), StopSignal(), pauses) == DONE
    assert pauses.seconds == []
    assert caplog.records == []


async def test_an_unavailable_server_is_retried_with_longer_delays() -> None:
    pauses = Pauses()
    assert await open_when_available(after(*[AWAY] * 10), StopSignal(), pauses) == DONE
    for seconds, pause in zip(pauses.seconds, [*RETRY_DELAYS_SECONDS, 30.0, 30.0, 30.0], strict=True):
        assert pause <= seconds <= pause * (1 + JITTER_SHARE)


async def test_each_unavailable_server_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    postgres = DatabaseUnavailable("PostgreSQL does not answer")
    with caplog.at_level(logging.INFO, "tenax"):
        await open_when_available(after(postgres, postgres, AWAY, AWAY), StopSignal(), Pauses())
    assert [record.message for record in caplog.records] == [
        "server unavailable, waiting",
        "server unavailable, waiting",
        "all servers available",
    ]


@pytest.mark.parametrize("trouble", [ConfigError("no such user"), DatabaseUnusable("of a newer Tenax")])
async def test_what_waiting_cannot_cure_is_said_at_once(trouble: TenaxError) -> None:
    pauses = Pauses()
    with pytest.raises(type(trouble), match=str(trouble)):
        await open_when_available(after(AWAY, trouble), StopSignal(), pauses)
    assert len(pauses.seconds) == 1


async def test_an_end_that_is_asked_for_while_it_waits() -> None:
    stopping = StopSignal()

    async def asked_for(news: asyncio.Event, seconds: float) -> None:
        stopping.request()
        assert news.is_set()

    assert await open_when_available(after(AWAY, AWAY), stopping, asked_for) is None


async def test_an_end_that_is_asked_for_while_it_tries() -> None:
    stopping, let_go = StopSignal(), asyncio.Event()

    async def open() -> str:
        stopping.request()
        try:
            await asyncio.Event().wait()
        finally:
            let_go.set()
        return DONE

    assert await open_when_available(open, stopping) is None
    assert let_go.is_set()


@pytest.mark.parametrize("is_early", [False, True], ids=["while it runs", "before it ran"])
def test_a_service_is_stopped_whenever_it_is_requested(is_early: bool) -> None:
    stopping, calls = StopSignal(), list[str]()
    if is_early:
        stopping.request()
    stopping.set_handler(lambda: calls.append("stop"))
    assert calls == (["stop"] if is_early else [])
    if not is_early:
        stopping.request()
    assert calls == ["stop"]
