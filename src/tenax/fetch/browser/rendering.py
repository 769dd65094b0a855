"""One page in Chromium: asked for, watched, taken when it has settled, or ended when it misbehaves.

The main document is stopped twice on its way. Before it is asked for: only the page's own origin is, because another
host has its own turn and its own robots.txt; a page that leads elsewhere, by Location, meta refresh or script, ends as
a redirect. And when its headers are here: what no browser shows as a page is taken as it is.

Everything else the page asks for is stopped once, to be counted, and let go when the page may need it.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tenax.fetch import Request
from tenax.fetch.bodies import too_large
from tenax.fetch.browser.errors import error_name, failure_in_browser, is_cut_off
from tenax.fetch.browser.page_rules import Document, is_needed
from tenax.fetch.browser.passage import Denial, Passage
from tenax.fetch.browser.stages import LOADED, QUIET, READ, Stages
from tenax.fetch.guard import Guard
from tenax.fetch.target import Origin, origin_of
from tenax.model import Failed, FailureKind, Refused, Value

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Dialog, Page
    from playwright.async_api import Request as PageRequest

MAX_DIALOGS = 20
"""A page that opens more is stopped."""
MAX_SPARE_SECONDS = 1.0
"""A page that still loads is taken this long before its deadline, at the latest."""
PIECE_BYTES = 256 * 1024
_LOOKUP_SECONDS = 5.0

_INTERCEPTED = [{"requestStage": "Request"}, {"resourceType": "Document", "requestStage": "Response"}]
_PROTOCOLS = {"h2": "HTTP/2", "h3": "HTTP/3", "http/1.1": "HTTP/1.1", "http/1.0": "HTTP/1.0"}

# In a world of its own, where the page's scripts cannot have changed what these names mean. A text that is too long
# is not sent over, only its length.
_TAKE = """(() => {
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + "\\n" : "";
  const html = type + (document.documentElement ? document.documentElement.outerHTML : "");
  const way = performance.getEntriesByType("navigation")[0];
  return [way ? way.nextHopProtocol : "", html.length > LIMIT ? null : html];
})()"""


class Rendered(Value, frozen=True):
    """What a page came to: the answer to its last main document, and its body."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    answered_at: float
    body: bytes = b""
    is_rendered: bool = False
    """False: the body is as the site sent it, or there is none."""
    protocol: str = ""


