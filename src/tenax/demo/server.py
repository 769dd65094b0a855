"""The demo site over HTTP/1.1: one server per host on its own loopback address, and its response to each request."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from ipaddress import IPv4Address
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import msgspec

from tenax.clock import SteadyClock
from tenax.demo import Answer, DemoProcess, Request, Site
from tenax.demo.behaviours import (
    COUNTED_PATHS,
    behaviour_answer,
    host_behaviours,
    is_rate_limited,
    robots_txt,
    stored_paths,
)
from tenax.demo.host_site import build_host_site, page_paths
from tenax.demo.pages import PageContext, ordinary_page
from tenax.errors import UsageError
from tenax.model import Value

MAX_HEAD_BYTES = 32 * 1024
MIN_GZIP_BYTES = 500

_ACCEPTS_GZIP = re.compile(rb"\r\naccept-encoding:[^\r]*\bgzip\b", re.IGNORECASE)
_WANTS_CLOSE = re.compile(rb"\r\nconnection:[^\r]*\bclose\b", re.IGNORECASE)
_HAS_BODY = re.compile(rb"\r\n(?:content-length: *[1-9]|transfer-encoding:)", re.IGNORECASE)
_REQUEST_LINE = re.compile(rb"([A-Z]{1,20}) ([!-~]+) HTTP/1\.[01]\r\n")


class ParsedRequest(Value, frozen=True):
    """The parts of a request that the site uses."""

    method: str
    target: str
    """Path and query."""
    accepts_gzip: bool
    should_close: bool
    """Close the connection after the response. Also set for a request with a body, because the body is not read."""


def parse_request(head: bytes) -> ParsedRequest | None:
    """Parse the head of a request; None if it is not HTTP/1."""
    match = _REQUEST_LINE.match(head)
    target = _parse_target(match[2].decode("ascii")) if match is not None else None
    if match is None or target is None:
        return None
    is_last = _WANTS_CLOSE.search(head) is not None or _HAS_BODY.search(head) is not None
    return ParsedRequest(match[1].decode("ascii"), target, _ACCEPTS_GZIP.search(head) is not None, is_last)


def encode_answer(answer: Answer, parsed: ParsedRequest | None) -> bytes:
    """Head and body. The head of a truncated body announces the whole body."""
    body, headers = answer.body, [*answer.headers, ("Content-Type", answer.content_type)]
    if _may_compress(answer) and parsed is not None and parsed.accepts_gzip:
        body = gzip.compress(body, mtime=0)
        headers.append(("Content-Encoding", "gzip"))
    headers.append(("Connection", "close") if answer.drip_seconds else ("Content-Length", str(len(body))))
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}", "Server: tenax-demo"]
    lines += [f"{name}: {value}" for name, value in headers]
    head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
    if parsed is not None and parsed.method == "HEAD":
        return head
    return head + body[: answer.cut_after_bytes]


async def send_answer(writer: asyncio.StreamWriter, answer: Answer, data: bytes) -> bool:
    """Send the response with its delays. False if the connection cannot be used again."""
    if answer.delay_seconds:
        await asyncio.sleep(answer.delay_seconds)
    writer.write(data)
    await writer.drain()
    while answer.drip_seconds:
        await asyncio.sleep(answer.drip_seconds)
        writer.write(b" ")
        await writer.drain()
    return answer.cut_after_bytes is None


def _parse_target(text: str) -> str | None:
    """Path and query of a request target. The target may be an absolute URL."""
    if text.startswith("/"):
        return text
    if not text.lower().startswith("http://"):
        return None
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _may_compress(answer: Answer) -> bool:
    is_sent_plainly = answer.cut_after_bytes is None and not answer.drip_seconds
    has_coding = any(name == "Content-Encoding" for name, _ in answer.headers)
    return is_sent_plainly and not has_coding and len(answer.body) >= MIN_GZIP_BYTES


_SESSION_ID = re.compile(r";jsessionid=[^/]*$")


def respond(site: Site, host_index: int, request: Request, origins: tuple[str, ...]) -> Answer:
    """The response of this host. `origins` are those of all hosts, in order, such as `http://127.0.0.1:8000`."""
    if request.path == "/robots.txt":
        return Answer(200, robots_txt(site, host_index).encode(), "text/plain; charset=utf-8")
    if is_rate_limited(site, host_index, request.path, request.host_requests):
        return Answer(429, b"Too many requests.", "text/plain", (("Retry-After", "1"),), is_cacheable=False)
    context = _page_context(site, host_index, origins)
    path = _SESSION_ID.sub("", request.path)
    answer = ordinary_page(context, path) or behaviour_answer(context, _with_path(request, path))
    return answer or Answer(404, b"There is no such page here.", "text/plain", is_cacheable=False)


def expected_pages(site: Site, origins: tuple[str, ...]) -> set[str]:
    """The normalized URLs that a correct crawl of all hosts stores: exactly these, each once."""
    return {
        origins[index] + path
        for index in range(site.hosts)
        for path in page_paths(site, index) | stored_paths(site, index)
    }


def _page_context(site: Site, index: int, origins: tuple[str, ...]) -> PageContext:
    host = build_host_site(site, index)
    behaviours = host_behaviours(site, index)
    footer = [("/curiosities", host.theme.labels.curiosities)] if behaviours else []
    if "disallowed" in behaviours:
        footer.append(("/private/accounts", "Accounts"))
    return PageContext(site, host, origins, tuple(footer))


def _with_path(request: Request, path: str) -> Request:
    return Request(path, request.query, request.host_requests, request.path_requests)


FIRST_ADDRESS = IPv4Address("127.0.0.1")
MAX_CACHED_ANSWERS = 20_000
"""Maximum responses kept in memory. Others are rendered for each request."""
MAX_PORT_ATTEMPTS = 20


class LogLine(Value, frozen=True):
    """One request: arrival time, host, path and status."""

    time: float
    host: str
    path: str
    status: int


@asynccontextmanager
async def serve(
    site: Site, *, port: int = 0, log: Path | None = None, is_warm: bool = False
) -> AsyncIterator[tuple[str, ...]]:
    """Listen until the block ends. Yields the origins of all hosts. Port 0 takes a port that is free on all of them.

    With `log`, each request is appended to that file as JSON, see `LogLine`. Pages are rendered on the first request.
    `is_warm` renders all pages in advance (about 0.7 ms each), so that benchmarks measure only the crawler.
    """
    file = log.open("ab", buffering=0) if log is not None else None
    handler = _RequestHandler(site, file)
    try:
        servers = await _listen(handler, port)
        if is_warm:
            handler.warm_cache()
        try:
            yield handler.origins
        finally:
            for server in servers:
                server.close()
            await handler.close()
    finally:
        if file is not None:
            file.close()


async def _listen(handler: _RequestHandler, port: int) -> list[asyncio.Server]:
    """Listen on the same port of every address. Tries again if a port is free on one address and used on another."""
    addresses = [str(FIRST_ADDRESS + index) for index in range(handler.site.hosts)]
    for _ in range(MAX_PORT_ATTEMPTS if port == 0 else 1):
        servers: list[asyncio.Server] = []
        chosen = port
        try:
            for index, address in enumerate(addresses):
                on_connect = partial(handler.handle_connection, index)
                servers.append(
                    await asyncio.start_server(on_connect, address, chosen, limit=MAX_HEAD_BYTES, backlog=512)
                )
                chosen = servers[0].sockets[0].getsockname()[1]
        except OSError:
            for server in servers:
                server.close()
            continue
        handler.origins = tuple(f"http://{address}:{chosen}" for address in addresses)
        return servers
    raise UsageError(
        f"port {port} is in use on 127.0.0.1 or a following address; choose another, or 0 for any free port"
    )


class _RequestHandler:
    """Handles requests of all hosts. Holds the state: counts, cached responses and open connections."""

    def __init__(self, site: Site, log: BinaryIO | None) -> None:
        self.site = site
        self.origins: tuple[str, ...] = ()
        self._log = log
        self._clock = SteadyClock()
        self._request_counts: Counter[tuple[int, str]] = Counter()
        """Counts by host and path. An empty path stands for the whole host."""
        self._cache: dict[tuple[int, str, bool], bytes] = {}
        self._connections: set[asyncio.Task[None]] = set()

    async def handle_connection(self, index: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection. Errors of the client end only this connection."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._handle_request(index, reader, writer):
                pass
            writer.close()
            await writer.wait_closed()
        except asyncio.CancelledError:
            writer.transport.abort()  # a normal close would wait for a client that does not read
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.close()
        finally:
            self._connections.discard(task)

    def warm_cache(self) -> None:
        """Render every well-behaved page, compressed as most clients request it."""
        for index in range(self.site.hosts):
            for path in page_paths(self.site, index):
                parsed = ParsedRequest("GET", path, accepts_gzip=True, should_close=False)
                self._cache_answer(index, parsed, respond(self.site, index, Request(path), self.origins))

    async def close(self) -> None:
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections)
        await asyncio.sleep(0)  # an aborted transport closes its socket in the next iteration of the loop

    async def _handle_request(self, index: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request. False if the connection ends."""
        parsed = parse_request(await reader.readuntil(b"\r\n\r\n"))
        arrived = self._clock.now()
        if parsed is None:
            refusal = Answer(400, b"That was not HTTP.", "text/plain", cut_after_bytes=99)
            return await send_answer(writer, refusal, encode_answer(refusal, None))
        request = self._count_request(index, parsed.target)
        cached = self._cache.get((index, parsed.target, parsed.accepts_gzip)) if parsed.method == "GET" else None
        if cached is not None and not is_rate_limited(self.site, index, request.path, request.host_requests):
            self._log_request(arrived, index, parsed.target, 200)
            writer.write(cached)
            await writer.drain()
            return not parsed.should_close
        answer = self._build_answer(index, parsed, request)
        self._log_request(arrived, index, parsed.target, answer.status)
        return await send_answer(writer, answer, self._cache_answer(index, parsed, answer)) and not parsed.should_close

    def _cache_answer(self, index: int, parsed: ParsedRequest, answer: Answer) -> bytes:
        """The response as bytes. It is cached if the same request always gets it."""
        data = encode_answer(answer, parsed)
        if _is_cacheable(answer, parsed) and len(self._cache) < MAX_CACHED_ANSWERS:
            self._cache[index, parsed.target, parsed.accepts_gzip] = data
        return data

    def _build_answer(self, index: int, parsed: ParsedRequest, request: Request) -> Answer:
        if parsed.method not in ("GET", "HEAD"):
            return Answer(405, b"Only GET and HEAD here.", "text/plain", (("Allow", "GET, HEAD"),), is_cacheable=False)
        return respond(self.site, index, request, self.origins)

    def _count_request(self, index: int, target: str) -> Request:
        path, _, query = target.partition("?")
        if path != "/robots.txt":
            self._request_counts[index, ""] += 1
        if path in COUNTED_PATHS:
            self._request_counts[index, path] += 1
        return Request(path, query, self._request_counts[index, ""], self._request_counts[index, path])

    def _log_request(self, arrived: float, index: int, target: str, status: int) -> None:
        if self._log is not None:
            line = LogLine(arrived, self.origins[index].partition("://")[2], target, status)
            self._log.write(msgspec.json.encode(line) + b"\n")


def _is_cacheable(answer: Answer, parsed: ParsedRequest) -> bool:
    is_sent_plainly = answer.cut_after_bytes is None and not answer.drip_seconds and not answer.delay_seconds
    return parsed.method == "GET" and answer.status == 200 and answer.is_cacheable and is_sent_plainly


__all__ = ["Answer", "DemoProcess", "LogLine", "Request", "Site", "expected_pages", "respond", "serve"]
