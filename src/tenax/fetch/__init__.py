"""Fetching: one request, through the guard, with limits on everything; what came back, as a value.

The way of a request: `guard` checks the address it would connect to, a `Transport` carries it, `bodies` decodes what
arrives within the size it may have, `classify` reads the status, `redirects` says where a Location leads, and
`retry` turns the outcome into a plan. All but the transport, the guard's name look-up and `pipeline` are pure.

What this room promises:

- **No exception leaves a transport.** Whatever the other side does becomes a `Response`, a `Failed` or a `Refused`;
  a `Deferred` says that now is not the time: nothing was sent, or there was no memory for the answer.
- **Nothing is sent too late.** Right before the first byte the time is looked at once more: a process that was put to
  sleep in between may have lost its turn to others.
- **Everything ends.** One deadline covers look-up, connection, headers and body; a body stops at its cap, decoded.
- **Bounded together.** The bodies of all visits share one budget of bytes (`reservation`); one that finds no room waits.
- **Whole or not at all.** A body cut short is a failure, never a page. Only of a robots.txt or a list of URLs that is
  larger than it may be the beginning is taken.
- **Only checked addresses are connected to**, for pages, redirects and robots.txt alike, and by tunnels through
  proxies. Only an http proxy that is asked for an http page looks the checked name up by itself. No text names one.
- **A proxy's secrets are for the proxy.** No origin hears them, no text shows them. A host with proxies is never
  asked without one. What a proxy fails at is a failure of its own kind, and not the host's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, Protocol

from tenax.fetch.headers import Headers, Profile
from tenax.model import AddressClass, Deferred, Failed, FetchRecord, Refused, TransportKind, Value

if TYPE_CHECKING:
    from tenax.fetch.body_budget import MemoryReservation  # readers do without asyncio

MAX_CONTENT_TYPE_CHARS: Final = 1000
"""Kept of a Content-Type, as of any other header."""


class Request(Value, frozen=True):
    """One request. Redirects are answers here, not followed."""

    url: str
    """Absolute and escaped, as the URL parser writes it."""
    max_body_bytes: int
    """Of the decoded body; a longer one fails as too large, unless its beginning is enough."""
    total_timeout_seconds: float
    headers: tuple[tuple[str, str], ...] = ()
    """Besides the ones every request of the transport carries."""
    headers_timeout_seconds: float = 3600.0
    """From the request sent to its answer's headers."""
    body_timeout_seconds: float = 3600.0
    """The longest silence within a body."""
    method: Literal["GET", "HEAD"] = "GET"
    verify_tls: bool = True
    """False: any certificate will do, and the answer says so."""
    default_headers: tuple[tuple[str, str], ...] = ()
    """Headers of this site instead of those that every request of the transport carries."""
    profile: Profile | None = None
    """Whose handshake goes with them, of this site instead of the transport's."""
    connect_timeout_seconds: float | None = None
    """For look-up and connection, of this site instead of the transport's."""
    settle_seconds: float | None = None
    """How long a rendered page may go on changing, of this site instead of the browser's."""
    max_subrequests: int | None = None
    """What a rendered page may ask for besides itself, of this site instead of the browser's."""
    may_truncate: bool = False
    """Of a body that is too large, as much as it may have is taken. A bomb fails all the same."""
    send_by: float = math.inf
    """Nothing is sent from this time on: the host may be somebody else's by then."""
    reservation: MemoryReservation | None = None
    """The memory that its body may take; None: as much as it likes."""


class Response(Value, frozen=True):
    """An answer that came whole."""

    url: str
    status: int
    headers: Headers
    body: bytes
    """Decoded. For a status of 300 and above it may be empty though one was sent."""
    wire_bytes: int
    """Of the body as it was sent."""
    started_at: float
    answered_at: float
    """When the headers were here: politeness counts from this time."""
    finished_at: float
    protocol: str = "HTTP/1.1"
    transport: TransportKind = TransportKind.HTTP
    address_class: AddressClass = ""
    proxy: str = ""
    """The name of the proxy that it came through."""
    is_unverified: bool = False
    """True when the certificate was not checked."""

    @property
    def is_redirect(self) -> bool:
        return self.status in (301, 302, 303, 307, 308)

    @property
    def content_type(self) -> str:
        """As sent, its first characters; bytes that are no text are replaced, for this is stored."""
        text = self.headers.get("Content-Type", "")[:MAX_CONTENT_TYPE_CHARS]
        return text if text.isascii() else text.encode("utf-8", "replace").decode()

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
            content_type=self.content_type or None,
            wire_bytes=self.wire_bytes,
            body_bytes=len(self.body),
            ttfb_seconds=self.ttfb_seconds,
            total_seconds=self.total_seconds,
            protocol=self.protocol,
            transport=self.transport,
            address_class=self.address_class,
            proxy=self.proxy,
            is_unverified=self.is_unverified,
        )


class Transport(Protocol):
    """Carries requests. Used by many visits at once."""

    async def get(self, request: Request) -> Response | Failed | Refused | Deferred:
        """Send it and wait for the whole answer, within the request's deadline. Deferred: nothing was sent."""

    async def close(self) -> None:
        """Let go of every connection."""


__all__ = ["Request", "Response", "Transport"]
