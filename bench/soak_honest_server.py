"""Serves a site of `soak_honest_site` on loopback addresses, in a thread, and keeps a log of every request."""

from __future__ import annotations

import asyncio
import gzip
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from bench.soak_honest_site import LISTS, Host, Kind, Resource, Site, words

STARTING_SECONDS = 60.0
STATUS = {Kind.MISSING: 404, Kind.GONE: 410, Kind.BROKEN: 500}
REASONS = {200: "OK", 301: "Moved Permanently", 404: "Not Found", 410: "Gone", 500: "Internal Server Error"}


@dataclass(frozen=True)
class Request:
    method: str
    url: str
    status: int
    """0: no answer was sent."""


def open_sockets(addresses: Sequence[tuple[str, int]]) -> list[socket.socket]:
    """One for each address and port; port 0 is any that is free."""
    found = []
    for address in addresses:
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(address)
        found.append(one)
    return found


class Server:
    """Answers for one site; `log` grows while it runs."""

    def __init__(self, site: Site, sockets: Sequence[socket.socket], seed: int) -> None:
        self.log: list[Request] = []
        self._site = site
        self._sockets = sockets
        self._seed = seed
        self._hosts = {urlsplit(host.origin).netloc: host for host in site.hosts}
        self._failed: Counter[str] = Counter()

    @contextmanager
    def running(self) -> Iterator[None]:
        ready, loop = threading.Event(), asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_until_complete, args=[self._serve(ready)], daemon=True)
        thread.start()
        if not ready.wait(STARTING_SECONDS):
            raise TimeoutError("the server of the site did not start")
        try:
            yield
        finally:
            loop.call_soon_threadsafe(self._ended.set)
            thread.join(STARTING_SECONDS)
            loop.close()

    async def _serve(self, ready: threading.Event) -> None:
        self._ended = asyncio.Event()
        servers = [await asyncio.start_server(self._connected, sock=one) for one in self._sockets]
        ready.set()
        await self._ended.wait()
        for server in servers:
            server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answered(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection stays open for another request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        url = f"http://{fields['host']}{target}"
        status, content_type, body, location = self._answer(self._hosts[fields["host"]], url, target)
        self.log.append(Request(method, url, status))
        if not status:
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
        where = f"Location: {location}\r\n" if location else ""
        writer.write(
            f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {content_type}\r\n"
            f"Content-Length: {len(body)}\r\n{where}\r\n".encode()
            + (body if method != "HEAD" else b"")
        )
        await writer.drain()
        return True

    def _answer(self, host: Host, url: str, target: str) -> tuple[int, str, bytes, str]:
        if target == "/robots.txt" and host.has_robots:
            return 200, "text/plain", robots(host).encode(), ""
        one = self._site.resources.get(url)
        if one is None:
            return 404, "text/html", b"<title>Not found</title><p>There is nothing here.", ""
        if one.kind is Kind.RESET:
            return 0, "", b"", ""
        if one.kind is Kind.SHAKY and self._failed[url] < one.failures:
            self._failed[url] += 1
            return 500, "text/html", b"<p>Something went wrong.", ""
        if one.kind is Kind.REDIRECT:
            return 301, "text/html", b"<p>Moved.", one.to
        if one.kind in LISTS:
            body = listing(one).encode()
            packed = gzip.compress(body, mtime=0) if one.is_gzip else body
            return 200, "application/gzip" if one.is_gzip else "application/xml", packed, ""
        return STATUS.get(one.kind, 200), "text/html; charset=utf-8", html(one, self._seed).encode(), ""


def robots(host: Host) -> str:
    lines = ["User-agent: *", *(f"Disallow: {prefix}" for prefix in host.disallowed)]
    return "\n".join([*lines, *(f"Sitemap: {url}" for url in host.sitemaps)]) + "\n"


def html(one: Resource, seed: int) -> str:
    """A page. Its text depends on the URL whose text it has; its links are spelled in several ways."""
    chance = Random(f"{seed} {urlsplit(one.text_of or one.url)._replace(netloc='').geturl()}{len(one.url)}")
    chance = Random(f"{seed} {one.text_of or one.url}")
    title, body = words(chance, 4), "".join(f"<p>{words(chance, 40)}.</p>" for _ in range(3))
    marks = [mark for mark, is_set in (("noindex", one.is_noindex), ("nofollow", one.is_nofollow)) if is_set]
    meta = f'<meta name="robots" content="{", ".join(marks)}">' if marks else ""
    feeds = "".join(f'<link rel="alternate" type="application/rss+xml" href="{escape(url)}">' for url in one.feeds)
    links = "".join(
        f'<li><a href="{escape(_spelled(link.url, one.url, chance))}"{" rel=nofollow" if link.is_nofollow else ""}>'
        f"</a></li>"
        for link in one.links
    )
    return f"<!doctype html><html><head><title>{title}</title>{meta}{feeds}</head><body>{body}<ul>{links}</ul></body>"


def _spelled(url: str, page: str, chance: Random) -> str:
    """As a page may write it: whole, from the root, with a fragment or a mark of a campaign."""
    ours, theirs = urlsplit(page), urlsplit(url)
    is_whole = ours.netloc != theirs.netloc or chance.random() < 0.3
    text = url if is_whole else theirs._replace(scheme="", netloc="").geturl()
    if chance.random() < 0.1:
        text += ("&" if theirs.query else "?") + "utm_source=there"
    return f"{text}#part" if chance.random() < 0.1 else text


def listing(one: Resource) -> str:
    urls = [escape(link.url) for link in one.links]
    if one.kind is Kind.FEED:
        items = "".join(f"<item><title>news</title><link>{url}</link></item>" for url in urls)
        return f'<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>{items}</channel></rss>'
    outer, inner = ("sitemapindex", "sitemap") if one.kind is Kind.SITEMAP_INDEX else ("urlset", "url")
    entries = "".join(f"<{inner}><loc>{url}</loc></{inner}>" for url in urls)
    return f'<?xml version="1.0"?><{outer} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{outer}>'
