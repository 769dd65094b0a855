"""Renders one page in Chromium: the page is loaded, controlled, and read when it has settled, or ended if it
misbehaves.

The main document is intercepted twice. Before its request, to ensure that only the page's own origin is requested,
because another host has its own rate limit and robots.txt. A page that leads to another origin, by Location, meta
refresh or script, ends as a redirect. And when its headers have arrived, because content that a browser does not render
is returned as it is. Every subrequest is intercepted once, counted, and allowed if the page may need it.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tenax.fetch import Request
from tenax.fetch.bodies import too_large_failure
from tenax.fetch.browser.gate import Denial, GateSession
from tenax.fetch.browser.navigation import (
    DOM_CONTENT_LOADED,
    LOADED,
    NETWORK_IDLE,
    PageLifecycle,
    error_name,
    is_truncation,
    navigation_failure,
)
from tenax.fetch.browser.rules import DocumentResponse, is_request_needed
from tenax.fetch.guard import Guard, Origin, parse_origin
from tenax.model import Failed, FailureKind, Refused, Value

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Dialog, Page
    from playwright.async_api import Request as PageRequest

MAX_DIALOGS = 20
"""A page that opens more dialogs is stopped."""
MAX_SPARE_SECONDS = 1.0
"""A page that is still loading is read at the latest this long before its deadline."""
PIECE_BYTES = 256 * 1024
_LOOKUP_SECONDS = 5.0

_INTERCEPTED = [{"requestStage": "Request"}, {"resourceType": "Document", "requestStage": "Response"}]
_PROTOCOLS = {"h2": "HTTP/2", "h3": "HTTP/3", "http/1.1": "HTTP/1.1", "http/1.0": "HTTP/1.0"}

# Runs in an isolated world, where the page's scripts cannot have redefined these names. If a text is too long, only its
# length is transferred.
_READ_HTML_SCRIPT = """(() => {
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + "\\n" : "";
  const html = type + (document.documentElement ? document.documentElement.outerHTML : "");
  const navigation = performance.getEntriesByType("navigation")[0];
  return [navigation ? navigation.nextHopProtocol : "", html.length > LIMIT ? null : html];
})()"""


class RenderedPage(Value, frozen=True):
    """The result of a page: the response to its last main document, and its body."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    answered_at: float
    body: bytes = b""
    is_rendered: bool = False
    """False: the body is as the site sent it, or there is none."""
    protocol: str = ""


class RenderLimits(NamedTuple):
    """The limits of one page."""

    settle_seconds: float
    max_navigations: int
    max_requests: int


