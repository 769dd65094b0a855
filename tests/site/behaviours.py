"""The behaviours of the bad site, by path: what each page does instead of responding properly."""

from __future__ import annotations

import asyncio
import gzip
import sys
import zlib
from collections.abc import Callable
from typing import Literal

import brotli

from tests.loops import rounds
from tests.site.server import Behaviour, Exchange

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PAGE = b"<!doctype html><title>A page</title><p>" + b"Plain words, nothing else. " * 400
BEHAVIOURS: dict[str, Behaviour] = {}
ENCODED: dict[str, tuple[str, bytes]] = {}
"""Path by path: the Content-Encoding of PAGE, and its bytes."""


def behaviour(path: str) -> Callable[[Behaviour], Behaviour]:
    def keep(function: Behaviour) -> Behaviour:
        BEHAVIOURS[path] = function
        return function

    return keep


def raw_deflate(data: bytes) -> bytes:
    return zlib.compress(data, wbits=-zlib.MAX_WBITS)


def zeros(megabytes: int, head: bytes) -> bytes:
    """A deflate stream of that many megabytes of zeros, built without compressing them all."""
    compressor = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    block = compressor.compress(b"\0" * 1024 * 1024) + compressor.flush(zlib.Z_FULL_FLUSH)
    return head + block * megabytes + b"\x03\x00"


GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\x03"
BOMBS = {
    "/bomb/gzip": ("gzip", zeros(500, GZIP_HEAD)),
    "/bomb/deflate": ("deflate", zeros(500, b"\x78\x9c")),
    "/bomb/zstd": ("zstd", zstd.compress(b"\0" * 1024 * 1024 * 16) * 32),
    "/bomb/gzip-members": ("gzip", gzip.compress(b"\0" * 1024 * 1024) * 500),
    "/bomb/in-a-bomb": ("gzip, gzip", gzip.compress(zeros(500, GZIP_HEAD))),
}
ENCODED.update(
    {
        "/encoded/not": ("", PAGE),
        "/encoded/identity": ("identity", PAGE),
        "/encoded/nonsense": ("utf-8", PAGE),
        "/encoded/gzip": ("gzip", gzip.compress(PAGE)),
        "/encoded/x-gzip": ("X-GZIP", gzip.compress(PAGE)),
        "/encoded/gzip-members": ("gzip", gzip.compress(PAGE[:100]) + gzip.compress(PAGE[100:])),
        "/encoded/gzip-padded": ("gzip", gzip.compress(PAGE) + b"\0" * 10),
        "/encoded/deflate": ("deflate", zlib.compress(PAGE)),
        "/encoded/raw-deflate": ("deflate", raw_deflate(PAGE)),
        "/encoded/zstd": ("zstd", zstd.compress(PAGE)),
        "/encoded/zstd-frames": ("zstd", zstd.compress(PAGE[:100]) + zstd.compress(PAGE[100:])),
        "/encoded/twice": ("deflate, gzip", gzip.compress(zlib.compress(PAGE))),
    }
)


def _encoded(coding: str, data: bytes) -> Behaviour:
    async def whole(exchange: Exchange) -> None:
        await exchange.answer(data, headers={"Content-Encoding": coding, "Content-Type": "text/html"})

    return whole


