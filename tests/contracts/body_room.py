"""What every HTTP transport of our own does with a body for which there is no memory."""

from __future__ import annotations

import asyncio
import gzip
import random
from typing import ClassVar

import pytest

from tenax.fetch import Request, Response
from tenax.fetch.body_budget import BodyBudget, MemoryReservation
from tenax.model import Deferred, Failed, Refused
from tests.contracts.transport import Made, Rig
from tests.loops import FAULT_SECONDS, outlasted, reached, rounds
from tests.site.server import Behaviour, Exchange, Site

MB = 1024 * 1024
CAP_BYTES = 10 * MB
LIMIT_BYTES = 4 * MB
TEXT = b"All the same, and much of it. " * 100_000
NOISE = random.Random(18).randbytes(3 * MB)


def sent(body: bytes, coding: str = "", *, chunked: bool = False) -> Behaviour:
    data = gzip.compress(body) if coding else body
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {coding or 'identity'}\r\n"

    async def show(exchange: Exchange) -> None:
        if not chunked:
            await exchange.send(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
            return
        await exchange.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        for start in range(0, len(data), 50_000):
            piece = data[start : start + 50_000]
            await exchange.send(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await exchange.send(b"0\r\n\r\n")

    return show


async def until_closed(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + NOISE)
    exchange.hang_up()


BODIES: dict[str, tuple[Behaviour, bytes]] = {
    "/gzip": (sent(TEXT, "gzip"), TEXT),
    "/gzip-in-pieces": (sent(TEXT, "gzip", chunked=True), TEXT),
    "/large-gzip": (sent(NOISE, "gzip"), NOISE),
    "/plain": (sent(NOISE), NOISE),
    "/plain-in-pieces": (sent(NOISE, chunked=True), NOISE),
    "/until-closed": (until_closed, NOISE),
}


class BodyRoomContract:
    """Runs on both event loops, with the `site` of this suite."""

    made: ClassVar[Made]

    async def get(
        self, rig: Rig, url: str, room: MemoryReservation, seconds: float = FAULT_SECONDS
    ) -> Response | Failed | Refused | Deferred:
        return await rig.transport.get(Request(url, CAP_BYTES, seconds, reservation=room))

    @pytest.mark.parametrize("path", BODIES)
    async def test_a_body_waits_for_room_and_comes_whole(self, path: str) -> None:
        behaviour, body = BODIES[path]
        bodies = BodyBudget(LIMIT_BYTES, concurrency=100)
        before, first, room = bodies.open_reservation(), bodies.open_reservation(), bodies.open_reservation()
        assert before.try_reserve(bodies.limit_bytes * 3 // 4)
        await asyncio.wait_for(first.reserve(MB), FAULT_SECONDS)  # the only one that may go beyond
        async with Site({path: behaviour}) as site, Rig(self.made) as rig:
            asking = asyncio.ensure_future(self.get(rig, site.url(path), room))
            await reached(lambda: bodies.waiting == 1, "the body to wait")
            assert room.reserved_bytes <= MB, "what is not wanted yet is not decoded"
            await rounds()
            assert not asking.done()
            before.close()
            first.close()
            answer = await asyncio.wait_for(asking, FAULT_SECONDS)
            assert isinstance(answer, Response), answer
            assert answer.body == body
            assert len(body) <= room.reserved_bytes <= 2 * len(body) + MB
            assert len(site.hits) == 1
            again = await self.get(rig, site.url(path), bodies.open_reservation())
            assert isinstance(again, Response), "and the next one comes too"
        room.close()

    @pytest.mark.parametrize("path", BODIES)
    async def test_a_body_larger_than_all_there_is_comes_when_it_is_alone(self, path: str) -> None:
        behaviour, body = BODIES[path]
        bodies = BodyBudget(MB, concurrency=100)
        async with Site({path: behaviour}) as site, Rig(self.made) as rig:
            answer = await self.get(rig, site.url(path), bodies.open_reservation())
            assert isinstance(answer, Response), answer
            assert answer.body == body

    @pytest.mark.parametrize("path", ["/plain", "/plain-in-pieces", "/gzip"])
    async def test_one_that_waits_too_long_is_put_off_and_the_host_is_not_to_blame(self, path: str) -> None:
        bodies = BodyBudget(LIMIT_BYTES, concurrency=100)
        bodies.open_reservation().try_reserve(LIMIT_BYTES * 3 // 4)
        await bodies.open_reservation().reserve(MB)
        room = bodies.open_reservation()
        async with Site({path: BODIES[path][0]}) as site, Rig(self.made) as rig:
            asking = self.get(rig, site.url(path), room, seconds=100)
            answer = await outlasted(asking, 130, lambda: bodies.waiting == 1)
            assert isinstance(answer, Deferred), answer
            assert answer.why.startswith("memory: ")

    async def test_a_server_that_hangs_up_while_we_do_not_read_is_not_to_blame(self) -> None:
        is_waiting = asyncio.Event()

        async def impatient(exchange: Exchange) -> None:
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {2 * len(NOISE)}\r\n\r\n"
            await exchange.send(head.encode() + NOISE[:MB])
            await asyncio.wait_for(is_waiting.wait(), FAULT_SECONDS)
            exchange.hang_up()

        bodies = BodyBudget(LIMIT_BYTES, concurrency=100)
        before = bodies.open_reservation()
        assert before.try_reserve(LIMIT_BYTES * 3 // 4)
        await bodies.open_reservation().reserve(MB)
        async with Site({"/": impatient}) as site, Rig(self.made) as rig:
            asking = asyncio.ensure_future(self.get(rig, site.url("/"), bodies.open_reservation()))
            await reached(lambda: bodies.waiting == 1, "the body to wait")
            is_waiting.set()
            await rounds()
            before.close()
            answer = await asyncio.wait_for(asking, FAULT_SECONDS)
            assert isinstance(answer, Deferred), answer

    async def test_too_many_that_wait_are_put_off_at_once(self) -> None:
        bodies = BodyBudget(LIMIT_BYTES, concurrency=4)
        bodies.open_reservation().try_reserve(LIMIT_BYTES * 3 // 4)
        await bodies.open_reservation().reserve(MB)
        async with Site({"/": BODIES["/plain"][0]}) as site, Rig(self.made) as rig:
            first = asyncio.ensure_future(self.get(rig, site.url("/"), bodies.open_reservation()))
            await reached(lambda: bodies.waiting == 1, "the body to wait")
            assert isinstance(await self.get(rig, site.url("/"), bodies.open_reservation()), Deferred)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            assert bodies.waiting == 0
