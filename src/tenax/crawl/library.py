"""A crawl as a library: the same engine as the command, in ten lines.

async with tenax.Crawl(["https://example.org"]) as crawl:
    async for page in crawl:
        print(page.url, page.title)
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

import msgspec

from tenax.clock import Clock, SteadyClock
from tenax.config import Config, checked_config
from tenax.crawl.app import App, Background
from tenax.crawl.limit_check import reckon
from tenax.crawl.location import Place, place_of
from tenax.crawl.progress import Meter
from tenax.crawl.readmission import PARKED_CAUSES, bounds_of, readmit
from tenax.crawl.rules import agreed, kept_rules, with_seeds
from tenax.crawl.seed_check import Surveyed, allow, survey
from tenax.crawl.wiring import build, clock_of, open_ledger, set_aside
from tenax.database import Admission, Ledger, Status
from tenax.errors import NoSeedReachable, NothingStored, UsageError
from tenax.metrics import Metrics, MetricsServer
from tenax.model import Ending, Page, Progress, Visit, setting_of
from tenax.text.masking import mask_text, mask_url
from tenax.urls.admit import Rules, rules_of, seed_offers
from tenax.urls.normalize import WebUrl, normalize, spelling_of

MOST_UNREAD_PAGES = 200
MOST_UNREAD_BYTES = 64 * 1024 * 1024
"""Of the texts of pages that were not taken."""
KEPT_FRESH = "kept_fresh"
"""The name under which a ledger remembers that its pages are kept up with."""
SETTINGS = "settings"
"""The name under which a ledger remembers what a person set for this crawl, as JSON."""
MOST_NAMED = 3
"""Of seeds, or of outcomes, that there is something to say about."""


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
        settings: bytes | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`fresh` sets an earlier crawl in `out` aside, `revisit` visits its pages again.

        `typed_by_person` allows a seed at a private address. `command` is what a person would type to go on with this
        crawl; it is kept with it and shown by `tenax status`. `settings` is what a person set for it, kept with it for
        the next command; None leaves what is kept there alone.

        Raises `ConfigError` for a setting of a wrong type or out of its bounds, `UsageError` for a seed that is no URL.
        """
        if isinstance(seeds, str):
            raise UsageError(f"seeds must be a list of URLs; write [{mask_url(seeds)[:200]!r}]")
        if not seeds:
            raise UsageError("there is nothing to crawl; give at least one URL")
        self._config = checked_config(config or Config())
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
        self._settings = settings
        self.notices: list[str] = []
        """What a person should be told before it starts."""
        self._app: App | None = None
        self._unread: deque[Page] | None = None
        self._unread_bytes = 0
        self._arrived = asyncio.Event()
        self._running: asyncio.Task[Ending] | None = None
        self._metrics = Metrics()
        self._metrics_server: MetricsServer | None = None

    async def __aenter__(self) -> Crawl:
        config = self._config
        spelling = spelling_of(config.urls)
        urls = [url for seed in self._rules.seeds if (url := normalize(seed, None, spelling)) is not None]
        surveyed = await self._survey(urls)
        place = self.place
        if self._fresh and (aside := set_aside(place.directory, config, self._clock.now())) is not None:
            self.notices.append(f"the earlier crawl was moved to {aside}")
        self._clock = self._own_clock or await clock_of(place, config)
        ledger = await open_ledger(place, read_only=False, config=config, clock=self._clock)
        try:
            rules = self._agreed(await kept_rules(ledger))
            typed = (await allow(ledger, surveyed.allowed_origins, config.guard)).origins
            self._app = await build(
                place, ledger, rules, config, self._clock, typed, self._visited, is_endless=config.freshness.keep
            )
            await self._app.rulebook.change(self._beside_others if place.server else lambda _: rules)
            await self._readmit(ledger, typed)
            seeds = seed_offers(self._rules)
            await ledger.admit(seeds)
            await ledger.requeue(seeds)
            await self._app.take_up()
            await ledger.remember("command", mask_text(self._command).encode())
            if self._settings is not None:
                await ledger.remember(SETTINGS, self._settings)
            revisited = await self._brought_back(ledger)
            self._meter = Meter(self._clock, ledger, self._app.hosts, self._app.engine)
            await self._note_resumption(ledger, revisited)
            if config.metrics.port:
                self._metrics_server = self._metrics.serve(config.metrics.port, config.metrics.host)
        except BaseException:
            await (self._app.close() if self._app is not None else ledger.close())
            raise
        return self

    async def _readmit(self, ledger: Ledger, typed: Sequence[str]) -> None:
        """What earlier runs left out and this one allows."""
        rules = self._parts.rulebook.rules
        done = await readmit(ledger, rules, self._config, bounds_of(rules, self._config, typed))
        if taken_up := done.admitted + done.unparked:
            self.notices.append(f"{taken_up:,} URLs that earlier runs left out are taken up now")
        if done.asked_again:
            self.notices.append(f"{done.asked_again:,} documents are fetched again for what a limit cut off")

    async def _brought_back(self, ledger: Ledger) -> int:
        """How many URLs wait again. What was visited before anyone kept up with it has no time to come back at: when
        that begins, it comes back at once."""
        begins = self._config.freshness.keep and await ledger.recall(KEPT_FRESH) is None
        revisited = 0
        if self._revisit or begins:
            revisited = await ledger.revisit(self._clock.now()) + await ledger.replay(None, needs_browser=True)
        if self._revisit:
            revisited += await ledger.unpark(PARKED_CAUSES)
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

    async def _survey(self, urls: Sequence[WebUrl]) -> Surveyed:
        """What is known about the seeds' hosts, with notices of what the guard refuses.

        Raises `NoSeedReachable` when none of them can be found, or the guard refuses every one.
        """
        guard = self._config.guard
        surveyed = await survey(urls, guard, self._typed_by_person)
        self.notices.extend(surveyed.notices)
        if self._typed_by_person:
            return surveyed
        # What a person would have to type is what a program may not connect to.
        closed = frozenset((await survey(urls, guard, typed_by_person=True)).allowed_origins)
        if closed and closed == {url.origin for url in urls}:
            raise NoSeedReachable(_closed(urls, closed, guard.ports))
        if closed:
            self.notices.append(_closed(urls, closed, guard.ports))
        return surveyed

    async def run(self) -> Ending:
        """Crawl to an end; pages go to the ledger and the sinks only."""
        parts, grace_seconds = self._parts, self.grace_seconds
        others: list[Background] = [self._measure]
        if grace_seconds is not None:
            others.append(lambda: parts.abandon_after(grace_seconds))
        ending = await parts.run(*others)
        if ending is not Ending.COMPLETE:
            return ending
        if not (await self.status()).pages:
            return Ending.NOTHING_STORED
        return Ending.LIMITED if await self._is_limited() else Ending.COMPLETE

    @property
    def grace_seconds(self) -> float | None:
        """How long visits in flight may take to end after `stop`: on a server others make those that are abandoned.

        None: as long as they take, for nobody else has the file.
        """
        return self._config.worker.grace_seconds if self.place.server else None

    async def _is_limited(self) -> bool:
        """Whether a limit keeps out what the rules allow."""
        app = self._parts
        is_cut_off = await reckon(app.ledger, app.rulebook.rules, self._config)
        return is_cut_off or any(setting_of(cause) for cause in (await app.ledger.status()).parked)

    async def __aiter__(self) -> AsyncIterator[Page]:
        """Pages as they are committed. The crawl waits when they are not taken, and stops when the loop is left.

        Raises `NothingStored` at the end of a crawl that has no page at all: a loop cannot return an `Ending`.
        """
        self._unread = deque()
        # Kept, because a loop that is left early does not end this generator at once; `__aexit__` waits for it.
        running = self._running = asyncio.get_running_loop().create_task(self.run())
        running.add_done_callback(lambda _: self._arrived.set())
        while not running.done() or self._unread:
            while self._unread:
                page = self._unread.popleft()
                self._unread_bytes -= page.text_bytes
                if len(self._unread) < MOST_UNREAD_PAGES // 2 and self._unread_bytes < MOST_UNREAD_BYTES // 2:
                    self._parts.engine.hold("unread", False)
                yield page
            if not running.done():
                self._arrived.clear()
                await self._arrived.wait()
        if await running is not Ending.INTERRUPTED and not (status := await self.status()).pages:
            raise NothingStored(_nothing_stored(status, self.place))

    def stop(self) -> None:
        """Claim no more; what is in flight is finished and committed, then `run` ends."""
        self._parts.stop()

    def own_process(self, end: Callable[[int], None]) -> None:
        """Say that this process has nothing to do but this crawl. `end` is called with an exit code when the crawl has
        given up and does not come to its end by itself; call it once the crawl is entered."""
        self._parts.supervisor.end_process = end

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
            self._unread_bytes += page.text_bytes
            if len(self._unread) >= MOST_UNREAD_PAGES or self._unread_bytes >= MOST_UNREAD_BYTES:
                self._parts.engine.hold("unread", True)
            self._arrived.set()

    async def _measure(self) -> None:
        while True:
            self._metrics.scrape(self._meter.progress())
            await asyncio.sleep(1)

    def _beside_others(self, kept: Rules) -> Rules:
        """Seeds of earlier runs, and on a server those of others, are crawled too."""
        return with_seeds(kept, self._rules.seeds, self._config, self._rules.year)

    def _agreed(self, kept: Rules | None) -> Rules:
        rules, changed = agreed(self._beside_others(kept) if kept is not None else self._rules, kept)
        if changed and kept is not None:
            texts = ", ".join(_change(name, kept, rules) for name in changed)
            self.notices.append(f"changed since the last run: {texts}")
        return rules

    async def _note_resumption(self, ledger: Ledger, revisited: int) -> None:
        counts = ledger.counts()
        if not counts.pages and not counts.outcomes:
            return
        if revisited:
            rest = f", {counts.waiting - revisited:,} others waiting" if counts.waiting > revisited else ""
            self.notices.append(f"visiting {revisited:,} URLs again: {counts.pages:,} pages stored{rest}")
        elif counts.waiting:
            self.notices.append(f"resuming: {counts.pages:,} pages stored, {counts.waiting:,} URLs waiting")
        else:
            is_limited = await self._is_limited()
            state = "nothing waits, but limits cut something off" if is_limited else "this crawl is complete"
            rest = f", {counts.needs_browser:,} URLs need a browser" if counts.needs_browser else ""
            self.notices.append(
                f"{state}: {counts.pages:,} pages stored{rest}; --fresh starts it over, "
                "--revisit visits every page again"
            )


