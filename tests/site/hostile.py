"""Behaviours of the hostile web for a whole crawl: endless bombs, lying headers, redirects to nowhere."""

from __future__ import annotations

import asyncio
import gzip
import sys
import zlib
from collections.abc import Iterable
from itertools import chain, repeat

import brotli

from tests.site.server import Behaviour, Exchange

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

WORDS = "Plain words about harbours, ropes and tides, enough of them to read like a page. " * 12
MEGABYTE = 1024 * 1024
BOMB_MEGABYTES = 10 * 1024
"""Ten gigabytes, decoded."""
GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\x03"


def page(title: str = "A page", links: Iterable[str] = (), words: str = WORDS) -> bytes:
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<!doctype html><title>{title}</title><body><h1>{title}</h1><p>{words}</p>{anchors}".encode()


def serves(
    body: bytes, content_type: str = "text/html; charset=utf-8", status: str = "200 OK", **headers: str
) -> Behaviour:
    """This body for every request; underscores in a header's name mean hyphens."""
    sent = {"Content-Type": content_type, **{name.replace("_", "-"): value for name, value in headers.items()}}

    async def answer(exchange: Exchange) -> None:
        await exchange.answer(body, status, sent)

    return answer


def moves(to: str, status: str = "302 Found", **headers: str) -> Behaviour:
    return serves(b"", "text/plain", status, Location=to, **headers)


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """The first behaviour for the first request, and so on; the last one stays."""
    left = list(behaviours)

    async def answer(exchange: Exchange) -> None:
        await (left.pop(0) if len(left) > 1 else left[0])(exchange)

    return answer


def hub(*links: str) -> Behaviour:
    """A page that only links to these: the seed of a crawl."""
    return serves(page("All of them", links))


# ---- bombs ------------------------------------------------------------------------------------------------


def _deflate(head: bytes) -> Iterable[bytes]:
    compressor = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    block = compressor.compress(bytes(MEGABYTE)) + compressor.flush(zlib.Z_FULL_FLUSH)
    return chain([head], repeat(block, BOMB_MEGABYTES))


def _brotli() -> Iterable[bytes]:
    compressor = brotli.Compressor()
    head = compressor.process(bytes(MEGABYTE)) + compressor.flush()
    block = compressor.process(bytes(MEGABYTE)) + compressor.flush()
    return chain([head], repeat(block, BOMB_MEGABYTES))


def _zstd() -> Iterable[bytes]:
    return repeat(zstd.compress(bytes(4 * MEGABYTE)), BOMB_MEGABYTES // 4)


def explodes(coding: str, *, says_length: bool = False) -> Behaviour:
    """Ten gigabytes of zeros, a few megabytes on the wire: streamed, or at once with a length."""

    def pieces() -> Iterable[bytes]:
        match coding:
            case "gzip":
                return _deflate(GZIP_HEAD)
            case "deflate":
                return _deflate(b"\x78\x9c")
            case "br":
                return _brotli()
            case _:
                return _zstd()

    async def streamed(exchange: Exchange) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {coding}\r\n"
        await exchange.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        for piece in pieces():
            await exchange.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        await exchange.send(b"0\r\n\r\n")

    async def at_once(exchange: Exchange) -> None:
        headers = {"Content-Type": "text/html", "Content-Encoding": coding}
        await exchange.answer(b"".join(pieces()), headers=headers)

    return at_once if says_length else streamed


BOMBS: dict[str, Behaviour] = {
    **{f"/bomb/{coding}": explodes(coding) for coding in ("gzip", "deflate", "br", "zstd")},
    **{f"/bomb/{coding}/whole": explodes(coding, says_length=True) for coding in ("gzip", "deflate", "br", "zstd")},
}


# ---- slow, endless and lying ------------------------------------------------------------------------------


async def dribbles_a_body(exchange: Exchange) -> None:
    """A byte now and then, never silent for long enough to differ from a slow connection."""
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n")
    while True:
        await exchange.send(b"a")
        await asyncio.sleep(0.05)


async def dribbles_headers(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        await exchange.send(b"X-More: a\r\n")
        await asyncio.sleep(0.05)


async def has_200_headers_of_64_kb(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\n")
    for number in range(200):
        await exchange.send(b"X-%d: %s\r\n" % (number, b"a" * 64 * 1024))
    await exchange.send(b"Content-Length: 4\r\n\r\npage")


async def claims_more_than_it_sends(exchange: Exchange) -> None:
    body = page("Half of it")
    await exchange.send(
        f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body) + 99}\r\n\r\n".encode()
    )
    await exchange.send(body)
    exchange.hang_up()


async def never_ends_its_chunks(exchange: Exchange) -> None:
    body = page("Half of it")
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
    await exchange.send(b"%x\r\n%s\r\n" % (len(body), body))
    exchange.hang_up()


async def folds_its_headers(exchange: Exchange) -> None:
    body = page("Folded")
    await exchange.send(
        b"HTTP/1.1 200\r\nX-Long: first\r\n  second\r\nX-Bytes: \xe9\xff\r\nContent-Type: text/html;\r\n"
        b" charset=utf-8\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    )


def hangs_up_when_asked_again(body: bytes) -> Behaviour:
    """Sends keep-alive, and closes the connection on a second request."""

    async def answer(exchange: Exchange) -> None:
        if exchange.nth_on_connection > 1:
            exchange.hang_up()
        else:
            await exchange.answer(body, headers={"Content-Type": "text/html"})

    return answer


# ---- what a person trying one URL meets --------------------------------------------------------------------

WALL = b"""<!doctype html><html><head><title>Just a moment...</title></head><body>
<h1>Checking your browser before accessing example.org</h1><p>Enable JavaScript and cookies to continue</p>
<script>window._cf_chl_opt={}</script></body></html>"""
SHUT_OUT = b"""<!doctype html><html><head><title>Access Denied</title></head><body><h1>Access Denied</h1>
<p>You don't have permission to access this page on this server.</p>
<p>Reference #18.2d351ab8.1557333295</p></body></html>"""


async def revalidates(exchange: Exchange) -> None:
    if exchange.headers.get("if-none-match") == '"1"':
        await exchange.send(b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n')
    else:
        body = gzip.compress(page("With an ETag", ["/page"]))
        headers = {"ETag": '"1"', "Content-Type": "text/html; charset=utf-8", "Content-Encoding": "gzip"}
        await exchange.answer(body, headers=headers)


EVERY_END: dict[str, Behaviour] = {
    "/robots.txt": serves(b"User-agent: *\nDisallow: /closed\n", "text/plain"),
    "/": hub("/page", "/etag"),
    "/page": serves(page("A page", ["/other", "/closed"])),
    "/etag": revalidates,
    "/moved": moves("/page"),
    "/loop": moves("/loop"),
    "/gone": serves(b"gone", "text/plain", "410 Gone"),
    "/429": serves(b"slow down", "text/plain", "429 Too Many Requests", Retry_After="7"),
    "/500": serves(b"oh no", "text/plain", "500 Internal Server Error"),
    "/403": serves(b"no", "text/plain", "403 Forbidden"),
    "/wall": serves(WALL),
    "/shut-out": serves(SHUT_OUT),
    "/noindex": serves(page("Not for you", ["/page"]), X_Robots_Tag="noindex"),
    "/picture": serves(b"\x89PNG\r\n\x1a\n" + bytes(600)),
    "/empty": serves(b""),
    "/reset": lambda exchange: _reset(exchange),
    **BOMBS,
}


async def _reset(exchange: Exchange) -> None:
    exchange.reset()
