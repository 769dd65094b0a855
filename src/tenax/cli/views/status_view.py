"""A crawl at a glance: counts, hosts, what is due when, and if nothing is moving: why."""

from __future__ import annotations

from tenax.cli.views import format_values
from tenax.cli.views.tables import Ink, columns, pairs, plain, shortened, spread, table
from tenax.database import HostLine, Status

_HOSTS_SHOWN = 10


def lines(status: Status, name: str, resume: str, ink: Ink) -> list[str]:
    started = f"started {format_values.moment(status.created_at)}"
    running = ink.good(_running(status)) if status.is_running else ink.dim("not running")
    result = [f"{ink.bold(plain(name))}   {running}   {ink.dim(started)}", ""]
    rows = [
        ("pages", _pages(status, ink)),
        ("settled", format_values.several(status.settled, "URL")),
        ("waiting", _waiting(status)),
        ("dead letters", _dead(status)),
        ("received", f"{format_values.size(status.wire_bytes)}, {format_values.size(status.body_bytes)} decoded"),
        *spread("found", format_values.found(status.found), columns() - 16),
        *_counted("visits", status.outcomes),
        *_counted("not followed", format_values.by_rules(status.refusals)),
        *_listed(
            "limited",
            [format_values.cut_off(name, one.links, one.pages) for name, one in sorted(status.cut_off.items())],
        ),
        *_listed("kept back", [format_values.parked(cause, count) for cause, count in sorted(status.parked.items())]),
    ]
    for sink, cursor in sorted(status.cursors.items()):
        rows.append((f"told {plain(sink)}", _told(cursor.seq, status.events)))
    result += [*pairs(rows, ink), ""]
    if status.busiest:
        result += [*_hosts(status, ink), ""]
    return result + _why_still(status, resume, ink)


def _pages(status: Status, ink: Ink) -> str:
    details = [format_values.several(status.articles, "article")]
    details += [format_values.several(status.duplicates, "duplicate")] if status.duplicates else []
    return f"{ink.bold(format_values.count(status.pages))}  ({', '.join(details)})"


def _running(status: Status) -> str:
    return f"{format_values.several(status.workers, 'worker')} running" if status.workers > 1 else "running"


def _waiting(status: Status) -> str:
    text = format_values.several(status.waiting, "URL")
    if not status.waiting:
        return text
    if status.due_now:
        return f"{text}, {format_values.count(status.due_now)} due now"
    return text if status.next_due is None else f"{text}, next due {format_values.when(status.next_due, status.now)}"


def _dead(status: Status) -> str:
    waits = (
        f", {format_values.count(status.needs_browser)} of them for want of a browser" if status.needs_browser else ""
    )
    return format_values.count(status.dead) + waits


def _told(seq: int, events: int) -> str:
    behind = events - seq
    return f"{format_values.several(seq, 'event')}" + (
        f", {format_values.count(behind)} to go" if behind > 0 else ", all of them"
    )


def _counted(name: str, counts: dict[str, int]) -> list[tuple[str, str]]:
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    texts = [f"{number:,} {plain(_outcome(key))}" for key, number in shown]
    return [(name if index == 0 else "", text) for index, text in enumerate(texts)] or [(name, format_values.count(0))]


def _listed(name: str, lines: list[str]) -> list[tuple[str, str]]:
    return [(name if index == 0 else "", plain(line)) for index, line in enumerate(lines)]


def _outcome(key: str) -> str:
    kind, colon, _ = key.partition(":")
    return f"{kind}: {format_values.reason(key)}" if colon and kind != "trap" else format_values.reason(key)


def _hosts(status: Status, ink: Ink) -> list[str]:
    rows = []
    for line in status.busiest[:_HOSTS_SHOWN]:
        host = line.host
        rows.append([
            shortened(plain(host.origin), 40), format_values.count(line.waiting), format_values.count(host.page_count),
            format_values.count(host.error_count), shortened(_turn(line, status.now), max(columns() - 72, 24)),
        ])  # fmt: skip
    head = ("host", "waiting", "pages", "errors", "next turn")
    more = status.hosts - len(rows)
    end = [f"  {ink.dim(f'and {more:,} more')}"] if more > 0 else []
    return table(head, rows, ink, right=(1, 2, 3)) + end


def _turn(line: HostLine, now: float) -> str:
    host = line.host
    if not host.is_allowed:
        return "closed by robots.txt"
    due = max(host.next_at, line.next_due or 0.0)
    if due <= now:
        return "now"
    why = f": {plain(host.resting_why)}" if host.resting_why and host.next_at >= due else ""
    return f"in {format_values.duration(due - now)}{why}"


def _why_still(status: Status, resume: str, ink: Ink) -> list[str]:
    """What moves the crawl, or what keeps it."""
    if not status.waiting:
        if status.needs_browser:
            return [f"Nothing else is waiting. {format_values.browser_advice(status.needs_browser)}."]
        if status.dead:
            return ["Nothing is waiting. `tenax dead-letters list` shows what was given up."]
        if status.cut_off or status.parked:
            return ["Nothing is waiting. Limits or settings keep URLs out, see above; raise them and resume."]
        return ["Nothing is waiting: the crawl is complete."]
    resting = [line for line in status.busiest if line.host.resting_why and line.host.next_at > status.now]
    result = []
    if not status.due_now and resting:
        first = min(resting, key=lambda line: line.host.next_at).host
        until = format_values.when(first.next_at, status.now).removeprefix("in ")
        which = "The host rests" if len(resting) == 1 else "All hosts with work rest, the first"
        result.append(f"{which} until {until}: {plain(first.resting_why)}.")
    elif not status.due_now and status.next_due is not None:
        result.append(f"Nothing is due before {format_values.when(status.next_due, status.now).removeprefix('in ')}.")
    if not status.is_running:
        result.append(f"Nothing moves because nobody is crawling. Resume with:  {ink.bold(plain(resume))}")
    return result
