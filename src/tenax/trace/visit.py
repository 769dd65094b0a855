"""Traces one visit: what a crawl would do with the URL, decision by decision, within the rate limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import msgspec

from tenax.clock import Clock, SteadyClock
from tenax.config import Config, Sites
from tenax.crawl import DATABASE_FILE
from tenax.crawl.reader.cpu_limit import extract_within_limit
from tenax.crawl.reader.messages import ExtractedPage
from tenax.crawl.reader.read_page import Reader
from tenax.crawl.rules import load_rules
from tenax.crawl.visits import build_extract_job, outcome_after_extraction
from tenax.crawl.wiring import build_transports, build_visitor, missing_requirement, open_database
from tenax.errors import UsageError
from tenax.fetch.answer import FetchResult
from tenax.fetch.guard import Guard, parse_origin
from tenax.fetch.headers import robot_names
from tenax.fetch.pipeline import Visitor, VisitResult
from tenax.fetch.preflight import cached_outcome, next_policy_step
from tenax.model import (
    Deferred,
    Failed,
    Fetched,
    HostBackoff,
    HostRecord,
    Outcome,
    Page,
    Redirected,
    Refused,
    Rejected,
    RobotsVerdict,
    StoredCopy,
    Task,
    TransportKind,
    new_task,
)
from tenax.text.sanitize import mask_url
from tenax.trace import describe
from tenax.trace.describe import Step, StoredState, Trace, TraceRequest
from tenax.urls.admit import Rules, build_rules, url_refusal
from tenax.urls.normalize import WebUrl, normalize, normalize_options
from tenax.urls.scope import parse_seed

MAX_REQUESTS = 5
"""robots.txt, a probe, the page, and some requests that another crawl's requests delay."""
MAX_WAIT_SECONDS = 60.0
"""Maximum wait for the rate limit. If the wait would be longer, or the host backs off, nothing is sent."""


async def trace_url(
    request: TraceRequest, config: Config, clock: Clock | None = None, on_step: Callable[[Step], None] | None = None
) -> Trace:
    """Fetch the URL. `on_step` gets each decision as it is made.

    Raises `UsageError` if it is not a URL, or if the transport is not available.
    """
    clock, sites = clock or SteadyClock(), Sites(config)
    url = parse_seed(request.url, normalize_options(config.urls))
    _check_transport(request.transport, config)
    crawl = await _load_stored_state(request, url, config)
    is_typed = crawl is None or any(seed.startswith(f"{url.origin}/") for seed in crawl.rules.seeds)
    allowed_origins = (url.origin,) if is_typed else ()
    # A second guard with the same rules as that of the transports, to report its verdict.
    guard = Guard(config.guard, clock, allowed_origins)
    try:
        transports = build_transports(config, sites, clock, allowed_origins)
        try:
            visitor = build_visitor(transports, config, sites, clock)
            return await _TraceVisit(
                request, url, crawl, config=config, visitor=visitor, guard=guard, on_step=on_step
            ).run()
        finally:
            await transports.close()
    finally:
        await guard.close()


def _check_transport(transport: TransportKind | None, config: Config) -> None:
    missing = missing_requirement(transport, config) if transport is not None else None
    if missing is not None:
        raise UsageError(missing)


async def _load_stored_state(request: TraceRequest, url: WebUrl, config: Config) -> StoredState | None:
    location = request.crawl_location
    if location is None or not (
        request.is_crawl_given or location.server or (location.database_directory / DATABASE_FILE).exists()
    ):
        return None
    database = await open_database(location, read_only=True, config=config)
    try:
        rules, history, host = (
            await load_rules(database),
            await database.url_history(url.url),
            await database.host(url.origin),
        )
        canonical = await database.canonical_copy(url.url)
    finally:
        await database.close()
    if rules is None or not (request.is_crawl_given or history or host):
        return None
    return StoredState(location, rules, history, host, canonical)


