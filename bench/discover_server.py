"""Serves the discovery site in its own process: one address of 127.0.0.0/8 per host.

`python -m bench.discover_server PAGES SEED DAY LOG` prints its origins as a line of JSON and serves until its stdin
closes. Then it writes the log: one line per request with worth, status, host, target and user agent.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from functools import partial
from http import HTTPStatus
from ipaddress import IPv4Address
from pathlib import Path

from bench.discover_answers import Answer, Worth, respond
from bench.discover_site import Site, build
from bench.report import ROOT, BenchError

FIRST_ADDRESS = IPv4Address("127.0.0.41")
PORT_TRIES = 20
STOP_SECONDS = 60.0

_AGENT = re.compile(rb"\r\nuser-agent: *([^\r\n]*)", re.IGNORECASE)


@contextmanager
def serving(pages: int, seed: int, today: date, log: Path) -> Iterator[list[str]]:
    """Yields the origins of the hosts; writes the log at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.discover_server", str(pages), str(seed), today.isoformat(), str(log)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise BenchError("the site could not be served: see above")
        yield json.loads(line)
        process.communicate(timeout=STOP_SECONDS)
    finally:
        process.kill()
        process.communicate()


class Desk:
    """Answers for all hosts and logs every request."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.origins: list[str] = []
        self.lines: list[str] = []
        self._requested: set[tuple[int, str]] = set()

    def answer(self, index: int, head: bytes) -> bytes:
        method, target, *_ = head.decode("latin-1").split(" ", 2)
        answer = respond(self.site, index, target, self.origins)
        worth = Worth.AGAIN if (index, target) in self._requested else answer.worth
        self._requested.add((index, target))
        agent = found[1].decode("latin-1") if (found := _AGENT.search(head)) else ""
        self.lines.append("\t".join((worth, str(answer.status), str(index), target, agent)))
        return _as_bytes(answer, has_body=method != "HEAD")


class Connection(asyncio.Protocol):
    """One connection: sequential requests without bodies."""

    def __init__(self, desk: Desk, index: int) -> None:
        self._desk, self._index = desk, index
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *heads, self._buffer = (self._buffer + data).split(b"\r\n\r\n")
        for head in heads:
            self._transport.write(self._desk.answer(self._index, head))


def _as_bytes(answer: Answer, *, has_body: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        *([f"Location: {answer.location}"] if answer.location else ()),
    ]
    head = "\r\n".join(lines).encode("ascii") + b"\r\n\r\n"
    return head + answer.body if has_body else head


async def _listen(desk: Desk) -> list[asyncio.Server]:
    """Find a port that is free on every address."""
    loop = asyncio.get_running_loop()
    addresses = [str(FIRST_ADDRESS + index) for index in range(len(desk.site.hosts))]
    for _ in range(PORT_TRIES):
        servers: list[asyncio.Server] = []
        port = 0
        try:
            for index, address in enumerate(addresses):
                connection = partial(Connection, desk, index)
                servers.append(await loop.create_server(connection, address, port, backlog=512))
                port = servers[0].sockets[0].getsockname()[1]
        except OSError:
            for server in servers:
                server.close()
            continue
        desk.origins = [f"http://{address}:{port}" for address in addresses]
        return servers
    raise BenchError("no port is free on all addresses")


async def _serve(desk: Desk) -> None:
    servers = await _listen(desk)
    sys.stdout.write(json.dumps(desk.origins) + "\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
    for server in servers:
        server.close()


def serve(pages: int, seed: int, today: date, log: Path) -> None:
    desk = Desk(build(pages, seed, today))
    asyncio.run(_serve(desk))
    log.write_text("".join(f"{line}\n" for line in desk.lines), encoding="latin-1")


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), date.fromisoformat(sys.argv[3]), Path(sys.argv[4]))
