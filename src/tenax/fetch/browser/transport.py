"""The browser as a transport: each page in a Chromium that has no cookies, no cache, and no way out but the gate."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tenax.clock import Clock
from tenax.config import BrowserConfig, FetchConfig
from tenax.fetch import Request, Response
from tenax.fetch.browser.chromium import BrowserBroke
from tenax.fetch.browser.gate import Gate, Passage
from tenax.fetch.browser.rendering import Rendered, Rendering
from tenax.fetch.browser.sessions import Session, Sessions
from tenax.fetch.failures import total_timeout
from tenax.fetch.guard import Guard
from tenax.fetch.headers import Headers, standing_headers, user_agent
from tenax.fetch.target import Origin, target_of
from tenax.model import Deferred, Failed, Refused, Way

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

WIRE_FACTOR = 4
"""All that a page brings over the wire, scripts and styles too, may be this many times the largest body."""
WAITING_SHARE = 0.5
"""Of a request's time: waiting for a free page takes no more of it."""

# They speak of the body on the wire; what we hand on is another.
_OF_THE_WIRE = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive"})


class BrowserTransport:
    """A `Transport` that renders. A page is asked for with GET; of the request's own headers none is sent.

    It follows the page within its origin, as scripts and cookies want it, and the `url` of the answer is where that
    ended. A page that leads to another origin is a redirect, also where a script or a meta refresh does it.
    """

    def __init__(self, browser: BrowserConfig, fetch: FetchConfig, guard: Guard, clock: Clock) -> None:
        """The guard is shared, and not closed here. Chromium starts with the first request."""
        standing_headers(fetch)  # a text that cannot be sent is the config's fault, and known now
        is_honest = fetch.profile == "honest" or fetch.user_agent
        self._user_agent = user_agent(fetch) if is_honest else ""
        self._browser = browser
        self._fetch = fetch
        self._guard = guard
        self._clock = clock
        self._gate = Gate(guard, fetch.connect_timeout_seconds)
        self._sessions: Sessions | None = None
        self._opening = asyncio.Lock()

    async def get(self, request: Request) -> Response | Failed | Refused | Deferred:
        target = target_of(request.url)
        if target is None:
            return Refused("guard: not a plain http or https URL")
        checked = await self._guard.check(target.origin, self._fetch.connect_timeout_seconds)
        if not isinstance(checked, tuple):
            return checked
        started_at = self._clock.now()
        deadline = asyncio.get_running_loop().time() + request.total_timeout_seconds
        sessions = await self._opened()
        session = await sessions.take(request.total_timeout_seconds * WAITING_SHARE)
        if not isinstance(session, Session):
            return session
        passage = self._gate.admit(request.max_body_bytes * WIRE_FACTOR)
        page = _Page(session, passage, self._gate.url)
        try:
            rendered = await self._or_broken(session, self._rendered(page, request, deadline))
        except BrowserBroke as error:
            return sessions.broke(session, error)
        finally:
            self._gate.dismiss(passage)
            sessions.give_back(session, page.close())
        if not isinstance(rendered, Rendered):
            return rendered
        return self._response(rendered, request, passage, target.origin, started_at)

    async def close(self) -> None:
        if self._sessions is not None:
            await self._sessions.close()
        await self._gate.close()

    async def _opened(self) -> Sessions:
        async with self._opening:
            if self._sessions is None:
                await self._gate.open()
                self._sessions = Sessions(self._browser, self._gate.url, self._clock, self._user_agent)
        return self._sessions

    async def _or_broken(
        self, session: Session, rendering: Coroutine[Any, Any, Rendered | Failed | Refused]
    ) -> Rendered | Failed | Refused:
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

    async def _rendered(self, page: _Page, request: Request, deadline: float) -> Rendered | Failed | Refused:
        from playwright.async_api import Error

        chromium = page.session.chromium
        try:
            async with asyncio.timeout_at(deadline):
                context = await page.open(verify_tls=request.verify_tls, is_honest=bool(self._user_agent))
                tab = await context.new_page()
                rendering = Rendering(
                    tab,
                    await context.new_cdp_session(tab),
                    request,
                    page.passage,
                    self._guard,
                    settle_seconds=self._browser.settle_seconds,
                    max_navigations=self._fetch.max_redirects,
                    now=self._clock.now,
                )
                outcome = await rendering.run(deadline)
        except TimeoutError:
            return total_timeout(request.total_timeout_seconds)
        except Error as error:
            await chromium.processes()
            raise BrowserBroke(f"Chromium opens no page: {error.message.partition(chr(10))[0][:120]}") from None
        if isinstance(outcome, Failed):
            await chromium.processes()  # when all of Chromium is gone, the page is not to blame
        return outcome

    def _response(
        self, rendered: Rendered, request: Request, passage: Passage, origin: Origin, started_at: float
    ) -> Response:
        headers = [pair for pair in rendered.headers if pair[0].lower() not in _OF_THE_WIRE]
        if rendered.is_rendered:
            headers = [pair for pair in headers if pair[0].lower() != "content-type"]
            headers.append(("Content-Type", "text/html; charset=utf-8"))
        return Response(
            url=rendered.url,
            status=rendered.status,
            headers=Headers(
                (name.encode("utf-8", "replace"), value.encode("utf-8", "replace")) for name, value in headers
            ),
            body=rendered.body,
            wire_bytes=passage.received_bytes,
            started_at=started_at,
            answered_at=rendered.answered_at,
            finished_at=self._clock.now(),
            protocol=rendered.protocol,
            way=Way.BROWSER,
            address_class=self._guard.class_of(origin, passage.address(origin)),
            is_unverified=not request.verify_tls,
        )


class _Page:
    """A place in a Chromium that nothing from earlier pages is in."""

    def __init__(self, session: Session, passage: Passage, gate_url: str) -> None:
        self.session = session
        self.passage = passage
        self._gate_url = gate_url
        self._context: BrowserContext | None = None

    async def open(self, *, verify_tls: bool, is_honest: bool) -> BrowserContext:
        chromium = self.session.chromium
        self._context = await chromium.browser.new_context(
            proxy={"server": self._gate_url, "bypass": "<-loopback>"},
            user_agent=None if is_honest else await chromium.user_agent(),
            accept_downloads=False,
            service_workers="block",
            ignore_https_errors=not verify_tls,
        )
        return self._context

    async def close(self) -> None:
        from playwright.async_api import Error

        if self._context is not None:
            with suppress(Error):
                await self._context.close()


__all__ = ["BrowserTransport"]