class _TraceVisit:
    """One visit, which records its decisions."""

    def __init__(
        self,
        request: TraceRequest,
        url: WebUrl,
        crawl: StoredState | None,
        *,
        config: Config,
        visitor: Visitor,
        guard: Guard,
        on_step: Callable[[Step], None] | None,
    ) -> None:
        self._request = request
        self._url = url
        self._crawl = crawl
        self._history = crawl.history if crawl is not None else None
        self._canonical_copy = crawl.canonical_copy if crawl is not None else None
        known = crawl.host if crawl is not None else None
        self._host = known or HostRecord(origin=url.origin, domain=url.host)
        # A URL that the crawl does not know counts as linked from a seed. Without a crawl it is a seed.
        self._depth = self._history.depth if self._history is not None else 0 if crawl is None else 1
        self._config = config
        self._visitor = visitor
        self._site = visitor.site(url.origin)
        self._robot_names = robot_names(self._site.fetch)
        self._pipeline = visitor.pipeline
        self._guard = guard
        self._clock = visitor.clock
        self._on_step = on_step
        self._steps: list[Step] = []
        self._has_fetched_robots = False
        self._is_private = False

    async def run(self) -> Trace:
        now = self._clock.now()
        self._add_steps(describe.describe_url(self._request.url, self._url, self._crawl, self._depth))
        self._add_steps([await self._check_address()])
        self._add_steps([describe.describe_host(self._host, self._site, self._crawl is not None, now)])
        task = self._new_task(now)
        answer = await self._request_until_answered(task, self._stored_copy())
        self._add_steps(describe.describe_answer(answer, self._url.url))
        extracted = self._extract_page(task, answer)
        outcome = self._final_outcome(answer, extracted)
        result = await self._finish_visit(task, answer, outcome)
        stale = self._find_stale_page(outcome)
        host, now = result.host, result.end.now
        trace = Trace(
            typed_url=mask_url(self._request.url),
            url=self._url.url,
            outcome=outcome,
            plan=result.plan,
            steps=tuple(self._steps),
            fetch=answer.record,
            is_private=self._is_private,
            backoff=HostBackoff(host.origin, host.next_at, host.backoff_reason) if self._is_backing_off(now) else None,
            stale_page=stale,
            body=answer.response.body if answer.response is not None else b"",
        )
        return trace if extracted is None else _add_content(trace, extracted)

    def _add_steps(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self._steps.append(step)
            if self._on_step is not None:
                self._on_step(step)

    # -- before the first request ---------------------------------------------------------------------------

    async def _check_address(self) -> Step:
        origin = parse_origin(self._url.url)
        assert origin is not None, "a seed is a valid URL"
        checked = await self._guard.check(origin, self._site.fetch.connect_timeout_seconds)
        addresses = checked if isinstance(checked, tuple) else ()
        classes = {self._guard.classify_address(origin, address) for address in addresses}
        self._is_private = self._crawl is None and "typed" in classes
        return describe.describe_address(origin.host, checked, classes, self._crawl)

    def _new_task(self, now: float) -> Task:
        task = new_task(self._url.url, self._url.origin, now, self._depth)
        chain = self._history.chain if self._history is not None else ()
        request = self._request
        return msgspec.structs.replace(
            task, transport=request.transport, is_unconditional=request.is_unconditional, chain=chain
        )

    def _stored_copy(self) -> StoredCopy | None:
        page = self._history.page if self._history is not None else None
        if page is not None:
            return StoredCopy(
                page.fetched_at,
                page.status,
                page.kind,
                etag=page.etag,
                last_modified=page.last_modified,
                body_bytes=page.content_length,
            )
        last = self._history.visits[-1] if self._history is not None and self._history.visits else None
        return StoredCopy(last.at, last.fetch.status) if last is not None and last.fetch.status else None

    # -- requests -------------------------------------------------------------------------------------------

    async def _request_until_answered(self, task: Task, stored_copy: StoredCopy | None) -> FetchResult:
        """Send requests until there is a response for the page, each within the rate limit."""
        for _ in range(MAX_REQUESTS):
            deferred = await self._wait_for_permit() if self._add_policy_steps(task, stored_copy) else None
            if deferred is not None:
                return deferred
            answer = await self._pipeline.fetch(task, self._host, stored_copy, canonical=self._canonical_copy)
            if not isinstance(answer.outcome, Deferred):
                return answer
            await self._finish_visit(task, answer, answer.outcome)
            # Another crawl may use the rate limit of the host.
            self._host = msgspec.structs.replace(self._host, next_at=max(self._host.next_at, answer.outcome.until))
        return answer

    def _add_policy_steps(self, task: Task, stored_copy: StoredCopy | None) -> bool:
        """Record the next decisions of the pipeline in advance. True if it will send a request."""
        now = self._clock.now()
        policy = next_policy_step(task, self._host, now, self._robot_names)
        if isinstance(policy, Refused) or policy is None:
            self._add_step_once(
                describe.describe_robots(self._host, self._url.url, self._robot_names, now, self._has_fetched_robots)
            )
        if policy is None:
            self._add_step_once(describe.describe_stored_copy(task, stored_copy, self._site, now, self._canonical_copy))
            return cached_outcome(task, stored_copy, self._site.cache, now, self._canonical_copy) is None
        return not isinstance(policy, Refused)

    def _add_step_once(self, step: Step) -> None:
        if all(known.name != step.name for known in self._steps):
            self._add_steps([step])

    async def _wait_for_permit(self) -> FetchResult | None:
        """Wait for the rate limit. A `Deferred` result if the wait is too long or the host backs off."""
        now = self._clock.now()
        wait = self._host.next_at - now
        if wait <= 0:
            return None
        if self._is_backing_off(now):
            return FetchResult(Deferred(self._host.next_at, self._host.backoff_reason), now)
        if wait > MAX_WAIT_SECONDS:
            return FetchResult(
                Deferred(self._host.next_at, "rate limit: the next request to the host is too far away to wait for"),
                now,
            )
        self._add_steps([Step("wait", f"{describe.format_duration(wait)} until the next request to the host")])
        await asyncio.sleep(wait)
        return None

    def _is_backing_off(self, now: float) -> bool:
        return bool(self._host.backoff_reason) and self._host.next_at > now

    async def _finish_visit(self, task: Task, answer: FetchResult, outcome: Outcome) -> VisitResult:
        """Update the host record and plan the task, as a crawl does."""
        result = await self._visitor.finish(task, self._host, answer, outcome)
        self._host = result.host
        if answer.robots is not None:
            self._has_fetched_robots = True
            if answer.robots.verdict is RobotsVerdict.UNREACHABLE:
                self._add_steps(
                    [
                        describe.describe_robots(
                            self._host, self._url.url, self._robot_names, self._clock.now(), self._has_fetched_robots
                        )
                    ]
                )
        if answer.probe is not None:
            says = "the host is up again" if answer.probe.is_up else "the host is still down"
            self._add_steps([Step("probe", f"{says}: {answer.probe.why}", answer.probe.is_up)])
        return result

    # -- the answer -----------------------------------------------------------------------------------------

    def _extract_page(self, task: Task, answer: FetchResult) -> ExtractedPage | None:
        response = answer.response
        if not isinstance(answer.outcome, Fetched) or response is None:
            return None
        job = build_extract_job(task, response, self._site, self._clock.now())
        extracted = extract_within_limit(Reader().extract, job, self._crawl_rules())
        self._add_steps([describe.describe_extraction(extracted)])
        return extracted

    def _crawl_rules(self) -> Rules:
        if self._crawl is not None:
            return self._crawl.rules
        return build_rules([self._url.url], self._config, datetime.fromtimestamp(self._clock.now(), UTC).year)

    def _final_outcome(self, answer: FetchResult, extracted: ExtractedPage | None) -> Outcome:
        if extracted is not None:
            return outcome_after_extraction(answer.outcome, extracted)
        if isinstance(answer.outcome, Redirected) and self._depth:
            # Redirects of seeds are always followed. Other redirects must pass the rules.
            rules = self._crawl_rules()
            target = normalize(answer.outcome.to, None, normalize_options(rules.urls))
            why = url_refusal(rules, target, self._depth) if target is not None else "invalid"
            return answer.outcome if why is None else msgspec.structs.replace(answer.outcome, why=why)
        return answer.outcome

    def _find_stale_page(self, outcome: Outcome) -> Page | None:
        page = self._history.page if self._history is not None else None
        if page is None or not isinstance(outcome, (Failed, Rejected, Redirected)):
            return None
        self._add_steps([describe.describe_stale_page(page, self._clock.now())])
        return page


def _add_content(trace: Trace, extracted: ExtractedPage) -> Trace:
    fetch = msgspec.structs.replace(
        trace.fetch,
        charset_source=extracted.charset_source,
        validation=extracted.validation,
        evidence=extracted.evidence,
    )
    return msgspec.structs.replace(
        trace,
        fetch=fetch,
        title=extracted.title,
        text=extracted.text,
        charset=extracted.charset,
        links_count=extracted.links_count,
        candidate_count=len(extracted.candidates),
    )