def _chunked(coding: str, data: bytes) -> Behaviour:
    async def in_chunks(exchange: Exchange) -> None:
        await exchange.send(
            f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: {coding}\r\n\r\n".encode()
        )
        step = max(7, len(data) // 50)
        for start in range(0, len(data), step):
            piece = data[start : start + step]
            await exchange.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        await exchange.send(b"0\r\n\r\n")

    return in_chunks


LINES = b"".join(b"Disallow: /%d\n" % number for number in range(100_000))
"""More than a megabyte of text, like a URL list."""
LARGE: dict[str, tuple[str, bytes]] = {
    "/lines/plain": ("identity", LINES),
    "/lines/gzip": ("gzip", gzip.compress(LINES)),
    "/lines/zstd": ("zstd", zstd.compress(LINES)),
    "/lines/twice": ("zstd, gzip", gzip.compress(zstd.compress(LINES))),
}

for _path, (_coding, _data) in {**ENCODED, **BOMBS, **LARGE}.items():
    BEHAVIOURS[_path] = _encoded(_coding, _data)
    BEHAVIOURS[f"{_path}/chunked"] = _chunked(_coding, _data)


@behaviour("/page")
async def page(exchange: Exchange) -> None:
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Encoding": "gzip", "Set-Cookie": "id=1; Path=/"}
    await exchange.answer(gzip.compress(PAGE), headers=headers)


@behaviour("/etag")
async def etag(exchange: Exchange) -> None:
    if exchange.headers.get("if-none-match") == '"1"':
        await exchange.send(b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n')
    else:
        await exchange.answer(PAGE, headers={"ETag": '"1"'})


GZIPPED = gzip.compress(PAGE)
TWICE = gzip.compress(zlib.compress(PAGE))
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
HALF = OK + b"Content-Length: 1000\r\n\r\nhalf"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"


def says(*pieces: bytes, then: Literal["stay", "stay silent", "hang up", "reset"] = "stay") -> Behaviour:
    """Exactly these bytes, valid HTTP or not; each is read, in this loop, before anything else happens."""

    async def speak(exchange: Exchange) -> None:
        for piece in pieces:
            await exchange.send(piece)
            await exchange.arrived()
            await rounds()
        if then == "stay silent":
            await asyncio.Event().wait()
        elif then == "hang up":
            exchange.hang_up()
        elif then == "reset":
            exchange.reset()

    return speak


def goes_on(start: bytes, more: bytes, pause_seconds: float = 0.0) -> Behaviour:
    """The same data repeated without end."""

    async def speak(exchange: Exchange) -> None:
        await exchange.send(start)
        while True:
            await exchange.send(more)
            await asyncio.sleep(pause_seconds)

    return speak


def answers(body: bytes = b"", status: str = "200 OK", **headers: str) -> Behaviour:
    """A valid response; underscores in a header's name mean hyphens."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}

    async def answer(exchange: Exchange) -> None:
        await exchange.answer(body, status, sent)

    return answer


BEHAVIOURS.update(
    {
        "/429": answers(b"slow down", "429 Too Many Requests", Retry_After="7"),
        "/999": answers(b"no", "999 Request denied"),
        "/no-reason": answers(PAGE, "200"),
        "/empty": answers(),
        "/brotli": answers(brotli.compress(b"page"), Content_Encoding="br"),
        "/redirect": answers(b"moved", "302 Found", Location="/page", Set_Cookie="seen=1"),
        "/redirect/bomb": answers(BOMBS["/bomb/gzip"][1], "302 Found", Location="/page", Content_Encoding="gzip"),
        "/headers-many": answers(PAGE, **{f"X-{number}": "a" for number in range(5000)}),
        # Unusual, but complete.
        "/folded": says(OK + b"X-Long: first\r\n  second\r\nX-Bytes: \xe9\xff\r\nContent-Length: 4\r\n\r\npage"),
        "/no-length": says(b"HTTP/1.0 200 OK\r\n\r\n" + PAGE, then="hang up"),
        "/bare-lines": says(b"HTTP/1.1 200 OK\nX-Empty:\nContent-Length: 4\n\npage"),
        "/lengths": says(
            OK + b"Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\nX-Late: 1\r\n\r\n"
        ),
        "/robots-tags": says(
            OK + b"X-Robots-Tag: noindex\r\nx-robots-tag: other: nofollow\r\nContent-Length: 4\r\n\r\npage"
        ),
        # One header in several lines, or twice.
        "/lines/encoding": says(
            OK + b"Content-Encoding: deflate\r\nX-Between: 1\r\nContent-Encoding: gzip\r\n"
            b"Content-Length: %d\r\n\r\n" % len(TWICE) + TWICE
        ),
        "/lines/encoding/chunked": says(
            OK + b"Content-Encoding: deflate\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
            b"%x\r\n%s\r\n0\r\n\r\n" % (len(TWICE), TWICE)
        ),
        "/lines/length": says(OK + b"Content-Length: 4\r\nX-Between: 1\r\ncontent-length:  4 \r\n\r\npage"),
        "/lines/length/three": says(OK + b"Content-Length: 4\r\n" * 3 + b"\r\npage"),
        "/lines/length/pieces": says(OK + b"Content-Length: 4\r\nContent-Length: 4", b"\r\nX: 1\r", b"\n\r\npa", b"ge"),
        "/lines/length/bare": says(b"HTTP/1.1 200 OK\nContent-Length: 4\nContent-Length: 4\n\npage"),
        "/lines/length/list": says(OK + b"Content-Length: 4, 4\r\n\r\npage"),
        "/lines/length/hints": says(HINTS + OK + b"Content-Length: 4\r\n" * 2 + b"\r\npage"),
        "/lines/length/chunked": says(
            OK + b"Content-Length: 9\r\n" * 2 + b"Transfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n"
        ),
        "/lines/lengths": says(OK + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\npages"),
        "/lines/lengths/list": says(OK + b"Content-Length: 4, 5\r\n\r\npages"),
        "/lines/lengths/folded": says(OK + b"Content-Length: 4\r\nContent-Length: 4\r\n , 5\r\n\r\npages"),
        # Transfer codings.
        "/transfer/gzip": says(
            OK + b"Transfer-Encoding: gzip, Chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(GZIPPED), GZIPPED)
        ),
        "/transfer/gzip/lines": says(
            OK + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"%x\r\n%s\r\n0\r\n\r\n" % (len(GZIPPED), GZIPPED)
        ),
        "/transfer/gzip/until-close": says(OK + b"Transfer-Encoding: gzip\r\n\r\n" + GZIPPED, then="hang up"),
        "/transfer/identity": says(OK + b"Transfer-Encoding: identity\r\n\r\npage", then="hang up"),
        **{
            f"/transfer/{name}": says(
                OK + f"Transfer-Encoding: {coding}\r\n\r\n".encode() + b"4\r\npage\r\n0\r\n\r\n", then="hang up"
            )
            for name, coding in {
                "xchunked": "xchunked",
                "chunkedx": "chunkedx",
                "not-last": "chunked, identity",
                "not-last/gzip": "chunked, gzip",
                "not-last/lines": "chunked\r\nTransfer-Encoding: identity",
                "twice": "chunked, chunked",
                "twice/lines": "chunked\r\nTransfer-Encoding: chunked",
                "unknown": "cow, chunked",
                "parameter": "chunked;a=b",
                "comma": "chunked,",
            }.items()
        },
        # Not HTTP.
        "/upgrade": says(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello"),
        "/garbage": says(b"SSH-2.0-OpenSSH_9.2\r\n\r\n", then="hang up"),
        "/chunked-nonsense": says(CHUNKED + b"4\r\nhalf\r\nzz!\r\n", then="hang up"),
        "/damaged/gzip": answers(b"this is no gzip at all", Content_Encoding="gzip"),
        # Truncated.
        "/truncated": says(HALF, then="hang up"),
        "/truncated/chunked": says(CHUNKED + b"4\r\nhalf\r\n", then="hang up"),
        "/truncated/gzip": answers(gzip.compress(PAGE)[:-20], Content_Encoding="gzip"),
        "/truncated/reset": says(HALF, then="reset"),
        "/truncated/no-length": says(OK + b"\r\nhalf", then="reset"),
        "/truncated/404": says(b"HTTP/1.1 404 Not Found\r\nContent-Length: 1000\r\n\r\nhalf", then="hang up"),
        "/reset": says(then="reset"),
        "/hang-up": says(then="hang up"),
        "/hang-up/in-headers": says(OK + b"Content-Le", then="hang up"),
        # Too large, or too slow.
        "/headers-huge": says(
            OK + b"".join(b"X-%d: %s\r\n" % (number, b"a" * 64 * 1024) for number in range(200)),
            b"Content-Length: 4\r\n\r\npage",
        ),
        "/headers-endless": goes_on(OK, b"X-More: a\r\n", 0.02),
        "/silent": says(then="stay silent"),
        "/drip": goes_on(OK + b"Content-Length: 100000\r\n\r\n", b"a", 0.02),
        "/drip/chunked": goes_on(CHUNKED, b"1\r\na\r\n", 0.02),
        "/large": says(OK + b"Content-Length: 99999999999\r\n\r\n" + b"a" * 1000, then="stay silent"),
        "/large/silent": says(OK + b"Content-Length: 9999\r\n\r\n" + b"a" * 1000, then="stay silent"),
        "/endless": goes_on(CHUNKED, b"10000\r\n" + b"a" * 65536 + b"\r\n"),
        "/early-hints/endless": goes_on(HINTS, HINTS * 100),
        # Interim responses, and responses without a request: taking one of those for the next would store the wrong
        # page.
        "/early-hints": says(
            b"HTTP/1.1 100 Continue\r\n\r\n" + HINTS, OK + b"Content-Length: %d\r\n\r\n" % len(PAGE) + PAGE
        ),
        "/unasked": says(OK + b"Content-Length: 4\r\n\r\npage" + OK + b"Content-Length: 4\r\n\r\nevil"),
        "/unasked/late": says(OK + b"Content-Length: 4\r\n\r\npage", OK + b"Content-Length: 4\r\n\r\nevil"),
    }
)


@behaviour("/once-per-connection")
async def once_per_connection(exchange: Exchange) -> None:
    """Sends keep-alive, and closes when it gets another request."""
    if exchange.nth_on_connection > 1:
        exchange.hang_up()
    else:
        await exchange.answer(PAGE)
