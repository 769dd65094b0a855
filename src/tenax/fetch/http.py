"""HTTP/1.1 by aiohttp: one session for all visits, its connections made through the guard."""

from __future__ import annotations

import asyncio
import re
from weakref import WeakSet

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from yarl import URL

from tenax.clock import Clock
from tenax.config import FetchConfig
from tenax.fetch import Request, Response
from tenax.fetch.bodies import Body, decoded, too_large
from tenax.fetch.guard import Guard
from tenax.fetch.headers import honest_headers
from tenax.fetch.http_errors import DroppedWithoutAnswer, connect_timeout, cut_off, failure_of, total_timeout
from tenax.model import Failed, FailureKind, Refused

MAX_STATUS_LINE_BYTES = 16 * 1024
MAX_HEADER_BYTES = 64 * 1024
"""Of one header. Policies of real sites are long; 200 of these are not taken."""
MAX_HEADERS = 256
KEEP_ALIVE_SECONDS = 10.0
"""How long an idle connection is kept: some turns of a host at the usual pace, few enough files for a broad crawl."""
SMALL_BODY_BYTES = 64 * 1024
"""The body of a redirect or an error is read up to this size, to keep the connection; a larger one is not awaited."""

# The parser of URLs has been here before us. This only makes sure that no reading but one is possible: no userinfo,
# no backslash, no blank, nothing that a second parser could take for the end of the host.
_PLAIN_URL = re.compile(r"https?://(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:[/?][\x21-\x7e]*)?")


class HttpTransport:
    """A `Transport` with pooled connections and no memory: no cookies, no cache, no redirects of its own."""

    def __init__(self, fetch: FetchConfig, guard: Guard, clock: Clock) -> None:
        """Must be made while the event loop runs. The guard is the transport's from here on, and closed with it."""
        self._guard = guard
        self._clock = clock
        self._connect_timeout_seconds = fetch.connect_timeout_seconds
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=guard,
                use_dns_cache=False,  # the guard has its own, and what it says must hold
                limit=0,  # the ledger decides how much is in flight
                keepalive_timeout=KEEP_ALIVE_SECONDS,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=dict(honest_headers(fetch)),
            timeout=aiohttp.ClientTimeout(total=None, connect=fetch.connect_timeout_seconds),
            auto_decompress=False,
            max_line_size=MAX_STATUS_LINE_BYTES,
            max_field_size=MAX_HEADER_BYTES,
            max_headers=MAX_HEADERS,
            response_class=_Answer,
        )

    async def get(self, request: Request) -> Response | Failed | Refused:
        if _PLAIN_URL.fullmatch(request.url) is None:
            return Refused("guard: not a plain http or https URL")
        started_at = self._clock.now()
        try:
            async with asyncio.timeout(request.total_timeout_seconds):
                # What the URL parser wrote is sent as it stands; `encoded` keeps yarl from spelling it anew.
                url = URL(request.url, encoded=True)
                refusal = await self._guard.check(url, self._connect_timeout_seconds)
                if refusal is not None:
                    return refusal
                answer = await self._answer(url, request)
                answered_at = self._clock.now()
                body, wire_bytes = await _body(answer, request.max_body_bytes)
        except TimeoutError as error:
            if isinstance(error, aiohttp.ServerTimeoutError):
                return connect_timeout(self._connect_timeout_seconds)
            return total_timeout(request.total_timeout_seconds)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return failure_of(error)
        if isinstance(body, Failed):
            return body
        return Response(
            request.url, answer.status, answer.headers, body, wire_bytes, started_at, answered_at, self._clock.now()
        )

    async def close(self) -> None:
        await self._session.close()
        await self._guard.close()

    async def _answer(self, url: URL, request: Request) -> aiohttp.ClientResponse:
        headers = request.headers or None
        try:
            return await self._session.get(url, headers=headers, allow_redirects=False)
        except aiohttp.ClientConnectionResetError:
            # The idle connection was closed under our hands, before the request was out.
            return await self._session.get(url, headers=headers, allow_redirects=False)


class _Answer(aiohttp.ClientResponse):
    """Knows how its connection began and ended.

    aiohttp sends a GET again when the connection breaks before the answer. That is right for an idle connection which
    the peer had closed meanwhile, and impolite for a new one: there the request has been seen and not answered.
    """

    _used: WeakSet[ResponseHandler] = WeakSet()
    _carrier: ResponseHandler | None = None

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        protocol = self._carrier = connection.protocol
        if protocol is None or protocol in self._used:
            return await super().start(connection)
        self._used.add(protocol)
        try:
            return await super().start(connection)
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            raise DroppedWithoutAnswer from error

    @property
    def was_cut_off(self) -> bool:
        """True when the connection ended by an error: for a body that lasts until the end, too early."""
        return self._carrier is not None and isinstance(self._carrier.exception(), aiohttp.ClientOSError)


async def _body(answer: aiohttp.ClientResponse, max_bytes: int) -> tuple[bytes | Failed, int]:
    """The decoded body and its size on the wire. What belongs to no page is read only if that is cheap."""
    if answer.status == 101:
        answer.close()
        return Failed("switched to another protocol", FailureKind.BAD_RESPONSE), 0
    is_page = answer.status < 300
    length = answer.content_length if "Transfer-Encoding" not in answer.headers else None
    try:
        if length is not None and length > (max_bytes if is_page else SMALL_BODY_BYTES):
            answer.close()
            return too_large(max_bytes) if is_page else b"", 0
        if length is not None:
            raw = await answer.read()
            body, wire_bytes = decoded(raw, answer.headers.get("Content-Encoding", ""), max_bytes), len(raw)
        else:
            body, wire_bytes = await _streamed(answer, max_bytes if is_page else SMALL_BODY_BYTES)
    except aiohttp.ClientError as error:
        answer.close()
        body, wire_bytes = failure_of(error), 0
    return (b"" if isinstance(body, Failed) and not is_page else body), wire_bytes


async def _streamed(answer: aiohttp.ClientResponse, max_bytes: int) -> tuple[bytes | Failed, int]:
    body = Body(answer.headers.get("Content-Encoding", ""), max_bytes)
    wire_bytes = 0
    try:
        async for chunk in answer.content.iter_any():
            wire_bytes += len(chunk)
            failed = body.feed(chunk)
            if failed is not None:
                answer.close()
                return failed, wire_bytes
    except asyncio.CancelledError:
        answer.close()
        raise
    if isinstance(answer, _Answer) and answer.was_cut_off:
        return cut_off(), wire_bytes
    return body.finish(), wire_bytes
