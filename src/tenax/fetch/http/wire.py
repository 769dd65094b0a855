"""One HTTP/1.1 connection: it sends a request and gathers the answer, within limits on everything.

The parser is llhttp, by way of httptools; what arrives is parsed, counted and decoded as it arrives, so a body never
waits in a buffer of ours. Whoever asked is woken once, when all is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from tenax.fetch import Request
from tenax.fetch.bodies import Body, decoded, too_large
from tenax.fetch.failures import body_timeout, cut_off, dropped, failure_of, headers_timeout, too_late, total_timeout
from tenax.fetch.headers import Headers
from tenax.fetch.limits import BODILESS, MAX_HEAD_BYTES, MAX_HEADERS, SMALL_BODY_BYTES, TIMER_SLACK_SECONDS
from tenax.model import Deferred, Failed, FailureKind, Value


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
        self._parser = HttpResponseParser(self)
        # What browsers forgive. None of it can make two answers of one: a connection carries one request at a time.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_chunked_length=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
        self._done: asyncio.Future[Received | Failed] | None = None
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
        self._lasts_until_close = False
        self._pieces: list[bytes] = []
        self._body: Body | None = None
        """Decodes as it comes, when nobody said how much will come."""
        self._is_over = request is None

    def _end(self, result: Received | Failed, *, keeps_connection: bool) -> None:
        self._is_over = True
        if not keeps_connection:
            self.abort()
        if self._done is not None and not self._done.done():
            self._done.set_result(result)

    def _finish(self, *, keeps_connection: bool) -> None:
        """All of the answer is here."""
        assert self._request is not None and self._headers is not None
        is_page = self._status < 300
        if self._body is not None:
            body = self._body.finish()
        else:
            coding = self._headers.get("content-encoding", "")
            max_bytes = self._request.max_body_bytes if is_page else SMALL_BODY_BYTES
            body = decoded(b"".join(self._pieces), coding, max_bytes)
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
            self._end(failed, keeps_connection=False)

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
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._is_spoilt = True
        except HttpParserError as error:
            if not self._is_over:
                self._fail(failure_of(error, in_body=self._headers is not None))
        if self._is_over or (had_headers and self._framing_bytes <= MAX_HEAD_BYTES):
            return
        if had_headers:
            self._fail(Failed("the trailers are too long", FailureKind.BAD_RESPONSE))
        elif self._headers is None:
            if self._head_bytes > MAX_HEAD_BYTES:
                self._fail(Failed("the headers are too long", FailureKind.BAD_RESPONSE))
        elif self._timer is not None and self._request is not None:
            self._timer.cancel()
            self._arm(self._heard_at + self._request.body_timeout_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_spoilt = True
        if self._is_over:
            return
        if self._headers is None:
            self._fail(failure_of(exc) if exc is not None and not isinstance(exc, ConnectionError) else dropped())
        elif self._lasts_until_close and exc is None:
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
        if len(self._pairs) > MAX_HEADERS:
            self._end(Failed("too many headers", FailureKind.BAD_RESPONSE), keeps_connection=False)
        elif status == 101:
            self._end(Failed("switched to another protocol", FailureKind.BAD_RESPONSE), keeps_connection=False)
        elif self._request.method == "HEAD":
            self._give(b"", keeps_connection=False)  # the parser would wait for the body that the length announces
        elif status not in BODILESS:
            self._expect_body(headers, self._request.max_body_bytes if status < 300 else SMALL_BODY_BYTES)

    def _expect_body(self, headers: Headers, max_bytes: int) -> None:
        transfer = headers.get("transfer-encoding")
        length = headers.get("content-length") if transfer is None else None
        if length is not None and length.isdecimal():
            if int(length[:20]) > max_bytes:
                self._fail(too_large(max_bytes))
            return
        self._lasts_until_close = transfer is None or "chunked" not in transfer.lower()
        self._body = Body(headers.get("content-encoding", ""), max_bytes)

    def on_body(self, data: bytes) -> None:
        if self._is_over:
            return
        self._framing_bytes = 0
        self._wire_bytes += len(data)
        if self._body is None:
            self._pieces.append(data)
            return
        failed = self._body.feed(data)
        if failed is not None:
            self._fail(failed)

    def on_message_complete(self) -> None:
        if not self._is_over and self._headers is not None:
            self._finish(keeps_connection=self._parser.should_keep_alive())
