"""The browser as a transport: each page in a Chromium without cookies, cache, or network access except the gate."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from tenax.clock import Clock
from tenax.config import BrowserConfig, FetchConfig
from tenax.fetch import Request, Response
from tenax.fetch.browser.chromium import BrowserError
from tenax.fetch.browser.gate import Denial, Endpoint, Gate, GateSession
from tenax.fetch.browser.rendering import PageRenderer, RenderedPage, RenderLimits
from tenax.fetch.browser.sessions import BrowserSessions, Session
from tenax.fetch.browser.upstream import Upstream
from tenax.fetch.failures import failure_from_error, late_deferral, total_timeout_failure
from tenax.fetch.guard import Guard, Origin, parse_target
from tenax.fetch.headers import Headers, default_headers, parse_framing
from tenax.fetch.proxies import ProxyPools
from tenax.model import Failed, FailureKind, Refused, TransportKind

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Page

WIRE_FACTOR = 4
"""Maximum bytes on the wire for a page with its scripts and styles, as a multiple of the maximum body size."""
WAITING_SHARE = 0.25
"""Maximum share of a request's time spent waiting for a free page."""

# These headers describe the body on the wire. The returned body differs.
_WIRE_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive"})
# The name under which a plain client imitates a browser. Chromium need not imitate one.
_BROWSER_USER_AGENT = dict(default_headers(FetchConfig(profile="browser")))["User-Agent"]
# The page did not arrive, or not completely. Either the host or the proxy is at fault. Several in a row count against
# the proxy.
_TRANSFER_FAILURES = frozenset({FailureKind.RESET, FailureKind.TRUNCATED, FailureKind.TIMEOUT_CONNECT})


