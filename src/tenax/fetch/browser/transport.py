"""The browser as a transport: each page in a Chromium that has no cookies, no cache, and no way out but the gate."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from tenax.clock import Clock
from tenax.config import BrowserConfig, FetchConfig
from tenax.fetch import Request, Response
from tenax.fetch.browser.chromium import BrowserBroke
from tenax.fetch.browser.gate import Gate
from tenax.fetch.browser.passage import Denial, Passage, Reached
from tenax.fetch.browser.rendering import Rendered, Rendering
from tenax.fetch.browser.sessions import Session, Sessions
from tenax.fetch.browser.upstream import Upstream
from tenax.fetch.failures import failure_of, too_late, total_timeout
from tenax.fetch.framing import framing_of
from tenax.fetch.guard import Guard
from tenax.fetch.headers import Headers, standing_headers
from tenax.fetch.proxies import ProxyPools
from tenax.fetch.target import Origin, target_of
from tenax.model import Failed, FailureKind, Refused, Way

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Page

WIRE_FACTOR = 4
"""All that a page brings over the wire, scripts and styles too, may be this many times the largest body."""
WAITING_SHARE = 0.25
"""Of a request's time: waiting for a free page takes no more of it."""

# They speak of the body on the wire; what we hand on is another.
_OF_THE_WIRE = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive"})
# Under this name a plain client plays the browser; Chromium need not play.
_STOCK_BROWSER = dict(standing_headers(FetchConfig(profile="browser")))["User-Agent"]
# The page did not come through, or not all of it: the host's fault or the proxy's. Some in a row are the proxy's.
_NOT_THROUGH = frozenset({FailureKind.RESET, FailureKind.TRUNCATED, FailureKind.TIMEOUT_CONNECT})