class Rendering:
    """Renders one request in one page; made for it, and thrown away after it."""

    def __init__(
        self,
        page: Page,
        control: CDPSession,
        request: Request,
        passage: Passage,
        guard: Guard,
        *,
        settle_seconds: float,
        max_navigations: int,
        max_requests: int,
        now: Callable[[], float],
    ) -> None:
        self._page = page
        self._control = control
        self._request = request
        self._passage = passage
        self._guard = guard
        self._settle_seconds = settle_seconds
        self._navigations_left = max_navigations + 1
        self._requests_left = max_requests
        self._now = now
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.Future[Rendered | Denial] = self._loop.create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._main_frame = ""
        self._stages = Stages("", self._shown)
        self._answered_at = 0.0
        self._document: Document | None = None
        """What is shown, or will be as the first."""
        self._next: Document | None = None
        """What will be shown instead."""
        self._redirect: Document | None = None
        self._dialogs = 0
        self._passwords_told = 0

    async def run(self, deadline: float) -> Rendered | Denial:
        """The deadline is of the loop's clock; whoever calls keeps it. Raises Playwright's `Error`."""
        try:
            await self._prepare()
            self._begin(self._drive(deadline))
            outcome = await self._end
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._passage.is_too_large:
            return too_large(self._request.max_body_bytes)
        return outcome

    async def _prepare(self) -> None:
        tree = await self._control.send("Page.getFrameTree")
        self._main_frame = tree["frameTree"]["frame"]["id"]
        self._stages = Stages(self._main_frame, self._shown)
        await self._stages.watch(self._control)
        self._control.on("Fetch.requestPaused", lambda event: self._begin(self._paused(event)))
        self._control.on("Fetch.authRequired", lambda event: self._begin(self._asked_who(event)))
        await self._control.send("Fetch.enable", {"handleAuthRequests": True, "patterns": _INTERCEPTED})
        self._page.on("dialog", lambda dialog: self._begin(self._dismissed(dialog)))
        self._page.on("requestfailed", self._request_failed)
        self._page.on("crash", lambda _: self._ended(_crashed()))
        self._page.on("close", lambda _: self._ended(_closed()))
        self._page.context.on("page", lambda popup: self._begin(popup.close()))

    # -- the page's way -------------------------------------------------------------------------------------

    async def _drive(self, deadline: float) -> None:
        from playwright.async_api import Error

        try:
            self._ended(await self._driven(deadline))
        except Error:
            self._ended(_closed())

    async def _driven(self, deadline: float) -> Rendered | Denial:
        from playwright.async_api import Error

        error = (await self._control.send("Page.navigate", {"url": self._request.url})).get("errorText")
        if error:
            return self._failed(error)
        await self._stages.until(READ)
        spare = min(MAX_SPARE_SECONDS, self._request.total_timeout_seconds / 10)
        await self._settled(deadline - spare)
        while True:
            await self._stages.until(READ)
            try:
                return await self._taken()
            except Error:  # it went on to another document just now
                await asyncio.sleep(0.05)

    async def _settled(self, latest: float) -> None:
        """Loaded, and then quiet, and not about to go on; not waiting longer than it may."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(latest):
                await self._stages.until(LOADED, settled=True)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._settle_seconds):
                        await self._stages.until(QUIET, settled=True)
                await self._stages.until(LOADED, settled=True)

    async def _taken(self) -> Rendered | Failed:
        world = await self._control.send("Page.createIsolatedWorld", {"frameId": self._main_frame})
        script = _TAKE.replace("LIMIT", str(self._request.max_body_bytes))
        where = {"contextId": world["executionContextId"], "expression": script, "returnByValue": True}
        taken = (await self._control.send("Runtime.evaluate", where))["result"]
        # Without a value: it is longer than any text in a browser may be.
        protocol, html = taken.get("value", ("", None))
        body = html.encode("utf-8", "replace") if html is not None else b""
        if html is None or len(body) > self._request.max_body_bytes:
            return too_large(self._request.max_body_bytes)
        return self._rendered(self._document, body, is_rendered=True, protocol=_PROTOCOLS.get(protocol, ""))

    def _failed(self, message: str) -> Rendered | Denial:
        """Why the main document did not come."""
        if error_name(message) == "HTTP_RESPONSE_CODE_FAILURE" and self._document is not None:
            return self._rendered(self._document)  # an error with nothing to show
        origin = origin_of(self._request.url)
        denial = self._passage.denial(origin) if origin is not None else None
        return denial or failure_in_browser(message, in_body=self._document is not None)

    def _rendered(
        self, document: Document | None, body: bytes = b"", is_rendered: bool = False, protocol: str = ""
    ) -> Rendered | Failed:
        if document is None:
            return Failed("no document came", FailureKind.BAD_RESPONSE)
        return Rendered(document.url, document.status, document.headers, self._answered_at, body, is_rendered, protocol)

    # -- what Chromium asks on the way ----------------------------------------------------------------------

    async def _paused(self, event: dict[str, Any]) -> None:
        is_main = event["resourceType"] == "Document" and event["frameId"] == self._main_frame
        if is_main and "responseStatusCode" in event:
            await self._main_answered(event, event["request"]["url"])
        elif "responseStatusCode" in event or "responseErrorReason" in event:
            if is_main:
                self._stages.stays()
            await self._go_on(event)
        elif is_main:
            await self._main_asked_for(event, event["request"]["url"])
        else:
            await (self._go_on(event) if self._is_let_go(event) else self._stop(event, "BlockedByClient"))

    def _is_let_go(self, event: dict[str, Any]) -> bool:
        asked = event["request"]
        if not asked["url"].startswith(("http:", "https:")):
            return True  # it asks nobody
        if not is_needed(event["resourceType"], asked["headers"], asked["initialPriority"]):
            return False
        self._requests_left -= 1
        return self._requests_left >= 0

    async def _main_asked_for(self, event: dict[str, Any], url: str) -> None:
        if not url.startswith(("http:", "https:")):
            return await (self._go_on(event) if url.startswith(("blob:", "about:")) else self._stop(event))
        self._stages.leaves()
        origin = origin_of(url)
        if origin is None:
            self._ended(Refused("guard: not a plain http or https URL"))
            return await self._stop(event)
        if origin != origin_of(self._request.url):
            self._ended(await self._elsewhere(url, origin, "redirectedRequestId" in event))
            return await self._stop(event)
        self._navigations_left -= 1
        if self._navigations_left < 0:
            self._ended(Failed("the page keeps loading itself anew", FailureKind.REDIRECT))
            return await self._stop(event)
        return await self._go_on(event)

    async def _elsewhere(self, url: str, origin: Origin, by_location: bool) -> Rendered | Denial:
        """The page leads to another host. Where that may not be connected to at all, this is where it ends."""
        checked = await self._guard.check(origin, _LOOKUP_SECONDS)
        if isinstance(checked, Refused):
            return checked
        if by_location and self._redirect is not None:
            return self._rendered(self._redirect)
        here = self._document.url if self._document is not None else self._request.url
        return self._rendered(Document(here, 302, (("Location", url),)))

    async def _main_answered(self, event: dict[str, Any], url: str) -> None:
        headers = tuple((one["name"], one["value"]) for one in event.get("responseHeaders", ()))
        document = Document(url, event["responseStatusCode"], headers)
        self._answered_at = self._answered_at or self._now()
        if document.status in (301, 302, 303, 307, 308) and document.header("location"):
            self._redirect = document
            return await self._go_on(event)
        is_first = self._document is None
        if is_first:
            self._document = document
        if document.is_shown:
            self._next = document
            return await self._go_on(event)
        if is_first:
            self._ended(await self._as_sent(event, document))
        self._stages.stays()
        return await self._stop(event)  # a page that is here stays when its script asks for a download

    def _shown(self) -> None:
        self._document, self._next = self._next or self._document, None

    async def _as_sent(self, event: dict[str, Any], document: Document) -> Rendered | Failed:
        """The body itself, decoded, piece by piece: it stops at its cap."""
        handle = (await self._control.send("Fetch.takeResponseBodyAsStream", {"requestId": event["requestId"]}))[
            "stream"
        ]
        body = bytearray()
        while True:
            piece = await self._control.send("IO.read", {"handle": handle, "size": PIECE_BYTES})
            data = piece["data"]
            body += b64decode(data) if piece.get("base64Encoded") else data.encode("utf-8", "replace")
            is_too_large = len(body) > self._request.max_body_bytes
            if is_too_large and not self._request.takes_beginning:
                return too_large(self._request.max_body_bytes)
            if is_too_large or piece["eof"]:
                return self._rendered(document, bytes(body[: self._request.max_body_bytes]))

    async def _asked_who(self, event: dict[str, Any]) -> None:
        """The gate wants this page's secret. A site that asks for a password gets none."""
        self._passwords_told += 1
        is_gate = event["authChallenge"]["source"] == "Proxy" and self._passwords_told == 1
        answer = (
            {"response": "ProvideCredentials", "username": self._passage.user, "password": self._passage.password}
            if is_gate
            else {"response": "CancelAuth"}
        )
        await self._control.send(
            "Fetch.continueWithAuth", {"requestId": event["requestId"], "authChallengeResponse": answer}
        )

    async def _dismissed(self, dialog: Dialog) -> None:
        self._dialogs += 1
        if self._dialogs > MAX_DIALOGS:
            self._ended(Failed("the page opens dialogs without end", FailureKind.BAD_RESPONSE))
        await dialog.dismiss()

    def _request_failed(self, request: PageRequest) -> None:
        why = request.failure or ""
        if is_cut_off(why) and request.is_navigation_request() and request.frame == self._page.main_frame:
            self._ended(self._failed(why))

    async def _go_on(self, event: dict[str, Any]) -> None:
        await self._control.send("Fetch.continueRequest", {"requestId": event["requestId"]})

    async def _stop(self, event: dict[str, Any], reason: str = "Aborted") -> None:
        """A document that is aborted leaves the one before it in its place."""
        await self._control.send("Fetch.failRequest", {"requestId": event["requestId"], "errorReason": reason})

    # -- ending ---------------------------------------------------------------------------------------------

    def _ended(self, outcome: Rendered | Denial) -> None:
        """The first end counts."""
        if not self._end.done():
            self._end.set_result(outcome)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(self._quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._end.done():
            self._end.set_exception(error)  # a mistake of ours must not look like a page that takes for ever

    async def _quietly(self, work: Coroutine[Any, Any, None]) -> None:
        """What Chromium asked may be over by the time we answer."""
        from playwright.async_api import Error

        with suppress(Error):
            await work


def _crashed() -> Failed:
    return Failed("the page brought the browser's renderer down", FailureKind.INTERNAL)


def _closed() -> Failed:
    return Failed("the page closed itself", FailureKind.BAD_RESPONSE)
