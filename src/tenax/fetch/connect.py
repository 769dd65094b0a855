"""Opens connections to a checked address: directly, or through a proxy by CONNECT or SOCKS5.

The client's side of both protocols is one or two requests. A proxy's reply is read with limits, and is not trusted
further.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Sequence
from typing import Final

from aiohappyeyeballs import AddrInfoType, start_connection

from tenax.fetch.addresses import parse_address
from tenax.fetch.proxies import Proxy
from tenax.model import Failed, FailureKind

NEXT_ADDRESS_DELAY_SECONDS = 0.25
"""RFC 8305: the next address is tried if the one before has not answered after this time."""


async def open_socket(addresses: Sequence[str], port: int) -> socket.socket:
    """A socket to the first of these addresses that answers. Raises `OSError`."""
    infos = [_address_info(address, port) for address in addresses]
    return await start_connection(infos, happy_eyeballs_delay=NEXT_ADDRESS_DELAY_SECONDS)


def _address_info(address: str, port: int) -> AddrInfoType:
    if ":" in address:
        return (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port, 0, 0))
    return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))


MAX_REPLY_BYTES: Final = 16 * 1024
"""A proxy's response to CONNECT, with its headers."""

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


class ProxyError(Exception):
    """The proxy did not connect us to the target. Nothing was sent to the target, and nothing was learned about it."""

    def __init__(self, proxy: Proxy, why: str, *, is_declined: bool = False) -> None:
        super().__init__(why)
        self.failure = Failed(f"proxy {proxy.name}: {why}", FailureKind.PROXY)
        self.why = why
        self.is_declined = is_declined
        """True: the proxy works, but refused to connect to this target, or could not. The target may be at fault."""


class TunnelError(Exception):
    """A tunnel failed before a request was sent through it. Either the proxy or the host is at fault."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.why)
        self.failure = failed


async def open_tunnel(
    loop: asyncio.AbstractEventLoop,
    sock: socket.socket,
    proxy: Proxy,
    target: tuple[str, int] | None,
    tls: ssl.SSLContext | None,
) -> asyncio.Transport:
    """A transport to this address and port, through the proxy at the other end of `sock`. The transport takes over
    `sock`.

    `tls` is for the connection to the proxy; without a target the connection ends there. Raises `ProxyError` and
    `OSError`. The transport has no protocol yet: set one.
    """
    try:
        transport, talk = await loop.create_connection(
            lambda: _ProxyProtocol(loop), sock=sock, ssl=tls, server_hostname=proxy.host if tls is not None else None
        )
    except BaseException:
        sock.close()
        raise
    talk.transport = transport
    try:
        if target is not None:
            await (_socks5_connect if proxy.scheme == "socks5" else _http_connect)(talk, proxy, *target)
        if talk.buffer:
            raise ProxyError(proxy, "it sent data before the request")
    except EOFError:
        transport.abort()
        raise ProxyError(proxy, "it closed the connection") from None
    except BaseException:
        transport.abort()
        raise
    return talk.transport


async def _http_connect(protocol: _ProxyProtocol, proxy: Proxy, host: str, port: int) -> None:
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    protocol.transport.write(
        f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{proxy.authorization}\r\n".encode("ascii")
    )
    reply = await protocol.read_until(b"\r\n\r\n", MAX_REPLY_BYTES)
    line = _STATUS_LINE.match(reply) if reply is not None else None
    status = int(line[1]) if line is not None else 0
    if not 200 <= status < 300:
        raise connect_error(proxy, status)


async def _socks5_connect(protocol: _ProxyProtocol, proxy: Proxy, host: str, port: int) -> None:
    protocol.transport.write(b"\x05\x02\x00\x02" if proxy.user else b"\x05\x01\x00")
    version, method = await protocol.read_exactly(2)
    if version != 5:
        raise ProxyError(proxy, "not a SOCKS5 proxy")
    if method == 2 and proxy.user:
        user, password = proxy.user, proxy.password
        protocol.transport.write(bytes((1, len(user))) + user + bytes((len(password),)) + password)
        method = (await protocol.read_exactly(2))[1]
    if method != 0:
        raise credentials_error(proxy)
    address = parse_address(host)
    if address is None:
        raise ProxyError(proxy, "not an address")
    protocol.transport.write(
        bytes((5, 1, 0, 1 if address.version == 4 else 4)) + address.packed + port.to_bytes(2, "big")
    )
    version, reply, _, kind = await protocol.read_exactly(4)
    if version != 5:
        raise ProxyError(proxy, "not a proper SOCKS5 answer")
    if reply != 0:
        raise socks5_error(proxy, reply)
    # The address that the proxy itself uses, which is not needed.
    length = {1: 4, 4: 16}.get(kind) or (await protocol.read_exactly(1))[0]
    await protocol.read_exactly(length + 2)


# ---- errors of a proxy ------------------------------------------------------------------------------------


def credentials_error(proxy: Proxy) -> ProxyError:
    return ProxyError(
        proxy, "it does not accept our user and password" if proxy.user else "it wants a user and a password"
    )


def connect_error(proxy: Proxy, status: int) -> ProxyError:
    """The error for this status of a CONNECT; 0: not a status."""
    if status == 407:
        return credentials_error(proxy)
    if status == 0:
        return ProxyError(proxy, "invalid response to CONNECT")
    return ProxyError(proxy, f"answer {status} to CONNECT", is_declined=True)


def socks5_error(proxy: Proxy, reply: int) -> ProxyError:
    return ProxyError(proxy, f"SOCKS5: {_SOCKS_REPLIES.get(reply, f'reply {reply}')}", is_declined=True)


class _ProxyProtocol(asyncio.Protocol):
    """Reads as many bytes of a proxy's reply as requested. The rest stays in `buffer`."""

    transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.buffer = bytearray()
        self._loop = loop
        self._waiter: asyncio.Future[None] | None = None
        self._is_closed = False

    async def read_exactly(self, count: int) -> bytes:
        while len(self.buffer) < count:
            await self._wait_for_data()
        return self._take(count)

    async def read_until(self, end: bytes, limit: int) -> bytes | None:
        """Everything up to and including `end`; None if it does not arrive within `limit` bytes."""
        while (at := self.buffer.find(end)) < 0:
            if len(self.buffer) > limit:
                return None
            await self._wait_for_data()
        return self._take(at + len(end))

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closed = True
        self._wake()

    async def _wait_for_data(self) -> None:
        if self._is_closed:
            raise EOFError
        self._waiter = self._loop.create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _take(self, count: int) -> bytes:
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken
