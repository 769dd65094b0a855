"""The status of a crawl: counts, hosts, what is due when, why nothing moves; and the summary at the end of a run."""

from __future__ import annotations

import os

from tenax.cli.extras import browser_advice
from tenax.cli.options import CrawlOptions
from tenax.cli.output import (
    TextStyle,
    display_width,
    format_pairs,
    format_table,
    sanitize_text,
    terminal_width,
    truncate_middle,
    wrap_list,
    wrap_paragraph,
)
from tenax.cli.views import format_values
from tenax.crawl import DATABASE_FILE
from tenax.database import DueTask, DueTasks, HostStatus, Status
from tenax.model import Ending, Progress, Value, limit_setting
from tenax.text.sanitize import MASK, mask_url, quote_shell_word

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
    """One line per task, or more if a line would be truncated, because the reason must stay readable."""
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


_MAX_BUSY_HOSTS_SHOWN = 10


def format_status(status: Status, name: str, resume: str, style: TextStyle, *, jsonl: str = "pages.jsonl") -> list[str]:
    """`jsonl` is the name of the events file."""
    started = f"started {format_values.format_time(status.created_at)}"
    running = style.green(_format_workers(status)) if status.is_running else style.dim("not running")
    result = [f"{style.bold(sanitize_text(name))}   {running}   {style.dim(started)}", ""]
    rows = [
        ("pages", _format_page_counts(status, style)),
        ("settled", format_values.pluralize(status.settled, "URL")),
        ("waiting", _format_waiting(status)),
        ("failed URLs", _format_failed_urls(status)),
        (
            "received",
            f"{format_values.format_size(status.wire_bytes)}, {format_values.format_size(status.body_bytes)} decoded",
        ),
        *wrap_list("found", format_values.format_sources(status.found), terminal_width() - 16),
        *_count_rows("visits", status.outcomes),
        *_count_rows("not followed", format_values.rule_refusals(status.refusals)),
        *_list_rows(
            "limited",
            [
                format_values.describe_cut_off(name, one.links, one.pages)
                for name, one in sorted(status.cut_off.items())
            ],
        ),
        *_list_rows(
            "kept back", [format_values.describe_parked(cause, count) for cause, count in sorted(status.parked.items())]
        ),
    ]
    written = [
        _format_written_events(jsonl if sink == "jsonl" else sink.capitalize(), cursor.seq, status.events)
        for sink, cursor in sorted(status.cursors.items())
    ]
    rows += _list_rows("events", written)
    result += [*format_pairs(rows, style), ""]
    if status.busiest:
        result += [*_host_table(status, style), ""]
    return result + _idle_reason_lines(status, resume, style)


def _format_page_counts(status: Status, style: TextStyle) -> str:
    details = [format_values.pluralize(status.articles, "article")]
    details += [format_values.pluralize(status.duplicates, "duplicate")] if status.duplicates else []
    return f"{style.bold(format_values.format_count(status.pages))}  ({', '.join(details)})"


def _format_workers(status: Status) -> str:
    return f"{format_values.pluralize(status.workers, 'worker')} running" if status.workers > 1 else "running"


def _format_waiting(status: Status) -> str:
    text = format_values.pluralize(status.waiting, "URL")
    if not status.waiting:
        return text
    if status.due_now:
        return f"{text}, {format_values.format_count(status.due_now)} due now"
    return (
        text
        if status.next_due is None
        else f"{text}, next due {format_values.format_due_time(status.next_due, status.now)}"
    )


def _format_failed_urls(status: Status) -> str:
    number = status.needs_browser
    needs = f", {number:,} of them {'needs' if number == 1 else 'need'} a browser" if number else ""
    return format_values.format_count(status.dead) + needs


def _format_written_events(target: str, seq: int, events: int) -> str:
    queued = f", {events - seq:,} queued" if events > seq else ""
    return f"{format_values.pluralize(seq, 'event')} written to {target}{queued}"


