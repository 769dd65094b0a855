"""A client of the gate other than a browser."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode

from tenax.fetch.browser.gate import Gate, GateSession


def admit(gate: Gate, max_bytes: int, max_connections: int = 100) -> GateSession:
    return gate.open_session(GateSession("127.0.0.1", max_bytes, max_connections, connect_timeout_seconds=60.0))


async def dialled(gate: Gate) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(gate.url.rpartition(":")[2]))


async def said_to(gate: Gate, text: str, passage: GateSession | None = None) -> bytes:
    """The whole response to a request; the secret's line is inserted where the text says so."""
    reader, writer = await dialled(gate)
    writer.write(request_of(text, passage))
    try:
        async with asyncio.timeout(60):
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: (\d+)", head)
            return head + (await reader.readexactly(int(length[1])) if length else await reader.read())
    except ConnectionResetError:
        return b""
    except asyncio.IncompleteReadError as error:
        return error.partial
    finally:
        writer.close()


def request_of(text: str, passage: GateSession | None) -> bytes:
    secret = ""
    if passage is not None:
        secret = b64encode(f"{passage.user}:{passage.password}".encode()).decode()
    return text.replace("\n", "\r\n").replace("SECRET", f"Proxy-Authorization: Basic {secret}").encode()
