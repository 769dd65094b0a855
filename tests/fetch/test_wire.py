"""The result of a response does not depend on how the network splits it into pieces."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.fetch import Request
from tenax.fetch.http.wire import Connection, WireResponse
from tenax.model import Deferred, Failed

PAGE = b"<p>a page</p>" * 9
ASKED = Request("http://a.example/", 10_000, 3600.0)
ASKED_HEAD = Request("http://a.example/", 10_000, 3600.0, method="HEAD")


class Wire(asyncio.Transport):
    """The end of a connection whose other side is the test."""

    def __init__(self) -> None:
        super().__init__()
        self.is_aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None: ...

    def abort(self) -> None:
        self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_aborted


async def heard(pieces: Sequence[bytes], request: Request = ASKED, *, is_cut: bool = False) -> tuple[object, bool]:
    """The result of an exchange when these pieces arrive and then the connection ends, and whether it was reusable."""
    loop = asyncio.get_running_loop()
    connection, wire = Connection(loop, lambda: 0.0), Wire()
    connection.connection_made(wire)
    asking = asyncio.ensure_future(connection.exchange(b"GET", request, loop.time() + 3600))
    await asyncio.sleep(0)
    for piece in pieces:
        if wire.is_aborted:
            break  # like a loop: after closing nothing more is received
        connection.data_received(piece)
    is_open = connection.is_open
    if not is_cut:
        connection.eof_received()
    connection.connection_lost(ConnectionResetError() if is_cut else None)
    async with asyncio.timeout(60):
        return _plain(await asking), is_open


def _plain(result: WireResponse | Failed | Deferred) -> object:
    if not isinstance(result, WireResponse):
        return result
    # Of a body that is dropped, more or less may have arrived by then.
    wire_bytes = result.wire_bytes if result.body else 0
    return result.status, {name: result.headers.get_all(name) for name in result.headers}, result.body, wire_bytes


# ---- responses, valid and invalid -------------------------------------------------------------------------


def _chunked(body: bytes, size: int, trailers: str) -> bytes:
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + f"0\r\n{trailers}\r\n".encode()


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """Whole responses: every framing, interim ones before them, trailers in them, garbage after them."""
    interim = draw(
        st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Hints\r\nLink: a\r\n\r\n" * 2])
    )
    status = draw(st.sampled_from([200, 200, 204, 206, 301, 304, 404, 503, 999]))
    body = draw(st.sampled_from([b"", b"x", PAGE]))
    headers = [f"HTTP/1.{draw(st.integers(0, 1))} {status} So it is", "Server: a", "Set-Cookie: a", "Set-Cookie: b"]
    if draw(st.booleans()):
        body = gzip.compress(body, mtime=0)
        headers.append("Content-Encoding: gzip")
    framing = draw(st.sampled_from(["length", "chunked", "both", "neither"]))
    if framing in ("length", "both"):
        headers += [f"Content-Length: {len(body)}"] * draw(st.sampled_from([1, 1, 2, 3]))
    if framing in ("chunked", "both"):
        headers.append("Transfer-Encoding: chunked")
        trailers = draw(st.sampled_from(["", "X-Sum: 1\r\n", "Content-Length: 3\r\nA: b\r\n"]))
        body = _chunked(body, draw(st.sampled_from([1, 50, 1000])), trailers)
    if draw(st.booleans()):
        headers.append(f"Connection: {draw(st.sampled_from(['close', 'keep-alive', 'upgrade']))}")
    rest = draw(
        st.sampled_from([b"", b"", b"\r\n", b"rubbish", b"\0", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"])
    )
    return interim + "\r\n".join(headers).encode() + b"\r\n\r\n" + body + rest


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    answer = bytearray(draw(answers()))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(answer)))
        what = draw(st.sampled_from([b"", b"\0", b"\r", b"\n", b":", b" ", b"9", b"\xff", b"\r\n\r\n"]))
        answer[at : at + draw(st.integers(0, 2))] = what
    return bytes(answer)


def _pieces(answer: bytes, cuts: Sequence[int]) -> list[bytes]:
    positions = sorted({cut % (len(answer) + 1) for cut in cuts} | {0, len(answer)})
    return [answer[start:end] for start, end in pairwise(positions)]


@settings(max_examples=400, deadline=None)
@given(
    answer=answers() | damaged(),
    cuts=st.lists(st.integers(0, 2000), max_size=12),
    is_head=st.booleans(),
    is_cut=st.booleans(),
)
def test_the_same_whatever_the_pieces(answer: bytes, cuts: list[int], is_head: bool, is_cut: bool) -> None:
    request = ASKED_HEAD if is_head else ASKED

    async def both_ways() -> None:
        whole = await heard([answer], request, is_cut=is_cut)
        assert await heard(_pieces(answer, cuts), request, is_cut=is_cut) == whole
        assert await heard([bytes([byte]) for byte in answer], request, is_cut=is_cut) == whole

    asyncio.run(both_ways())