def _count_rows(name: str, counts: dict[str, int]) -> list[tuple[str, str]]:
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    texts = [f"{number:,} {sanitize_text(_format_outcome(key))}" for key, number in shown]
    return [(name if index == 0 else "", text) for index, text in enumerate(texts)] or [
        (name, format_values.format_count(0))
    ]


def _list_rows(name: str, lines: list[str]) -> list[tuple[str, str]]:
    return [(name if index == 0 else "", sanitize_text(line)) for index, line in enumerate(lines)]


def _format_outcome(key: str) -> str:
    kind, colon, _ = key.partition(":")
    return (
        f"{kind}: {format_values.describe_reason(key)}"
        if colon and kind != "trap"
        else format_values.describe_reason(key)
    )


def _host_table(status: Status, style: TextStyle) -> list[str]:
    rows = []
    for line in status.busiest[:_MAX_BUSY_HOSTS_SHOWN]:
        host = line.host
        counts = map(format_values.format_count, (line.waiting, host.page_count, host.error_count))
        request = truncate_middle(_format_next_request(line, status.now), max(terminal_width() - 72, 24))
        rows.append([truncate_middle(sanitize_text(host.origin), 40), *counts, request])
    head = ("host", "waiting", "pages", "errors", "next request")
    more = status.hosts - len(rows)
    end = [f"  {style.dim(f'and {more:,} more')}"] if more > 0 else []
    return format_table(head, rows, style, right_aligned=(1, 2, 3)) + end


def _format_next_request(line: HostStatus, now: float) -> str:
    host = line.host
    if not host.is_allowed:
        return "closed by robots.txt"
    due = max(host.next_at, line.next_due or 0.0)
    if due <= now:
        return "now"
    why = f": {sanitize_text(host.backoff_reason)}" if host.backoff_reason and host.next_at >= due else ""
    return f"in {format_values.format_duration(due - now)}{why}"


def _idle_reason_lines(status: Status, resume: str, style: TextStyle) -> list[str]:
    """Why nothing moves, and how to resume; empty while the crawl works."""
    if not status.waiting:
        if status.needs_browser:
            return [f"Nothing else is waiting. {browser_advice(status.needs_browser)}."]
        if status.dead:
            return ["Nothing is waiting. `tenax dead-letters list` shows the failed URLs."]
        if status.cut_off or status.parked:
            return ["Nothing is waiting. Limits or settings keep URLs out, see above; change them and resume."]
        return ["Nothing is waiting: the crawl is complete."]
    backing_off = [line for line in status.busiest if line.host.backoff_reason and line.host.next_at > status.now]
    result = []
    if not status.due_now and backing_off:
        first = min(backing_off, key=lambda line: line.host.next_at).host
        until = format_values.format_until(first.next_at, status.now)
        many = "All hosts with waiting URLs are backing off, the first"
        which = "The host is backing off" if len(backing_off) == 1 else many
        result.append(f"{which} until {until}: {sanitize_text(first.backoff_reason)}.")
    elif not status.due_now and status.next_due is not None:
        result.append(f"Nothing is due before {format_values.format_until(status.next_due, status.now)}.")
    if not status.is_running:
        result.append(f"No process is crawling. Resume with:  {style.bold(sanitize_text(resume))}")
    return result


_MAX_REASONS_SHOWN = 5
_MAX_HOSTS_SHOWN = 5
_FAILURE_OUTCOMES = ("failed", "rejected", "refused")


class Report(Value, frozen=True):
    """The input of the summary."""

    options: CrawlOptions
    ending: Ending
    progress: Progress
    status: Status
    jsonl: str = ""
    """The events file in the directory of the crawl; empty if there is none."""