class BrowserTransport:
    """A `Transport` that renders pages. Requests use GET. Of the headers of the request, only the User-Agent is sent.

    It follows navigation within the page's origin, as scripts and cookies require. The response's `url` is the URL
    where this ended. Navigation to another origin is a redirect, also by a script or a meta refresh.
    """

    def __init__(
        self,
        browser: BrowserConfig,
        fetch: FetchConfig,
        guard: Guard,
        clock: Clock,
        pools: ProxyPools | None = None,
    ) -> None:
        """Guard and pools are shared, and are not closed here. Chromium starts with the first request."""
        self._default_headers = default_headers(fetch)  # invalid text is an error of the config and is reported now
        self._browser = browser
        self._fetch = fetch
        self._guard = guard
        self._clock = clock
        self._upstream = Upstream(guard, clock, pools)
        self._gate = Gate(self._upstream)
        self._sessions: BrowserSessions | None = None
        self._open_lock = asyncio.Lock()

    async def get(self, request: Request) -> Response | Denial:
        target = parse_target(request.url)
        if target is None:
            return Refused("guard: not a plain http or https URL")
        origin = target.origin
        deadline = asyncio.get_running_loop().time() + request.total_timeout_seconds
        checked = await self._guard.check(origin, self._connect_seconds(request))
        if not isinstance(checked, tuple):
            return checked
        wait = self._upstream.banned_deferral(origin.host)
        if wait is not None:
            return wait
        try:
            sessions = await self._open_sessions()
        except OSError as error:
            return _gate_failure(error)
        session = await sessions.acquire(request.total_timeout_seconds * WAITING_SHARE)
        if not isinstance(session, Session):
            return session
        started_at = self._clock.now()  # waiting for a browser does not count as the site's time
        passage = self._open_gate_session(request, origin, deadline)
        page = _PageContext(session, passage, self._gate.url)
        try:
            if passage.is_expired:
                return late_deferral(started_at)
            rendered = await self._await_page(session, self._render(page, request, deadline))
        except BrowserError as error:
            return sessions.fail_session(session, error, request.url)
        finally:
            self._gate.close_session(passage)
            sessions.release(session, request.url, page.close())
        return self._finish(rendered, request, passage, origin, started_at)

    async def close(self) -> None:
        if self._sessions is not None:
            await self._sessions.close()
        await self._gate.close()

    async def _open_sessions(self) -> BrowserSessions:
        async with self._open_lock:
            if self._sessions is None:
                await self._gate.open()
                self._sessions = BrowserSessions(self._browser, self._gate.url, self._clock)
        return self._sessions

    def _connect_seconds(self, request: Request) -> float:
        """Timeout for a look-up, and for a connection."""
        return min(
            request.connect_timeout_seconds or self._fetch.connect_timeout_seconds, request.total_timeout_seconds
        )

    def _max_requests(self, request: Request) -> int:
        return request.max_subrequests or self._browser.max_requests_per_page

    def _open_gate_session(self, request: Request, origin: Origin, deadline: float) -> GateSession:
        # A plain http request needs its own connection: the page, its redirects, and its subrequests.
        connections = 1 + self._fetch.max_redirects + self._max_requests(request)
        max_bytes = request.max_body_bytes * WIRE_FACTOR
        send_by = asyncio.get_running_loop().time() + request.send_by - self._clock.now()
        timeout = self._connect_seconds(request)
        session = GateSession(origin.host, max_bytes, connections, timeout, min(deadline, send_by))
        return self._gate.open_session(session)

    async def _await_page(
        self, session: Session, rendering: Coroutine[Any, Any, RenderedPage | Denial]
    ) -> RenderedPage | Denial:
        """Wait for the page, or for the failure of its browser, which Playwright does not report."""
        work = asyncio.ensure_future(rendering)
        waiting: set[asyncio.Future[Any]] = {work, session.failure}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise session.failure.result()
            return work.result()
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _render(self, page: _PageContext, request: Request, deadline: float) -> RenderedPage | Denial:
        from playwright.async_api import Error

        chromium, settle = page.session.chromium, request.settle_seconds
        rendering = None
        try:
            async with asyncio.timeout_at(deadline):
                tab, control = await page.open(request, self._user_agent(request))
                rendering = PageRenderer(
                    tab,
                    control,
                    request,
                    page.gate_session,
                    self._guard,
                    limits=RenderLimits(
                        self._browser.settle_seconds if settle is None else settle,
                        max_navigations=self._fetch.max_redirects,
                        max_requests=self._max_requests(request),
                    ),
                    now=self._clock.now,
                )
                outcome = await rendering.run(deadline)
        except TimeoutError:
            if rendering is None:
                raise BrowserError("Chromium opens no page in time") from None
            return total_timeout_failure(request.total_timeout_seconds)
        except Error as error:
            await chromium.processes()
            raise BrowserError(f"Chromium opens no page: {error.message.partition(chr(10))[0][:120]}") from None
        if isinstance(outcome, Failed):
            await chromium.processes()  # if all of Chromium has ended, the page is not to blame
        return outcome

    def _user_agent(self, request: Request) -> str:
        """Our User-Agent. Empty for the browser profile: Chromium sends its own."""
        name = dict(request.default_headers or self._default_headers)["User-Agent"]
        return "" if name == _BROWSER_USER_AGENT else name

    def _finish(
        self,
        rendered: RenderedPage | Denial,
        request: Request,
        gate_session: GateSession,
        origin: Origin,
        started_at: float,
    ) -> Response | Denial:
        """The result of the page, after it was recorded for its proxy."""
        reached = gate_session.endpoint(origin)
        proxy = reached.proxy if reached is not None else None
        if isinstance(rendered, RenderedPage):
            if proxy is not None:
                self._upstream.record_response(proxy, origin.host, rendered.status)
            return self._build_response(rendered, request, gate_session, origin, started_at)
        if proxy is None or not isinstance(rendered, Failed):
            return rendered
        is_silent = rendered.kind is FailureKind.TIMEOUT_TOTAL and gate_session.received_bytes == 0
        if is_silent or rendered.kind in _TRANSFER_FAILURES:
            self._upstream.record_failure(proxy, origin.host, origin.host, rendered.why)
        return msgspec.structs.replace(rendered, why=f"{rendered.why}, through proxy {proxy.name}")

    def _build_response(
        self, rendered: RenderedPage, request: Request, gate_session: GateSession, origin: Origin, started_at: float
    ) -> Response | Failed:
        reached = gate_session.endpoint(origin) or Endpoint("", None)
        # Chromium passes on the chunks of a body that it does not recognize as chunked.
        framing = parse_framing(_encode_headers(rendered.headers))
        if isinstance(framing, Failed) and rendered.status < 300:
            return framing
        headers = [pair for pair in rendered.headers if pair[0].lower() not in _WIRE_HEADERS]
        if rendered.is_rendered:
            headers = [pair for pair in headers if pair[0].lower() != "content-type"]
            headers.append(("Content-Type", "text/html; charset=utf-8"))
        return Response(
            url=rendered.url,
            status=rendered.status,
            headers=_encode_headers(headers),
            body=rendered.body,
            wire_bytes=gate_session.received_bytes,
            started_at=started_at,
            answered_at=rendered.answered_at,
            finished_at=self._clock.now(),
            protocol=rendered.protocol,
            transport=TransportKind.BROWSER,
            address_class=self._guard.classify_address(origin, reached.address),
            proxy=reached.proxy.name if reached.proxy is not None else "",
            is_unverified=not request.verify_tls and origin.scheme == "https",
        )


class _PageContext:
    """A Chromium context without state from earlier pages."""

    def __init__(self, session: Session, gate_session: GateSession, gate_url: str) -> None:
        self.session = session
        self.gate_session = gate_session
        self._gate_url = gate_url
        self._context: BrowserContext | None = None

    async def open(self, request: Request, user_agent: str) -> tuple[Page, CDPSession]:
        """An empty page, and its DevTools session."""
        chromium = self.session.chromium
        self._context = context = await chromium.browser.new_context(
            proxy={"server": self._gate_url, "bypass": "<-loopback>"},
            user_agent=user_agent or await chromium.user_agent(),
            accept_downloads=False,
            service_workers="block",
            ignore_https_errors=not request.verify_tls,
        )
        page = await context.new_page()
        return page, await context.new_cdp_session(page)

    async def close(self) -> None:
        from playwright.async_api import Error

        if self._context is not None:
            with suppress(Error):
                await self._context.close()


def _encode_headers(pairs: Iterable[tuple[str, str]]) -> Headers:
    return Headers((name.encode("utf-8", "replace"), value.encode("utf-8", "replace")) for name, value in pairs)


def _gate_failure(error: OSError) -> Failed:
    return Failed(f"browser: no gate: {failure_from_error(error).why}", FailureKind.INTERNAL, is_site_wide=True)


__all__ = ["BrowserTransport"]
