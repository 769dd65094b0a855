"""Fetching: one request, through the guard, with limits on everything; what came back, as a value.

The way of a request: `guard` checks the address it would connect to, a `Transport` carries it, `bodies` decodes what
arrives within the size it may have, `classify` reads the status, `redirects` says where a Location leads, and
`retry` turns the outcome into a plan. All but the transport, the guard's name look-up and `pipeline` are pure.

What this room promises:

- **No exception leaves a transport.** Whatever the other side does becomes a `Response`, a `Failed` or a `Refused`.
- **Everything ends.** One deadline covers look-up, connection, headers and body; a body stops at its cap, decoded.
- **Whole or not at all.** A body cut short is a failure, never a page.
- **Only checked addresses are connected to**, for pages, redirects and robots.txt alike. No text names one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tenax.model import Failed, FetchRecord, Refused, Value


class Request(Value, frozen=True):
    """One GET. Redirects are answers here, not followed."""

    url: str
    """Absolute and escaped, as the URL parser writes it."""
    max_body_bytes: int
    """Of the decoded body; a longer one fails as too large."""
    total_timeout_seconds: float
    headers: tuple[tuple[str, str], ...] = ()
    """Besides the ones every request of the transport carries."""


class Response(Value, frozen=True):
    """An answer that came whole."""

    url: str
    status: int
    headers: Mapping[str, str]
    """Looked up without regard to case; the first of several with one name."""
    body: bytes
    """Decoded. For a status of 300 and above it may be empty though one was sent."""
    wire_bytes: int
    """Of the body as it was sent."""
    started_at: float
    answered_at: float
    """When the headers were here: politeness counts from this time."""
    finished_at: float

    @property
    def is_redirect(self) -> bool:
        return self.status in (301, 302, 303, 307, 308)

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "")

    @property
    def ttfb_seconds(self) -> float:
        return self.answered_at - self.started_at

    @property
    def total_seconds(self) -> float:
        return self.finished_at - self.started_at

    @property
    def record(self) -> FetchRecord:
        """The measurements, to be kept with the visit."""
        return FetchRecord(
            status=self.status,
            content_type=self.headers.get("Content-Type"),
            wire_bytes=self.wire_bytes,
            body_bytes=len(self.body),
            ttfb_seconds=self.ttfb_seconds,
            total_seconds=self.total_seconds,
        )


class Transport(Protocol):
    """Carries requests. Used by many visits at once."""

    async def get(self, request: Request) -> Response | Failed | Refused:
        """Send it and wait for the whole answer, within the request's deadline."""

    async def close(self) -> None:
        """Let go of every connection."""


__all__ = ["Request", "Response", "Transport"]
