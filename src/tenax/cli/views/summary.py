"""What a person reads when a run has ended: what came of it, where it is, and what to try next."""

from __future__ import annotations

import os

from tenax.cli.options import Orders
from tenax.cli.views import format_values
from tenax.cli.views.tables import Ink, columns, pairs, plain, spread
from tenax.crawl.files import LEDGER_FILE
from tenax.database import Status
from tenax.model import Ending, Progress, Value, setting_of
from tenax.text.escaping import shell_word
from tenax.text.masking import MASK, mask_url

_REASONS_SHOWN = 5
_HOSTS_SHOWN = 5
_TROUBLES = ("failed", "rejected", "refused")


class Report(Value, frozen=True):
    """Everything the summary speaks about."""

    orders: Orders
    ending: Ending
    progress: Progress
    status: Status
    jsonl: str = ""
    """The events file in the output directory; empty when there is none."""


def summary(report: Report, ink: Ink) -> list[str]:
    status, progress = report.status, report.progress
    lines = ["", closing_line(report, ink), ""]
    rows = [
        ("pages", _pages(report, ink)),
        ("received", format_values.size(progress.wire_bytes)),
        ("time", _time(progress)),
    ]
    rows += spread("found", format_values.found(status.found), columns() - 16)
    if missed := status.outcomes.get("missed", 0):
        rows.append(("guesses", f"{format_values.count(missed)} with nothing new there"))
    if unchanged := status.outcomes.get("unchanged", 0):
        saved = f" (saved {format_values.size(status.saved_bytes)})" if status.saved_bytes else ""
        rows.append(("unchanged", format_values.several(unchanged, "visit") + saved))
    rows += _block("failures", {key: n for key, n in status.outcomes.items() if key.split(":")[0] in _TROUBLES})
    rows += _block("not followed", format_values.by_rules(status.refusals))
    rows += [("limited" if at == 0 else "", plain(line)) for at, line in enumerate(_limits(status))]
    kept_back = [
        format_values.parked(cause, count) for cause, count in sorted(status.parked.items()) if not setting_of(cause)
    ]
    rows += [("kept back" if at == 0 else "", plain(line)) for at, line in enumerate(kept_back)]
    if status.dead:
        rows.append(("dead letters", format_values.count(status.dead)))
    if status.needs_browser:
        rows.append(("browser", format_values.browser_advice(status.needs_browser)))
    if status.waiting:
        rows.append(("waiting", format_values.several(status.waiting, "URL")))
    lines += [*pairs([*rows, ("", ""), *_places(report)], ink), ""]
    if report.ending is Ending.PATIENCE:
        lines += [*_resting(report, ink), ""]
    return [*lines, *_next_steps(report, ink), "", *_how_to_resume(report, ink)]


def brief(report: Report, ink: Ink) -> list[str]:
    """For those who asked for quiet: nothing when all went well."""
    if report.ending is Ending.COMPLETE and not report.status.needs_browser:
        return []
    return [closing_line(report, ink), *_how_to_resume(report, ink)]


def closing_line(report: Report, ink: Ink) -> str:
    """How the run ended, in one line."""
    match report.ending:
        case Ending.COMPLETE:
            if report.status.needs_browser:
                return ink.warm("Nothing else is left to visit.") + _browser(report)
            return ink.good("Crawl complete:") + " nothing is left to visit."
        case Ending.LIMITED:
            return ink.warm("Crawl limited:") + f" nothing waits, but {format_values.listing(_limits(report.status))}."
        case Ending.PAGE_LIMIT:
            return ink.good("Page limit reached:") + " to go on, resume with another --max-pages or with none."
        case Ending.PATIENCE:
            return ink.warm("Stopped for now:") + " every host with work left is resting."
        case Ending.INTERRUPTED:
            return ink.warm("Interrupted:") + " everything in flight was finished and is stored."
        case Ending.NOTHING_STORED:
            seed = shell_word(mask_url(report.orders.seeds[0]))
            advice = f"`{report.orders.program} explain {seed} {report.orders.place.flags}` says why"
            return ink.warm("Nothing could be stored.") + f" {plain(advice)}{_browser(report)}"


