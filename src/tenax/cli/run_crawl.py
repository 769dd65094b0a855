"""Runs a crawl with a progress view and a summary; Ctrl-C finishes the visits in flight and stops."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tenax import logs
from tenax.cli.options import CrawlOptions
from tenax.cli.run_service import EXIT_INTERRUPTED, SHUTDOWN_SECONDS, Deadline, exit_immediately, handle_signals
from tenax.cli.views import format_values
from tenax.errors import DatabaseTimeout, NoPagesStored
from tenax.model import Ending, Progress
from tenax.text.sanitize import mask_url

if TYPE_CHECKING:
    from tenax.config import LoadedConfig
    from tenax.crawl.api import Crawl
    from tenax.database import Status

T = TypeVar("T")


_log = logs.logger("tenax.cli")
STATUS_TIMEOUT_SECONDS = 5.0


class View(Protocol):
    """Shows a running crawl."""

    interval_seconds: float

    def begin(self, notices: Sequence[str]) -> None: ...

    def draw(self, progress: Progress) -> None: ...

    def on_stopping(self) -> None:
        """A stop was requested, and visits in flight are being finished."""

    def finish(self, progress: Progress) -> None:
        """The run has ended without an error, and this is its final progress."""

    def end(self) -> None:
        """Restore the terminal. May be called twice."""


def choose_view(loaded: LoadedConfig, options: CrawlOptions) -> View:
    """A live view on a terminal, log lines elsewhere, nothing if quiet. Also configures logging."""
    log, is_quiet = loaded.config.log, options.is_quiet
    is_live = not is_quiet and log.format != "json" and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    # The live view shows what info lines would say.
    level_was_chosen = loaded.sources["log.level"] != "default"
    logs.configure(log.level if level_was_chosen or not (is_live or is_quiet) else "warning", log.format)
    if is_quiet:
        return SilentView()
    if is_live:
        from tenax.cli.views.progress import LiveView

        return LiveView(
            tuple(map(mask_url, options.seeds)), options.location.name, max_pages=loaded.config.crawl.max_pages
        )
    return LogView(options.location.name)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run on uvloop if it is available.

    Memory is configured before the first thread starts: a thread that started earlier would get a heap of its own.
    """
    from tenax.runtime.resources import configure_memory, skip_final_collection

    configure_memory()
    try:
        with asyncio.Runner(loop_factory=_event_loop_factory()) as runner:
            return runner.run(work)
    finally:
        skip_final_collection()


def _event_loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # uvloop is not available on every platform
        return None
    return uvloop.new_event_loop


async def run_and_report(options: CrawlOptions, loaded: LoadedConfig) -> int:
    """Crawl with a view, print the summary and return the exit code."""
    from tenax.cli.output import TextStyle, print_lines
    from tenax.cli.views.summary import Report, format_brief_summary, format_summary
    from tenax.crawl.api import Crawl

    crawl = Crawl(
        options.seeds,
        loaded.config,
        directory=options.location.directory,
        restart=options.is_restart,
        recrawl=options.is_recrawl,
        typed_by_person=options.has_typed_seeds,
    )
    crawl.set_command(options.resume_command, options.settings)
    ending, progress, status = await crawl_with_view(crawl, choose_view(loaded, options), options)
    report = Report(options, ending, progress, status, loaded.config.events.jsonl)
    format_report = format_brief_summary if options.is_quiet else format_summary
    print_lines(format_report(report, TextStyle.for_stream(sys.stdout)))
    return exit_code(ending, status)


def exit_code(ending: Ending, status: Status) -> int:
    """0 only if the crawl has stored pages, because a script sees only this code."""
    if ending is Ending.INTERRUPTED:
        return EXIT_INTERRUPTED
    return 0 if status.pages else NoPagesStored.exit_code


