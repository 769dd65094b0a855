"""A proxy's answers are read with limits and not trusted. (How the transports use tunnels: `contracts`.)"""

from __future__ import annotations

import asyncio
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.fetch.connect import MAX_REPLY_BYTES, ProxyError, open_tunnel
from tenax.fetch.proxies import Proxy, ProxyScheme

TARGET = ("93.184.216.34", 443)
FROM_HERE = b"\x01\x7f\x00\x00\x01\x00\x50"
"""The bound address in a SOCKS5 proxy's reply."""


async def opened(scheme: ProxyScheme, reply: bytes, step: int, user: bytes = b"") -> str:
    """The error for a proxy that sends this reply, `step` bytes at a time, and then closes; empty for a tunnel."""
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    proxy = Proxy("p:1", scheme, "p", 1, user, b"secret" if user else b"")
    opening = asyncio.ensure_future(open_tunnel(loop, ours, proxy, TARGET, None))
    with theirs:
        await loop.sock_recv(theirs, 1)
        for start in range(0, len(reply), step):
            if not opening.done():
                await loop.sock_sendall(theirs, reply[start : start + step])
                await asyncio.sleep(0)
        if not opening.done():
            theirs.shutdown(socket.SHUT_WR)
        return await _outcome(opening)


async def _outcome(opening: asyncio.Future[asyncio.Transport]) -> str:
    try:
        async with asyncio.timeout(60):
            (await opening).abort()
    except ProxyError as error:
        assert error.failure.why == f"proxy p:1: {error.why}"
        return error.why + (" (declined)" if error.is_declined else "")
    return ""


@pytest.mark.parametrize("step", [1, 1000])
@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (b"HTTP/1.1 200 Connection established\r\n\r\n", ""),
        (b"HTTP/1.0 200\r\n\r\n", ""),
        (b"HTTP/1.1 204 Fine\r\nVia: a\r\n\r\n", ""),
        (b"HTTP/1.1 200 OK\r\n", "it closed the connection"),
        (b"", "it closed the connection"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "invalid response to CONNECT"),
        (b"HTTP/2 200\r\n\r\n", "invalid response to CONNECT"),
        (b"\r\n\r\n", "invalid response to CONNECT"),
        (b"X" * (MAX_REPLY_BYTES + 1), "invalid response to CONNECT"),
        (b"HTTP/1.1 407 Who?\r\n\r\n", "it wants a user and a password"),
        (b"HTTP/1.1 100 Wait\r\n\r\n", "answer 100 to CONNECT (declined)"),
        (b"HTTP/1.1 302 There\r\nLocation: http://10.0.0.1/\r\n\r\n", "answer 302 to CONNECT (declined)"),
        (b"HTTP/1.1 503 No\r\n\r\n", "answer 503 to CONNECT (declined)"),
    ],
)
async def test_answers_to_connect(reply: bytes, why: str, step: int) -> None:
    assert await opened("http", reply, min(step, 64) if len(reply) > 1000 else step) == why


@pytest.mark.parametrize("step", [1, 1000])
@pytest.mark.parametrize(
    ("reply", "user", "why"),
    [
        (b"\x05\x00\x05\x00\x00" + FROM_HERE, b"", ""),
        (b"\x05\x00\x05\x00\x00\x04" + bytes(18), b"", ""),
        (b"\x05\x00\x05\x00\x00\x03\x05local\x00\x50", b"", ""),
        (b"\x05\x02\x01\x00\x05\x00\x00" + FROM_HERE, b"me", ""),
        (b"\x05\x00\x05\x00\x00" + FROM_HERE, b"me", ""),
        (b"\x05\x02\x01\x01", b"me", "it does not accept our user and password"),
        (b"\x05\xff", b"me", "it does not accept our user and password"),
        (b"\x05\xff", b"", "it wants a user and a password"),
        (b"\x05\x02", b"", "it wants a user and a password"),
        (b"\x04\x00", b"", "not a SOCKS5 proxy"),
        (b"\x05\x00\x04\x00\x00" + FROM_HERE, b"", "not a proper SOCKS5 answer"),
        (b"\x05\x00\x05\x04\x00" + FROM_HERE, b"", "SOCKS5: host unreachable (declined)"),
        (b"\x05\x00\x05\x63\x00" + FROM_HERE, b"", "SOCKS5: reply 99 (declined)"),
        (b"\x05\x00\x05\x00", b"", "it closed the connection"),
        (b"\x05", b"", "it closed the connection"),
    ],
)
async def test_answers_of_socks5(reply: bytes, user: bytes, why: str, step: int) -> None:
    assert await opened("socks5", reply, step, user) == why


@pytest.mark.parametrize(
    ("scheme", "reply"),
    [("http", b"HTTP/1.1 200 OK\r\n\r\n"), ("socks5", b"\x05\x00\x05\x00\x00" + FROM_HERE)],
)
async def test_nothing_may_follow_before_we_have_spoken(scheme: ProxyScheme, reply: bytes) -> None:
    assert await opened(scheme, reply + b"forged", 1000) == "it sent data before the request"


@settings(max_examples=60, deadline=None)
@given(
    reply=st.binary(max_size=60) | st.binary(max_size=20).map(lambda rest: b"\x05\x00\x05" + rest),
    scheme=st.sampled_from(["http", "socks5"]),
    step=st.integers(1, 60),
)
def test_bytes_of_strangers_end_as_a_tunnel_or_a_failure(reply: bytes, scheme: ProxyScheme, step: int) -> None:
    assert isinstance(asyncio.run(opened(scheme, reply, step)), str)
