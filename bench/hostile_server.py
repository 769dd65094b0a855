"""Serves well-behaved and hostile hosts on loopback in its own process, and counts the pages of the good ones.

A well-behaved host is an infinite tree of articles. The front page of a hostile host links to cases of
`hostile_cases` and to another front page.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from random import Random

from bench.hostile_cases import NAMES, SLOW, Answer, answer, packed, page, robots
from bench.site import WORDS

CHILDREN = 8
LINKS_A_HUB = 40
GOOD, HOSTILE = "127.1.0.", "127.2.0."
_404 = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def good_page(number: int, host: str) -> bytes:
    """An article of about 6 kB with links to its children."""
    dice = Random(f"{host} {number}")
    text = "".join(f"<p>{' '.join(dice.choices(WORDS, k=80))}.</p>" for _ in range(10))
    links = "".join(f'<a href="/{child}">{child}</a> ' for child in children(number))
    return page(f"<article><h1>Article {number} of {host}</h1>{text}</article><nav>{links}</nav>", f"Article {number}")


def children(number: int) -> range:
    return range(CHILDREN * number + 1, CHILDREN * number + CHILDREN + 1)


class Server:
    def __init__(self, port: int, log: Path) -> None:
        self._port = port
        self._log = log.open("a", encoding="utf-8")

    async def serve(self, good: int, hostile: int) -> None:
        addresses = [f"{GOOD}{n + 1}" for n in range(good)] + [f"{HOSTILE}{n + 1}" for n in range(hostile)]
        for address in addresses:
            await asyncio.start_server(self._connected, address, self._port, limit=1 << 20)
        print("ready", flush=True)
        await asyncio.Event().wait()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host = writer.get_extra_info("sockname")[0]
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            while True:
                request = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n", 1)[0].decode("latin-1")
                method, target, _ = request.split(" ")
                if host.startswith(GOOD):
                    writer.write(self._good(host, target, method))
                    await writer.drain()
                else:
                    await self._hostile(host, target, writer)
                    break
        writer.close()

    def _good(self, host: str, target: str, method: str) -> bytes:
        if target != "/" and not target[1:].isdecimal():
            return _404
        body = good_page(int(target[1:] or 0), host)
        self._log.write(f"http://{host}:{self._port}{target}\n")
        self._log.flush()
        fields = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
        return fields.encode() + (body if method != "HEAD" else b"")

    async def _hostile(self, host: str, target: str, writer: asyncio.StreamWriter) -> None:
        url = f"http://{host}:{self._port}{target}"
        number = int(host.rpartition(".")[2])
        parts = target.strip("/").split("/")
        found: Answer
        if target == "/robots.txt":
            found = robots(number)
        elif target in ("/sitemap.xml", "/feed"):
            found = answer("own-index" if target == "/sitemap.xml" else "feed-base", number, url)
        elif parts[0] == "h" and len(parts) == 3:
            found = answer(parts[1], int(parts[2]), url)
        else:
            found = packed(self._hub(host, int(parts[0]) if parts[0].isdecimal() else 0))
        if isinstance(found, bytes):
            writer.write(found)
            await writer.drain()
            return
        for piece in found:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(SLOW)

    def _hub(self, host: str, number: int) -> bytes:
        dice = Random(f"{host} {number}")
        cases = [f"/h/{dice.choice(NAMES)}/{dice.randrange(10**6)}" for _ in range(LINKS_A_HUB)]
        text = " ".join(dice.choices(WORDS, k=60))
        links = "".join(f'<a href="{case}">case</a> ' for case in [*cases, f"/{number + 1}"])
        feed = '<link rel=alternate type="application/rss+xml" href="/feed">'
        return page(f"{feed}<p>{text}</p>{links}", f"Hub {number} of {host}")


def main() -> None:
    port, log, good, hostile = json.loads(sys.argv[1])
    asyncio.run(Server(port, Path(log)).serve(good, hostile))


if __name__ == "__main__":
    main()
