"""The way of one fetch, step by step; what came of it, as a value.

    decide → policy → cache → network, and then the reader validates

Each step may end the fetch with an outcome. Nothing waits here: a host that must be asked for its robots.txt first,
or probed after an outage, is asked, and the task goes back for the host's next turn.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import msgspec

from tenax.clock import Clock
from tenax.config import FetchConfig, SiteConfig, Sites
from tenax.config.sites import host_of
from tenax.fetch import Request, Response
from tenax.fetch.answer import Answer, Probe
from tenax.fetch.answer_record import with_answer
from tenax.fetch.body_budget import Room
from tenax.fetch.cache import copy_that_serves
from tenax.fetch.classify import outcome_of, retry_after_seconds
from tenax.fetch.decide import decision
from tenax.fetch.headers import conditional_headers, robot_names, standing_headers
from tenax.fetch.policy import AskRobots, ProbeFirst, policy
from tenax.fetch.redirects import Elsewhere, SameUrl, Stop, next_hop
from tenax.fetch.transports import Manners, Transports
from tenax.hosts.robots import (
    MAX_ROBOTS_BYTES,
    MAX_ROBOTS_REDIRECTS,
    AskedRobots,
    RobotsAnswer,
    RobotsNoAnswer,
    RobotsRedirectedAway,
    copy_of,
)
from tenax.hosts.rules import (
    asked_of_all,
    is_no_host,
    lasting,
    must_probe,
    own_failure,
    pace_seconds,
    retried_soon,
    usual_way,
)
from tenax.model import (
    CanonicalCopy,
    Deferred,
    Failed,
    FailureKind,
    Held,
    Hop,
    HostRecord,
    Outcome,
    Redirected,
    Refused,
    RobotsVerdict,
    Task,
    Unchanged,
    Way,
)
from tenax.urls.normalize import Spelling, normalize

ROBOTS_TIMEOUT_SECONDS = 10.0
PROBE_TIMEOUT_SECONDS = 10.0
Carried: TypeAlias = Response | Failed | Refused | Deferred
_FOLLOWING = Manners(follows=True)
_TIMEOUTS = frozenset({FailureKind.TIMEOUT_HEADERS, FailureKind.TIMEOUT_BODY, FailureKind.TIMEOUT_TOTAL})


class Pipeline:
    """Fetches tasks by the rules; used by many visits at once."""

    def __init__(self, transports: Transports, clock: Clock, sites: Sites, spelling: Spelling) -> None:
        self._transports = transports
        self._clock = clock
        self._sites = sites
        self._spelling = spelling
        self._elsewhere = sites.of("")
        self._standing: dict[int, tuple[tuple[str, str], ...]] = {}

    @property
    def ways(self) -> frozenset[Way]:
        """Those that are at hand."""
        return self._transports.available

    @property
    def most_at_once(self) -> int:
        """As many visits as there are files for."""
        return self._transports.most_at_once

    def out_of_files(self) -> Deferred:
        """For a visit that found no file descriptor left: it is put off, and fewer are made at once."""
        return self._transports.out_of_files()

    async def tell_others(self, host: HostRecord, site: SiteConfig) -> None:
        """What this host asked of us holds for every crawl of this machine."""
        asked = asked_of_all(host, site.politeness)
        if asked is not None:
            await self._transports.tell_others(host.origin, *asked, shares_turns=site.politeness.share_turns)

    async def fetch(
        self,
        task: Task,
        host: HostRecord,
        held: Held | None = None,
        send_by: float = math.inf,
        canonical: CanonicalCopy | None = None,
        room: Room | None = None,
    ) -> Answer:
        """Whatever comes next for this task. No request of it is sent from `send_by` on.

        `room` is where its body counts; whoever gives it closes it. None: it counts nowhere.
        """
        now = self._clock.now()
        site = self._sites.of_origin(host.origin)
        refused = decision(task, held, site.cache, self._spelling, now)
        if refused is not None:
            return Answer(refused, now)
        match policy(task, host, now, robot_names(site.fetch)):
            case AskRobots():
                return await self._ask_robots_first(host, site, send_by, room)
            case ProbeFirst():
                return await self._probe(host, site, send_by, room)
            case Deferred() | Refused() as outcome:
                return Answer(outcome, now)
        served = copy_that_serves(task, held, site.cache, now, canonical)
        if served is not None:
            return Answer(served, now)
        return await self._get(task, host, held, site, send_by, room)

    # -- before the page ------------------------------------------------------------------------------------

    async def _probe(self, host: HostRecord, site: SiteConfig, send_by: float, room: Room | None) -> Answer:
        """One HEAD of the root. Any answer but that of a broken server means that somebody is there."""
        way = self._way(host)
        timeout = min(PROBE_TIMEOUT_SECONDS, site.fetch.total_timeout_seconds)
        request = Request(
            f"{host.origin}/", site.fetch.max_body_bytes, timeout, verify_tls=site.fetch.verify_tls,
            method="GET" if way is Way.BROWSER else "HEAD", standing=self._headers_of(site),
            connect_timeout_seconds=site.fetch.connect_timeout_seconds, profile=site.fetch.profile, send_by=send_by,
            room=room,
        )  # fmt: skip
        answer = _advised(await self._transports.get(way, request, _manners(host, site)), host.origin)
        now = self._clock.now()
        match answer:
            case Deferred() | Refused():
                return Answer(answer, now)
            case Failed() if _is_unasked(answer):
                return Answer(answer, now, 1, way)
            case Failed(why=why, kind=kind):
                probe = Probe(kind is FailureKind.INTERNAL, why)  # a page that broke us has come
            case Response(status=status):
                probe = Probe(status < 500, f"HTTP {status}")
        says = "it is back" if probe.is_up else f"still down: {probe.why}"
        return Answer(Deferred(now, f"probe: {says}"), now, 1, way, probe=probe)

    async def _ask_robots_first(self, host: HostRecord, site: SiteConfig, send_by: float, room: Room | None) -> Answer:
        way = self._way(host)
        answer, requests = await self._ask_robots(host, site, way, send_by, room)
        now = self._clock.now()
        if isinstance(answer, (Refused, Deferred)) or (isinstance(answer, Failed) and _is_unasked(answer)):
            return Answer(answer, now, requests, way)
        if isinstance(answer, Failed) and is_no_host(answer):
            return Answer(answer, now, requests, way)  # nothing to remember: there is no host that could rest
        asked = RobotsNoAnswer(answer.why) if isinstance(answer, Failed) else answer
        copy = copy_of(asked, host.robots, site.politeness, now)
        robots = lasting(copy, host, site.politeness, now, requests, robot_names(site.fetch))
        probe = Probe(_is_up(asked), f"robots.txt: {robots.why or 'it is there'}") if must_probe(host) else None
        if robots.verdict is not RobotsVerdict.UNREACHABLE:
            return Answer(Deferred(now, "robots.txt was asked first"), now, requests, way, robots, probe)
        outcome = _trouble_of_host(answer) if isinstance(answer, Failed) and probe is None else None
        if outcome is not None and outcome.is_site_wide:
            robots = retried_soon(robots, host, site.fetch, now)
        deferred = Deferred(robots.expires_at, f"robots.txt unreachable: {robots.why}")
        return Answer(outcome or deferred, now, requests, way, robots, probe)

    async def _ask_robots(
        self, host: HostRecord, site: SiteConfig, way: Way, send_by: float, room: Room | None
    ) -> tuple[AskedRobots | Failed | Refused | Deferred, int]:
        """Follow the file's redirects, across hosts too (RFC 9309, 2.3.1.2): one turn of each host for its part.

        Each host is asked by its own settings: what is set for the first is none of the others' business.
        """
        origin, url = host.origin, f"{host.origin}/robots.txt"
        chain: tuple[Hop, ...] = ()
        requests = 0
        visited: set[str] = set()
        while True:
            is_own = origin == host.origin
            here = site if is_own else self._sites.of_origin(origin)
            # Of a host that we only meet on the way no record is at hand: it has its configured pace.
            keeper = host if is_own else HostRecord(origin=origin, domain="")
            manners = _FOLLOWING if origin in visited else _manners(keeper, here, follows=bool(chain))
            visited.add(origin)
            request = self._request_for_robots(url, here, send_by, room)
            answer = _advised(await self._transports.get(way, request, manners), origin)
            if isinstance(answer, Deferred):
                return answer, requests
            requests += is_own
            if chain and (isinstance(answer, Refused) or (isinstance(answer, Failed) and is_no_host(answer))):
                return RobotsNoAnswer(f"redirected: {answer.why}"), requests
            if not isinstance(answer, Response):
                return answer, requests
            if not answer.is_redirect:
                wait = retry_after_seconds(answer, site.fetch.max_retry_after_seconds)
                return RobotsAnswer(answer.status, answer.body, answer.content_type, wait), requests
            location, own = answer.headers.get("Location"), (Hop(url, answer.status),)
            hop = next_hop(own, chain, location, MAX_ROBOTS_REDIRECTS, self._spelling, site.fetch.https_domains)
            if not isinstance(hop, Elsewhere):
                return RobotsRedirectedAway(answer.status), requests
            chain, url, origin = hop.chain, hop.url, hop.origin

    def _request_for_robots(self, url: str, site: SiteConfig, send_by: float, room: Room | None) -> Request:
        fetch = site.fetch
        return Request(
            url,
            max(fetch.max_body_bytes, MAX_ROBOTS_BYTES + 1),
            min(ROBOTS_TIMEOUT_SECONDS, fetch.total_timeout_seconds),
            verify_tls=fetch.verify_tls,
            standing=self._headers_of(site),
            profile=fetch.profile,
            connect_timeout_seconds=fetch.connect_timeout_seconds,
            takes_beginning=True,
            send_by=send_by,
            room=room,
        )

    # -- the page -------------------------------------------------------------------------------------------

    async def _get(
        self, task: Task, host: HostRecord, held: Held | None, site: SiteConfig, send_by: float, room: Room | None
    ) -> Answer:
        """The page. A redirect that only spells the same URL otherwise is followed here; any other ends the visit."""
        way = self._way(host, task.way)
        url, own = task.url, tuple[Hop, ...]()
        while True:
            request = self._request(url, task, held, site, send_by, room)
            # The second spelling belongs to the same turn: the host itself asked for it.
            manners = _FOLLOWING if own else _manners(host, site)
            answer = _advised(await self._transports.get(way, request, manners), host.origin, _body_limit(task))
            if isinstance(answer, Failed):
                answer = own_failure(answer, host)
            if not isinstance(answer, Response):
                sent = len(own) + (not isinstance(answer, Deferred))
                return Answer(answer, self._clock.now(), sent, way, chain=(*task.chain, *own))
            outcome = self._outcome(answer, request, held, site)
            if outcome is not None:
                return _ended(outcome, answer, site.fetch, len(own) + 1, (*task.chain, *own), held)
            own = (*own, Hop(url, answer.status))
            location = answer.headers.get("Location") if answer.is_redirect else answer.url
            fetch = site.fetch
            hop = next_hop(own, task.chain, location, fetch.max_redirects, self._spelling, fetch.https_domains)
            match hop:
                case SameUrl(exact_url=exact_url):
                    url = exact_url
                case Stop(why=why, to=to):
                    words = f"{why}, HTTP {answer.status}" + (f" to {to}" if to else "")
                    failed = Failed(words, FailureKind.REDIRECT, status=answer.status)
                    return _ended(failed, answer, fetch, len(own), (*task.chain, *own))
                case Elsewhere(url=to, chain=chain):
                    return _ended(Redirected(answer.status, to), answer, fetch, len(own), chain, elsewhere=hop)

    def _outcome(self, answer: Response, request: Request, held: Held | None, site: SiteConfig) -> Outcome | None:
        """How the visit ends with this answer; None when it leads elsewhere."""
        if answer.way is Way.BROWSER and not answer.is_redirect and not self._is_same(answer.url, request.url):
            return None  # it went on by itself: what it shows belongs to another URL, with rules of its own
        outcome = outcome_of(answer, site.fetch.max_retry_after_seconds)
        if isinstance(outcome, Unchanged) and (held is None or not _is_held(held) or not request.headers):
            return Failed("HTTP 304 for a page that we do not hold", FailureKind.NOT_MODIFIED, status=304)
        return outcome

    def _is_same(self, one: str, other: str) -> bool:
        spelled = [normalize(url, None, self._spelling) for url in (one, other)]
        return one == other or (spelled[0] is not None and spelled[0] == spelled[1])

    def _request(
        self, url: str, task: Task, held: Held | None, site: SiteConfig, send_by: float, room: Room | None
    ) -> Request:
        fetch = site.fetch
        return Request(
            url,
            # One more than is read of it, so that whoever reads it sees that it was cut.
            site.discovery.max_sitemap_bytes + 1 if task.is_catalogue else fetch.max_body_bytes,
            fetch.total_timeout_seconds,
            conditional_headers(held) if held is not None and not task.is_unconditional else (),
            fetch.headers_timeout_seconds,
            fetch.body_timeout_seconds,
            verify_tls=fetch.verify_tls,
            standing=self._headers_of(site),
            connect_timeout_seconds=fetch.connect_timeout_seconds,
            profile=fetch.profile,
            settle_seconds=site.browser.settle_seconds,
            max_subrequests=site.browser.max_requests_per_page,
            takes_beginning=task.is_catalogue,
            send_by=send_by,
            room=room,
        )

    def _headers_of(self, site: SiteConfig) -> tuple[tuple[str, str], ...]:
        """The headers of a site that has settings of its own; empty where those of the whole crawl hold."""
        if site is self._elsewhere:
            return ()
        headers = self._standing.get(id(site))
        if headers is None:
            headers = self._standing[id(site)] = standing_headers(site.fetch)
        return headers

    def _way(self, host: HostRecord, wanted: Way | None = None) -> Way:
        way = wanted or usual_way(host, self._clock.now())
        return way if way in self.ways else Way.HTTP


def _ended(
    outcome: Outcome,
    response: Response,
    fetch: FetchConfig,
    requests: int,
    chain: tuple[Hop, ...],
    held: Held | None = None,
    elsewhere: Elsewhere | None = None,
) -> Answer:
    record = with_answer(response.record, response, fetch)
    if isinstance(outcome, Unchanged) and held is not None:
        record = msgspec.structs.replace(record, saved_bytes=held.body_bytes)
    return Answer(
        outcome,
        response.answered_at,
        requests,
        response.way,
        response=response,
        record=record,
        elsewhere=elsewhere,
        chain=chain,
    )


def _body_limit(task: Task) -> str:
    """The setting that says how large the body of this task may be."""
    return "discovery.max_sitemap_bytes" if task.is_catalogue else "fetch.max_body_bytes"


def _advised(answer: Carried, origin: str, body_limit: str = "fetch.max_body_bytes") -> Carried:
    """The same; a failure that a setting would have prevented names it."""
    if not isinstance(answer, Failed):
        return answer
    if answer.kind is FailureKind.TOO_LARGE:
        advice = f"`{body_limit}`"
    elif answer.kind is FailureKind.TLS and "certificate" in answer.why:
        site = f'[site."{host_of(origin)}"]'
        advice = f"`fetch.verify_tls = false` accepts it, under {site} for this site alone"
    else:
        return answer
    return msgspec.structs.replace(answer, why=f"{answer.why} ({advice})")


def _is_held(held: Held) -> bool:
    """Whether there is something that a 304 can speak of."""
    return held.kind is not None or bool(held.catalogue)


def _is_unasked(failed: Failed) -> bool:
    """A proxy or the browser failed, not the host: whatever was to be asked is as unknown as before."""
    return failed.kind is FailureKind.PROXY or (failed.kind is FailureKind.INTERNAL and failed.is_site_wide)


def _is_up(asked: AskedRobots) -> bool:
    """Somebody answered, and not a broken server."""
    return not isinstance(asked, RobotsNoAnswer) and asked.status < 500


def _trouble_of_host(failed: Failed) -> Failed | None:
    """The failure of a robots.txt, as far as it is one of the host and counts towards its rest.

    The page was not asked for, so it pays for none of this.
    """
    if failed.is_site_wide:
        return failed
    return msgspec.structs.replace(failed, is_site_wide=True) if failed.kind in _TIMEOUTS else None


def _manners(host: HostRecord, site: SiteConfig, *, follows: bool = False) -> Manners:
    pace = pace_seconds(host, site.politeness)
    if pace == 0:
        return _FOLLOWING if follows else Manners()
    factor = site.politeness.address_factor
    return Manners(
        pace,
        site.politeness.connections_per_host,
        pace / factor if factor else 0.0,
        site.fetch.connect_timeout_seconds,
        site.fetch.max_retry_after_seconds,
        follows,
        site.politeness.share_turns,
    )
