"""What is due when, and why: the schedule of a crawl for people."""

from __future__ import annotations

from tenax.cli.views import format_values
from tenax.cli.views.tables import Ink, columns, pairs, plain, shortened, table, width, wrapped
from tenax.database import Agenda, AgendaLine

_WITHIN = {
    "now": "due now",
    "hour": "within an hour",
    "day": "within a day",
    "week": "within a week",
    "later": "later",
}
_NEW = "new: found and not visited yet"


def timetable(agenda: Agenda, ink: Ink) -> list[str]:
    if not any(agenda.due_within.values()):
        return ["Nothing is waiting: nothing is due.", "`tenax crawl URL --keep-fresh` visits pages again."]
    counts = [(name, format_values.several(agenda.due_within.get(key, 0), "URL")) for key, name in _WITHIN.items()]
    lines = [*pairs(counts, ink), ""]
    if not agenda.lines:
        return lines
    more = sum(agenda.due_within.values()) - len(agenda.lines)
    end = [f"  {ink.dim(f'and {more:,} more; --schedule N shows N of them')}"] if more > 0 else []
    return [*lines, *_due(agenda, ink), *end]


def _due(agenda: Agenda, ink: Ink) -> list[str]:
    """A line for each task, or two where one would have to be cut: why it is due is what the reader came for."""
    rows = [(_when(line, agenda.now), plain(line.url), plain(_why(line))) for line in agenda.lines]
    lines = table(("due", "url", "why"), rows, ink)
    if max(map(width, lines)) <= columns():
        return lines
    room = max(width(when) for when, _, _ in rows) + 4
    indent = " " * room
    lines = []
    for when, url, why in rows:
        lines.append(f"  {when:<{room - 2}}{shortened(url, columns() - room)}")
        lines += [ink.dim(part) for part in wrapped(why, indent)]
    return lines


def _when(line: AgendaLine, now: float) -> str:
    return "now" if line.due <= now else f"in {format_values.duration(line.due - now)}"


def _why(line: AgendaLine) -> str:
    return _NEW if line.is_new else line.why or "to be visited again"
