"""An attempt at one URL: what a crawl would do with it, decision by decision, in the host's turn."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import msgspec

from tenax.clock import Clock, SteadyClock
from tenax.config import Config, Sites
from tenax.crawl.files import LEDGER_FILE
from tenax.crawl.reader.messages import Job, Reading
from tenax.crawl.reader.read_page import read_page
from tenax.crawl.rules import kept_rules
from tenax.crawl.wiring import open_ledger, transports_of, why_missing
from tenax.errors import UsageError
from tenax.fetch.answer import Answer
from tenax.fetch.cache import copy_that_serves
from tenax.fetch.guard import Guard
from tenax.fetch.headers import robot_names
from tenax.fetch.host_update import learned
from tenax.fetch.pipeline import Pipeline
from tenax.fetch.policy import policy
from tenax.fetch.retry import plan_for
from tenax.fetch.target import origin_of
from tenax.model import (
    Deferred,
    Failed,
    Fetched,
    Held,
    HostRecord,
    Outcome,
    Page,
    Priority,
    Redirected,
    Refused,
    Rejected,
    Resting,
    RobotsVerdict,
    Source,
    Task,
    Way,
)
from tenax.text.masking import mask_url
from tenax.trace import describe
from tenax.trace.values import Remembered, Step, Trial, Wanted
from tenax.urls.admit import Rules, refusal, rules_of
from tenax.urls.normalize import WebUrl, normalize, spelling_of
from tenax.urls.seeds import seed_url

MOST_REQUESTS = 5
"""robots.txt, a probe, the page, and some that had to wait for another crawl's turn."""
LONGEST_WAIT_SECONDS = 60.0
"""For the host's turn. A host whose turn is further away, or that rests, is left alone."""


async def tried(
    wanted: Wanted, config: Config, clock: Clock | None = None, on_step: Callable[[Step], None] | None = None
) -> Trial:
    """Fetch it; `on_step` hears of each decision as it falls.

    Raises `UsageError` when what is wanted is no URL, or the way it is wanted by cannot be gone here.
    """
    clock, sites = clock or SteadyClock(), Sites(config)
    url = seed_url(wanted.url, spelling_of(config.urls))
    _check_way(wanted.way, config)
    crawl = await _remembered(wanted, url, config)
    is_typed = crawl is None or any(seed.startswith(f"{url.origin}/") for seed in crawl.rules.seeds)
    allowed_origins = (url.origin,) if is_typed else ()
    # One more than the transports have, to be asked what it thinks; it goes by the same rules.
    guard = Guard(config.guard, clock, allowed_origins)
    try:
        transports = transports_of(config, sites, clock, allowed_origins)
        try:
            pipeline = Pipeline(transports, clock, sites, spelling_of(config.urls))
            return await _Attempt(wanted, url, crawl, config, sites, pipeline, guard, clock, on_step).run()
        finally:
            await transports.close()
    finally:
        await guard.close()


def _check_way(way: Way | None, config: Config) -> None:
    missing = why_missing(way, config) if way is not None else None
    if missing is not None:
        raise UsageError(missing)


async def _remembered(wanted: Wanted, url: WebUrl, config: Config) -> Remembered | None:
    where = wanted.crawl
    if where is None or not (wanted.is_crawl_given or where.server or (where.directory / LEDGER_FILE).exists()):
        return None
    ledger = await open_ledger(where, read_only=True, config=config)
    try:
        rules, life, host = await kept_rules(ledger), await ledger.life(url.url), await ledger.host(url.origin)
        canonical = await ledger.canonical_copy(url.url)
    finally:
        await ledger.close()
    if rules is None or not (wanted.is_crawl_given or life or host):
        return None
    return Remembered(where, rules, life, host, canonical)