def format_summary(report: Report, style: TextStyle) -> list[str]:
    status, progress = report.status, report.progress
    lines = ["", closing_line(report, style), ""]
    rows = [
        ("pages", _format_pages(report, style)),
        ("received", format_values.format_size(progress.wire_bytes)),
        ("time", _format_run_time(progress)),
    ]
    rows += _list_rows("extraction", format_values.describe_extraction(progress))
    rows += wrap_list("found", format_values.format_sources(status.found), terminal_width() - 16)
    if missed := status.outcomes.get("missed", 0):
        rows.append(("guesses", f"{format_values.format_count(missed)} found nothing new"))
    if unchanged := status.outcomes.get("unchanged", 0):
        saved = f" (saved {format_values.format_size(status.saved_bytes)})" if status.saved_bytes else ""
        rows.append(("unchanged", format_values.pluralize(unchanged, "visit") + saved))
    rows += _reason_rows(
        "failures", {key: n for key, n in status.outcomes.items() if key.split(":")[0] in _FAILURE_OUTCOMES}
    )
    rows += _reason_rows("not followed", format_values.rule_refusals(status.refusals))
    rows += [("limited" if at == 0 else "", sanitize_text(line)) for at, line in enumerate(_limit_lines(status))]
    kept_back = [
        format_values.describe_parked(cause, count)
        for cause, count in sorted(status.parked.items())
        if not limit_setting(cause)
    ]
    rows += [("kept back" if at == 0 else "", sanitize_text(line)) for at, line in enumerate(kept_back)]
    if status.dead:
        rows.append(("failed URLs", format_values.format_count(status.dead)))
    if status.needs_browser:
        rows.append(("browser", browser_advice(status.needs_browser)))
    if status.waiting:
        rows.append(("waiting", format_values.pluralize(status.waiting, "URL")))
    lines += [*format_pairs([*rows, ("", ""), *_location_rows(report)], style), ""]
    if report.ending is Ending.MAX_IDLE:
        lines += [*_backoff_lines(report, style), ""]
    return [*lines, *_next_steps(report, style), "", *_resume_lines(report, style)]


def format_brief_summary(report: Report, style: TextStyle) -> list[str]:
    """The summary with --quiet: nothing if the crawl is complete."""
    if report.ending is Ending.COMPLETE and not report.status.needs_browser:
        return []
    return [closing_line(report, style), *_resume_lines(report, style)]


def closing_line(report: Report, style: TextStyle) -> str:
    """How the run ended."""
    match report.ending:
        case Ending.COMPLETE:
            if report.status.needs_browser:
                return style.yellow("Nothing else is left to visit.") + _browser_hint(report)
            return style.green("Crawl complete:") + " nothing is left to visit."
        case Ending.LIMITED:
            return (
                style.yellow("Crawl limited:")
                + f" no URL is waiting, but {format_values.join_words(_limit_lines(report.status))}."
            )
        case Ending.PAGE_LIMIT:
            return style.green("Page limit reached:") + " resume with a higher --max-pages, or without it."
        case Ending.MAX_IDLE:
            return style.yellow("Stopped for now:") + " every host with waiting URLs is backing off."
        case Ending.INTERRUPTED:
            return style.yellow("Interrupted:") + " all visits in flight were finished and stored."
        case Ending.NOTHING_STORED:
            seed = quote_shell_word(mask_url(report.options.seeds[0]))
            advice = f"`{report.options.program} explain {seed} {report.options.location.flags}` says why"
            return style.yellow("Nothing could be stored.") + f" {sanitize_text(advice)}{_browser_hint(report)}"


def _limit_lines(status: Status) -> list[str]:
    """What limits cut off, each with its setting."""
    cut = [
        format_values.describe_cut_off(name, count.links, count.pages) for name, count in sorted(status.cut_off.items())
    ]
    return cut + [
        format_values.describe_parked(cause, count)
        for cause, count in sorted(status.parked.items())
        if limit_setting(cause)
    ]


def _browser_hint(report: Report) -> str:
    number = report.status.needs_browser
    return f" {browser_advice(number)}." if number else ""


