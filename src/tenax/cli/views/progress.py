"""The live view of a running crawl on a terminal, redrawn four times a second."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from tenax.cli.output import sanitize_text, truncate_middle
from tenax.cli.views import format_values
from tenax.model import Progress

_BARS = "▁▂▃▄▅▆▇█"
_MAX_BACKOFFS_SHOWN = 4
_MAX_FAILURES_SHOWN = 4
_RATE_SAMPLES = 24
_BAR_COLUMNS = 24
_LABEL_COLUMNS = 12
_MAX_WIDTH = 120


class LiveView:
    """A live view. Log lines appear above it. It disappears when the crawl ends."""

    interval_seconds = 0.25

    def __init__(self, seeds: Sequence[str], name: str, *, max_pages: int = 0, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        # Drawn from the event loop and not from a thread of rich, because progress may be read only there.
        self._live = Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False)
        self._seeds, self._name, self._max_pages = tuple(seeds), name, max_pages
        self._rates: deque[float] = deque(maxlen=_RATE_SAMPLES)
        self._sampled_at = 0.0

    def begin(self, notices: Sequence[str]) -> None:
        for notice in notices:
            self._console.print(Text(f"· {sanitize_text(notice)}", style="dim"))
        self._live.start()

    def draw(self, progress: Progress) -> None:
        if progress.now - self._sampled_at >= 1.0:
            self._rates.append(progress.pages_per_second)
            self._sampled_at = progress.now
        self._live.update(self.render(progress), refresh=True)

    def on_stopping(self) -> None:
        """Nothing to do: the next frame shows it."""

    def finish(self, progress: Progress) -> None:
        """Nothing to do: the summary follows."""

    def end(self) -> None:
        self._live.stop()

    def render(self, progress: Progress) -> RenderableType:
        """One frame. Lines are truncated, never wrapped, so that the view keeps its height."""
        room = min(self._console.width, _MAX_WIDTH)
        lines = [
            Text(),
            self._title_line(progress, room),
            Text(),
            _labelled_line("pages", self._pages_text(progress)),
            _labelled_line("queue", _queue_text(progress)),
            _labelled_line("hosts", _hosts_text(progress)),
            *[_labelled_line("", line) for line in _backoff_lines(progress, room - _LABEL_COLUMNS)],
            _labelled_line("failures", _failures_text(progress)),
            Text(),
            _stop_hint(progress),
        ]
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        return Group(*lines)

    def _title_line(self, progress: Progress, max_width: int) -> Text:
        clock = format_values.format_elapsed(progress.elapsed_seconds)
        more = f" and {len(self._seeds) - 1} more" if len(self._seeds) > 1 else ""
        target = f" → {self._name}"
        left = max(max_width - len("tenax ") - len(more) - len(clock) - 3, 20)
        seed = truncate_middle(sanitize_text(self._seeds[0]), max(left - len(target), left // 2)) if self._seeds else ""
        title = Text.assemble(
            (" tenax ", "bold cyan"), (seed, "bold"), more, (truncate_middle(target, left // 2), "dim")
        )
        title.append(" " * max(max_width - title.cell_len - len(clock) - 1, 1))
        title.append(clock, "dim")
        return title

    def _pages_text(self, progress: Progress) -> Text:
        known = progress.pages + progress.waiting
        goal = min(self._max_pages or known, known)
        text = Text.assemble((f"{progress.pages:,}", "bold"), "  ", _progress_bar(progress.pages, goal))
        text.append(f"  {format_values.format_rate(progress.pages_per_second)}  ")
        text.append(sparkline(self._rates), "cyan")
        return text


def sparkline(rates: Sequence[float] | deque[float]) -> str:
    """The rates of the last seconds as bars. The fastest is the tallest."""
    most = max(rates, default=0.0)
    if most <= 0:
        return ""
    return "".join(_BARS[min(int(rate / most * len(_BARS)), len(_BARS) - 1)] for rate in rates)


def _labelled_line(label: str, value: Text) -> Text:
    return Text.assemble((f" {label:<{_LABEL_COLUMNS - 1}}", "dim"), value)


def _progress_bar(done: int, known: int) -> Text:
    """The visited share of the known URLs, whose number may still grow. Readable without colour."""
    filled = round(_BAR_COLUMNS * done / known) if known else 0
    filled = min(filled, _BAR_COLUMNS)
    return Text.assemble(("━" * filled, "cyan"), ("─" * (_BAR_COLUMNS - filled), "bright_black"))


def _queue_text(progress: Progress) -> Text:
    parts = [
        f"{progress.waiting:,} waiting",
        f"{progress.in_flight:,} in flight",
        format_values.format_size(progress.wire_bytes),
    ]
    return Text("   ".join([*parts[:2], f"{parts[2]} received"]))


def _hosts_text(progress: Progress) -> Text:
    text = Text(f"{progress.hosts_active:,} active")
    if progress.hosts_backing_off:
        text.append(f"   {progress.hosts_backing_off:,} backing off", "yellow")
    return text


def _backoff_lines(progress: Progress, max_width: int) -> list[Text]:
    """One line per host: host, remaining time, reason."""
    shown = progress.backing_off[:_MAX_BACKOFFS_SHOWN]
    origins = [truncate_middle(sanitize_text(host.origin), max_width // 2) for host in shown]
    waits = [format_values.format_elapsed(host.until - progress.now) for host in shown]
    wide = max(map(cell_len, origins), default=0), max(map(len, waits), default=0)
    lines = []
    for host, origin, wait in zip(shown, origins, waits, strict=True):
        space = " " * (wide[0] - cell_len(origin))
        lines.append(
            Text.assemble(origin, space, (f"  {wait:>{wide[1]}}  ", "yellow"), (sanitize_text(host.why), "dim"))
        )
    more = progress.hosts_backing_off - len(shown)
    return [*lines, Text(f"and {more:,} more", "dim")] if more > 0 else lines


def _failures_text(progress: Progress) -> Text:
    counted = format_values.format_counts(progress.failures)
    if not counted:
        return Text("none", "dim")
    more = len(counted) - _MAX_FAILURES_SHOWN
    return Text("   ".join(counted[:_MAX_FAILURES_SHOWN]) + (f"   and {more} more" if more > 0 else ""))


def _stop_hint(progress: Progress) -> Text:
    if progress.is_stopping:
        return Text(" Finishing visits in flight; press Ctrl-C again to stop at once.", style="yellow")
    return Text(" Ctrl-C finishes visits in flight and stops.", style="dim")
