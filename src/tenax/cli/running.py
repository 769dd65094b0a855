"""A crawl that is watched: it draws itself while it runs, and Ctrl-C ends it gently."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tenax import logs
from tenax.cli import words
from tenax.cli.orders import Orders
from tenax.model import Ending, Progress

if TYPE_CHECKING:
    from types import FrameType

    from tenax.config import Loaded
    from tenax.crawl import Crawl
    from tenax.ledger import Status

T = TypeVar("T")


INTERRUPTED = 130
_log = logs.logger("tenax.cli")


class View(Protocol):
    """Someone who looks at a running crawl."""

    interval_seconds: float

    def begin(self, notices: Sequence[str]) -> None: ...

    def draw(self, progress: Progress) -> None: ...

    def stopping(self) -> None:
        """The person asked to stop; what is in flight is being finished."""

    def finish(self, progress: Progress) -> None:
        """The run has ended well; this is how it stands."""

    def end(self) -> None:
        """Leave the terminal as it was. May be called twice."""


def view_for(loaded: Loaded, orders: Orders) -> View:
    """A live picture on a terminal, lines elsewhere, silence when asked; logging is set up to go with it."""
    log, is_quiet = loaded.config.log, orders.is_quiet
    is_live = not is_quiet and log.format != "json" and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    # The picture already shows what an info line would say.
    level_was_chosen = loaded.sources["log.level"] != "default"
    logs.configure(log.level if level_was_chosen or not (is_live or is_quiet) else "warning", log.format)
    if is_quiet:
        return Silence()
    if is_live:
        from tenax.cli.live import Picture

        return Picture(
            tuple(map(logs.masked, orders.seeds)), orders.place.name, max_pages=loaded.config.crawl.max_pages
        )
    return Lines(orders.place.name)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end on the fastest event loop there is."""
    from tenax.memory import leave_memory, settle_memory

    settle_memory()
    try:
        with asyncio.Runner(loop_factory=_fastest_loop()) as runner:
            return runner.run(work)
    finally:
        leave_memory()


def _fastest_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not made for every platform
        return None
    return uvloop.new_event_loop


async def crawl_and_tell(orders: Orders, loaded: Loaded) -> int:
    """Crawl with a view fit for the reader, then tell how it went; the exit code."""
    from tenax.cli.layout import Ink, show
    from tenax.cli.summary import Report, brief, summary
    from tenax.crawl import Crawl

    crawl = Crawl(
        orders.seeds,
        loaded.config,
        out=orders.place.out,
        fresh=orders.is_fresh,
        revisit=orders.is_revisit,
        typed_by_person=True,
        command=orders.resume,
    )
    ending, progress, status = await watched(crawl, view_for(loaded, orders), orders)
    report = Report(orders, ending, progress, status, loaded.config.events.jsonl)
    tell = brief if orders.is_quiet else summary
    show(tell(report, Ink.on(sys.stdout)))
    return INTERRUPTED if ending is Ending.INTERRUPTED else 0


async def watched(crawl: Crawl, view: View, orders: Orders) -> tuple[Ending, Progress, Status]:
    """Crawl to the end with someone looking on."""
    async with crawl:
        try:
            view.begin(orders.opening or crawl.notices)
            with _stopped_by_signals(crawl.stop, view, orders.resume), _drawn(crawl.progress, view):
                ending = await crawl.run()
            progress = crawl.progress()
            view.finish(progress)
        finally:
            view.end()
        return ending, progress, await crawl.status()


@contextmanager
def _drawn(progress: Callable[[], Progress], view: View) -> Iterator[None]:
    """Draw at the view's own pace, from the event loop: progress is read where it is written."""
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


@contextmanager
def _stopped_by_signals(stop: Callable[[], None], view: View, resume: str) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM asks to stop; the second stops at once, even if the loop is stuck.

    A plain signal handler, not the loop's own: it runs between two instructions of whatever is going on.
    """
    loop = asyncio.get_running_loop()
    asked = False

    def answer(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            view.end()
            how = f"; resume with:  {resume}" if resume else ""
            sys.stderr.write(f"tenax: stopped at once; everything committed is safe{how}\n")
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        asked = True
        loop.call_soon_threadsafe(stop)
        loop.call_soon_threadsafe(view.stopping)

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, answer) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


STOPPING = "finishing what is in flight; press Ctrl-C again to stop at once"


class Silence:
    """Says nothing but problems."""

    interval_seconds = 60.0

    def begin(self, notices: Sequence[str]) -> None: ...

    def draw(self, progress: Progress) -> None: ...

    def stopping(self) -> None: ...

    def finish(self, progress: Progress) -> None: ...

    def end(self) -> None: ...


class Lines:
    """A log line every few seconds, for files and pipes."""

    interval_seconds = 5.0

    def __init__(self, name: str) -> None:
        self._name = name

    def begin(self, notices: Sequence[str]) -> None:
        for notice in notices:
            _log.info("notice", text=notice)
        _log.info("crawl started", out=self._name)

    def draw(self, progress: Progress) -> None:
        _log.info("crawling", **_facts(progress))

    def stopping(self) -> None:
        _log.info(STOPPING)

    def finish(self, progress: Progress) -> None:
        _log.info("crawl ended", **_facts(progress))

    def end(self) -> None: ...


def _facts(progress: Progress) -> dict[str, object]:
    facts: dict[str, object] = {
        "pages": progress.pages,
        "per_second": round(progress.pages_per_second, 1),
        "waiting": progress.waiting,
        "in_flight": progress.in_flight,
        "hosts_active": progress.hosts_active,
        "hosts_resting": progress.hosts_resting,
        "received_bytes": progress.wire_bytes,
        "elapsed_seconds": round(progress.elapsed_seconds, 1),
    }
    if progress.failures:
        facts["failures"] = dict(progress.failures)
    for rest in progress.resting[:1]:
        facts["resting"] = f"{rest.origin} for {words.duration(rest.until - progress.now)}: {rest.why}"
    return facts
