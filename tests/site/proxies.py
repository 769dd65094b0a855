"""Local proxies, well-behaved or not, that record their requests."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from tenax.fetch.proxies import ProxyScheme
from tests.site.listening import Listening
from tests.site.server import headers_of

VOUCHED = Path(__file__).parent / "vouched.pem"
"""A self-signed certificate for `secure.example`, `proxy.example` and 127.0.0.1."""

Behaviour = Literal["works", "silent", "hangs-up", "garbage", "endless", "speaks-first", "drops-tunnels"]


def vouched_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(VOUCHED)
    return context


class Asked:
    """A client's request to the proxy."""

    def __init__(self, method: str, target: str, headers: Mapping[str, str] | None = None) -> None:
        self.method = method
        self.target = target
        self.headers = dict(headers or {})


class LocalProxy(Listening):
    """Serves one scheme on its own port: CONNECT and whole requests, or SOCKS5."""

    def __init__(
        self,
        scheme: ProxyScheme = "http",
        behaviour: Behaviour = "works",
        *,
        user: str = "",
        password: str = "",
        refusal: int = 0,
        answer: int = 0,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """`refusal` is the status or SOCKS5 reply that every tunnel gets, `answer` the status that it answers every
        whole request with by itself; `names` is what it resolves by itself."""
        super().__init__(tls=vouched_tls() if scheme == "https" else None)
        self.asked: list[Asked] = []
        self.refusal = refusal
        self.answer = answer
        self.behaviour: Behaviour = behaviour
        self._scheme = scheme
        self._user = user
        self._password = password
        self._names = dict(names or {})

    @property
    def name(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, user: str = "", password: str = "") -> str:
        return f"{self._scheme}://{f'{user}:{password}@' if user else ''}{self.name}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        match self.behaviour:
            case "hangs-up":
                await reader.read(1)
            case "silent":
                await asyncio.Event().wait()
            case "garbage":
                await reader.read(1)
                writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
                await asyncio.Event().wait()
            case "endless":
                writer.write(b"HTTP/1.1 200 OK\r\n")
                while True:
                    writer.write(b"X-More: and more\r\n" * 100)
                    await writer.drain()
            case _ if self._scheme == "socks5":
                await self._socks5(reader, writer)
            case _:
                await self._http(reader, writer)

    # -- HTTP -----------------------------------------------------------------------------------------------

    async def _http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream: asyncio.StreamWriter | None = None
        answers: asyncio.Task[None] | None = None
        try:
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").rstrip().split("\r\n")
                method, target, _ = lines[0].split(" ")
                headers = headers_of(lines[1:])
                self.asked.append(Asked(method, target, headers))
                if not self._is_known(headers.get("proxy-authorization", "")):
                    writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                    continue
                if method == "CONNECT":
                    await self._tunnel(reader, writer, target)
                    return
                if self.answer:
                    writer.write(f"HTTP/1.1 {self.answer} No\r\nContent-Length: 2\r\n\r\nno".encode())
                    continue
                url = urlsplit(target)
                if upstream is None:
                    host = self._names.get(url.hostname or "", url.hostname)
                    from_upstream, upstream = await asyncio.open_connection(host, url.port)
                    answers = asyncio.get_running_loop().create_task(_copy(from_upstream, writer))
                kept = [line for line in lines[1:] if not line.lower().startswith("proxy-")]
                path = target.partition(url.netloc)[2]
                upstream.write("\r\n".join([f"{method} {path} HTTP/1.1", *kept, "", ""]).encode("latin-1"))
        finally:
            if upstream is not None and answers is not None:
                upstream.transport.abort()  # first, because the test may end during the wait
                answers.cancel()
                await asyncio.gather(answers, return_exceptions=True)

    def _is_known(self, authorization: str) -> bool:
        wanted = base64.b64encode(f"{self._user}:{self._password}".encode()).decode()
        return not self._user or authorization == f"Basic {wanted}"

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: str) -> None:
        if self.refusal:
            writer.write(f"HTTP/1.1 {self.refusal} No\r\nContent-Length: 2\r\n\r\nno".encode())
            await writer.drain()
            return
        host, _, port = target.rpartition(":")
        writer.write(b"HTTP/1.1 200 Connection established\r\nVia: a proxy\r\n\r\n")
        await self._relay(reader, writer, host.strip("[]"), int(port))

    # -- SOCKS5 ---------------------------------------------------------------------------------------------

    async def _socks5(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        wanted = 2 if self._user else 0
        writer.write(bytes((5, wanted if wanted in methods else 255)))
        if wanted not in methods:
            await writer.drain()
            return
        if self._user:
            _, length = await reader.readexactly(2)
            user = (await reader.readexactly(length)).decode()
            password = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
            is_known = (user, password) == (self._user, self._password)
            writer.write(b"\x01\x00" if is_known else b"\x01\x01")
            if not is_known:
                await writer.drain()
                return
        *_, kind = await reader.readexactly(4)
        host = str(ip_address(await reader.readexactly(4 if kind == 1 else 16)))
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.asked.append(Asked("SOCKS5", f"{host}:{port}"))
        writer.write(bytes((5, self.refusal, 0, 3, 5)) + b"local" + b"\0\0")
        await writer.drain()
        if not self.refusal:
            await self._relay(reader, writer, host, port)

    # -- bytes ----------------------------------------------------------------------------------------------

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int) -> None:
        if self.behaviour == "speaks-first":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")
        await writer.drain()
        if self.behaviour == "drops-tunnels":
            await reader.read(1)
            return
        from_upstream, upstream = await asyncio.open_connection(host, port)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_copy(reader, upstream))
                both.create_task(_copy(from_upstream, writer))
        except* OSError:
            pass
        finally:
            upstream.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    raise ConnectionResetError
