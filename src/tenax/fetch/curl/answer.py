"""An answer as libcurl hands it out, line by line and piece by piece: gathered within limits on everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tenax.fetch import Request
from tenax.fetch.bodies import Body, too_large
from tenax.fetch.headers import Headers
from tenax.fetch.limits import BODILESS, MAX_HEAD_BYTES, MAX_HEADERS, SMALL_BODY_BYTES
from tenax.model import Failed, FailureKind

STOP: Final = 0xFFFF_FFFF
"""CURL_WRITEFUNC_ERROR: what a receiver answers when it wants no more."""


class CurlAnswer:
    """The two receivers of a transfer, and what they have gathered. They never raise."""

    def __init__(self, request: Request, now: Callable[[], float], tick: Callable[[], float]) -> None:
        self._request = request
        self._now = now
        self._tick = tick
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
        self._body: Body | None = None
        self._failed: Failed | None = None

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
        self.wire_bytes += len(data)
        if self._body is None:
            return STOP
        self._failed = self._body.feed(data)
        return STOP if self._failed is not None else len(data)

    # -- for the one who asked ------------------------------------------------------------------------------

    @property
    def has_begun(self) -> bool:
        """True when anything of a head has arrived."""
        return self._head_bytes > 0

    def whole(self) -> CurlAnswer | Failed:
        """The answer, once libcurl said that all of it was here."""
        content = self._body.finish() if self._body is not None else b""
        if isinstance(content, Failed):
            return self.after(content)
        self.content = content
        return self

    def after(self, failed: Failed) -> CurlAnswer | Failed:
        """No page comes of this. What was to be no page anyway, an error or a redirect, is complete without body."""
        if self._failed is not None:
            failed = self._failed
        return self if self.headers is not None and self.status >= 300 else failed

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
        max_bytes = self._request.max_body_bytes if self.status < 300 else SMALL_BODY_BYTES
        length = headers.get("content-length", "")
        if self._request.method == "HEAD" or self.status in BODILESS:
            return taken
        if length.isdecimal() and int(length[:20]) > max_bytes and "transfer-encoding" not in headers:
            self._failed = too_large(max_bytes)
            return STOP
        self._body = Body(headers.get("content-encoding", ""), max_bytes)
        return taken

    def _refuse(self, why: str) -> int:
        self._failed = Failed(why, FailureKind.BAD_RESPONSE)
        return STOP