async def crawl_with_view(crawl: Crawl, view: View, options: CrawlOptions) -> tuple[Ending, Progress, Status]:
    """Crawl to the end, and update the view meanwhile."""
    with Deadline(deadline_seconds(crawl), _resume_hint(options.resume_command)) as deadline:
        async with crawl:
            crawl.set_exit_handler(os._exit)
            try:
                view.begin(options.opening_notices or (*options.notices, *crawl.notices))
                with (
                    _stop_on_signals(crawl.stop, view, options.resume_command, deadline),
                    _redraw_periodically(crawl.progress, view),
                ):
                    ending = await crawl.run()
                progress = crawl.progress()
                view.finish(progress)
            finally:
                view.end()
            return ending, progress, await _final_status(crawl, ending)


async def _final_status(crawl: Crawl, ending: Ending) -> Status:
    """The final status. After an interrupt, the database has only `STATUS_TIMEOUT_SECONDS` to answer."""
    try:
        async with asyncio.timeout(STATUS_TIMEOUT_SECONDS if ending is Ending.INTERRUPTED else None):
            return await crawl.status()
    except TimeoutError:
        raise DatabaseTimeout(
            "the database does not answer, so there is no summary; everything committed is safe: run the same command "
            "again"
        ) from None


def deadline_seconds(crawl: Crawl) -> float:
    """How long to wait after a signal. There is no limit with a local database, because it waits for no server."""
    return crawl.grace_seconds + SHUTDOWN_SECONDS if crawl.grace_seconds is not None else threading.TIMEOUT_MAX


@contextmanager
def _redraw_periodically(progress: Callable[[], Progress], view: View) -> Iterator[None]:
    """Redraw at the interval of the view. This runs in the event loop, because progress may be read only there."""
    loop = asyncio.get_running_loop()
    handle: asyncio.TimerHandle | None = None

    def tick() -> None:
        nonlocal handle
        view.draw(progress())
        handle = loop.call_later(view.interval_seconds, tick)

    tick()
    try:
        yield
    finally:
        if handle is not None:
            handle.cancel()


def _stop_on_signals(
    stop: Callable[[], None], view: View, resume: str, deadline: Deadline
) -> AbstractContextManager[None]:
    def on_stop() -> None:
        stop()
        view.on_stopping()

    def exit_now() -> None:
        view.end()
        exit_immediately(_resume_hint(resume))

    return handle_signals(on_stop, exit_now, deadline)


def _resume_hint(resume: str) -> str:
    return "everything committed is safe" + (f"; resume with:  {resume}" if resume else "")


STOPPING_MESSAGE = "finishing visits in flight; press Ctrl-C again to stop at once"


class SilentView:
    """Prints nothing."""

    interval_seconds = 60.0

    def begin(self, notices: Sequence[str]) -> None: ...

    def draw(self, progress: Progress) -> None: ...

    def on_stopping(self) -> None: ...

    def finish(self, progress: Progress) -> None: ...

    def end(self) -> None: ...


class LogView:
    """A log line every few seconds, for files and pipes."""

    interval_seconds = 5.0

    def __init__(self, name: str) -> None:
        self._name = name

    def begin(self, notices: Sequence[str]) -> None:
        for notice in notices:
            _log.info("notice", text=notice)
        _log.info("crawl started", location=self._name)

    def draw(self, progress: Progress) -> None:
        _log.info("crawling", **_progress_fields(progress))

    def on_stopping(self) -> None:
        _log.info(STOPPING_MESSAGE)

    def finish(self, progress: Progress) -> None:
        _log.info("crawl ended", **_progress_fields(progress))

    def end(self) -> None: ...


def _progress_fields(progress: Progress) -> dict[str, object]:
    facts: dict[str, object] = {
        "pages": progress.pages,
        "per_second": round(progress.pages_per_second, 1),
        "waiting": progress.waiting,
        "in_flight": progress.in_flight,
        "hosts_active": progress.hosts_active,
        "hosts_backing_off": progress.hosts_backing_off,
        "received_bytes": progress.wire_bytes,
        "elapsed_seconds": round(progress.elapsed_seconds, 1),
    }
    if progress.failures:
        facts["failures"] = dict(progress.failures)
    for host in progress.backing_off[:1]:
        wait = format_values.format_duration(host.until - progress.now)
        facts["backing_off"] = f"{host.origin} for {wait}: {host.why}"
    return facts
