"""The way of one fetch: robots.txt first, then the page; what came of it, as a value.

Each step may end the fetch with an outcome. Nothing waits here: a host that must be asked for its robots.txt first is
asked, and the task goes back for the host's next turn.
"""

from __future__ import annotations

from tenax.clock import Clock
from tenax.config import FetchConfig, PolitenessConfig
from tenax.fetch import Request, Response, Transport
from tenax.fetch.classify import outcome_of, retry_after_seconds
from tenax.fetch.redirects import Elsewhere, SameUrl, Stop, next_hop
from tenax.hosts.robots import (
    MAX_ROBOTS_REDIRECTS,
    AskedRobots,
    RobotsAnswer,
    RobotsNoAnswer,
    RobotsRedirectedAway,
    copy_of,
    matcher,
)
from tenax.model import (
    Deferred,
    Failed,
    FailureKind,
    FetchRecord,
    Hop,
    HostRecord,
    Outcome,
    Redirected,
    Refused,
    RobotsCopy,
    RobotsVerdict,
    Task,
    Value,
)
from tenax.urls.normalize import Spelling

ROBOTS_TIMEOUT_SECONDS = 10.0


class Answer(Value, frozen=True):
    """What a fetch came to."""

    outcome: Outcome
    answered_at: float
    """When the last answer's headers were here, or when we gave up on it."""
    requests: int = 0
    """Sent to the host, robots.txt included: each takes its share of the pace."""
    robots: RobotsCopy | None = None
    """The host's robots.txt, when this visit asked for it."""
    response: Response | None = None
    """The page's own answer, when one came."""
    record: FetchRecord = FetchRecord()
    elsewhere: Elsewhere | None = None
    """Where a redirect leads."""
    chain: tuple[Hop, ...] = ()
    """Every redirect up to here, this visit's included."""


class Pipeline:
    """Fetches tasks by the rules; used by many visits at once."""

    def __init__(
        self, transport: Transport, clock: Clock, fetch: FetchConfig, politeness: PolitenessConfig, spelling: Spelling
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._fetch = fetch
        self._politeness = politeness
        self._spelling = spelling

    async def fetch(self, task: Task, host: HostRecord) -> Answer:
        now = self._clock.now()
        robots = host.robots
        if robots is None or robots.expires_at <= now:
            return await self._ask_robots_first(host)
        if robots.verdict is RobotsVerdict.UNREACHABLE:
            return Answer(_unreachable(robots), now)
        if not matcher(robots).allows(task.url):
            return Answer(Refused(f"robots: {task.origin}/robots.txt does not allow it"), now)
        return await self._get(task)

    # -- robots.txt -----------------------------------------------------------------------------------------

    async def _ask_robots_first(self, host: HostRecord) -> Answer:
        answer, requests = await self._ask_robots(f"{host.origin}/robots.txt")
        now = self._clock.now()
        if isinstance(answer, Refused):
            return Answer(answer, now)
        asked = RobotsNoAnswer(answer.why) if isinstance(answer, Failed) else answer
        robots = copy_of(asked, host.robots, self._politeness, now)
        if robots.verdict is not RobotsVerdict.UNREACHABLE:
            return Answer(Deferred(now, "robots.txt was asked first"), now, requests, robots)
        # A host that cannot be reached is a failure like any other: it must count towards the host's rest.
        outcome = answer if isinstance(answer, Failed) else _unreachable(robots)
        return Answer(outcome, now, requests, robots)

    async def _ask_robots(self, url: str) -> tuple[AskedRobots | Failed | Refused, int]:
        """Follow the file's redirects, across hosts too (RFC 9309, 2.3.1.2)."""
        chain: tuple[Hop, ...] = ()
        requests = 0
        while True:
            requests += 1
            answer = await self._transport.get(Request(url, self._fetch.max_body_bytes, ROBOTS_TIMEOUT_SECONDS))
            if isinstance(answer, Refused) and chain:
                return RobotsNoAnswer(f"redirected: {answer.why}"), requests
            if not isinstance(answer, Response):
                return answer, requests
            if not answer.is_redirect:
                wait = retry_after_seconds(answer, self._fetch.max_retry_after_seconds)
                return RobotsAnswer(answer.status, answer.body, answer.content_type, wait), requests
            location = answer.headers.get("Location")
            hop = next_hop(url, (url,), chain, answer.status, location, MAX_ROBOTS_REDIRECTS, self._spelling)
            if not isinstance(hop, Elsewhere):
                return RobotsRedirectedAway(answer.status), requests
            chain, url = hop.chain, hop.url

    # -- the page -------------------------------------------------------------------------------------------

    async def _get(self, task: Task) -> Answer:
        """The page. A redirect that only spells the same URL otherwise is followed here; any other ends the visit."""
        asked: tuple[str, ...] = (task.url,)
        while True:
            answer = await self._transport.get(self._request(asked[-1]))
            if not isinstance(answer, Response):
                return Answer(answer, self._clock.now(), len(asked), chain=task.chain)
            outcome = outcome_of(answer, self._fetch.max_retry_after_seconds)
            if outcome is not None:
                return self._ended(outcome, answer, asked, task.chain)
            location = answer.headers.get("Location")
            limit = self._fetch.max_redirects
            hop = next_hop(task.url, asked, task.chain, answer.status, location, limit, self._spelling)
            match hop:
                case SameUrl(exact_url=exact_url):
                    asked = (*asked, exact_url)
                case Stop(why=why):
                    failed = Failed(why, FailureKind.REDIRECT, status=answer.status)
                    return self._ended(failed, answer, asked, (*task.chain, Hop(asked[-1], answer.status)))
                case Elsewhere(url=url, chain=chain):
                    return self._ended(Redirected(answer.status, url), answer, asked, chain, hop)

    def _ended(
        self,
        outcome: Outcome,
        response: Response,
        asked: tuple[str, ...],
        chain: tuple[Hop, ...],
        elsewhere: Elsewhere | None = None,
    ) -> Answer:
        return Answer(
            outcome,
            response.answered_at,
            len(asked),
            response=response,
            record=response.record,
            elsewhere=elsewhere,
            chain=chain,
        )

    def _request(self, url: str) -> Request:
        return Request(url, self._fetch.max_body_bytes, self._fetch.total_timeout_seconds)


def _unreachable(robots: RobotsCopy) -> Deferred:
    return Deferred(robots.expires_at, f"robots.txt unreachable: {robots.why}")
