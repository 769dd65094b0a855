"""Collects a response from libcurl, line by line and piece by piece, with limits on everything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from tenax.fetch import Request
from tenax.fetch.bodies import BodyDecoder, too_large_failure
from tenax.fetch.body_intake import BodyReceiver, reserve_callback
from tenax.fetch.failures import truncated_failure
from tenax.fetch.framing import parse_framing
from tenax.fetch.headers import Headers
from tenax.fetch.limits import BODILESS_STATUSES, MAX_HEAD_BYTES, MAX_HEADERS, SMALL_BODY_BYTES
from tenax.model import Deferred, Failed, FailureKind

STOP: Final = 0xFFFF_FFFF
"""CURL_WRITEFUNC_ERROR: a receiver returns it to stop the transfer."""
PAUSE: Final = 0x1000_0001
"""CURL_WRITEFUNC_PAUSE: libcurl delivers the same data again when the transfer is resumed."""


class CurlResponse:
    """The two receivers of a transfer, and the collected response. They never raise."""

    def __init__(self, request: Request, now: Callable[[], float], loop: asyncio.AbstractEventLoop) -> None:
        self._request = request
        self._now = now
        self._loop = loop
        self._loop_time = loop.time
        self.status = 0
        self.protocol = ""
        self.headers: Headers | None = None
        self.answered_at = 0.0
        self.received_at = 0.0
        """In the loop's time."""
        self.wire_bytes = 0
        self.body = b""
        self._head_bytes = 0
        self._header_pairs: list[tuple[bytes, bytes]] = []
        self.waited_seconds = 0.0
        self.change_future: asyncio.Future[None] = loop.create_future()
        """Done when the body starts or stops waiting for memory; then it is replaced."""
        self._receiver: BodyReceiver | None = None
        self._failed: Failed | None = None
        self._deferred: Deferred | None = None

    # -- libcurl callbacks ----------------------------------------------------------------------------------

    def on_header(self, line: bytes) -> int:
        """A line of a head: status, header or the empty line at its end. Lines after the head are trailers."""
        if self.headers is not None:
            return len(line)
        self._head_bytes += len(line)
        if self._head_bytes > MAX_HEAD_BYTES:
            return self._reject("the headers are too long")
        text = line.rstrip(b"\r\n")
        if not text:
            return self._finish_head(len(line))
        if line.startswith(b"HTTP/"):
            self._start_head(text)
        elif text[:1] in b" \t" and self._header_pairs:
            name, value = self._header_pairs[-1]
            self._header_pairs[-1] = (name, value + b" " + text.strip())
        else:
            name, _, value = text.partition(b":")
            self._header_pairs.append((name, value))
        return self._reject("too many headers") if len(self._header_pairs) > MAX_HEADERS else len(line)

    def on_body(self, data: bytes) -> int:
        self.received_at = self._loop_time()
        if self.is_waiting:
            return PAUSE
        self.wire_bytes += len(data)
        if self._receiver is None:
            return STOP
        self._failed = self._receiver.feed(data)
        if self._receiver.is_waiting:
            self._notify_change()
        return STOP if self._failed is not None or self._receiver.is_full else len(data)

    # -- for the caller -------------------------------------------------------------------------------------

    @property
    def has_started(self) -> bool:
        """True when any part of a head has arrived."""
        return self._head_bytes > 0

    @property
    def is_waiting(self) -> bool:
        """Whether the body waits for memory."""
        return self._receiver is not None and self._receiver.is_waiting

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more is needed, although libcurl may not know yet."""
        return self._failed is not None or self._deferred is not None

    def finish(self) -> CurlResponse | Failed | Deferred:
        """The response, after libcurl received all of it and there was memory for it."""
        content = self._receiver.finish() if self._receiver is not None and not self.is_stopped else b""
        if isinstance(content, Failed) or self.is_stopped:
            return self.finish_failed(content if isinstance(content, Failed) else truncated_failure())
        self.body = content
        return self

    def finish_failed(self, failed: Failed) -> CurlResponse | Failed | Deferred:
        """The result after a failure. A response that is no page (an error, a redirect) is complete without a body."""
        if self._receiver is not None and self._receiver.is_full:
            return self.finish()  # we ended it: the beginning is enough
        if self.headers is not None and self.status >= 300:
            return self
        failed = self._failed or failed
        return self._deferred or (self._receiver.adjust_failure(failed) if self._receiver is not None else failed)

    def mark_arrived(self) -> None:
        """libcurl is done; only we still wait for memory."""
        if self._receiver is not None:
            self._receiver.mark_arrived()

    def close(self) -> None:
        if self._receiver is not None:
            self._receiver.close()

    # -- the head -------------------------------------------------------------------------------------------

    def _start_head(self, status_line: bytes) -> None:
        protocol, _, rest = status_line.partition(b" ")
        self.protocol = protocol.decode("ascii", "replace")
        self.status = int(rest[:3]) if rest[:3].isdigit() else 0
        self._header_pairs = []

    def _finish_head(self, taken: int) -> int:
        if 100 <= self.status < 200 and self.status != 101:
            return taken  # not the final response; these bytes still count towards the limit of the head
        if self.status < 200:
            return self._reject("switched to another protocol" if self.status == 101 else "not a proper HTTP answer")
        self.headers = headers = Headers(self._header_pairs)
        self.answered_at, self.received_at = self._now(), self._loop_time()
        is_page = self.status < 300
        max_bytes = self._request.max_body_bytes if is_page else SMALL_BODY_BYTES
        takes_beginning = is_page and self._request.may_truncate
        if self._request.method == "HEAD" or self.status in BODILESS_STATUSES:
            return taken
        framing = parse_framing(headers)
        if isinstance(framing, Failed):
            self._failed = framing
            return STOP
        if framing.length is not None and framing.length > max_bytes and not takes_beginning:
            self._failed = too_large_failure(max_bytes)
            return STOP
        body = BodyDecoder(
            framing.content_coding, max_bytes, reserve_callback(self._request), may_truncate=takes_beginning
        )
        self._receiver = BodyReceiver(body, self._request, self._now, self._on_reserved, self._on_budget_exhausted)
        return taken

    # -- memory for the body --------------------------------------------------------------------------------

    def _on_reserved(self, waited_seconds: float, failed: Failed | None) -> None:
        self.received_at = self._loop_time()
        self.waited_seconds += waited_seconds
        self._failed = failed
        self._notify_change()

    def _on_budget_exhausted(self, deferred: Deferred) -> None:
        self._deferred = deferred
        self._notify_change()

    def _notify_change(self) -> None:
        self.change_future.set_result(None)
        self.change_future = self._loop.create_future()

    def _reject(self, why: str) -> int:
        self._failed = Failed(why, FailureKind.BAD_RESPONSE)
        return STOP
