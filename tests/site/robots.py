"""Sites defined by their robots.txt: what it says, what it becomes, and when it changes."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable

from tests.site.behaviours import GZIP_HEAD, zeros
from tests.site.server import Behaviour, Exchange

HTML = {"Content-Type": "text/html; charset=utf-8"}
TEXT = {"Content-Type": "text/plain"}


def page(*hrefs: str, head: str = "", headers: dict[str, str] | None = None) -> Behaviour:
    """A page with these links."""
    links = "".join(f'<p><a href="{href}">{href}</a> leads on.</p>' for href in hrefs)
    words = "<p>Plain words that make this a page worth keeping, and nothing else. </p>" * 20
    body = f"<!doctype html><title>A page</title>{head}<h1>Here</h1>{words}{links}".encode()

    async def show(exchange: Exchange) -> None:
        await exchange.answer(b"" if exchange.method == "HEAD" else body, headers=HTML | (headers or {}))

    return show


def pages(*paths: str) -> dict[str, Behaviour]:
    """A home page, and the pages it links to."""
    leaf = page("/")
    return {"/": page(*paths), **{path.partition("?")[0]: leaf for path in paths}}


def rules(text: str | bytes, headers: dict[str, str] | None = None) -> Behaviour:
    """A robots.txt sent correctly, whatever its content."""
    body = text.encode() if isinstance(text, str) else text

    async def send(exchange: Exchange) -> None:
        await exchange.answer(body, headers=headers or TEXT)

    return send


def status(words: str, headers: dict[str, str] | None = None) -> Behaviour:
    async def send(exchange: Exchange) -> None:
        await exchange.answer(b"User-agent: *\nDisallow: /\n", words, headers)

    return send


def moved(to: str) -> Behaviour:
    async def send(exchange: Exchange) -> None:
        await exchange.answer(b"", "301 Moved Permanently", {"Location": to})

    return send


def one_after_the_other(*behaviours: Behaviour) -> Behaviour:
    """A new response each time; the last one stays."""
    asked = 0

    async def answer(exchange: Exchange) -> None:
        nonlocal asked
        asked += 1
        await behaviours[min(asked, len(behaviours)) - 1](exchange)

    return answer


def changing(choose: Callable[[], Behaviour]) -> Behaviour:
    """Chosen at each request."""

    async def answer(exchange: Exchange) -> None:
        await choose()(exchange)

    return answer


async def reset(exchange: Exchange) -> None:
    exchange.reset()


async def cut_off(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nUser-agent: *\nAllow: /\n")
    exchange.hang_up()


async def garbage(exchange: Exchange) -> None:
    await exchange.send(b"220 mail.example ESMTP\r\n\r\n")
    exchange.hang_up()


async def silent(exchange: Exchange) -> None:
    await asyncio.Event().wait()


async def bomb(exchange: Exchange) -> None:
    """Rules first, so that a client that uses the beginning is seen to obey them."""
    head = gzip.compress(b"User-agent: *\nAllow: /\n")
    await exchange.answer(head + zeros(500, GZIP_HEAD), headers={**TEXT, "Content-Encoding": "gzip"})