class BrowserTransport:
    """A `Transport` that renders. A page is asked for with GET; of the request's headers only our name is sent.

    It follows the page within its origin, as scripts and cookies want it, and the `url` of the answer is where that
    ended. A page that leads to another origin is a redirect, also where a script or a meta refresh does it.
    """

    def __init__(
        self,
        browser: BrowserConfig,
        fetch: FetchConfig,
        guard: Guard,
        clock: Clock,
        pools: ProxyPools | None = None,
    ) -> None:
        """Guard and pools are shared, and not closed here. Chromium starts with the first request."""
        self._standing = standing_headers(fetch)  # a text that cannot be sent is the config's fault, and known now
        self._browser = browser
        self._fetch = fetch
        self._guard = guard
        self._clock = clock
        self._upstream = Upstream(guard, clock, pools)
        self._gate = Gate(self._upstream)
        self._sessions: Sessions | None = None
        self._opening = asyncio.Lock()

    async def get(self, request: Request) -> Response | Denial:
        target = target_of(request.url)
        if target is None:
            return Refused("guard: not a plain http or https URL")
        origin = target.origin
        deadline = asyncio.get_running_loop().time() + request.total_timeout_seconds
        checked = await self._guard.check(origin, self._patience(request))
        if not isinstance(checked, tuple):
            return checked
        wait = self._upstream.wait(origin.host)
        if wait is not None:
            return wait
        try:
            sessions = await self._opened()
        except OSError as error:
            return _no_gate(error)
        session = await sessions.take(request.total_timeout_seconds * WAITING_SHARE)
        if not isinstance(session, Session):
            return session
        started_at = self._clock.now()  # waiting for us is no time of the site's
        passage = self._admitted(request, origin, deadline)
        page = _Page(session, passage, self._gate.url)
        try:
            if passage.is_over:
                return too_late(started_at)
            rendered = await self._or_broken(session, self._rendered(page, request, deadline))
        except BrowserBroke as error:
            return sessions.broke(session, error, request.url)
        finally:
            self._gate.dismiss(passage)
            sessions.give_back(session, request.url, page.close())
        return self._judged(rendered, request, passage, origin, started_at)

    async def close(self) -> None:
        if self._sessions is not None:
            await self._sessions.close()
        await self._gate.close()

    async def _opened(self) -> Sessions:
        async with self._opening:
            if self._sessions is None:
                await self._gate.open()
                self._sessions = Sessions(self._browser, self._gate.url, self._clock)
        return self._sessions

    def _patience(self, request: Request) -> float:
        """Seconds for a look-up, and for a connection."""
        return min(
            request.connect_timeout_seconds or self._fetch.connect_timeout_seconds, request.total_timeout_seconds
        )

    def _max_requests(self, request: Request) -> int:
        return request.max_subrequests or self._browser.max_requests_per_page

    def _admitted(self, request: Request, origin: Origin, deadline: float) -> Passage:
        # A plain http request has a connection of its own: the page, where it leads, and all that it asks for.
        connections = 1 + self._fetch.max_redirects + self._max_requests(request)
        max_bytes = request.max_body_bytes * WIRE_FACTOR
        send_by = asyncio.get_running_loop().time() + request.send_by - self._clock.now()
        return self._gate.admit(origin.host, max_bytes, connections, self._patience(request), min(deadline, send_by))

    async def _or_broken(
        self, session: Session, rendering: Coroutine[Any, Any, Rendered | Denial]
    ) -> Rendered | Denial:
        """A browser that is gone tells nobody: who waits for a page of it is told here."""
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

    async def _rendered(self, page: _Page, request: Request, deadline: float) -> Rendered | Denial:
        from playwright.async_api import Error

        chromium, settle = page.session.chromium, request.settle_seconds
        rendering = None
        try:
            async with asyncio.timeout_at(deadline):
                tab, control = await page.open(request, self._name(request))
                rendering = Rendering(
                    tab,
                    control,
                    request,
                    page.passage,
                    self._guard,
                    settle_seconds=self._browser.settle_seconds if settle is None else settle,
                    max_navigations=self._fetch.max_redirects,
                    max_requests=self._max_requests(request),
                    now=self._clock.now,
                )
                outcome = await rendering.run(deadline)
        except TimeoutError:
            if rendering is None:
                raise BrowserBroke("Chromium opens no page in time") from None
            return total_timeout(request.total_timeout_seconds)
        except Error as error:
            await chromium.processes()
            raise BrowserBroke(f"Chromium opens no page: {error.message.partition(chr(10))[0][:120]}") from None
        if isinstance(outcome, Failed):
            await chromium.processes()  # when all of Chromium is gone, the page is not to blame
        return outcome

    def _name(self, request: Request) -> str:
        """Who we say we are. Empty: who would say it is a browser can leave that to Chromium."""
        name = dict(request.standing or self._standing)["User-Agent"]
        return "" if name == _STOCK_BROWSER else name

    def _judged(
        self, rendered: Rendered | Denial, request: Request, passage: Passage, origin: Origin, started_at: float
    ) -> Response | Denial:
        """What came of the page, after its proxy has been given its due."""
        reached = passage.reached(origin)
        proxy = reached.proxy if reached is not None else None
        if isinstance(rendered, Rendered):
            if proxy is not None:
                self._upstream.answered(proxy, origin.host, rendered.status)
            return self._response(rendered, request, passage, origin, started_at)
        if proxy is None or not isinstance(rendered, Failed):
            return rendered
        is_silent = rendered.kind is FailureKind.TIMEOUT_TOTAL and passage.received_bytes == 0
        if is_silent or rendered.kind in _NOT_THROUGH:
            self._upstream.failed(proxy, origin.host, origin.host, rendered.why)
        return msgspec.structs.replace(rendered, why=f"{rendered.why}, through proxy {proxy.name}")

    def _response(
        self, rendered: Rendered, request: Request, passage: Passage, origin: Origin, started_at: float
    ) -> Response | Failed:
        reached = passage.reached(origin) or Reached("", None)
        # Chromium shows the chunks of a body that it does not take for chunked.
        framing = framing_of(_headers(rendered.headers))
        if isinstance(framing, Failed) and rendered.status < 300:
            return framing
        headers = [pair for pair in rendered.headers if pair[0].lower() not in _OF_THE_WIRE]
        if rendered.is_rendered:
            headers = [pair for pair in headers if pair[0].lower() != "content-type"]
            headers.append(("Content-Type", "text/html; charset=utf-8"))
        return Response(
            url=rendered.url,
            status=rendered.status,
            headers=_headers(headers),
            body=rendered.body,
            wire_bytes=passage.received_bytes,
            started_at=started_at,
            answered_at=rendered.answered_at,
            finished_at=self._clock.now(),
            protocol=rendered.protocol,
            way=Way.BROWSER,
            address_class=self._guard.class_of(origin, reached.address),
            proxy=reached.proxy.name if reached.proxy is not None else "",
            is_unverified=not request.verify_tls and origin.scheme == "https",
        )


class _Page:
    """A place in a Chromium that nothing from earlier pages is in."""

    def __init__(self, session: Session, passage: Passage, gate_url: str) -> None:
        self.session = session
        self.passage = passage
        self._gate_url = gate_url
        self._context: BrowserContext | None = None

    async def open(self, request: Request, user_agent: str) -> tuple[Page, CDPSession]:
        """An empty page, and the means to watch it."""
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


def _headers(pairs: Iterable[tuple[str, str]]) -> Headers:
    return Headers((name.encode("utf-8", "replace"), value.encode("utf-8", "replace")) for name, value in pairs)


def _no_gate(error: OSError) -> Failed:
    return Failed(f"browser: no gate: {failure_of(error).why}", FailureKind.INTERNAL, is_site_wide=True)


__all__ = ["BrowserTransport"]
