"""Tunnels: a way through a proxy to a checked address, by CONNECT (RFC 9110) or by SOCKS5 (RFC 1928, 1929).

The client's side of both is a question or two; what a proxy says is read here byte by byte and believed no further.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from typing import Final

from tenax.fetch.addresses import address
from tenax.fetch.proxies import Proxy
from tenax.model import Failed, FailureKind

MAX_REPLY_BYTES: Final = 16 * 1024
"""A proxy's answer to CONNECT, with its headers."""

_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})[ \r]")
_SOCKS_REPLIES: Final = {
    1: "general failure",
    2: "not allowed",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "took too long",
    7: "command not supported",
    8: "address type not supported",
}


class ProxyFailed(Exception):
    """The proxy did not bring us to the target: nothing was sent to it, and nothing was learned about it."""

    def __init__(self, proxy: Proxy, why: str, *, declined: bool = False) -> None:
        super().__init__(why)
        self.failed = Failed(f"proxy {proxy.name}: {why}", FailureKind.PROXY)
        self.why = why
        self.declined = declined
        """True: it works, and would not or could not reach this very target. That may be the target's fault."""


class TunnelBroke(Exception):
    """A tunnel was made and failed before a request was sent through it: the proxy's fault or the host's."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.why)
        self.failed = failed


async def tunnel(
    loop: asyncio.AbstractEventLoop,
    sock: socket.socket,
    proxy: Proxy,
    target: tuple[str, int] | None,
    tls: ssl.SSLContext | None,
) -> asyncio.Transport:
    """A transport to this address and port by way of the proxy at the other end of `sock`, which it takes over.

    `tls` is for the way to the proxy; without a target the way ends there. Raises `ProxyFailed` and `OSError`.
    Nobody listens on the transport yet: give it a protocol of your own.
    """
    try:
        transport, talk = await loop.create_connection(
            lambda: _Talk(loop), sock=sock, ssl=tls, server_hostname=proxy.host if tls is not None else None
        )
    except BaseException:
        sock.close()
        raise
    talk.transport = transport
    try:
        if target is not None:
            await (_socks5 if proxy.scheme == "socks5" else _connect)(talk, proxy, *target)
        if talk.heard:
            raise ProxyFailed(proxy, "it spoke out of turn")
    except EOFError:
        transport.abort()
        raise ProxyFailed(proxy, "it closed the connection") from None
    except BaseException:
        transport.abort()
        raise
    return talk.transport


async def _connect(talk: _Talk, proxy: Proxy, host: str, port: int) -> None:
    goal = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    talk.transport.write(f"CONNECT {goal} HTTP/1.1\r\nHost: {goal}\r\n{proxy.authorization}\r\n".encode("ascii"))
    reply = await talk.until(b"\r\n\r\n", MAX_REPLY_BYTES)
    line = _STATUS_LINE.match(reply) if reply is not None else None
    status = int(line[1]) if line is not None else 0
    if not 200 <= status < 300:
        raise connect_refused(proxy, status)


async def _socks5(talk: _Talk, proxy: Proxy, host: str, port: int) -> None:
    talk.transport.write(b"\x05\x02\x00\x02" if proxy.user else b"\x05\x01\x00")
    version, method = await talk.exactly(2)
    if version != 5:
        raise ProxyFailed(proxy, "not a SOCKS5 proxy")
    if method == 2 and proxy.user:
        user, password = proxy.user, proxy.password
        talk.transport.write(bytes((1, len(user))) + user + bytes((len(password),)) + password)
        method = (await talk.exactly(2))[1]
    if method != 0:
        raise wrong_credentials(proxy)
    goal = address(host)
    if goal is None:
        raise ProxyFailed(proxy, "not an address")
    talk.transport.write(bytes((5, 1, 0, 1 if goal.version == 4 else 4)) + goal.packed + port.to_bytes(2, "big"))
    version, reply, _, kind = await talk.exactly(4)
    if version != 5:
        raise ProxyFailed(proxy, "not a proper SOCKS5 answer")
    if reply != 0:
        raise socks_refused(proxy, reply)
    # Where the proxy's own end is bound; of no use to us.
    length = {1: 4, 4: 16}.get(kind) or (await talk.exactly(1))[0]
    await talk.exactly(length + 2)


# ---- what a proxy says when it says no --------------------------------------------------------------------


def wrong_credentials(proxy: Proxy) -> ProxyFailed:
    return ProxyFailed(
        proxy, "it does not accept our user and password" if proxy.user else "it wants a user and a password"
    )


def connect_refused(proxy: Proxy, status: int) -> ProxyFailed:
    """This status to a CONNECT; 0: nothing that is a status."""
    if status == 407:
        return wrong_credentials(proxy)
    if status == 0:
        return ProxyFailed(proxy, "not a proper answer to CONNECT")
    return ProxyFailed(proxy, f"answer {status} to CONNECT", declined=True)


def socks_refused(proxy: Proxy, reply: int) -> ProxyFailed:
    return ProxyFailed(proxy, f"SOCKS5: {_SOCKS_REPLIES.get(reply, f'reply {reply}')}", declined=True)


class _Talk(asyncio.Protocol):
    """Reads what a proxy says, as much as is asked for; what is left over stays in `heard`."""

    transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.heard = bytearray()
        self._loop = loop
        self._waiter: asyncio.Future[None] | None = None
        self._is_over = False

    async def exactly(self, count: int) -> bytes:
        while len(self.heard) < count:
            await self._more()
        return self._taken(count)

    async def until(self, end: bytes, limit: int) -> bytes | None:
        """Everything up to and with this end; None when it does not come within that many bytes."""
        while (at := self.heard.find(end)) < 0:
            if len(self.heard) > limit:
                return None
            await self._more()
        return self._taken(at + len(end))

    def data_received(self, data: bytes) -> None:
        self.heard += data
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_over = True
        self._wake()

    async def _more(self) -> None:
        if self._is_over:
            raise EOFError
        self._waiter = self._loop.create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _taken(self, count: int) -> bytes:
        taken = bytes(self.heard[:count])
        del self.heard[:count]
        return taken
