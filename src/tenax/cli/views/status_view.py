"""The status of a crawl: counts, hosts, what is due next, and why nothing moves."""

from __future__ import annotations

from tenax.cli.views import format_values
from tenax.cli.views.tables import (
    TextStyle,
    format_pairs,
    format_table,
    sanitize_text,
    terminal_width,
    truncate_middle,
    wrap_list,
)
from tenax.database import HostStatus, Status

_MAX_HOSTS_SHOWN = 10


def format_status(status: Status, name: str, resume: str, style: TextStyle, *, jsonl: str = "pages.jsonl") -> list[str]:
    """`jsonl` is the name of the events file."""
    started = f"started {format_values.format_time(status.created_at)}"
    running = style.green(_format_workers(status)) if status.is_running else style.dim("not running")
    result = [f"{style.bold(sanitize_text(name))}   {running}   {style.dim(started)}", ""]
    rows = [
        ("pages", _format_pages(status, style)),
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


def _format_pages(status: Status, style: TextStyle) -> str:
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
    for line in status.busiest[:_MAX_HOSTS_SHOWN]:
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
            return [f"Nothing else is waiting. {format_values.browser_advice(status.needs_browser)}."]
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