class _Attempt:
    """The visit, with a notebook."""

    def __init__(
        self,
        wanted: Wanted,
        url: WebUrl,
        crawl: Remembered | None,
        config: Config,
        sites: Sites,
        pipeline: Pipeline,
        guard: Guard,
        clock: Clock,
        on_step: Callable[[Step], None] | None,
    ) -> None:
        self._wanted = wanted
        self._url = url
        self._crawl = crawl
        self._life = crawl.life if crawl is not None else None
        self._canonical = crawl.canonical if crawl is not None else None
        known = crawl.host if crawl is not None else None
        self._host = known or HostRecord(origin=url.origin, domain=url.host)
        # A URL that the crawl has not met counts as linked to by a seed; without a crawl it is a seed.
        self._depth = self._life.depth if self._life is not None else 0 if crawl is None else 1
        self._config = config
        self._site = sites.of_origin(url.origin)
        self._names = robot_names(self._site.fetch)
        self._pipeline = pipeline
        self._guard = guard
        self._clock = clock
        self._on_step = on_step
        self._steps: list[Step] = []
        self._has_asked_robots = False
        self._is_private = False

    async def run(self) -> Trial:
        now = self._clock.now()
        self._tell(describe.of_url(self._wanted.url, self._url, self._crawl, self._depth))
        self._tell([await self._address()])
        self._tell([describe.of_host(self._host, self._site, self._crawl is not None, now)])
        task = self._task(now)
        answer = await self._answered(task, self._held())
        self._tell(describe.of_answer(answer, self._url.url))
        reading = self._read(answer)
        outcome = self._outcome(answer, reading)
        self._learn(answer, outcome)
        stale = self._stale(outcome)
        now, ways = self._clock.now(), self._pipeline.ways
        plan = plan_for(outcome, task, now, self._site, random.random(), self._host.next_at, ways, answer.way)
        host = self._host
        trial = Trial(
            asked=mask_url(self._wanted.url),
            url=self._url.url,
            outcome=outcome,
            plan=plan,
            steps=tuple(self._steps),
            fetch=answer.record,
            is_private=self._is_private,
            rest=Resting(host.origin, host.next_at, host.resting_why) if self._is_resting(now) else None,
            stale=stale,
            body=answer.response.body if answer.response is not None else b"",
        )
        return trial if reading is None else _with_reading(trial, reading)

    def _tell(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self._steps.append(step)
            if self._on_step is not None:
                self._on_step(step)

    # -- before anything is sent ----------------------------------------------------------------------------

    async def _address(self) -> Step:
        origin = origin_of(self._url.url)
        assert origin is not None, "a seed is a plain URL"
        checked = await self._guard.check(origin, self._site.fetch.connect_timeout_seconds)
        addresses = checked if isinstance(checked, tuple) else ()
        classes = {self._guard.class_of(origin, address) for address in addresses}
        self._is_private = self._crawl is None and "typed" in classes
        return describe.of_address(origin.host, checked, classes, self._crawl)

    def _task(self, now: float) -> Task:
        task = Task(self._url.url, self._url.origin, self._depth, Priority.HIGH, Source.SEED, None, now, now)
        chain = self._life.chain if self._life is not None else ()
        wanted = self._wanted
        return msgspec.structs.replace(task, way=wanted.way, is_unconditional=wanted.is_unconditional, chain=chain)

    def _held(self) -> Held | None:
        page = self._life.page if self._life is not None else None
        if page is not None:
            return Held(page.fetched_at, page.status, page.kind, page.etag, page.last_modified, page.content_length)
        last = self._life.visits[-1] if self._life is not None and self._life.visits else None
        return Held(last.at, last.fetch.status) if last is not None and last.fetch.status else None

    # -- asking ---------------------------------------------------------------------------------------------

    async def _answered(self, task: Task, held: Held | None) -> Answer:
        """Ask until the page itself was answered, each request in the host's turn."""
        for _ in range(MOST_REQUESTS):
            not_now = await self._turn() if self._tell_of_what_is_ahead(task, held) else None
            if not_now is not None:
                return not_now
            answer = await self._pipeline.fetch(task, self._host, held, canonical=self._canonical)
            if not isinstance(answer.outcome, Deferred):
                return answer
            self._learn(answer, answer.outcome)
            # Its turn may be another crawl's.
            self._host = msgspec.structs.replace(self._host, next_at=max(self._host.next_at, answer.outcome.until))
        return answer

    def _tell_of_what_is_ahead(self, task: Task, held: Held | None) -> bool:
        """The pipeline's next decisions, before it takes them. True when it will send a request."""
        now = self._clock.now()
        ahead = policy(task, self._host, now, self._names)
        if isinstance(ahead, Refused) or ahead is None:
            self._tell_once(describe.of_robots(self._host, self._url.url, self._names, now, self._has_asked_robots))
        if ahead is None:
            self._tell_once(describe.of_copy(task, held, self._site, now, self._canonical))
            return copy_that_serves(task, held, self._site.cache, now, self._canonical) is None
        return not isinstance(ahead, Refused)

    def _tell_once(self, step: Step) -> None:
        if all(told.name != step.name for told in self._steps):
            self._tell([step])

    async def _turn(self) -> Answer | None:
        """Wait for the host's turn, unless it is far away: then the answer is "not now"."""
        now = self._clock.now()
        wait = self._host.next_at - now
        if wait <= 0:
            return None
        if self._is_resting(now):
            return Answer(Deferred(self._host.next_at, self._host.resting_why), now)
        if wait > LONGEST_WAIT_SECONDS:
            return Answer(Deferred(self._host.next_at, "turn: the host's next one is too far away to wait for"), now)
        self._tell([Step("turn", f"{describe.span(wait)} until the host's turn")])
        await asyncio.sleep(wait)
        return None

    def _is_resting(self, now: float) -> bool:
        return bool(self._host.resting_why) and self._host.next_at > now

    def _learn(self, answer: Answer, outcome: Outcome) -> None:
        """What the host's answer changes in its record, as in a crawl."""
        now, jitter = self._clock.now(), random.random()
        self._host = learned(self._host, answer, outcome, now, self._site, jitter, self._pipeline.ways)
        if answer.robots is not None:
            self._has_asked_robots = True
            if answer.robots.verdict is RobotsVerdict.UNREACHABLE:
                self._tell([describe.of_robots(self._host, self._url.url, self._names, now, self._has_asked_robots)])
        if answer.probe is not None:
            says = "it is back" if answer.probe.is_up else "it is still down"
            self._tell([Step("probe", f"{says}: {answer.probe.why}", answer.probe.is_up)])

    # -- what came back -------------------------------------------------------------------------------------

    def _read(self, answer: Answer) -> Reading | None:
        response = answer.response
        if not isinstance(answer.outcome, Fetched) or response is None:
            return None
        job = Job(
            number=0,
            url=self._url.url,
            fetched_url=response.url,
            depth=self._depth,
            body=response.body,
            content_type=response.content_type,
            robots_header="\n".join(response.headers.all("X-Robots-Tag")) or None,
            robot_names=tuple(sorted(self._names)),
            status=response.status,
            way=response.way,
            validation=self._site.validation,
            now=self._clock.now(),
        )
        reading = read_page(job, self._rules())
        self._tell([describe.of_reading(reading)])
        return reading

    def _rules(self) -> Rules:
        if self._crawl is not None:
            return self._crawl.rules
        return rules_of([self._url.url], self._config, datetime.fromtimestamp(self._clock.now(), UTC).year)

    def _outcome(self, answer: Answer, reading: Reading | None) -> Outcome:
        if reading is not None and reading.failed is not None:
            return reading.failed
        if reading is not None and reading.rejected is not None:
            return reading.rejected
        if reading is not None and reading.is_noindex:
            return Rejected("noindex: the page asks not to be kept")
        if isinstance(answer.outcome, Redirected) and self._depth:
            # The crawl was meant to go where a seed leads; any other redirect is asked for its admission.
            rules = self._rules()
            target = normalize(answer.outcome.to, None, spelling_of(rules.urls))
            why = refusal(rules, target, self._depth) if target is not None else "invalid"
            return answer.outcome if why is None else msgspec.structs.replace(answer.outcome, why=why)
        return answer.outcome

    def _stale(self, outcome: Outcome) -> Page | None:
        page = self._life.page if self._life is not None else None
        if page is None or not isinstance(outcome, (Failed, Rejected, Redirected)):
            return None
        self._tell([describe.of_stale(page, self._clock.now())])
        return page


def _with_reading(trial: Trial, reading: Reading) -> Trial:
    fetch = msgspec.structs.replace(
        trial.fetch, charset_source=reading.charset_source, validation=reading.validation, evidence=reading.evidence
    )
    return msgspec.structs.replace(
        trial,
        fetch=fetch,
        title=reading.title,
        text=reading.text,
        charset=reading.charset,
        links_count=reading.links_count,
        offered=len(reading.offers),
    )
