"""One HTTP/1.1 connection: it sends a request and gathers the answer, within limits on everything.

The parser is llhttp, by way of httptools; what arrives is parsed, counted and decoded as it arrives, so a body never
waits in a buffer of ours. Whoever asked is woken once, when all is there.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade

from tenax.fetch import Request
from tenax.fetch.bodies import Body, too_large
from tenax.fetch.body_budget import SMALL_BYTES
from tenax.fetch.body_intake import BodyIntake, decoded_at_once, room_of
from tenax.fetch.failures import body_timeout, cut_off, dropped, failure_of, headers_timeout, too_late, total_timeout
from tenax.fetch.framing import framing_of
from tenax.fetch.headers import Headers
from tenax.fetch.http.heads import RepeatedLength, acknowledge, is_ended_by_host, new_parser
from tenax.fetch.limits import BODILESS, MAX_HEAD_BYTES, MAX_HEADERS, SMALL_BODY_BYTES, TIMER_SLACK_SECONDS
from tenax.model import Deferred, Failed, FailureKind, Value

"""Linux has it; it must be set anew for each answer."""


class Received(Value, frozen=True):
    """A whole answer, as it came over the wire."""

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
        self.socket: socket.socket | None = None
        """The one that it reads from, where that is known."""
        self._done: asyncio.Future[Received | Failed | Deferred] | None = None
        self._is_spoilt = False
        """True when the connection cannot carry another exchange."""
        self._is_over = True
        """True when no exchange is going on."""
        self._begin(None, 0.0)

    # -- for the one who asks -------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """True when another request may be sent."""
        return not self._is_spoilt and self._transport is not None and not self._transport.is_closing()

    @property
    def _is_waiting(self) -> bool:
        """Whether the body waits for room."""
        return self._body is not None and self._body.is_waiting

    @property
    def has_heard(self) -> bool:
        """True when anything of the last answer arrived."""
        return self._head_bytes > 0

    async def exchange(self, head: bytes, request: Request, deadline: float) -> Received | Failed | Deferred:
        """Send a request's head and wait for the whole answer; `deadline` is in the loop's time."""
        if self._transport is None or not self.is_open:
            return dropped()
        if self._loop.time() >= deadline or self._now() >= request.send_by:
            return too_late(self._now())
        self._begin(request, deadline)
        self._done = self._loop.create_future()
        self._transport.write(head)
        self._arm(self._asked_at + request.headers_timeout_seconds)
        try:
            return await self._done
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._drop_body()
            self._done = None
            if not self._is_over:
                self._is_over = True
                self.abort()

    def abort(self) -> None:
        self._is_spoilt = True
        if self._transport is not None:
            self._transport.abort()

    # -- the state of one exchange --------------------------------------------------------------------------

    def _begin(self, request: Request | None, deadline: float) -> None:
        self._request = request
        self._deadline = deadline
        self._asked_at = self._heard_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._framing_bytes = 0
        """Since the headers, or since the last piece of the body: a chunk's extensions, and trailers."""
        self._wire_bytes = 0
        self._status = 0
        self._answered_at = 0.0
        self._pairs: list[tuple[bytes, bytes]] = []
        self._headers: Headers | None = None
        self._repeated = RepeatedLength()
        self._content_coding = ""
        self._lasts_until_close = False
        self._pieces: list[bytes] = []
        self._body: BodyIntake | None = None
        """Decodes as it comes, when nobody said how much will come, when the beginning is enough, or when there is no
        room for all of it."""
        self._has_eof = False
        """True when the other side said that this is all; over TLS, so that nobody else can have said it."""
        self._ends_with: bool | None = None
        """All of the answer has come while its body waits for room; whether the connection is kept."""
        self._is_paused = False
        """Nothing is read from the connection."""
        self._is_over = request is None

    def _end(self, result: Received | Failed | Deferred, *, keeps_connection: bool) -> None:
        self._is_over = True
        self._drop_body()
        if not keeps_connection:
            self.abort()
        if self._done is not None and not self._done.done():
            self._done.set_result(result)

    def _drop_body(self) -> None:
        """An idle connection keeps nothing of the last answer."""
        self._pieces = []
        if self._body is not None:
            self._body.close()
            self._body = None

    def _finish(self, *, keeps_connection: bool) -> None:
        """All of the answer is here."""
        assert self._request is not None and self._headers is not None
        is_page = self._status < 300
        if self._body is not None:
            body = self._body.finish()
        else:
            max_bytes = self._request.max_body_bytes if is_page else SMALL_BODY_BYTES
            data = b"".join(self._pieces)
            found = decoded_at_once(data, self._content_coding, max_bytes, self._request.room)
            if found is None:
                self._pieces = []
                self._ends_with = keeps_connection
                self._body = self._intake(self._content_coding, max_bytes)
                self._body.arrived()
                failed = self._body.feed(data)
                if self._body.is_waiting:
                    self._wait_for_room()
                    return
                found = failed or self._body.finish()
            body = found
        if isinstance(body, Failed):
            if is_page:
                self._end(body, keeps_connection=keeps_connection)
                return
            body = b""
        self._give(body, keeps_connection=keeps_connection)

    def _give(self, body: bytes, *, keeps_connection: bool) -> None:
        assert self._headers is not None
        received = Received(self._status, self._headers, body, self._wire_bytes, self._answered_at)
        self._end(received, keeps_connection=keeps_connection)

    def _fail(self, failed: Failed) -> None:
        """No page comes of this. What was to be no page anyway, an error or a redirect, is complete without body."""
        if self._headers is not None and self._status >= 300:
            self._give(b"", keeps_connection=False)
        else:
            self._end(self._body.judged(failed) if self._body is not None else failed, keeps_connection=False)

    # -- room for the body ----------------------------------------------------------------------------------

    def _intake(self, coding: str, max_bytes: int, *, takes_beginning: bool = False) -> BodyIntake:
        assert self._request is not None
        body = Body(coding, max_bytes, room_of(self._request), takes_beginning=takes_beginning)
        return BodyIntake(body, self._request, self._now, self._on_room, self._on_no_room)

    def _wait_for_room(self) -> None:
        """Nothing is read meanwhile, and no time of the server's passes."""
        if self._timer is not None:
            self._timer.cancel()
        if self._ends_with is None and self._transport is not None and not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()

    def _on_room(self, waited_seconds: float, failed: Failed | None) -> None:
        if self._is_over or self._request is None:
            return
        self._deadline += waited_seconds
        self._heard_at = self._loop.time()
        if self._is_paused and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
        self._is_paused = False
        if failed is not None:
            self._fail(failed)
        elif self._body is not None and self._body.is_full:
            self._finish(keeps_connection=False)
        elif self._ends_with is not None:
            self._finish(keeps_connection=self._ends_with)
        else:
            self._arm(self._heard_at + self._request.body_timeout_seconds)

    def _on_no_room(self, deferred: Deferred) -> None:
        if not self._is_over:
            if self._status >= 300:
                self._give(b"", keeps_connection=False)
            else:
                self._end(deferred, keeps_connection=False)

    # -- time -----------------------------------------------------------------------------------------------

    def _arm(self, at: float) -> None:
        self._timer = self._loop.call_at(min(at, self._deadline), self._on_time, at >= self._deadline)

    def _on_time(self, is_total: bool) -> None:
        request = self._request
        if request is None or self._is_over:
            return
        silent_until = self._heard_at + request.body_timeout_seconds
        if is_total:
            self._fail(total_timeout(request.total_timeout_seconds))
        elif self._headers is None:
            self._fail(headers_timeout(request.headers_timeout_seconds))
        elif self._loop.time() >= silent_until - TIMER_SLACK_SECONDS:
            self._fail(body_timeout(request.body_timeout_seconds))
        else:
            self._arm(silent_until)

    # -- what the loop tells --------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one without saying so

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            if data.strip(b"\r\n"):  # an empty line too many is forgiven, as the parser forgives it
                self.abort()  # nobody asked
            return
        had_headers = self._headers is not None
        self._heard_at = self._loop.time()
        if had_headers:
            self._framing_bytes += len(data)
        else:
            self._head_bytes += len(data)
            self._repeated.keep(data)
        if self._repeated.is_gathering:
            self._feed_again(self._repeated.mended(data))
        else:
            self._feed(data)
        if not self._is_over:
            acknowledge(self.socket)
        if self._is_over or (had_headers and self._framing_bytes <= MAX_HEAD_BYTES):
            return
        if had_headers:
            self._fail(Failed("the trailers are too long", FailureKind.BAD_RESPONSE))
        elif self._headers is None:
            if self._head_bytes > MAX_HEAD_BYTES:
                self._fail(Failed("the headers are too long", FailureKind.BAD_RESPONSE))
        elif self._timer is not None and self._request is not None and not self._is_waiting:
            self._timer.cancel()
            self._arm(self._heard_at + self._request.body_timeout_seconds)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._is_spoilt = True
        except HttpParserError as error:
            if self._is_over:
                return
            if self._headers is None and self._repeated.begins(str(error)):
                self._feed_again(self._repeated.mended())
            else:
                self._fail(failure_of(error, in_body=self._headers is not None))

    def _feed_again(self, head: bytes | None) -> None:
        if head is not None:
            self._pairs = []
            self._parser = new_parser(self)
            self._feed(head)

    def eof_received(self) -> None:
        assert self._transport is not None
        self._has_eof = is_ended_by_host(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_spoilt = True
        if self._is_over or self._ends_with is not None:
            return
        if self._headers is None:
            self._fail(failure_of(exc) if exc is not None and not isinstance(exc, ConnectionError) else dropped())
        elif self._lasts_until_close and exc is None and self._has_eof:
            if self._body is not None and self._body.is_waiting:
                self._ends_with = False
                self._body.arrived()
            else:
                self._finish(keeps_connection=False)
        else:
            self._fail(cut_off())

    # -- what the parser tells ------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._headers is not None:
            self._is_spoilt = True  # an answer to a question that was not asked

    def on_header(self, name: bytes, value: bytes) -> None:
        # After the headers only the trailers of a chunked body can come, and they tell nothing that we would use.
        if self._headers is None and len(self._pairs) <= MAX_HEADERS:
            self._pairs.append((name, value))

    def on_headers_complete(self) -> None:
        if self._is_over or self._headers is not None or self._request is None:
            return
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:
            self._pairs = []  # not the answer yet; these bytes still count towards the head's limit
            return
        self._status = status
        self._answered_at = self._now()
        self._headers = headers = Headers(self._pairs)
        self._repeated.forget()
        if len(self._pairs) > MAX_HEADERS:
            self._end(Failed("too many headers", FailureKind.BAD_RESPONSE), keeps_connection=False)
        elif status == 101:
            self._end(Failed("switched to another protocol", FailureKind.BAD_RESPONSE), keeps_connection=False)
        elif self._request.method == "HEAD":
            self._give(b"", keeps_connection=False)  # the parser would wait for the body that the length announces
        elif status not in BODILESS:
            self._expect_body(headers, self._request)

    def _expect_body(self, headers: Headers, request: Request) -> None:
        is_page = self._status < 300
        max_bytes = request.max_body_bytes if is_page else SMALL_BODY_BYTES
        framing = framing_of(headers)
        if isinstance(framing, Failed):
            self._fail(framing)
            return
        self._content_coding = framing.content_coding
        self._lasts_until_close = framing.is_ended_by_close
        takes_beginning = is_page and request.takes_beginning
        if framing.length is not None and not takes_beginning:
            if framing.length > max_bytes:
                self._fail(too_large(max_bytes))
                return
            # A large one takes room as it comes: a server that only announces it would keep it from others.
            room = request.room
            if room is None or (framing.length <= SMALL_BYTES and room.take(framing.length)):
                return
        self._body = self._intake(framing.content_coding, max_bytes, takes_beginning=takes_beginning)

    def on_body(self, data: bytes) -> None:
        if self._is_over:
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
            self._wait_for_room()

    def on_message_complete(self) -> None:
        if self._is_over or self._headers is None:
            return
        if self._body is not None and self._body.is_waiting:
            self._ends_with = self._parser.should_keep_alive()
            self._body.arrived()
        else:
            self._finish(keeps_connection=self._parser.should_keep_alive())