def default_directory(seed: str) -> Path:
    """Where a crawl of this seed lives when nothing else is said."""
    host = seed.partition("://")[2].partition("/")[0]
    return Path("tenax-" + "".join(mark if mark.isalnum() or mark in ".-" else "-" for mark in host))


def _change(name: str, kept: Rules, rules: Rules) -> str:
    """One rule that is another now, short enough for a line: `max_depth 3 → 5`."""
    if name == "seeds":
        before, after = set(kept.seeds), set(rules.seeds)
        numbers = [f"{len(some)} {word}" for some, word in ((after - before, "new"), (before - after, "gone")) if some]
        return f"seeds ({', '.join(numbers) or 'in another order'})"
    if name == "urls":
        return name
    texts = [_rule_text(name, one) for one in (kept, rules)]
    return f"{name} {texts[0]} → {texts[1]}" if texts[0] != texts[1] else name


def _rule_text(name: str, rules: Rules) -> str:
    if name == "scope":
        return rules.scope.name
    value = getattr(rules, name)
    return (" ".join(value) or "none") if isinstance(value, tuple) else str(value)


def _closed(urls: Sequence[WebUrl], closed: Collection[str], ports: Collection[int]) -> str:
    """Seeds that a program may not connect to, and what allows them."""
    by_origin = {url.origin: url for url in urls if url.origin in closed}
    reasons = [
        f"{origin} is not a public address" if url.port in ports else f"{origin} is not a public address or port"
        for origin, url in by_origin.items()
    ]
    more = f" and {len(reasons) - MOST_NAMED:,} more" if len(reasons) > MOST_NAMED else ""
    return (
        f"{', '.join(reasons[:MOST_NAMED])}{more}: refused; allow it with guard.allow_networks and guard.ports, or "
        "with typed_by_person=True if a person typed it"
    )


def _nothing_stored(status: Status, place: Place) -> str:
    troubles = [(name, number) for name, number in status.outcomes.items() if ":" in name]
    most = sorted(troubles, key=lambda item: -item[1])[:MOST_NAMED]
    outcomes = ", ".join(f"{number:,} {name}" for name, number in most)
    return f"nothing was stored ({outcomes or 'no visit ended'}); `tenax explain URL {place.flags}` says why"
