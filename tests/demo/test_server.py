"""The server on real sockets: what it keeps, what it survives, and its bad behaviour on the wire."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from tenax.demo import Request, Site
from tenax.demo.server import LogLine, respond, serve
from tenax.errors import UsageError

SMALL = Site(hosts=1, pages_per_host=24)


async def say(origin: str, data: bytes) -> bytes:
    """Send these bytes, and nothing after them; all that comes back until the site hangs up."""
    host, port = origin.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    writer.write_eof()
    answer = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    await writer.wait_closed()
    return answer


async def get(origin: str, target: str) -> tuple[int, bytes]:
    head, _, body = (await say(origin, f"GET {target} HTTP/1.1\r\n\r\n".encode())).partition(b"\r\n\r\n")
    return int(head.split()[1]), body


async def test_hosts_have_addresses_of_their_own_on_one_port() -> None:
    async with serve(Site(hosts=3)) as origins:
        ports = {origin.rpartition(":")[2] for origin in origins}
        assert [origin.rpartition(":")[0] for origin in origins] == [f"http://127.0.0.{n}" for n in (1, 2, 3)]
        assert len(ports) == 1
        titles = {(await get(origin, "/"))[1].split(b"<title>")[1] for origin in origins}
    assert len(titles) == 3


@pytest.mark.parametrize("is_warm", [False, True])
async def test_a_kept_answer_is_the_answer(is_warm: bool) -> None:
    async with serve(SMALL, is_warm=is_warm) as origins:
        first, second = await get(origins[0], "/about"), await get(origins[0], "/about")
    assert first == second == (200, respond(SMALL, 0, Request("/about"), origins).body)


async def test_many_requests_on_one_connection() -> None:
    async with serve(SMALL) as origins:
        answer = await say(origins[0], b"GET /about HTTP/1.1\r\n\r\n" * 3 + b"HEAD / HTTP/1.1\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200 OK\r\n") == 4
    assert answer.count(b"</html>") == 3


async def test_a_taken_port_is_said_in_a_sentence() -> None:
    async with serve(SMALL) as origins:
        with pytest.raises(UsageError, match="is in use"):
            async with serve(SMALL, port=int(origins[0].rpartition(":")[2])):
                pass


async def test_the_log_has_a_line_for_every_request(tmp_path: Path) -> None:
    log = tmp_path / "access.jsonl"
    async with serve(SMALL, log=log) as origins:
        for target in ("/robots.txt", "/?a=1", "/nowhere", "/?a=1"):
            await get(origins[0], target)
    lines = [msgspec.json.decode(line, type=LogLine) for line in log.read_bytes().splitlines()]
    assert [(line.path, line.status) for line in lines] == [
        ("/robots.txt", 200), ("/?a=1", 200), ("/nowhere", 404), ("/?a=1", 200),
    ]  # fmt: skip
    assert {line.host for line in lines} == {origins[0].removeprefix("http://")}
    assert [line.time for line in lines] == sorted(line.time for line in lines)


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\r\n\r\n",
        b"\x00" * 100,
        b"GET /",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
        b"GET /%00%ff;;;??&&= HTTP/1.1\r\n\r\n",
        b"GET /calendar?year=-1&month=%F0 HTTP/1.1\r\n\r\n",
        b"GET /echo/" + b"../" * 99 + b" HTTP/1.1\r\n\r\n",
        b"DELETE / HTTP/1.1\r\n\r\n",
    ],
)
async def test_garbage_ends_its_connection_and_nothing_else(garbage: bytes) -> None:
    async with serve(SMALL) as origins:
        await say(origins[0], garbage)
        assert (await get(origins[0], "/"))[0] == 200


async def test_the_flaky_page_and_the_rate_limit_are_counted_across_connections() -> None:
    async with serve(SMALL) as origins:
        moody = [(await get(origins[0], "/moody"))[0] for _ in range(4)]
        about = [(await get(origins[0], "/about"))[0] for _ in range(40)]
    assert moody == [500, 500, 200, 200]
    assert [number for number, status in enumerate(about, 5) if status == 429] == [40]


async def test_a_cut_body_is_shorter_than_announced() -> None:
    async with serve(SMALL) as origins:
        answer = await say(origins[0], b"GET /cut-short HTTP/1.1\r\n\r\n" * 2)
    head, _, body = answer.partition(b"\r\n\r\n")
    announced = int(head.split(b"Content-Length: ")[1].split()[0])
    assert len(body) == announced // 2


async def test_a_drip_goes_on_until_the_client_leaves_and_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tenax.demo.behaviours.DRIP_SECONDS", 0.001)
    async with serve(SMALL) as origins:
        host, port = origins[0].removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /drip HTTP/1.1\r\n\r\n")
        await reader.readuntil(b"</html>\n")
        assert await reader.readexactly(20) == b" " * 20
    writer.close()
    with suppress(ConnectionResetError):
        await writer.wait_closed()


async def test_a_slow_page_comes_late_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenax.demo.behaviours.SLOW_SECONDS", 0.001)
    async with serve(SMALL) as origins:
        status, body = await get(origins[0], "/patience")
    assert status == 200
    assert body.endswith(b"</html>\n")
