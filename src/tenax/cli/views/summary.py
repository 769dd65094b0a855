"""The summary at the end of a run: results, files, and next steps."""

from __future__ import annotations

import os

from tenax.cli.options import CrawlOptions
from tenax.cli.views import format_values
from tenax.cli.views.tables import TextStyle, format_pairs, sanitize_text, terminal_width, wrap_list
from tenax.crawl import DATABASE_FILE
from tenax.database import Status
from tenax.model import Ending, Progress, Value, limit_setting
from tenax.text.escaping import quote_shell_word
from tenax.text.masking import MASK, mask_url

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
    """The events file in the directory of the crawl; empty when there is none."""


def format_summary(report: Report, style: TextStyle) -> list[str]:
    status, progress = report.status, report.progress
    lines = ["", closing_line(report, style), ""]
    rows = [
        ("pages", _format_pages(report, style)),
        ("received", format_values.format_size(progress.wire_bytes)),
        ("time", _format_run_time(progress)),
    ]
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
        rows.append(("browser", format_values.browser_advice(status.needs_browser)))
    if status.waiting:
        rows.append(("waiting", format_values.pluralize(status.waiting, "URL")))
    lines += [*format_pairs([*rows, ("", ""), *_location_rows(report)], style), ""]
    if report.ending is Ending.MAX_IDLE:
        lines += [*_backoff_lines(report, style), ""]
    return [*lines, *_next_steps(report, style), "", *_resume_lines(report, style)]


def format_brief_summary(report: Report, style: TextStyle) -> list[str]:
    """With --quiet: nothing when the crawl is complete."""
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
    """What limits kept out, each with its setting."""
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
    return f" {format_values.browser_advice(number)}." if number else ""


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
    """Of this run; other figures in the summary cover all runs of the crawl."""
    seconds = progress.elapsed_seconds
    speed = progress.pages_this_run / seconds if seconds > 0 else 0.0
    return f"{format_values.format_duration(seconds)}   {speed:,.1f} pages/s"


def _reason_rows(name: str, counts: dict[str, int]) -> list[tuple[str, str]]:
    """One reason per line, most frequent first; the name is on the first line."""
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
    """The command that resumes, when something is left to do."""
    resume, status = sanitize_text(report.options.resume_command), report.status
    has_ended = report.ending in (Ending.COMPLETE, Ending.NOTHING_STORED)
    if not resume or (has_ended and not status.waiting and not status.needs_browser):
        return []
    again = f"{MASK} is the password you typed; it is not stored: type it again, or set a variable"
    hint = [style.dim(f"{again} such as TENAX_DATABASE_URL.")] if MASK in resume else []
    return [*hint, f"Resume with:  {style.bold(resume)}"]