class PageRenderer:
    """Renders one request in one page; used once."""

    def __init__(
        self,
        page: Page,
        control: CDPSession,
        request: Request,
        gate_session: GateSession,
        guard: Guard,
        *,
        limits: RenderLimits,
        now: Callable[[], float],
    ) -> None:
        self._page = page
        self._control = control
        self._request = request
        self._gate_session = gate_session
        self._guard = guard
        self._settle_seconds = limits.settle_seconds
        self._navigations_left = limits.max_navigations + 1
        self._requests_left = limits.max_requests
        self._now = now
        self._loop = asyncio.get_running_loop()
        self._result: asyncio.Future[RenderedPage | Denial] = self._loop.create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._main_frame = ""
        self._lifecycle = PageLifecycle("", self._on_navigated)
        self._answered_at = 0.0
        self._document: DocumentResponse | None = None
        """The document shown, or the first to be shown."""
        self._next_document: DocumentResponse | None = None
        """The document that will replace it."""
        self._redirect: DocumentResponse | None = None
        self._dialogs = 0
        self._auth_attempts = 0

    async def run(self, deadline: float) -> RenderedPage | Denial:
        """Render the page. The deadline is in the time of the event loop; the caller enforces it. Raises Playwright's
        `Error`."""
        try:
            await self._prepare()
            self._start_task(self._run_navigation(deadline))
            outcome = await self._result
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._gate_session.is_too_large:
            return too_large_failure(self._request.max_body_bytes)
        return outcome

    async def _prepare(self) -> None:
        tree = await self._control.send("Page.getFrameTree")
        self._main_frame = tree["frameTree"]["frame"]["id"]
        self._lifecycle = PageLifecycle(self._main_frame, self._on_navigated)
        await self._lifecycle.watch(self._control)
        self._control.on("Fetch.requestPaused", lambda event: self._start_task(self._on_request_paused(event)))
        self._control.on("Fetch.authRequired", lambda event: self._start_task(self._on_auth_required(event)))
        await self._control.send("Fetch.enable", {"handleAuthRequests": True, "patterns": _INTERCEPTED})
        self._page.on("dialog", lambda dialog: self._start_task(self._on_dialog(dialog)))
        self._page.on("requestfailed", self._on_request_failed)
        self._page.on("crash", lambda _: self._set_result(_crash_failure()))
        self._page.on("close", lambda _: self._set_result(_closed_failure()))
        self._page.context.on("page", lambda popup: self._start_task(popup.close()))

    # -- lifecycle ------------------------------------------------------------------------------------------

    async def _run_navigation(self, deadline: float) -> None:
        from playwright.async_api import Error

        try:
            self._set_result(await self._navigate(deadline))
        except Error:
            self._set_result(_closed_failure())

    async def _navigate(self, deadline: float) -> RenderedPage | Denial:
        from playwright.async_api import Error

        error = (await self._control.send("Page.navigate", {"url": self._request.url})).get("errorText")
        if error:
            return self._failure_result(error)
        await self._lifecycle.wait_for(DOM_CONTENT_LOADED)
        spare = min(MAX_SPARE_SECONDS, self._request.total_timeout_seconds / 10)
        await self._wait_until_settled(deadline - spare)
        while True:
            await self._lifecycle.wait_for(DOM_CONTENT_LOADED)
            try:
                return await self._read_html()
            except Error:  # the page has just navigated to another document
                await asyncio.sleep(0.05)

    async def _wait_until_settled(self, deadline: float) -> None:
        """Wait until the page is loaded, then idle, and not navigating; but not longer than allowed."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                await self._lifecycle.wait_for(LOADED, is_settled=True)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._settle_seconds):
                        await self._lifecycle.wait_for(NETWORK_IDLE, is_settled=True)
                await self._lifecycle.wait_for(LOADED, is_settled=True)

    async def _read_html(self) -> RenderedPage | Failed:
        world = await self._control.send("Page.createIsolatedWorld", {"frameId": self._main_frame})
        script = _READ_HTML_SCRIPT.replace("LIMIT", str(self._request.max_body_bytes))
        where = {"contextId": world["executionContextId"], "expression": script, "returnByValue": True}
        taken = (await self._control.send("Runtime.evaluate", where))["result"]
        # There is no value, because it is longer than the maximum string of the browser.
        protocol, html = taken.get("value", ("", None))
        body = html.encode("utf-8", "replace") if html is not None else b""
        if html is None or len(body) > self._request.max_body_bytes:
            return too_large_failure(self._request.max_body_bytes)
        return self._build_page(self._document, body, is_rendered=True, protocol=_PROTOCOLS.get(protocol, ""))

    def _failure_result(self, message: str) -> RenderedPage | Denial:
        """Why the main document failed."""
        if error_name(message) == "HTTP_RESPONSE_CODE_FAILURE" and self._document is not None:
            return self._build_page(self._document)  # an error without content
        origin = parse_origin(self._request.url)
        denial = self._gate_session.denial(origin) if origin is not None else None
        return denial or navigation_failure(message, in_body=self._document is not None)

    def _build_page(
        self, document: DocumentResponse | None, body: bytes = b"", is_rendered: bool = False, protocol: str = ""
    ) -> RenderedPage | Failed:
        if document is None:
            return Failed("no document arrived", FailureKind.BAD_RESPONSE)
        return RenderedPage(
            document.url,
            document.status,
            document.headers,
            answered_at=self._answered_at,
            body=body,
            is_rendered=is_rendered,
            protocol=protocol,
        )

    # -- intercepted requests -------------------------------------------------------------------------------

    async def _on_request_paused(self, event: dict[str, Any]) -> None:
        is_main = event["resourceType"] == "Document" and event["frameId"] == self._main_frame
        if is_main and "responseStatusCode" in event:
            await self._on_main_response(event, event["request"]["url"])
        elif "responseStatusCode" in event or "responseErrorReason" in event:
            if is_main:
                self._lifecycle.cancel_navigation()
            await self._continue_request(event)
        elif is_main:
            await self._on_main_request(event, event["request"]["url"])
        else:
            await (
                self._continue_request(event)
                if self._is_request_allowed(event)
                else self._fail_request(event, "BlockedByClient")
            )

    def _is_request_allowed(self, event: dict[str, Any]) -> bool:
        request = event["request"]
        if not request["url"].startswith(("http:", "https:")):
            return True  # it sends no request
        if not is_request_needed(event["resourceType"], request["headers"], request["initialPriority"]):
            return False
        self._requests_left -= 1
        return self._requests_left >= 0

    async def _on_main_request(self, event: dict[str, Any], url: str) -> None:
        if not url.startswith(("http:", "https:")):
            return await (
                self._continue_request(event) if url.startswith(("blob:", "about:")) else self._fail_request(event)
            )
        self._lifecycle.start_navigation()
        origin = parse_origin(url)
        if origin is None:
            self._set_result(Refused("guard: not a plain http or https URL"))
            return await self._fail_request(event)
        if origin != parse_origin(self._request.url):
            self._set_result(await self._cross_origin_result(url, origin, "redirectedRequestId" in event))
            return await self._fail_request(event)
        self._navigations_left -= 1
        if self._navigations_left < 0:
            self._set_result(Failed("the page loads itself again and again", FailureKind.REDIRECT))
            return await self._fail_request(event)
        return await self._continue_request(event)

    async def _cross_origin_result(self, url: str, origin: Origin, is_redirect: bool) -> RenderedPage | Denial:
        """The result for a page that leads to another origin. If the guard refuses that origin, the result is a
        refusal."""
        checked = await self._guard.check(origin, _LOOKUP_SECONDS)
        if isinstance(checked, Refused):
            return checked
        if is_redirect and self._redirect is not None:
            return self._build_page(self._redirect)
        here = self._document.url if self._document is not None else self._request.url
        return self._build_page(DocumentResponse(here, 302, (("Location", url),)))

    async def _on_main_response(self, event: dict[str, Any], url: str) -> None:
        headers = tuple((one["name"], one["value"]) for one in event.get("responseHeaders", ()))
        document = DocumentResponse(url, event["responseStatusCode"], headers)
        self._answered_at = self._answered_at or self._now()
        if document.status in (301, 302, 303, 307, 308) and document.header("location"):
            self._redirect = document
            return await self._continue_request(event)
        is_first = self._document is None
        if is_first:
            self._document = document
        if document.is_renderable:
            self._next_document = document
            return await self._continue_request(event)
        if is_first:
            self._set_result(await self._read_body(event, document))
        self._lifecycle.cancel_navigation()
        return await self._fail_request(event)  # the page stays if its script requests a download

    def _on_navigated(self) -> None:
        self._document, self._next_document = self._next_document or self._document, None

    async def _read_body(self, event: dict[str, Any], document: DocumentResponse) -> RenderedPage | Failed:
        """The decoded body, read in pieces up to its limit."""
        handle = (await self._control.send("Fetch.takeResponseBodyAsStream", {"requestId": event["requestId"]}))[
            "stream"
        ]
        body = bytearray()
        while True:
            piece = await self._control.send("IO.read", {"handle": handle, "size": PIECE_BYTES})
            data = piece["data"]
            body += b64decode(data) if piece.get("base64Encoded") else data.encode("utf-8", "replace")
            is_too_large = len(body) > self._request.max_body_bytes
            if is_too_large and not self._request.may_truncate:
                return too_large_failure(self._request.max_body_bytes)
            if is_too_large or piece["eof"]:
                return self._build_page(document, bytes(body[: self._request.max_body_bytes]))

    async def _on_auth_required(self, event: dict[str, Any]) -> None:
        """Respond to the gate with the secret of this page. A site that asks for a password gets none."""
        self._auth_attempts += 1
        is_gate = event["authChallenge"]["source"] == "Proxy" and self._auth_attempts == 1
        answer = (
            {
                "response": "ProvideCredentials",
                "username": self._gate_session.user,
                "password": self._gate_session.password,
            }
            if is_gate
            else {"response": "CancelAuth"}
        )
        await self._control.send(
            "Fetch.continueWithAuth", {"requestId": event["requestId"], "authChallengeResponse": answer}
        )

    async def _on_dialog(self, dialog: Dialog) -> None:
        self._dialogs += 1
        if self._dialogs > MAX_DIALOGS:
            self._set_result(Failed("the page opens dialogs without end", FailureKind.BAD_RESPONSE))
        await dialog.dismiss()

    def _on_request_failed(self, request: PageRequest) -> None:
        why = request.failure or ""
        if is_truncation(why) and request.is_navigation_request() and request.frame == self._page.main_frame:
            self._set_result(self._failure_result(why))

    async def _continue_request(self, event: dict[str, Any]) -> None:
        await self._control.send("Fetch.continueRequest", {"requestId": event["requestId"]})

    async def _fail_request(self, event: dict[str, Any], reason: str = "Aborted") -> None:
        """Fail the request. An aborted document leaves the document before it in place."""
        await self._control.send("Fetch.failRequest", {"requestId": event["requestId"], "errorReason": reason})

    # -- ending ---------------------------------------------------------------------------------------------

    def _set_result(self, outcome: RenderedPage | Denial) -> None:
        """Set the result. Only the first result counts."""
        if not self._result.done():
            self._result.set_result(outcome)

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(self._suppress_errors(work))
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._result.done():
            self._result.set_exception(error)  # an error of ours must not look like a page that never ends

    async def _suppress_errors(self, work: Coroutine[Any, Any, None]) -> None:
        """Ignore errors: Chromium may have dropped the request before we respond."""
        from playwright.async_api import Error

        with suppress(Error):
            await work


def _crash_failure() -> Failed:
    return Failed("the browser's renderer crashed on the page", FailureKind.INTERNAL)


def _closed_failure() -> Failed:
    return Failed("the page closed itself", FailureKind.BAD_RESPONSE)
