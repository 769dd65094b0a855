"""The picture of a running crawl on a terminal: compact, calm, redrawn four times a second."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from tenax.cli.views import format_values
from tenax.cli.views.tables import plain, shortened
from tenax.model import Progress

_BARS = "▁▂▃▄▅▆▇█"
_RESTING_SHOWN = 4
_FAILURES_SHOWN = 4
_HISTORY = 24
_BAR_COLUMNS = 24
_LABEL_COLUMNS = 12
_WIDEST = 120


class Picture:
    """A view for people; log lines appear above it, and it is gone when the crawl ends."""

    interval_seconds = 0.25

    def __init__(self, seeds: Sequence[str], name: str, *, max_pages: int = 0, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        # Drawn from the event loop, not from a thread of rich's: progress may only be read there.
        self._live = Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False)
        self._seeds, self._name, self._max_pages = tuple(seeds), name, max_pages
        self._rates: deque[float] = deque(maxlen=_HISTORY)
        self._sampled_at = 0.0

    def begin(self, notices: Sequence[str]) -> None:
        for notice in notices:
            self._console.print(Text(f"· {plain(notice)}", style="dim"))
        self._live.start()

    def draw(self, progress: Progress) -> None:
        if progress.now - self._sampled_at >= 1.0:
            self._rates.append(progress.pages_per_second)
            self._sampled_at = progress.now
        self._live.update(self.frame(progress), refresh=True)

    def stopping(self) -> None:
        """Shown by the next frame; it knows from the progress."""

    def finish(self, progress: Progress) -> None:
        """The summary says it all."""

    def end(self) -> None:
        self._live.stop()

    def frame(self, progress: Progress) -> RenderableType:
        """What is shown for this progress. Lines are cut, never wrapped, so the picture keeps its height."""
        room = min(self._console.width, _WIDEST)
        lines = [
            Text(),
            self._title(progress, room),
            Text(),
            _line("pages", self._pages(progress)),
            _line("queue", _queue(progress)),
            _line("hosts", _hosts(progress)),
            *[_line("", rest) for rest in _rests(progress, room - _LABEL_COLUMNS)],
            _line("failures", _failures(progress)),
            Text(),
            _hint(progress),
        ]
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        return Group(*lines)

    def _title(self, progress: Progress, room: int) -> Text:
        clock = format_values.stopwatch(progress.elapsed_seconds)
        more = f" and {len(self._seeds) - 1} more" if len(self._seeds) > 1 else ""
        target = f" → {self._name}"
        left = max(room - len("tenax ") - len(more) - len(clock) - 3, 20)
        seed = shortened(plain(self._seeds[0]), max(left - len(target), left // 2)) if self._seeds else ""
        title = Text.assemble((" tenax ", "bold cyan"), (seed, "bold"), more, (shortened(target, left // 2), "dim"))
        title.append(" " * max(room - title.cell_len - len(clock) - 1, 1))
        title.append(clock, "dim")
        return title

    def _pages(self, progress: Progress) -> Text:
        known = progress.pages + progress.waiting
        goal = min(self._max_pages or known, known)
        text = Text.assemble((f"{progress.pages:,}", "bold"), "  ", _bar(progress.pages, goal))
        text.append(f"  {format_values.rate(progress.pages_per_second)}  ")
        text.append(sparkline(self._rates), "cyan")
        return text


def sparkline(rates: Sequence[float] | deque[float]) -> str:
    """The last seconds' rates as little bars, the tallest for the fastest."""
    most = max(rates, default=0.0)
    if most <= 0:
        return ""
    return "".join(_BARS[min(int(rate / most * len(_BARS)), len(_BARS) - 1)] for rate in rates)


def _line(label: str, value: Text) -> Text:
    return Text.assemble((f" {label:<{_LABEL_COLUMNS - 1}}", "dim"), value)


def _bar(done: int, known: int) -> Text:
    """How much of what is known so far is done; what is known may still grow. It reads without colour too."""
    filled = round(_BAR_COLUMNS * done / known) if known else 0
    filled = min(filled, _BAR_COLUMNS)
    return Text.assemble(("━" * filled, "cyan"), ("─" * (_BAR_COLUMNS - filled), "bright_black"))


def _queue(progress: Progress) -> Text:
    parts = [
        f"{progress.waiting:,} waiting",
        f"{progress.in_flight:,} in flight",
        format_values.size(progress.wire_bytes),
    ]
    return Text("   ".join([*parts[:2], f"{parts[2]} received"]))


def _hosts(progress: Progress) -> Text:
    text = Text(f"{progress.hosts_active:,} active")
    if progress.hosts_resting:
        text.append(f"   {progress.hosts_resting:,} resting", "yellow")
    return text


def _rests(progress: Progress, room: int) -> list[Text]:
    """A line a host: who, how much longer, why."""
    resting = progress.resting[:_RESTING_SHOWN]
    origins = [shortened(plain(rest.origin), room // 2) for rest in resting]
    waits = [format_values.stopwatch(rest.until - progress.now) for rest in resting]
    wide = max(map(cell_len, origins), default=0), max(map(len, waits), default=0)
    lines = []
    for rest, origin, wait in zip(resting, origins, waits, strict=True):
        space = " " * (wide[0] - cell_len(origin))
        lines.append(Text.assemble(origin, space, (f"  {wait:>{wide[1]}}  ", "yellow"), (plain(rest.why), "dim")))
    more = progress.hosts_resting - len(resting)
    return [*lines, Text(f"and {more:,} more", "dim")] if more > 0 else lines


def _failures(progress: Progress) -> Text:
    counted = format_values.tally(progress.failures)
    if not counted:
        return Text("none", "dim")
    rest = len(counted) - _FAILURES_SHOWN
    return Text("   ".join(counted[:_FAILURES_SHOWN]) + (f"   and {rest} more" if rest > 0 else ""))


def _hint(progress: Progress) -> Text:
    if progress.is_stopping:
        return Text(" Finishing what is in flight; press Ctrl-C again to stop at once.", style="yellow")
    return Text(" Ctrl-C finishes what is in flight and stops.", style="dim")