def _limits(status: Status) -> list[str]:
    """What limits kept out, and the setting of each."""
    cut = [format_values.cut_off(name, count.links, count.pages) for name, count in sorted(status.cut_off.items())]
    return cut + [
        format_values.parked(cause, count) for cause, count in sorted(status.parked.items()) if setting_of(cause)
    ]


def _browser(report: Report) -> str:
    number = report.status.needs_browser
    return f" {format_values.browser_advice(number)}." if number else ""


def _pages(report: Report, ink: Ink) -> str:
    status, progress = report.status, report.progress
    text = ink.bold(format_values.count(status.pages))
    details = [format_values.several(status.articles, "article")] if status.articles else []
    if status.duplicates:
        details.append(format_values.several(status.duplicates, "duplicate"))
    if progress.pages_this_run != status.pages:
        details.append(f"{format_values.count(progress.pages_this_run)} in this run")
    return f"{text}  ({', '.join(details)})" if details else text


def _time(progress: Progress) -> str:
    """Of this run; all else in the summary is counted over every run of the crawl."""
    seconds = progress.elapsed_seconds
    speed = progress.pages_this_run / seconds if seconds > 0 else 0.0
    return f"{format_values.duration(seconds)}   {speed:,.1f} pages/s"


def _block(name: str, counts: dict[str, int]) -> list[tuple[str, str]]:
    """A reason a line, most first; the name stands beside the first."""
    counted = [plain(line) for line in format_values.tally(counts)]
    rest = counted[_REASONS_SHOWN:]
    shown = counted[:_REASONS_SHOWN] + ([f"and {len(rest)} more reasons; see `status`"] if rest else [])
    return [(name if index == 0 else "", line) for index, line in enumerate(shown)]


def _places(report: Report) -> list[tuple[str, str]]:
    where = report.orders.place
    rows = [("database", where.name if where.server else plain(os.fspath(where.directory / LEDGER_FILE)))]
    if report.jsonl and where.out is not None:
        rows.append(("pages", plain(os.fspath(where.out / report.jsonl))))
    return rows


def _resting(report: Report, ink: Ink) -> list[str]:
    progress = report.progress
    lines = [ink.dim("Resting")]
    for rest in progress.resting[:_HOSTS_SHOWN]:
        until = format_values.when(rest.until, progress.now)
        lines.append(f"  {plain(rest.origin)}  until {until.removeprefix('in ')}: {plain(rest.why)}")
    more = progress.hosts_resting - min(len(progress.resting), _HOSTS_SHOWN)
    return lines + ([f"  and {format_values.several(more, 'more host')}"] if more > 0 else [])


def _next_steps(report: Report, ink: Ink) -> list[str]:
    program, flags = report.orders.program, report.orders.place.flags
    steps = [(f"{program} status {flags}".rstrip(), "counts, hosts, what is due")]
    for url, meaning in report.orders.examples:
        steps.append((f"{program} explain {shell_word(url)} {flags}".rstrip(), meaning))
    steps.append((f"{program} export --format markdown {flags}".rstrip(), "a file for every page"))
    if report.status.dead:
        steps.append((f"{program} dead-letters list {flags}".rstrip(), "what was given up, and why"))
    room = max(len(command) for command, _ in steps)
    fits = room + 4 + max(len(meaning) for _, meaning in steps) <= columns()
    lines = [ink.dim("Try next")]
    for command, meaning in steps:
        lines += [f"  {command:<{room}}  {ink.dim(meaning)}"] if fits else [f"  {ink.dim(meaning)}", f"    {command}"]
    return lines


def _how_to_resume(report: Report, ink: Ink) -> list[str]:
    """The last line, when something is left to do."""
    resume, status = plain(report.orders.resume), report.status
    has_ended = report.ending in (Ending.COMPLETE, Ending.NOTHING_STORED)
    if not resume or (has_ended and not status.waiting and not status.needs_browser):
        return []
    again = f"{MASK} is the password you typed; it is not kept: type it again, or set a variable"
    hint = [ink.dim(f"{again} such as TENAX_LEDGER_URL.")] if MASK in resume else []
    return [*hint, f"Resume with:  {ink.bold(resume)}"]
