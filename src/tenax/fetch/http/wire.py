"""One HTTP/1.1 connection: sends a request and collects the response, with limits on everything.

The parser is llhttp, through httptools. Data is parsed, counted and decoded as it arrives, so a body is never buffered
first. The caller is woken once, when the response is complete.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade

from tenax.fetch import BODILESS_STATUSES, MAX_HEAD_BYTES, MAX_HEADERS, SMALL_BODY_BYTES, TIMER_SLACK_SECONDS, Request
from tenax.fetch.bodies import BodyDecoder, too_large_failure
from tenax.fetch.body_budget import (
    SMALL_BYTES,
    BodyReceiver,
    decode_within_budget,
    memory_deferral,
    reserve_callback,
)
from tenax.fetch.failures import (
    body_timeout_failure,
    failure_from_error,
    headers_timeout_failure,
    late_deferral,
    reset_failure,
    total_timeout_failure,
    truncated_failure,
)
from tenax.fetch.headers import Headers, parse_framing
from tenax.fetch.http.heads import QUICK_ACK, ContentLengthRepair, is_about_length, is_clean_close, new_parser
from tenax.model import Deferred, Failed, FailureKind, Value


class WireResponse(Value, frozen=True):
    """A complete response, as received."""

    status: int
    headers: Headers
    body: bytes
    wire_bytes: int
    answered_at: float


class Connection(asyncio.Protocol):
    """Carries one exchange at a time; for one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, now: Callable[[], float]) -> None:
        self._loop = loop
        self._now = now
        self._transport: asyncio.Transport | None = None
        self._parser = new_parser(self)
        self.socket: socket.socket | None = None  # the socket that the transport reads from, if known
        self._done: asyncio.Future[WireResponse | Failed | Deferred] | None = None
        self._is_unusable = False  # True when the connection cannot carry another exchange
        self._is_idle = True  # True when no exchange is in progress
        self._reset_exchange(None, 0.0)

    # -- for the caller -------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """True when another request may be sent."""
        return not self._is_unusable and self._transport is not None and not self._transport.is_closing()

    @property
    def _is_body_waiting(self) -> bool:
        """Whether the body waits for memory."""
        return self._body is not None and self._body.is_waiting

    @property
    def has_received(self) -> bool:
        """True when any part of the last response arrived."""
        return self._head_bytes > 0

    async def exchange(self, head: bytes, request: Request, deadline: float) -> WireResponse | Failed | Deferred:
        """Send a request's head and wait for the whole response; `deadline` is in the loop's time."""
        if self._transport is None or not self.is_open:
            return reset_failure()
        if self._loop.time() >= deadline or self._now() >= request.send_by:
            return late_deferral(self._now())
        self._reset_exchange(request, deadline)
        self._done = self._loop.create_future()
        self._transport.write(head)
        self._set_timer(self._sent_at + request.headers_timeout_seconds)
        try:
            return await self._done
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._drop_body()
            self._done = None
            if not self._is_idle:
                self._is_idle = True
                self.abort()

    def abort(self) -> None:
        self._is_unusable = True
        if self._transport is not None:
            self._transport.abort()

    # -- the state of one exchange --------------------------------------------------------------------------

    def _reset_exchange(self, request: Request | None, deadline: float) -> None:
        self._request = request
        self._deadline = deadline
        self._sent_at = self._received_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._framing_bytes = 0
        """Bytes of chunk extensions and trailers since the headers, or since the last piece of the body."""
        self._wire_bytes = 0
        self._status = 0
        self._answered_at = 0.0
        self._header_pairs: list[tuple[bytes, bytes]] = []
        self._headers: Headers | None = None
        self._head_pieces: list[bytes] = []
        self._length_repair: ContentLengthRepair | None = None
        """Set while the parser has refused the head."""
        self._content_coding = ""
        self._is_ended_by_close = False
        self._pieces: list[bytes] = []
        self._body: BodyReceiver | None = None
        """Decodes piece by piece, if the length is unknown, the beginning is enough, or memory is short."""
        self._has_eof = False
        """True when the other side has ended the response. Over TLS, the end is authenticated."""
        self._keeps_connection_at_end: bool | None = None
        """Set if the response is complete but its body waits for memory: whether the connection is kept."""
        self._is_paused = False
        self._is_idle = request is None

    def _complete(self, result: WireResponse | Failed | Deferred, *, keeps_connection: bool) -> None:
        self._is_idle = True
        self._drop_body()
        if not keeps_connection:
            self.abort()
        if self._done is not None and not self._done.done():
            self._done.set_result(result)

    def _drop_body(self) -> None:
        """Drop the body, because an idle connection keeps nothing of the last response."""
        self._pieces = []
        if self._body is not None:
            self._body.close()
            self._body = None

    def _finish(self, *, keeps_connection: bool) -> None:
        """The response is complete."""
        assert self._request is not None and self._headers is not None
        is_page = self._status < 300
        body = self._body.finish() if self._body is not None else None
        if body is None:
            max_bytes = self._request.max_body_bytes if is_page else SMALL_BODY_BYTES
            data = b"".join(self._pieces)
            body = decode_within_budget(data, self._content_coding, max_bytes, self._request.reservation)
            if body is None:
                self._pieces = []
                self._keeps_connection_at_end = keeps_connection
                self._body = self._new_receiver(self._content_coding, max_bytes)
                self._body.mark_arrived()
                failed = self._body.feed(data)
                if self._body.is_waiting:
                    self._pause_for_memory()
                    return
                body = failed or self._body.finish()
        if isinstance(body, Failed):
            if is_page:
                self._complete(body, keeps_connection=keeps_connection)
                return
            body = b""
        self._complete_response(body, keeps_connection=keeps_connection)

    def _complete_response(self, body: bytes, *, keeps_connection: bool) -> None:
        assert self._headers is not None
        received = WireResponse(self._status, self._headers, body, self._wire_bytes, self._answered_at)
        self._complete(received, keeps_connection=keeps_connection)

    def _fail(self, failed: Failed) -> None:
        """End with a failure. A response that is not a page (an error, a redirect) is complete without a body."""
        if self._headers is not None and self._status >= 300:
            self._complete_response(b"", keeps_connection=False)
        else:
            result = self._body.adjust_failure(failed, self._now()) if self._body is not None else failed
            self._complete(result, keeps_connection=False)

    # -- memory for the body --------------------------------------------------------------------------------

    def _new_receiver(self, coding: str, max_bytes: int, *, may_truncate: bool = False) -> BodyReceiver:
        assert self._request is not None
        reservation, seconds = self._request.reservation, self._request.total_timeout_seconds
        body = BodyDecoder(coding, max_bytes, reserve_callback(reservation), may_truncate=may_truncate)
        return BodyReceiver(body, reservation, seconds, self._on_reserved, self._on_budget_exhausted)

    def _pause_for_memory(self) -> None:
        """Pause reading. The timeouts for the server do not run meanwhile."""
        if self._timer is not None:
            self._timer.cancel()
        if self._keeps_connection_at_end is None and self._transport is not None and not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()

    def _on_reserved(self, waited_seconds: float, failed: Failed | None) -> None:
        if self._is_idle or self._request is None:
            return
        self._deadline += waited_seconds
        self._received_at = self._loop.time()
        if self._is_paused and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
        self._is_paused = False
        if failed is not None:
            self._fail(failed)
        elif self._body is not None and self._body.is_full:
            self._finish(keeps_connection=False)
        elif self._keeps_connection_at_end is not None:
            self._finish(keeps_connection=self._keeps_connection_at_end)
        else:
            self._set_timer(self._received_at + self._request.body_timeout_seconds)

    def _on_budget_exhausted(self) -> None:
        if not self._is_idle and self._status >= 300:
            self._complete_response(b"", keeps_connection=False)
        elif not self._is_idle:
            self._complete(memory_deferral(self._now()), keeps_connection=False)

    def _set_timer(self, at: float) -> None:
        self._timer = self._loop.call_at(min(at, self._deadline), self._on_timer, at >= self._deadline)

    def _on_timer(self, is_total: bool) -> None:
        request = self._request
        if request is None or self._is_idle:
            return
        silent_until = self._received_at + request.body_timeout_seconds
        if is_total:
            self._fail(total_timeout_failure(request.total_timeout_seconds))
        elif self._headers is None:
            self._fail(headers_timeout_failure(request.headers_timeout_seconds))
        elif self._loop.time() >= silent_until - TIMER_SLACK_SECONDS:
            self._fail(body_timeout_failure(request.body_timeout_seconds))
        else:
            self._set_timer(silent_until)

    # -- loop callbacks -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # the class in uvloop does not declare it

    def data_received(self, data: bytes) -> None:
        if self._is_idle:
            if data.strip(b"\r\n"):  # extra empty lines are allowed; the parser allows them too
                self.abort()  # data that was not requested
            return
        had_headers = self._headers is not None
        self._received_at = self._loop.time()
        if had_headers:
            self._framing_bytes += len(data)
        else:
            self._head_bytes += len(data)
            self._head_pieces.append(data)
        if self._length_repair is not None and self._length_repair.is_buffering:
            self._feed_repaired(self._length_repair.repair_head(data))
        else:
            self._feed(data)
        if not self._is_idle and self.socket is not None and QUICK_ACK is not None:
            with suppress(OSError):  # already closed
                self.socket.setsockopt(socket.IPPROTO_TCP, QUICK_ACK, 1)
        if self._is_idle or (had_headers and self._framing_bytes <= MAX_HEAD_BYTES):
            return
        if had_headers:
            self._fail(Failed("the trailers are too long", FailureKind.BAD_RESPONSE))
        elif self._headers is None:
            if self._head_bytes > MAX_HEAD_BYTES:
                self._fail(Failed("the headers are too long", FailureKind.BAD_RESPONSE))
        elif self._timer is not None and self._request is not None and not self._is_body_waiting:
            self._timer.cancel()
            self._set_timer(self._received_at + self._request.body_timeout_seconds)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._is_unusable = True
        except HttpParserError as error:
            if self._is_idle:
                return
            if self._headers is None and self._length_repair is None and is_about_length(error):
                self._length_repair = ContentLengthRepair(self._head_pieces)
                self._feed_repaired(self._length_repair.repair_head())
            else:
                self._fail(failure_from_error(error, in_body=self._headers is not None))

    def _feed_repaired(self, head: bytes | None) -> None:
        if head is not None:
            self._header_pairs = []
            self._parser = new_parser(self)
            self._feed(head)

    def eof_received(self) -> None:
        assert self._transport is not None
        self._has_eof = is_clean_close(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_unusable = True
        if self._is_idle or self._keeps_connection_at_end is not None:
            return
        if self._headers is None:
            self._fail(
                failure_from_error(exc) if exc is not None and not isinstance(exc, ConnectionError) else reset_failure()
            )
        elif self._is_ended_by_close and exc is None and self._has_eof:
            if self._body is not None and self._body.is_waiting:
                self._keeps_connection_at_end = False
                self._body.mark_arrived()
            else:
                self._finish(keeps_connection=False)
        else:
            self._fail(truncated_failure())

    # -- parser callbacks -----------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._headers is not None:
            self._is_unusable = True  # a response that was not requested

    def on_header(self, name: bytes, value: bytes) -> None:
        # Only the trailers of a chunked body can come after the headers, and none of them is used.
        if self._headers is None and len(self._header_pairs) <= MAX_HEADERS:
            self._header_pairs.append((name, value))

    def on_headers_complete(self) -> None:
        if self._is_idle or self._headers is not None or self._request is None:
            return
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:
            self._header_pairs = []  # not the final response; these bytes still count towards the limit of the head
            return
        self._status = status
        self._answered_at = self._now()
        self._headers = headers = Headers(self._header_pairs)
        self._head_pieces.clear()
        if len(self._header_pairs) > MAX_HEADERS:
            self._complete(Failed("too many headers", FailureKind.BAD_RESPONSE), keeps_connection=False)
        elif status == 101:
            self._complete(Failed("switched to another protocol", FailureKind.BAD_RESPONSE), keeps_connection=False)
        elif self._request.method == "HEAD":
            # The parser would wait for a body of the announced length.
            self._complete_response(b"", keeps_connection=False)
        elif status not in BODILESS_STATUSES:
            self._expect_body(headers, self._request)

    def _expect_body(self, headers: Headers, request: Request) -> None:
        is_page = self._status < 300
        max_bytes = request.max_body_bytes if is_page else SMALL_BODY_BYTES
        framing = parse_framing(headers)
        if isinstance(framing, Failed):
            self._fail(framing)
            return
        self._content_coding = framing.content_coding
        self._is_ended_by_close = framing.is_ended_by_close
        takes_beginning = is_page and request.may_truncate
        if framing.length is not None and not takes_beginning:
            if framing.length > max_bytes:
                self._fail(too_large_failure(max_bytes))
                return
            # A large body reserves memory as it arrives, because an announced length must not take memory from other
            # bodies.
            reservation = request.reservation
            if reservation is None or (framing.length <= SMALL_BYTES and reservation.try_reserve(framing.length)):
                return
        self._body = self._new_receiver(framing.content_coding, max_bytes, may_truncate=takes_beginning)

    def on_body(self, data: bytes) -> None:
        if self._is_idle:
            return
        self._framing_bytes = 0
        self._wire_bytes += len(data)
        if self._body is None:
            self._pieces.append(data)
            return
        was_waiting = self._body.is_waiting
        failed = self._body.feed(data)
        if failed is not None:
            self._fail(failed)
        elif self._body.is_full:
            self._finish(keeps_connection=False)
        elif self._body.is_waiting and not was_waiting:
            self._pause_for_memory()

    def on_message_complete(self) -> None:
        if self._is_idle or self._headers is None:
            return
        if self._body is not None and self._body.is_waiting:
            self._keeps_connection_at_end = self._parser.should_keep_alive()
            self._body.mark_arrived()
        else:
            self._finish(keeps_connection=self._parser.should_keep_alive())
