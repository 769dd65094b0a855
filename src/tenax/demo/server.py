"""The site on real sockets: one small HTTP/1.1 server per host, each on a loopback address of its own."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from typing import BinaryIO

import msgspec

from tenax.clock import SteadyClock
from tenax.demo import Answer, Request, Site
from tenax.demo.behaviours import COUNTED_PATHS, is_rate_limited
from tenax.demo.host_site import page_paths
from tenax.demo.process import DemoProcess
from tenax.demo.site import respond
from tenax.demo.wire import MAX_HEAD_BYTES, ParsedRequest, encode_answer, parse_request, send_answer
from tenax.errors import UsageError
from tenax.model import Value

FIRST_ADDRESS = IPv4Address("127.0.0.1")
MAX_CACHED_ANSWERS = 20_000
"""Rendered answers held in memory; beyond that they are rendered anew."""
MAX_PORT_ATTEMPTS = 20


class LogLine(Value, frozen=True):
    """One request as the site saw it: when it arrived, who was asked for what, and the answer."""

    time: float
    host: str
    path: str
    status: int


@asynccontextmanager
async def serve(
    site: Site, *, port: int = 0, log: Path | None = None, is_warm: bool = False
) -> AsyncIterator[tuple[str, ...]]:
    """Listen until the block ends; yields the origin of every host. Port 0 takes one that is free on all of them.

    With `log`, every request is appended to that file as a line of JSON, see `LogLine`. Pages are rendered when first
    asked for; `is_warm` renders them all before (about 0.7 ms each), so that a fast crawl measures itself only.
    """
    file = log.open("ab", buffering=0) if log is not None else None
    desk = _RequestHandler(site, file)
    try:
        servers = await _listen(desk, port)
        if is_warm:
            desk.warm_cache()
        try:
            yield desk.origins
        finally:
            for server in servers:
                server.close()
            await desk.close()
    finally:
        if file is not None:
            file.close()


async def _listen(handler: _RequestHandler, port: int) -> list[asyncio.Server]:
    """The same port on every address. One that is free on the first may be taken on another: then choose again."""
    addresses = [str(FIRST_ADDRESS + index) for index in range(handler.site.hosts)]
    for _ in range(MAX_PORT_ATTEMPTS if port == 0 else 1):
        servers: list[asyncio.Server] = []
        chosen = port
        try:
            for index, address in enumerate(addresses):
                talk = partial(handler.handle_connection, index)
                servers.append(await asyncio.start_server(talk, address, chosen, limit=MAX_HEAD_BYTES, backlog=512))
                chosen = servers[0].sockets[0].getsockname()[1]
        except OSError:
            for server in servers:
                server.close()
            continue
        handler.origins = tuple(f"http://{address}:{chosen}" for address in addresses)
        return servers
    raise UsageError(f"port {port} of 127.0.0.1 and its neighbours is taken; choose another, or 0 for any free one")


class _RequestHandler:
    """Takes requests for all hosts. It holds what `respond` may not: counts, kept answers and open connections."""

    def __init__(self, site: Site, log: BinaryIO | None) -> None:
        self.site = site
        self.origins: tuple[str, ...] = ()
        self._log = log
        self._clock = SteadyClock()
        self._request_counts: Counter[tuple[int, str]] = Counter()
        """By host and path; the path is empty for the whole host."""
        self._cache: dict[tuple[int, str, bool], bytes] = {}
        self._connections: set[asyncio.Task[None]] = set()

    async def handle_connection(self, index: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, request by request. Whatever the peer does to it ends this connection and nothing else."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._handle_request(index, reader, writer):
                pass
            writer.close()
            await writer.wait_closed()
        except asyncio.CancelledError:
            writer.transport.abort()  # closing politely would wait for a peer that does not read
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.close()
        finally:
            self._connections.discard(task)

    def warm_cache(self) -> None:
        """Render every well-behaved page, squeezed as most clients ask for it."""
        for index in range(self.site.hosts):
            for path in page_paths(self.site, index):
                asked = ParsedRequest("GET", path, accepts_gzip=True, should_close=False)
                self._cache_answer(index, asked, respond(self.site, index, Request(path), self.origins))

    async def close(self) -> None:
        talks = list(self._connections)
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks)
        await asyncio.sleep(0)  # an aborted transport lets go of its socket in the next round of the loop

    async def _handle_request(self, index: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; False when the connection is at its end."""
        asked = parse_request(await reader.readuntil(b"\r\n\r\n"))
        arrived = self._clock.now()
        if asked is None:
            refusal = Answer(400, b"That was not HTTP.", "text/plain", cut_after_bytes=99)
            return await send_answer(writer, refusal, encode_answer(refusal, None))
        request = self._count_request(index, asked.target)
        kept = self._cache.get((index, asked.target, asked.accepts_gzip)) if asked.method == "GET" else None
        if kept is not None and not is_rate_limited(self.site, index, request.path, request.host_requests):
            self._log_request(arrived, index, asked.target, 200)
            writer.write(kept)
            await writer.drain()
            return not asked.should_close
        answer = self._build_answer(index, asked, request)
        self._log_request(arrived, index, asked.target, answer.status)
        return await send_answer(writer, answer, self._cache_answer(index, asked, answer)) and not asked.should_close

    def _cache_answer(self, index: int, parsed: ParsedRequest, answer: Answer) -> bytes:
        """The answer as bytes, remembered when the next one to ask may have the same."""
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


__all__ = ["DemoProcess", "LogLine", "serve"]
