"""A crawl as a library: the same engine as the command, in ten lines.

async with tenax.Crawl(["https://example.org"]) as crawl:
    async for page in crawl:
        print(page.url, page.title)
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

import msgspec

from tenax.app import App
from tenax.clock import Clock, SteadyClock
from tenax.config import Config
from tenax.errors import UsageError
from tenax.ledger import Admission, Ledger, Status
from tenax.metrics import Metrics, MetricsServer
from tenax.model import Ending, Page, Progress, Visit
from tenax.place import place_of
from tenax.progress import Meter
from tenax.rulebook import agreed, kept_rules, with_seeds
from tenax.seeding import survey
from tenax.urls.admit import Rules, rules_of, seed_offers
from tenax.urls.normalize import normalize, spelling_of
from tenax.wiring import build, clock_of, open_ledger, set_aside

MOST_UNREAD_PAGES = 200
KEPT_FRESH = "kept_fresh"
"""The name under which a ledger remembers that its pages are kept up with."""


class Crawl:
    """One crawl in one directory, or on the server that `ledger.url` names: new, or the one that is there already.

    Everything is in `out` (by default `tenax-HOST` of the first seed): leave at any time, by `break`, an exception or
    kill -9, and the same call goes on from there. Pages that an earlier run stored are not given again. On a server,
    `out` is for the files of `events` alone; without it none are written.
    """

    def __init__(
        self,
        seeds: Sequence[str],
        config: Config | None = None,
        *,
        out: Path | str | None = None,
        fresh: bool = False,
        revisit: bool = False,
        typed_by_person: bool = False,
        command: str = "",
        clock: Clock | None = None,
    ) -> None:
        """`fresh` sets an earlier crawl in `out` aside, `revisit` visits its pages again.

        `typed_by_person` allows a seed at a private address. `command` is what a person would type to go on with this
        crawl; it is kept with it and shown by `tenax status`.
        """
        if not seeds:
            raise UsageError("there is nothing to crawl; give at least one URL")
        self._config = config or Config()
        self._own_clock = clock
        self._clock = clock or SteadyClock()
        year = datetime.fromtimestamp(self._clock.now(), UTC).year
        self._rules = rules_of(seeds, self._config, year)
        self.place = place_of(self._config, Path(out) if out is not None else None)
        if not self.place.server and out is None:
            self.place = place_of(self._config, default_directory(self._rules.seeds[0]))
        if self.place.server and fresh:
            raise UsageError("a crawl on a server cannot be set aside; give another ledger.schema")
        self.out = self.place.out
        """Its directory; None when it is on a server and writes no files."""
        self._fresh = fresh
        self._revisit = revisit
        self._typed_by_person = typed_by_person
        self._command = command
        self.notices: list[str] = []
        """What a person should be told before it starts."""
        self._app: App | None = None
        self._unread: deque[Page] | None = None
        self._arrived = asyncio.Event()
        self._running: asyncio.Task[Ending] | None = None
        self._metrics = Metrics()
        self._metrics_server: MetricsServer | None = None

    async def __aenter__(self) -> Crawl:
        config = self._config
        spelling = spelling_of(config.urls)
        urls = [url for seed in self._rules.seeds if (url := normalize(seed, None, spelling)) is not None]
        surveyed = await survey(urls, config.guard, self._typed_by_person)
        self.notices.extend(surveyed.notices)
        place = self.place
        if self._fresh and (aside := set_aside(place.directory, config, self._clock.now())) is not None:
            self.notices.append(f"the earlier crawl was moved to {aside}")
        self._clock = self._own_clock or await clock_of(place, config)
        ledger = await open_ledger(place, read_only=False, config=config, clock=self._clock)
        try:
            rules = self._agreed(await kept_rules(ledger))
            self._app = await build(
                place, ledger, rules, config, self._clock, surveyed.allowed_origins, self._visited,
                is_endless=config.freshness.keep,
            )  # fmt: skip
            await self._app.rulebook.change(self._beside_others if place.server else lambda _: rules)
            await ledger.admit(seed_offers(self._rules))
            await ledger.remember("command", self._command.encode())
            revisited = await self._brought_back(ledger)
            self._meter = Meter(self._clock, ledger, self._app.hosts, self._app.engine)
            self._note_resumption(revisited)
            if config.metrics.port:
                self._metrics_server = self._metrics.serve(config.metrics.port, config.metrics.host)
        except BaseException:
            await (self._app.close() if self._app is not None else ledger.close())
            raise
        return self

    async def _brought_back(self, ledger: Ledger) -> int:
        """How many URLs wait again. What was visited before anyone kept up with it has no time to come back at: when
        that begins, it comes back at once."""
        begins = self._config.freshness.keep and await ledger.recall(KEPT_FRESH) is None
        revisited = await ledger.revisit(self._clock.now()) if self._revisit or begins else 0
        if begins:
            await ledger.remember(KEPT_FRESH, b"1")
        return revisited

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._running is not None and not self._running.done():
                self.stop()
                await self._running
        finally:
            if self._metrics_server is not None:
                self._metrics_server.close()
            if self._app is not None:
                await self._app.close()

    async def run(self) -> Ending:
        """Crawl to an end; pages go to the ledger and the sinks only."""
        return await self._parts.run(self._measure)

    async def __aiter__(self) -> AsyncIterator[Page]:
        """Pages as they are committed. The crawl waits when they are not taken, and stops when the loop is left."""
        self._unread = deque()
        # Kept, because a loop that is left early does not end this generator at once; `__aexit__` waits for it.
        running = self._running = asyncio.get_running_loop().create_task(self.run())
        running.add_done_callback(lambda _: self._arrived.set())
        while not running.done() or self._unread:
            while self._unread:
                page = self._unread.popleft()
                if len(self._unread) < MOST_UNREAD_PAGES // 2:
                    self._parts.engine.hold("unread", False)
                yield page
            if not running.done():
                self._arrived.clear()
                await self._arrived.wait()
        await running

    def stop(self) -> None:
        """Claim no more; what is in flight is finished and committed, then `run` ends."""
        self._parts.engine.stop()

    def progress(self) -> Progress:
        return self._meter.progress()

    async def status(self) -> Status:
        return await self._parts.ledger.status()

    @property
    def _parts(self) -> App:
        if self._app is None:
            raise RuntimeError("enter the crawl first: `async with tenax.Crawl(...) as crawl:`")
        return self._app

    def _visited(self, visit: Visit, admission: Admission) -> None:
        self._metrics.visit(visit, admission.duplicate_of is not None)
        self._meter.visited(visit)
        if self._unread is not None and visit.page is not None:
            page, twin = visit.page, admission.duplicate_of
            self._unread.append(
                msgspec.structs.replace(page, duplicate_of=twin, likeness=admission.likeness) if twin else page
            )
            self._parts.engine.hold("unread", len(self._unread) >= MOST_UNREAD_PAGES)
            self._arrived.set()

    async def _measure(self) -> None:
        while True:
            self._metrics.scrape(self._meter.progress())
            await asyncio.sleep(1)

    def _beside_others(self, kept: Rules) -> Rules:
        """On a server others may have given seeds as well; theirs are crawled too."""
        return with_seeds(kept, self._rules.seeds, self._config, self._rules.year)

    def _agreed(self, kept: Rules | None) -> Rules:
        new = self._beside_others(kept) if kept is not None and self.place.server else self._rules
        rules, changed = agreed(new, kept)
        if changed:
            self.notices.append(f"changed since the last run: {', '.join(changed)}; links found from now on follow it")
        return rules

    def _note_resumption(self, revisited: int) -> None:
        counts = self._parts.ledger.counts()
        if not counts.pages and not counts.outcomes:
            return
        if revisited:
            rest = f", {counts.waiting - revisited:,} others waiting" if counts.waiting > revisited else ""
            self.notices.append(f"visiting {revisited:,} URLs again: {counts.pages:,} pages stored{rest}")
        elif counts.waiting:
            self.notices.append(f"resuming: {counts.pages:,} pages stored, {counts.waiting:,} URLs waiting")
        else:
            self.notices.append(
                f"this crawl is complete: {counts.pages:,} pages stored; --fresh starts it over, "
                "--revisit visits every page again"
            )


def default_directory(seed: str) -> Path:
    """Where a crawl of this seed lives when nothing else is said."""
    host = seed.partition("://")[2].partition("/")[0]
    return Path("tenax-" + "".join(mark if mark.isalnum() or mark in ".-" else "-" for mark in host))
