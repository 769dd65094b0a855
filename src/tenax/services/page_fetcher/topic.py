"""The Kafka topic for pages: refused events are sent again until the broker accepts them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from tenax.logs import logger

log = logger(__name__)

RETRY_DELAYS_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)


class Refusal(Protocol):
    def str(self) -> str: ...


class Producer(Protocol):
    """Sends messages, and waits for an unavailable broker."""

    async def send(self, topic: str, messages: Sequence[tuple[bytes, bytes]]) -> Sequence[Refusal | None]:
        """For each, None when every replica has it, or why it was refused."""

    async def close(self) -> None: ...


class Topic:
    """Implements `EventLog`."""

    def __init__(self, producer: Producer, name: str) -> None:
        self._producer = producer
        self._name = name

    async def publish(self, events: Sequence[tuple[bytes, bytes]]) -> None:
        tries = 0
        while events:
            refusals = await self._producer.send(self._name, events)
            refused = [(event, why) for event, why in zip(events, refusals, strict=True) if why is not None]
            events = [event for event, _ in refused]
            if refused:
                log.error("events refused by Kafka, will be retried", topic=self._name, why=refused[0][1].str())
                await asyncio.sleep(RETRY_DELAYS_SECONDS[min(tries, len(RETRY_DELAYS_SECONDS) - 1)])
                tries += 1

    async def close(self) -> None:
        await self._producer.close()
