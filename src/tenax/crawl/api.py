"""A crawl as a library: the same engine as the command line, in ten lines.

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
from tenax.config import Config, validate_config
from tenax.crawl.app import App, BackgroundTask, Meter
from tenax.crawl.cut_offs import recount_cut_offs
from tenax.crawl.location import Location, crawl_location
from tenax.crawl.readmission import PARKED_CAUSES, admission_bounds, readmit
from tenax.crawl.rules import extend_rules, load_rules, resume_rules
from tenax.crawl.seeds import SeedCheck, check_seeds, store_allowed
from tenax.crawl.wiring import build_app, move_crawl_aside, open_clock, open_database
from tenax.database import Admission, Frontier, Records, Status
from tenax.database.page_codec import page_text_bytes
from tenax.errors import NoPagesStored, NoSeedReachable, UsageError
from tenax.metrics import Metrics, MetricsServer
from tenax.model import Ending, Page, Progress, Visit, limit_setting
from tenax.text.sanitize import mask_text, mask_url
from tenax.urls.admit import Rules, build_rules, seed_candidates
from tenax.urls.normalize import WebUrl, normalize, normalize_options

MAX_UNREAD_PAGES = 200
MAX_UNREAD_BYTES = 64 * 1024 * 1024
"""Maximum size of the texts of pages that the caller has not taken yet."""
CONTINUOUS_KEY = "continuous"
"""Database key: the pages of this crawl are recrawled continuously."""
SETTINGS_KEY = "settings"
"""Database key: the settings that were given for this crawl, as JSON."""
MAX_LISTED = 3
"""Seeds or outcomes listed in one notice."""


class Crawl:
    """A crawl in a directory, or on the server of `database.url`. If there is none, a new one begins.

    Everything is in `directory` (by default `tenax-HOST` of the first seed). You may leave at any time, by `break`, an
    exception or kill -9; the same call resumes the crawl. Pages that an earlier run stored are not yielded again. If
    the crawl is on a server, `directory` is only for the files of `events`; without it none are written.
    """

    def __init__(
        self,
        seeds: Sequence[str],
        config: Config | None = None,
        *,
        directory: Path | str | None = None,
        restart: bool = False,
        recrawl: bool = False,
        typed_by_person: bool = False,
        clock: Clock | None = None,
    ) -> None:
        """`restart` moves an earlier crawl in `directory` aside, `recrawl` visits its pages again. `typed_by_person`
        allows a seed at a private address.

        Raises `ConfigError` for a setting with a wrong type or out of bounds, and `UsageError` for a seed that is not a
        URL.
        """
        if isinstance(seeds, str):
            raise UsageError(f"seeds must be a list of URLs; write [{mask_url(seeds)[:200]!r}]")
        if not seeds:
            raise UsageError("nothing to crawl; give at least one URL")
        self._config = validate_config(config or Config())
        self._own_clock = clock
        self._clock = clock or SteadyClock()
        year = datetime.fromtimestamp(self._clock.now(), UTC).year
        self._rules = build_rules(seeds, self._config, year)
        self.location = crawl_location(self._config, Path(directory) if directory is not None else None)
        if not self.location.server and directory is None:
            self.location = crawl_location(self._config, default_directory(self._rules.seeds[0]))
        if self.location.server and restart:
            raise UsageError("a crawl on a server cannot be moved aside; use another database.schema")
        self.directory = self.location.directory
        """The directory of the crawl; None if the crawl is on a server and writes no files."""
        self._restart = restart
        self._recrawl = recrawl
        self._typed_by_person = typed_by_person
        self._command = ""
        self._settings: bytes | None = None
        self.notices: list[str] = []
        """Messages to show before the crawl starts."""
        self._app: App | None = None
        self._unread_pages: deque[Page] | None = None
        self._unread_bytes = 0
        self._page_ready = asyncio.Event()
        self._run_task: asyncio.Task[Ending] | None = None
        self._metrics = Metrics()
        self._metrics_server: MetricsServer | None = None

    async def __aenter__(self) -> Crawl:
        config = self._config
        spelling = normalize_options(config.urls)
        urls = [url for seed in self._rules.seeds if (url := normalize(seed, None, spelling)) is not None]
        seed_check = await self._check_seeds(urls)
        location = self.location
        if (
            self._restart
            and (aside := move_crawl_aside(location.database_directory, config, self._clock.now())) is not None
        ):
            self.notices.append(f"the earlier crawl was moved to {aside}")
        self._clock = self._own_clock or await open_clock(location, config)
        database = await open_database(location, read_only=False, config=config, clock=self._clock)
        try:
            rules = self._resume_rules(await load_rules(database))
            typed = (await store_allowed(database, seed_check.allowed_origins, config.guard)).origins
            self._app = await build_app(
                location,
                database,
                rules,
                config,
                self._clock,
                allowed_origins=typed,
                metrics=self._metrics,
            )
            self._app.engine.is_endless = config.recrawl.continuous
            await self._app.crawl_rules.change(self._extend_rules if location.server else lambda _: rules)
            await self._readmit(database, typed)
            seeds = seed_candidates(self._rules)
            await database.admit(seeds)
            await database.requeue(seeds)
            await self._app.requeue_browser_tasks()
            if count := await self._app.requeue_for_settings():
                self.notices.append(f"{count:,} URLs that other settings ended are visited again")
            await database.set_meta("command", mask_text(self._command).encode())
            if self._settings is not None:
                await database.set_meta(SETTINGS_KEY, self._settings)
            requeued = await self._requeue_pages(database)
            self._meter = Meter(self._clock, database, self._app.hosts, self._app.engine)
            await self._add_resume_notice(database, requeued)
            if config.metrics.port:
                self._metrics_server = self._metrics.serve(config.metrics.port, config.metrics.host)
        except BaseException:
            await (self._app.close() if self._app is not None else database.close())
            raise
        return self

    async def _readmit(self, records: Records, typed_origins: Sequence[str]) -> None:
        """Admit what earlier runs left out and this run allows."""
        rules = self._entered_app.crawl_rules.rules
        done = await readmit(records, rules, self._config, admission_bounds(rules, self._config, typed_origins))
        if readmitted := done.admitted + done.unparked:
            self.notices.append(f"{readmitted:,} URLs left out by earlier runs are admitted now")
        if done.refetched:
            self.notices.append(f"{done.refetched:,} documents are fetched again for links cut off by a limit")

    async def _requeue_pages(self, records: Records) -> int:
        """Requeue pages. Returns how many URLs were requeued.

        Pages that were visited before `recrawl.continuous` was set have no next visit, so they are requeued at once.
        """
        begins = self._config.recrawl.continuous and await records.get_meta(CONTINUOUS_KEY) is None
        requeued = 0
        if self._recrawl or begins:
            requeued = await records.start_recrawl(self._clock.now()) + await records.replay(None, needs_browser=True)
        if self._recrawl:
            requeued += await records.unpark(PARKED_CAUSES)
        if begins:
            await records.set_meta(CONTINUOUS_KEY, b"1")
        return requeued

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._run_task is not None and not self._run_task.done():
                self.stop()
                await self._run_task
        finally:
            if self._metrics_server is not None:
                self._metrics_server.close()
            if self._app is not None:
                await self._app.close()

    async def _check_seeds(self, urls: Sequence[WebUrl]) -> SeedCheck:
        """Resolve the hosts of the seeds. Adds notices about hosts that are not found, or that the guard refuses.

        Raises `NoSeedReachable` if no host is found, or if the guard refuses every seed.
        """
        guard = self._config.guard
        seed_check = await check_seeds(urls, guard, self._typed_by_person)
        self.notices.extend(seed_check.notices)
        if self._typed_by_person:
            return seed_check
        # A program may not connect to what only a person may type.
        closed = frozenset((await check_seeds(urls, guard, typed_by_person=True)).allowed_origins)
        if closed and closed == {url.origin for url in urls}:
            raise NoSeedReachable(_format_refused_seeds(urls, closed, guard.ports))
        if closed:
            self.notices.append(_format_refused_seeds(urls, closed, guard.ports))
        return seed_check

    async def run(self) -> Ending:
        """Crawl to the end. Pages go only to the database and the sinks."""
        parts, grace_seconds = self._entered_app, self.grace_seconds
        others: list[BackgroundTask] = [self._update_metrics] if self._metrics_server is not None else []
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
        """How long visits in flight may take after `stop`. On a server, other workers repeat visits that are abandoned.

        None for a crawl in a directory: its visits may take as long as they need, because no other process has the
        file.
        """
        return self._config.worker.grace_seconds if self.location.server else None

    async def _is_limited(self) -> bool:
        """Whether a limit has cut off anything that the rules allow."""
        app = self._entered_app
        is_cut_off = await recount_cut_offs(app.database, app.crawl_rules.rules, self._config)
        return is_cut_off or any(limit_setting(cause) for cause in (await app.database.status()).parked)

    async def __aiter__(self) -> AsyncIterator[Page]:
        """Pages, as they are committed.

        The crawl pauses while they are not taken, and stops when the loop is left. At the end of a crawl without any
        page `NoPagesStored` is raised, because a loop cannot return an `Ending`.
        """
        self._unread_pages = deque()
        self._entered_app.engine.listeners.append(self._add_unread_page)
        # Stored, because this generator does not end at once when the loop is left early. `__aexit__` waits for it.
        running = self._run_task = asyncio.get_running_loop().create_task(self.run())
        running.add_done_callback(lambda _: self._page_ready.set())
        while not running.done() or self._unread_pages:
            while self._unread_pages:
                page = self._unread_pages.popleft()
                self._unread_bytes -= page_text_bytes(page)
                if len(self._unread_pages) < MAX_UNREAD_PAGES // 2 and self._unread_bytes < MAX_UNREAD_BYTES // 2:
                    self._entered_app.engine.set_pause("unread", False)
                yield page
            if not running.done():
                self._page_ready.clear()
                await self._page_ready.wait()
        if await running is not Ending.INTERRUPTED and not (status := await self.status()).pages:
            raise NoPagesStored(_format_nothing_stored(status, self.location))

    def stop(self) -> None:
        """Claim no more tasks. Visits in flight are finished and committed, and then `run` returns."""
        self._entered_app.stop()

    def set_command(self, command: str, settings: bytes | None) -> None:
        """For the command line. `command` resumes this crawl, and `tenax status` shows it. `settings` are those given
        for this crawl, for the next command; None keeps the stored ones.

        Call it before the crawl is entered.
        """
        self._command, self._settings = command, settings

    def set_exit_handler(self, exit_process: Callable[[int], None]) -> None:
        """For a process that only runs this crawl: `exit_process` is called with an exit code if the crawl has given up
        and does not end by itself.

        Call it after the crawl is entered.
        """
        self._entered_app.supervisor.exit_process = exit_process

    def progress(self) -> Progress:
        return self._meter.progress()

    async def status(self) -> Status:
        return await self._entered_app.database.status()

    @property
    def _entered_app(self) -> App:
        if self._app is None:
            raise RuntimeError("enter the crawl first: `async with tenax.Crawl(...) as crawl:`")
        return self._app

    def _add_unread_page(self, visit: Visit, admission: Admission) -> None:
        if self._unread_pages is not None and visit.page is not None:
            page, original = visit.page, admission.duplicate_of
            self._unread_pages.append(
                msgspec.structs.replace(page, duplicate_of=original, similarity=admission.similarity)
                if original
                else page
            )
            self._unread_bytes += page_text_bytes(page)
            if len(self._unread_pages) >= MAX_UNREAD_PAGES or self._unread_bytes >= MAX_UNREAD_BYTES:
                self._entered_app.engine.set_pause("unread", True)
            self._page_ready.set()

    async def _update_metrics(self) -> None:
        while True:
            self._metrics.update_progress(self._meter.progress())
            await asyncio.sleep(1)

    def _extend_rules(self, stored: Rules) -> Rules:
        """Add the seeds of earlier runs and, on a server, the seeds of other processes."""
        return extend_rules(stored, self._rules.seeds, self._config, self._rules.year)

    def _resume_rules(self, stored: Rules | None) -> Rules:
        rules, changed = resume_rules(self._extend_rules(stored) if stored is not None else self._rules, stored)
        if changed and stored is not None:
            texts = ", ".join(_format_change(name, stored, rules) for name in changed)
            self.notices.append(f"changed since the last run: {texts}")
        return rules

    async def _add_resume_notice(self, frontier: Frontier, requeued: int) -> None:
        counts = frontier.counts()
        if not counts.pages and not counts.outcomes:
            return
        if requeued:
            suffix = f", {counts.waiting - requeued:,} others waiting" if counts.waiting > requeued else ""
            self.notices.append(f"visiting {requeued:,} URLs again: {counts.pages:,} pages stored{suffix}")
        elif counts.waiting:
            self.notices.append(f"resuming: {counts.pages:,} pages stored, {counts.waiting:,} URLs waiting")
        else:
            is_limited = await self._is_limited()
            state = "nothing waits, but limits left out some URLs" if is_limited else "this crawl is complete"
            suffix = f", {counts.needs_browser:,} URLs need a browser" if counts.needs_browser else ""
            self.notices.append(
                f"{state}: {counts.pages:,} pages stored{suffix}; --restart starts it over, "
                "--recrawl visits every page again"
            )


def default_directory(seed: str) -> Path:
    """The directory of a crawl of this seed, if no other one is given."""
    host = seed.partition("://")[2].partition("/")[0]
    return Path("tenax-" + "".join(mark if mark.isalnum() or mark in ".-" else "-" for mark in host))


def _format_change(name: str, stored: Rules, rules: Rules) -> str:
    """A changed rule, short enough for a line: `max_depth 3 → 5`."""
    if name == "seeds":
        before, after = set(stored.seeds), set(rules.seeds)
        numbers = [f"{len(some)} {word}" for some, word in ((after - before, "new"), (before - after, "gone")) if some]
        return f"seeds ({', '.join(numbers) or 'in another order'})"
    if name == "urls":
        return name
    texts = [_format_rule(name, one) for one in (stored, rules)]
    return f"{name} {texts[0]} → {texts[1]}" if texts[0] != texts[1] else name


def _format_rule(name: str, rules: Rules) -> str:
    if name == "scope":
        return rules.scope.name
    value = getattr(rules, name)
    return (" ".join(value) or "none") if isinstance(value, tuple) else str(value)


def _format_refused_seeds(urls: Sequence[WebUrl], refused_origins: Collection[str], ports: Collection[int]) -> str:
    """A notice about seeds that a program may not connect to, and the setting that allows them."""
    by_origin = {url.origin: url for url in urls if url.origin in refused_origins}
    reasons = [
        f"{origin} is not a public address" if url.port in ports else f"{origin} is not a public address or port"
        for origin, url in by_origin.items()
    ]
    more = f" and {len(reasons) - MAX_LISTED:,} more" if len(reasons) > MAX_LISTED else ""
    return (
        f"{', '.join(reasons[:MAX_LISTED])}{more}: refused; allow it with guard.allow_networks and guard.ports, or "
        "with typed_by_person=True if a person typed it"
    )


def _format_nothing_stored(status: Status, location: Location) -> str:
    failures = [(name, number) for name, number in status.outcomes.items() if ":" in name]
    most = sorted(failures, key=lambda item: -item[1])[:MAX_LISTED]
    outcomes = ", ".join(f"{number:,} {name}" for name, number in most)
    return f"nothing was stored ({outcomes or 'no visit ended'}); `tenax explain URL {location.flags}` says why"
