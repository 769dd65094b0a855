"""An answer as libcurl hands it out, line by line and piece by piece: gathered within limits on everything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from tenax.fetch import Request
from tenax.fetch.bodies import Body, too_large
from tenax.fetch.body_intake import BodyIntake, room_of
from tenax.fetch.failures import cut_off
from tenax.fetch.framing import framing_of
from tenax.fetch.headers import Headers
from tenax.fetch.limits import BODILESS, MAX_HEAD_BYTES, MAX_HEADERS, SMALL_BODY_BYTES
from tenax.model import Deferred, Failed, FailureKind

STOP: Final = 0xFFFF_FFFF
"""CURL_WRITEFUNC_ERROR: what a receiver answers when it wants no more."""
PAUSE: Final = 0x1000_0001
"""CURL_WRITEFUNC_PAUSE: it wants the same again later, when libcurl is told to go on."""


class CurlAnswer:
    """The two receivers of a transfer, and what they have gathered. They never raise."""

    def __init__(self, request: Request, now: Callable[[], float], loop: asyncio.AbstractEventLoop) -> None:
        self._request = request
        self._now = now
        self._loop = loop
        self._tick = loop.time
        self.status = 0
        self.protocol = ""
        self.headers: Headers | None = None
        self.answered_at = 0.0
        self.heard_at = 0.0
        """In the loop's time."""
        self.wire_bytes = 0
        self.content = b""
        self._head_bytes = 0
        self._pairs: list[tuple[bytes, bytes]] = []
        self.waited_seconds = 0.0
        self.changed: asyncio.Future[None] = loop.create_future()
        """Done when the body begins to wait for room, and when it no longer does; then there is another."""
        self._body: BodyIntake | None = None
        self._failed: Failed | None = None
        self._deferred: Deferred | None = None

    # -- what libcurl tells ---------------------------------------------------------------------------------

    def on_header(self, line: bytes) -> int:
        """A line of a head: status, header or the empty one at its end. Those after the head are trailers."""
        if self.headers is not None:
            return len(line)
        self._head_bytes += len(line)
        if self._head_bytes > MAX_HEAD_BYTES:
            return self._refuse("the headers are too long")
        text = line.rstrip(b"\r\n")
        if not text:
            return self._end_of_head(len(line))
        if line.startswith(b"HTTP/"):
            self._begin(text)
        elif text[:1] in b" \t" and self._pairs:
            name, value = self._pairs[-1]
            self._pairs[-1] = (name, value + b" " + text.strip())
        else:
            name, _, value = text.partition(b":")
            self._pairs.append((name, value))
        return self._refuse("too many headers") if len(self._pairs) > MAX_HEADERS else len(line)

    def on_body(self, data: bytes) -> int:
        self.heard_at = self._tick()
        if self.is_waiting:
            return PAUSE
        self.wire_bytes += len(data)
        if self._body is None:
            return STOP
        self._failed = self._body.feed(data)
        if self._body.is_waiting:
            self._change()
        return STOP if self._failed is not None or self._body.is_full else len(data)

    # -- for the one who asked ------------------------------------------------------------------------------

    @property
    def has_begun(self) -> bool:
        """True when anything of a head has arrived."""
        return self._head_bytes > 0

    @property
    def is_waiting(self) -> bool:
        """Whether the body waits for room."""
        return self._body is not None and self._body.is_waiting

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more is wanted of it, though libcurl may not know yet."""
        return self._failed is not None or self._deferred is not None

    def whole(self) -> CurlAnswer | Failed | Deferred:
        """The answer, once libcurl said that all of it was here, and there was room for it."""
        content = self._body.finish() if self._body is not None and not self.is_stopped else b""
        if isinstance(content, Failed) or self.is_stopped:
            return self.after(content if isinstance(content, Failed) else cut_off())
        self.content = content
        return self

    def after(self, failed: Failed) -> CurlAnswer | Failed | Deferred:
        """No page comes of this. What was to be no page anyway, an error or a redirect, is complete without body."""
        if self._body is not None and self._body.is_full:
            return self.whole()  # we have ended it: the beginning is enough
        if self.headers is not None and self.status >= 300:
            return self
        failed = self._failed or failed
        return self._deferred or (self._body.judged(failed) if self._body is not None else failed)

    def arrived(self) -> None:
        """libcurl is done; only we still wait for room."""
        if self._body is not None:
            self._body.arrived()

    def close(self) -> None:
        if self._body is not None:
            self._body.close()

    # -- the head -------------------------------------------------------------------------------------------

    def _begin(self, status_line: bytes) -> None:
        protocol, _, rest = status_line.partition(b" ")
        self.protocol = protocol.decode("ascii", "replace")
        self.status = int(rest[:3]) if rest[:3].isdigit() else 0
        self._pairs = []

    def _end_of_head(self, taken: int) -> int:
        if 100 <= self.status < 200 and self.status != 101:
            return taken  # not the answer yet; these bytes still count towards the head's limit
        if self.status < 200:
            return self._refuse("switched to another protocol" if self.status == 101 else "not a proper HTTP answer")
        self.headers = headers = Headers(self._pairs)
        self.answered_at, self.heard_at = self._now(), self._tick()
        is_page = self.status < 300
        max_bytes = self._request.max_body_bytes if is_page else SMALL_BODY_BYTES
        takes_beginning = is_page and self._request.takes_beginning
        if self._request.method == "HEAD" or self.status in BODILESS:
            return taken
        framing = framing_of(headers)
        if isinstance(framing, Failed):
            self._failed = framing
            return STOP
        if framing.length is not None and framing.length > max_bytes and not takes_beginning:
            self._failed = too_large(max_bytes)
            return STOP
        body = Body(framing.content_coding, max_bytes, room_of(self._request), takes_beginning=takes_beginning)
        self._body = BodyIntake(body, self._request, self._now, self._on_room, self._on_no_room)
        return taken

    # -- room for the body ----------------------------------------------------------------------------------

    def _on_room(self, waited_seconds: float, failed: Failed | None) -> None:
        self.heard_at = self._tick()
        self.waited_seconds += waited_seconds
        self._failed = failed
        self._change()

    def _on_no_room(self, deferred: Deferred) -> None:
        self._deferred = deferred
        self._change()

    def _change(self) -> None:
        self.changed.set_result(None)
        self.changed = self._loop.create_future()

    def _refuse(self, why: str) -> int:
        self._failed = Failed(why, FailureKind.BAD_RESPONSE)
        return STOP
