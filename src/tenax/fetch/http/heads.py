"""The parser of HTTP responses, and a repair of heads that it refuses although they are harmless."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Final

from httptools import HttpParserError, HttpResponseParser

from tenax.fetch.headers import merge_content_lengths

QUICK_ACK: Final[int | None] = getattr(socket, "TCP_QUICKACK", None)
"""Acknowledges received data at once.

A server that writes headers and body separately may hold back the body until the headers are acknowledged (Nagle). A
client that has nothing to send delays the acknowledgement by 40 ms.
"""


def new_parser(protocol: object) -> HttpResponseParser:
    parser = HttpResponseParser(protocol)
    # Characters that browsers accept. None of them allows response splitting, because a connection carries one request
    # at a time.
    parser.set_dangerous_leniencies(
        lenient_headers=True,
        lenient_chunked_length=True,
        lenient_optional_cr_before_lf=True,
        lenient_spaces_after_chunk_size=True,
    )
    return parser


class ContentLengthRepair:
    """Repairs the head of a response that states the same Content-Length twice, which is harmless (RFC 9110, 8.6).

    The parser refuses such a head. The head is then buffered until it is complete, and parsed again with one
    Content-Length. If it has another error as well, or different lengths, it is refused the second time.
    """

    def __init__(self, pieces: list[bytes]) -> None:
        """`pieces` is all data so far. Later pieces are added to it before `repair_head` gets them."""
        self._pieces = pieces
        self._tail: bytes | None = b""
        """The last bytes so far, while the head is buffered."""

    @property
    def is_buffering(self) -> bool:
        return self._tail is not None

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


def is_about_length(error: HttpParserError) -> bool:
    """Whether the parser refused the head because of its Content-Length."""
    return "Content-Length" in str(error)


def is_clean_close(transport: asyncio.Transport) -> bool:
    """Whether the end of the stream is authentic. Anybody on the path can end a TCP connection; over TLS only the host
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
