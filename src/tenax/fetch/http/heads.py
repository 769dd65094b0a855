"""The parser of HTTP responses, and a repair of heads that it refuses although they are harmless."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from typing import Final

from httptools import HttpResponseParser

from tenax.fetch.headers import merge_content_lengths

_QUICK_ACK: Final[int | None] = getattr(socket, "TCP_QUICKACK", None)


def new_parser(protocol: object) -> HttpResponseParser:
    parser = HttpResponseParser(protocol)
    # What browsers accept. None of it allows response splitting: a connection carries one request at a time.
    parser.set_dangerous_leniencies(
        lenient_headers=True,
        lenient_chunked_length=True,
        lenient_optional_cr_before_lf=True,
        lenient_spaces_after_chunk_size=True,
    )
    return parser


class ContentLengthRepair:
    """Repairs the head of a response that states the same Content-Length twice, which is harmless (RFC 9110, 8.6).

    The parser refuses such a head. It is then buffered until complete, and parsed again with one Content-Length. A head
    that has another error as well, or different lengths, is refused the second time.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._tail: bytes | None = None
        """The last bytes so far, while the head is buffered."""
        self._has_started = False

    @property
    def is_buffering(self) -> bool:
        return self._tail is not None

    def append(self, data: bytes) -> None:
        """Add data that arrived before the headers were complete."""
        self._pieces.append(data)

    def clear(self) -> None:
        """The headers are complete."""
        self._pieces.clear()

    def start_if_repeated(self, why: str) -> bool:
        """Whether the parser refused the head for this, for the first time; from now on it is buffered."""
        if self._has_started or "Content-Length" not in why:
            return False
        self._has_started, self._tail = True, b""
        return True

    def repair_head(self, data: bytes | None = None) -> bytes | None:
        """The head with one length and the data after it; None until it is complete. `data` is the latest piece, None
        for all that is buffered."""
        tail = (self._tail or b"") + (b"".join(self._pieces) if data is None else data)
        self._tail = tail[-2:]
        if b"\n\n" not in tail and b"\n\r\n" not in tail:
            return None
        found = merge_content_lengths(b"".join(self._pieces))
        if found is not None:
            self._tail = None
        return found


def is_clean_close(transport: asyncio.Transport) -> bool:
    """Whether the end of the stream is authentic: anybody on the path can end a TCP connection; over TLS only the host
    can."""
    tls = transport.get_extra_info("ssl_object")
    if tls is None:
        return True
    try:
        return bool(tls.read(1) == b"")
    except ssl.SSLZeroReturnError:
        return True
    except ssl.SSLError:
        return False  # no close_notify was received


def send_acknowledgement(sock: socket.socket | None) -> None:
    """Acknowledge received data at once. A server that writes headers and body separately may hold the body back until
    the headers are acknowledged (Nagle), and a client with nothing to send delays that by 40 ms."""
    if sock is not None and _QUICK_ACK is not None:
        with suppress(OSError):  # already closed
            sock.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)
