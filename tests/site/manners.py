"""The manners of the bad site, by path: what each page does instead of answering properly."""

from __future__ import annotations

import asyncio
import gzip
import sys
import zlib
from collections.abc import Callable

import brotli as brotli_codec

from tests.site.server import Exchange, Manner

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PAGE = b"<!doctype html><title>A page</title><p>" + b"Plain words, nothing else. " * 400
MANNERS: dict[str, Manner] = {}
ENCODED: dict[str, tuple[str, bytes]] = {}
"""Path by path: the Content-Encoding of PAGE, and its bytes."""


def manner(path: str) -> Callable[[Manner], Manner]:
    def keep(function: Manner) -> Manner:
        MANNERS[path] = function
        return function

    return keep


def raw_deflate(data: bytes) -> bytes:
    return zlib.compress(data, wbits=-zlib.MAX_WBITS)


def zeros(megabytes: int, head: bytes) -> bytes:
    """A deflate stream of that many megabytes of nothing, made without compressing them all."""
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


def _encoded(coding: str, data: bytes) -> Manner:
    async def whole(exchange: Exchange) -> None:
        await exchange.answer(data, headers={"Content-Encoding": coding, "Content-Type": "text/html"})

    return whole


def _chunked(coding: str, data: bytes) -> Manner:
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


for _path, (_coding, _data) in {**ENCODED, **BOMBS}.items():
    MANNERS[_path] = _encoded(_coding, _data)
    MANNERS[f"{_path}/chunked"] = _chunked(_coding, _data)


@manner("/page")
async def page(exchange: Exchange) -> None:
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Encoding": "gzip", "Set-Cookie": "id=1; Path=/"}
    await exchange.answer(gzip.compress(PAGE), headers=headers)


