"""Fetching: one request through the SSRF guard, with limits on everything. The result is a value.

A request passes these steps: `guard` checks the address, a `Transport` sends the request, `bodies` decodes the body
within its size limit, `answer` interprets the status and resolves a Location, and `retry` turns the outcome into a
plan. All but the transports, the guard's DNS look-up and `pipeline` are pure.

Promises of this package:

- **No exception leaves a transport.** Every result is a `Response`, `Failed`, `Refused` or `Deferred`. `Deferred`:
  nothing was sent, or there was no memory for the body.
- **Nothing is sent too late.** The time is checked right before the first byte: a suspended process may have lost its
  permit to others.
- **Everything ends.** One deadline covers look-up, connection, headers and body; a decoded body has a maximum size.
- **Shared memory limit.** The bodies of all visits share one byte budget (`reservation`); a body without room waits.
- **Whole or not at all.** A truncated body is a failure, never a page. Only an oversized robots.txt or URL list
  is cut and used.
- **Only checked addresses are connected to**, for pages, redirects and robots.txt, and by tunnels through proxies. Only
  an http proxy asked for an http page resolves the checked name itself. No message contains an address.
- **Proxy credentials go to the proxy only.** No origin receives them, no message contains them. A host with proxies is
  never requested without one. A failure of a proxy has its own kind and does not count against the host.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, Protocol

from tenax.fetch.headers import Headers, Profile
from tenax.model import AddressClass, Deferred, Failed, Refused, TransportKind, Value

if TYPE_CHECKING:
    from tenax.fetch.body_budget import MemoryReservation  # readers do not load asyncio

REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})


class Request(Value, frozen=True):
    """One request. A redirect is returned as a response, and is not followed here."""

    url: str
    """Absolute and escaped, as written by the URL parser."""
    max_body_bytes: int
    """Maximum size of the decoded body. A longer body fails as too large, unless `may_truncate`."""
    total_timeout_seconds: float
    headers: tuple[tuple[str, str], ...] = ()
    """In addition to the transport's own headers."""
    headers_timeout_seconds: float = 3600.0
    """Maximum time from the end of the request to the response headers."""
    body_timeout_seconds: float = 3600.0
    """Maximum time without data while the body is received."""
    method: Literal["GET", "HEAD"] = "GET"
    verify_tls: bool = True
    """False: any certificate is accepted, and the response records it."""
    default_headers: tuple[tuple[str, str], ...] = ()
    """Replaces the transport's own headers for this site."""
    profile: Profile | None = None
    """Replaces the transport's TLS profile for this site."""
    connect_timeout_seconds: float | None = None
    """Replaces the transport's timeout for look-up and connection for this site."""
    settle_seconds: float | None = None
    """Replaces the browser's settle time for this site."""
    max_subrequests: int | None = None
    """Replaces the browser's limit of subrequests for this site."""
    may_truncate: bool = False
    """A body that is too large is cut at the limit. A decompression bomb still fails."""
    send_by: float = math.inf
    """Nothing is sent from this time on: the permit has expired."""
    reservation: MemoryReservation | None = None
    """The memory that the body may use; None: unlimited."""


class Response(Value, frozen=True):
    """A complete response."""

    url: str
    status: int
    headers: Headers
    body: bytes
    """The decoded body. For a status of 300 and above it may be empty, even if one was sent."""
    wire_bytes: int
    """Size of the body as sent."""
    started_at: float
    answered_at: float
    """When the headers arrived. The rate limit counts from this time."""
    finished_at: float
    protocol: str = "HTTP/1.1"
    transport: TransportKind = TransportKind.HTTP
    address_class: AddressClass = ""
    proxy: str = ""
    """Name of the proxy used."""
    is_unverified: bool = False
    """True when the certificate was not checked."""


class Transport(Protocol):
    """Sends requests, many at the same time."""

    async def get(self, request: Request) -> Response | Failed | Refused | Deferred:
        """Send the request and wait for the whole response, within its deadline. Deferred: nothing was sent."""

    async def close(self) -> None:
        """Close every connection."""


MAX_HEAD_BYTES: Final = 256 * 1024
"""Maximum size of the status line and headers together, and of the trailers.

Real sites send long policy headers, but none needs 200 headers of 64 KB.
"""
MAX_HEADERS: Final = 256
SMALL_BODY_BYTES: Final = 64 * 1024
"""The body of a redirect or an error is read up to this size, so that the connection can be kept. A larger body is
dropped."""
BODILESS_STATUSES: Final = frozenset({204, 304})
"""Responses without a body. A length that they announce is that of the page that was not sent."""
KEEP_ALIVE_SECONDS: Final = 10.0
"""How long an idle connection is kept: long enough for several requests at the usual rate, and short enough to need few
open files in a crawl of many hosts."""
TIMER_SLACK_SECONDS: Final = 0.01
"""Event loops call timers slightly early. Code that then reads a clock allows for this."""


__all__ = ["Request", "Response", "Transport"]
