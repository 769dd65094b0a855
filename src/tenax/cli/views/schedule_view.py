"""The schedule of a crawl: what is due when, and why."""

from __future__ import annotations

from tenax.cli.views import format_values
from tenax.cli.views.tables import (
    TextStyle,
    display_width,
    format_pairs,
    format_table,
    sanitize_text,
    terminal_width,
    truncate_middle,
    wrap_paragraph,
)
from tenax.database import DueTask, DueTasks

_DUE_RANGES = {
    "now": "due now",
    "hour": "within an hour",
    "day": "within a day",
    "week": "within a week",
    "later": "later",
}
_NEW_TASK_REASON = "new: not visited yet"


def format_schedule(due_tasks: DueTasks, style: TextStyle) -> list[str]:
    if not any(due_tasks.due_within.values()):
        return ["No URL is waiting.", "`tenax crawl URL --continuous` visits pages again."]
    counts = [
        (name, format_values.pluralize(due_tasks.due_within.get(key, 0), "URL")) for key, name in _DUE_RANGES.items()
    ]
    lines = [*format_pairs(counts, style), ""]
    if not due_tasks.tasks:
        return lines
    more = sum(due_tasks.due_within.values()) - len(due_tasks.tasks)
    end = [f"  {style.dim(f'and {more:,} more; --schedule N shows N of them')}"] if more > 0 else []
    return [*lines, *_format_due_tasks(due_tasks, style), *end]


def _format_due_tasks(due_tasks: DueTasks, style: TextStyle) -> list[str]:
    """One line per task, or more when a line would be truncated: the reason must stay readable."""
    rows = [
        (_format_due(line, due_tasks.now), sanitize_text(line.url), sanitize_text(_due_reason(line)))
        for line in due_tasks.tasks
    ]
    lines = format_table(("due", "url", "why"), rows, style)
    if max(map(display_width, lines)) <= terminal_width():
        return lines
    room = max(display_width(when) for when, _, _ in rows) + 4
    indent = " " * room
    lines = []
    for when, url, why in rows:
        lines.append(f"  {when:<{room - 2}}{truncate_middle(url, terminal_width() - room)}")
        lines += [style.dim(part) for part in wrap_paragraph(why, indent)]
    return lines


def _format_due(task: DueTask, now: float) -> str:
    return "now" if task.due <= now else f"in {format_values.format_duration(task.due - now)}"


def _due_reason(task: DueTask) -> str:
    return _NEW_TASK_REASON if task.is_new else task.why or "to be visited again"
