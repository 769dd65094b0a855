"""An engine on real parts over a web in memory, with a manual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tenax.clock import ManualClock
from tenax.config import Config, DatabaseConfig, DiscoveryConfig, PolitenessConfig, Sites
from tenax.crawl.connectivity import NetworkState
from tenax.crawl.engine import Engine
from tenax.crawl.reader.pool import InlineReaderPool
from tenax.crawl.rules import CrawlRules
from tenax.database import Admission, UrlHistory
from tenax.database.admission import WriteRules
from tenax.database.duplicates import PageSimilarity
from tenax.database.sqlite import SqliteDatabase
from tenax.fetch import Request, Response
from tenax.fetch.headers import Headers
from tenax.fetch.pipeline import Pipeline, Visitor
from tenax.hosts.records import MemoryHosts, UnsharedHosts
from tenax.hosts.rules import HostPace
from tenax.metrics import Metrics
from tenax.model import Candidate, Ending, Failed, Refused, Visit
from tenax.urls.admit import build_rules, seed_candidates
from tenax.urls.normalize import normalize_options
from tests.fetch.anywhere import transports_over

SITE = "https://a.test"
HURRIED = PolitenessConfig(rate_per_second=0, connections_per_host=8)
BY_LINKS = DiscoveryConfig(sources=("links",))
BEGUN_AT = 1_750_000_000.0


class Sent(NamedTuple):
    """A response with its own type. With an ETag, a request for a stored copy gets a 304."""

    body: bytes
    content_type: str = "text/html"
    headers: Mapping[str, str] = {}


Answered = str | tuple[int, str] | Sent | Failed | Refused | Exception
"""A page's HTML, a status with a Location or a Retry-After, a document, a failure, or a bug."""


def linking(*paths: str, head: str = "") -> str:
    links = "".join(f'<a href="{path}">x</a>' for path in paths)
    return f"<html><head><title>T</title>{head}</head><body><p>words</p>{links}</body></html>"


class Web:
    """A transport over pages in memory. It counts visits in flight, and can be paused."""

    def __init__(self, pages: Mapping[str, Answered], clock: ManualClock) -> None:
        self.pages = {SITE + "/robots.txt": (404, ""), **pages}
        self.asked: list[str] = []
        self.most_at_once = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.at_the_gate = asyncio.Event()
        self.at_once = 0
        self._clock = clock

    async def get(self, request: Request) -> Response | Failed | Refused:
        self.asked.append(request.url)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0)
            if not request.url.endswith("/robots.txt"):
                self.at_the_gate.set()
                await self.gate.wait()
        finally:
            self.at_once -= 1
        answer = self.pages.get(request.url, (404, ""))
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, (Failed, Refused)):
            return answer
        status, headers, body = _on_the_wire(answer, request)
        now = self._clock.now()
        pairs = Headers((name.encode(), value.encode()) for name, value in headers.items())
        return Response(request.url, status, pairs, body, len(body), now, now, now)

    async def close(self) -> None: ...


def _on_the_wire(answer: str | tuple[int, str] | Sent, request: Request) -> tuple[int, Mapping[str, str], bytes]:
    if isinstance(answer, str):
        return 200, {"Content-Type": "text/html"}, answer.encode()
    if not isinstance(answer, Sent):
        status, words = answer
        return status, {"Location": words, "Retry-After": words}, b""
    etag = answer.headers.get("ETag")
    if etag is not None and etag in dict(request.headers).values():
        return 304, answer.headers, b""
    return 200, {"Content-Type": answer.content_type, **answer.headers}, answer.body


class Crawl:
    """An engine with its parts, and what it did."""

    def __init__(
        self, database: SqliteDatabase, web: Web, engine: Engine, visits: list[Visit], admissions: list[Admission]
    ) -> None:
        self.database = database
        self.web = web
        self.engine = engine
        self.visits = visits
        self.admissions = admissions

    async def run(self) -> Ending:
        async with asyncio.timeout(60):
            return await self.engine.run()

    async def life(self, path: str) -> UrlHistory:
        found = await self.database.url_history(SITE + path if path.startswith("/") else path)
        assert found is not None
        return found

    @property
    def stored(self) -> list[str]:
        return [visit.page.url.removeprefix(SITE) for visit in self.visits if visit.page is not None]

    @property
    def outcomes(self) -> dict[str, str]:
        """The last outcome of each path."""
        return {visit.claim.task.url.removeprefix(SITE): visit.label for visit in self.visits}

    @property
    def asked(self) -> list[str]:
        """The requested paths of its own site, without robots.txt."""
        return [url.removeprefix(SITE) for url in self.web.asked if not url.endswith("/robots.txt")]

    @property
    def candidates(self) -> dict[str, Candidate]:
        """The candidates of visits, by path; the last of each."""
        return {candidate.url.removeprefix(SITE): candidate for visit in self.visits for candidate in visit.candidates}


async def begun(
    folder: Path,
    clock: ManualClock,
    pages: Mapping[str, Answered],
    config: Config,
    readers: InlineReaderPool | None = None,
    sites: Sites | None = None,
    seeds: tuple[str, ...] = (SITE + "/",),
) -> Crawl:
    """A crawl of these pages with its seeds admitted; the caller closes its database."""
    sites = sites or Sites(config)
    rules = build_rules(seeds, config, 2026)
    web = Web({SITE + path if path.startswith("/") else path: page for path, page in pages.items()}, clock)
    database = await SqliteDatabase.open(
        folder / "tenax.db",
        DatabaseConfig(group_seconds=0.0),
        clock,
        HostPace(sites),
        write_rules=WriteRules(similarity=PageSimilarity(sites)),
    )
    readers = readers or InlineReaderPool()
    await readers.start()
    pipeline = Pipeline(transports_over(clock, web), clock, sites, normalize_options(rules.urls))
    visits: list[Visit] = []
    admissions: list[Admission] = []

    def note(visit: Visit, admission: Admission) -> None:
        visits.append(visit)
        admissions.append(admission)

    engine = Engine(
        database,
        Visitor(pipeline, UnsharedHosts(MemoryHosts()), sites, clock),
        readers,
        crawl_rules=CrawlRules(database, rules),
        crawl=config.crawl,
        network=NetworkState(config.resilience),
        metrics=Metrics(),
    )
    engine.listeners.append(note)
    await database.admit(seed_candidates(rules))
    return Crawl(database, web, engine, visits, admissions)


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(60_000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("the condition never became true")