def _format_pages(report: Report, style: TextStyle) -> str:
    status, progress = report.status, report.progress
    text = style.bold(format_values.format_count(status.pages))
    details = [format_values.pluralize(status.articles, "article")] if status.articles else []
    if status.duplicates:
        details.append(format_values.pluralize(status.duplicates, "duplicate"))
    if progress.pages_this_run != status.pages:
        details.append(f"{format_values.format_count(progress.pages_this_run)} in this run")
    return f"{text}  ({', '.join(details)})" if details else text


def _format_run_time(progress: Progress) -> str:
    """The duration of this run. Other figures of the summary cover all runs of the crawl."""
    seconds = progress.elapsed_seconds
    speed = progress.pages_this_run / seconds if seconds > 0 else 0.0
    return f"{format_values.format_duration(seconds)}   {speed:,.1f} pages/s"


def _reason_rows(name: str, counts: dict[str, int]) -> list[tuple[str, str]]:
    """One reason per line, the most frequent one first. The name is on the first line."""
    counted = [sanitize_text(line) for line in format_values.format_counts(counts)]
    more = len(counted) - _MAX_REASONS_SHOWN
    hint = [f"and {format_values.pluralize(more, 'more reason')}; see `tenax status`"] if more > 0 else []
    shown = counted[:_MAX_REASONS_SHOWN] + hint
    return [(name if index == 0 else "", line) for index, line in enumerate(shown)]


def _location_rows(report: Report) -> list[tuple[str, str]]:
    location = report.options.location
    rows = [
        (
            "database",
            location.name if location.server else sanitize_text(os.fspath(location.database_directory / DATABASE_FILE)),
        )
    ]
    if report.jsonl and location.directory is not None:
        rows.append(("pages", sanitize_text(os.fspath(location.directory / report.jsonl))))
    return rows


def _backoff_lines(report: Report, style: TextStyle) -> list[str]:
    progress = report.progress
    lines = [style.dim("Backing off")]
    for host in progress.backing_off[:_MAX_HOSTS_SHOWN]:
        until = format_values.format_until(host.until, progress.now)
        lines.append(f"  {sanitize_text(host.origin)}  until {until}: {sanitize_text(host.why)}")
    more = progress.hosts_backing_off - min(len(progress.backing_off), _MAX_HOSTS_SHOWN)
    return lines + ([f"  and {format_values.pluralize(more, 'more host')}"] if more > 0 else [])


def _next_steps(report: Report, style: TextStyle) -> list[str]:
    program, flags = report.options.program, report.options.location.flags
    steps = [(f"{program} status {flags}".rstrip(), "counts, hosts, what is due next")]
    for url, meaning in report.options.examples:
        steps.append((f"{program} explain {quote_shell_word(url)} {flags}".rstrip(), meaning))
    steps.append((f"{program} export --format markdown {flags}".rstrip(), "one file per page"))
    if report.status.dead:
        steps.append((f"{program} dead-letters list {flags}".rstrip(), "failed URLs and their causes"))
    room = max(len(command) for command, _ in steps)
    fits = room + 4 + max(len(meaning) for _, meaning in steps) <= terminal_width()
    lines = [style.dim("Try next")]
    for command, meaning in steps:
        lines += (
            [f"  {command:<{room}}  {style.dim(meaning)}"] if fits else [f"  {style.dim(meaning)}", f"    {command}"]
        )
    return lines


def _resume_lines(report: Report, style: TextStyle) -> list[str]:
    """The command that resumes, if something is left to do."""
    resume, status = sanitize_text(report.options.resume_command), report.status
    has_ended = report.ending in (Ending.COMPLETE, Ending.NOTHING_STORED)
    if not resume or (has_ended and not status.waiting and not status.needs_browser):
        return []
    again = f"{MASK} is the password you typed; it is not stored: type it again, or set a variable"
    hint = [style.dim(f"{again} such as TENAX_DATABASE_URL.")] if MASK in resume else []
    return [*hint, f"Resume with:  {style.bold(resume)}"]
