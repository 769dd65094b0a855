"""The parser of HTTP answers, and heads that are fed to it a second time because it refuses what is harmless."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from typing import Final

from httptools import HttpResponseParser

from tenax.fetch.framing import merge_content_lengths

_QUICK_ACK: Final[int | None] = getattr(socket, "TCP_QUICKACK", None)


def new_parser(protocol: object) -> HttpResponseParser:
    parser = HttpResponseParser(protocol)
    # What browsers forgive. None of it can make two answers of one: a connection carries one request at a time.
    parser.set_dangerous_leniencies(
        lenient_headers=True,
        lenient_chunked_length=True,
        lenient_optional_cr_before_lf=True,
        lenient_spaces_after_chunk_size=True,
    )
    return parser


class ContentLengthRepair:
    """The parser refuses a second Content-Length, though one that says the same is harmless (RFC 9110, 8.6).

    So the head is gathered, and given once more with one length; a head that has no such thing is refused again.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._tail: bytes | None = None
        """How what has come ends, while the head is gathered."""
        self._has_started = False

    @property
    def is_buffering(self) -> bool:
        return self._tail is not None

    def append(self, data: bytes) -> None:
        """What arrived before the headers were complete."""
        self._pieces.append(data)

    def clear(self) -> None:
        """The headers are complete."""
        self._pieces.clear()

    def start_if_repeated(self, why: str) -> bool:
        """Whether the parser refused the head for this, the first time; from now on it is gathered."""
        if self._has_started or "Content-Length" not in why:
            return False
        self._has_started, self._tail = True, b""
        return True

    def repair_head(self, data: bytes | None = None) -> bytes | None:
        """The head with one length and what came behind it; None until all of it has come. `data` is what came last,
        None for all that is kept."""
        tail = (self._tail or b"") + (b"".join(self._pieces) if data is None else data)
        self._tail = tail[-2:]
        if b"\n\n" not in tail and b"\n\r\n" not in tail:
            return None
        found = merge_content_lengths(b"".join(self._pieces))
        if found is not None:
            self._tail = None
        return found


def is_clean_close(transport: asyncio.Transport) -> bool:
    """At the end of what can be read: anybody on the way can end a TCP connection; over TLS only the host can say that
    this was all."""
    tls = transport.get_extra_info("ssl_object")
    if tls is None:
        return True
    try:
        return bool(tls.read(1) == b"")
    except ssl.SSLZeroReturnError:
        return True
    except ssl.SSLError:
        return False  # it waits for a close_notify that did not come


def send_acknowledgement(sock: socket.socket | None) -> None:
    """Tell the server at once what arrived. One that writes headers and body apart may hold the body back until the
    headers are acknowledged (Nagle), and a client that has nothing to send delays that for 40 ms."""
    if sock is not None and _QUICK_ACK is not None:
        with suppress(OSError):  # it is closed by now
            sock.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)