@manner("/etag")
async def etag(exchange: Exchange) -> None:
    if exchange.headers.get("if-none-match") == '"1"':
        await exchange.send(b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n')
    else:
        await exchange.answer(PAGE, headers={"ETag": '"1"'})


@manner("/429")
async def too_many(exchange: Exchange) -> None:
    await exchange.answer(b"slow down", "429 Too Many Requests", {"Retry-After": "7"})


@manner("/999")
async def odd_status(exchange: Exchange) -> None:
    await exchange.answer(b"no", "999 Request denied")


@manner("/no-reason")
async def no_reason(exchange: Exchange) -> None:
    await exchange.answer(PAGE, "200")


@manner("/folded")
async def folded(exchange: Exchange) -> None:
    await exchange.send(
        b"HTTP/1.1 200 OK\r\nX-Long: first\r\n  second\r\nX-Bytes: \xe9\xff\r\nContent-Length: 4\r\n\r\npage"
    )


@manner("/no-length")
async def no_length(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.0 200 OK\r\n\r\n" + PAGE)
    exchange.hang_up()


@manner("/empty")
async def empty(exchange: Exchange) -> None:
    await exchange.answer()


@manner("/upgrade")
async def upgrade(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello")


@manner("/garbage")
async def garbage(exchange: Exchange) -> None:
    await exchange.send(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    exchange.hang_up()


@manner("/headers-huge")
async def huge_headers(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\n")
    for number in range(200):
        await exchange.send(b"X-%d: %s\r\n" % (number, b"a" * 64 * 1024))
    await exchange.send(b"Content-Length: 4\r\n\r\npage")


@manner("/headers-many")
async def many_headers(exchange: Exchange) -> None:
    await exchange.answer(PAGE, headers={f"X-{number}": "a" for number in range(5000)})


@manner("/headers-endless")
async def endless_headers(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        await exchange.send(b"X-More: a\r\n")
        await asyncio.sleep(0.02)


@manner("/silent")
async def silent(exchange: Exchange) -> None:
    await asyncio.sleep(3600)


@manner("/drip")
async def drip(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        await exchange.send(b"a")
        await asyncio.sleep(0.02)


@manner("/drip/chunked")
async def drip_chunked(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        await exchange.send(b"1\r\na\r\n")
        await asyncio.sleep(0.02)


@manner("/large")
async def large(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + b"a" * 1000)
    await asyncio.sleep(3600)


@manner("/large/silent")
async def silent_in_the_body(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + b"a" * 1000)
    await asyncio.sleep(3600)


@manner("/endless")
async def endless(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        await exchange.send(b"10000\r\n" + b"a" * 65536 + b"\r\n")


@manner("/truncated")
async def truncated(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
    exchange.hang_up()


@manner("/truncated/chunked")
async def chunked_without_end(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
    exchange.hang_up()


@manner("/truncated/gzip")
async def truncated_gzip(exchange: Exchange) -> None:
    await exchange.answer(gzip.compress(PAGE)[:-20], headers={"Content-Encoding": "gzip"})


@manner("/truncated/reset")
async def reset_in_the_body(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
    await asyncio.sleep(0.05)
    exchange.reset()


@manner("/truncated/no-length")
async def reset_in_a_body_without_length(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\n\r\nhalf")
    await asyncio.sleep(0.05)
    exchange.reset()


@manner("/truncated/404")
async def truncated_error(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 1000\r\n\r\nhalf")
    exchange.hang_up()


@manner("/chunked-nonsense")
async def nonsense_chunks(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz!\r\n")
    exchange.hang_up()


@manner("/damaged/gzip")
async def damaged_gzip(exchange: Exchange) -> None:
    await exchange.answer(b"this is no gzip at all", headers={"Content-Encoding": "gzip"})


@manner("/brotli")
async def brotli(exchange: Exchange) -> None:
    await exchange.answer(brotli_codec.compress(b"page"), headers={"Content-Encoding": "br"})


@manner("/reset")
async def reset(exchange: Exchange) -> None:
    exchange.reset()


@manner("/hang-up")
async def hang_up(exchange: Exchange) -> None:
    exchange.hang_up()


@manner("/hang-up/in-headers")
async def hang_up_in_headers(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Le")
    exchange.hang_up()


@manner("/once-per-connection")
async def once_per_connection(exchange: Exchange) -> None:
    """Says keep-alive, and hangs up as soon as it is asked again."""
    if exchange.nth_on_connection > 1:
        exchange.hang_up()
    else:
        await exchange.answer(PAGE)


@manner("/redirect")
async def redirect(exchange: Exchange) -> None:
    await exchange.answer(b"moved", "302 Found", {"Location": "/page", "Set-Cookie": "seen=1"})


@manner("/redirect/bomb")
async def redirect_with_a_bomb(exchange: Exchange) -> None:
    coding, data = BOMBS["/bomb/gzip"]
    await exchange.answer(data, "302 Found", {"Location": "/page", "Content-Encoding": coding})


@manner("/early-hints")
async def early_hints(exchange: Exchange) -> None:
    """Answers that are not the answer yet."""
    await exchange.send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n")
    await exchange.answer(PAGE)


@manner("/early-hints/endless")
async def endless_early_hints(exchange: Exchange) -> None:
    while True:
        await exchange.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" * 100)


@manner("/unasked")
async def unasked_answer(exchange: Exchange) -> None:
    """A second answer right behind the first: whoever took it for the next one would store the wrong page."""
    one = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n%s"
    await exchange.send(one % b"page" + one % b"evil")


@manner("/unasked/late")
async def unasked_late(exchange: Exchange) -> None:
    await exchange.answer(b"page")
    await asyncio.sleep(0.02)
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")


@manner("/lengths")
async def both_lengths(exchange: Exchange) -> None:
    await exchange.send(
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"4\r\npage\r\n0\r\nX-Late: 1\r\n\r\n"
    )


@manner("/bare-lines")
async def bare_lines(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\nX-Empty:\nContent-Length: 4\n\npage")


@manner("/robots-tags")
async def robots_tags(exchange: Exchange) -> None:
    await exchange.send(
        b"HTTP/1.1 200 OK\r\nX-Robots-Tag: noindex\r\nx-robots-tag: other: nofollow\r\nContent-Length: 4\r\n\r\npage"
    )
