"""One visit in words: how it ended, how it was carried, what was measured, and what was planned."""

from __future__ import annotations

from tenax.cli.views import format_values
from tenax.cli.views.format_fetch import TRANSPORT_PHRASES, describe_charset, format_measurements
from tenax.cli.views.tables import sanitize_text, truncate_middle
from tenax.database import VisitRecord
from tenax.model import (
    DeadLetter,
    Deferred,
    Failed,
    Fetched,
    FetchRecord,
    Outcome,
    Park,
    Plan,
    Redirected,
    Refused,
    Rejected,
    Reschedule,
    Unchanged,
)

_HEADER_COLUMNS = 120
_BODY_COLUMNS = 120
_BODY_LINES = 5
_VALIDATIONS = {"valid": "it reads like a page", "soft": "it may be no page yet", "hard": "it is no page"}


def visit_lines(visit: VisitRecord) -> list[str]:
    """All that is kept of a visit."""
    fetch = visit.fetch
    lines = [outcome_text(visit.outcome)]
    if visit.attempt or visit.is_conditional:
        asked = [f"after {format_values.pluralize(visit.attempt, 'failed attempt')}"] if visit.attempt else []
        asked += ["asked for only if it has changed"] if visit.is_conditional else []
        lines.append(", ".join(asked))
    is_page = isinstance(visit.outcome, Fetched) and not visit.outcome.url_list
    lines += [
        *_join_pairs(format_measurements(fetch)),
        *validation_lines(fetch, is_page or not isinstance(visit.outcome, Fetched)),
    ]
    if visit.candidate_count or visit.refusals:
        left = ", ".join(format_values.format_counts(visit.refusals))
        lines.append(
            f"{format_values.pluralize(visit.candidate_count, 'link' if is_page else 'URL')} offered"
            + (f"; not followed: {left}" if left else "")
        )
    if fetch.headers:
        lines.append(f"headers: {'; '.join(header_lines(fetch))}")
    lines += error_body_lines(fetch)
    return [*lines, f"→ {plan_text(visit.plan)}"]


def outcome_text(outcome: Outcome) -> str:
    match outcome:
        case Fetched(status, url_list) if url_list:
            return f"fetched, HTTP {status}, and read as a {url_list}"
        case Fetched(status):
            return f"fetched, HTTP {status}"
        case Unchanged(why) if why:
            return f"unchanged, not asked for: {why}"
        case Unchanged():
            return "unchanged, HTTP 304"
        case Redirected(status, to, why):
            return f"redirected, HTTP {status}, to {to}" + (f"; not followed: {why}" if why else "")
        case Deferred(until, why):
            return f"put off until {format_values.format_time(until)}: {why}"
        case Refused(why):
            return f"not fetched: {why.partition(': ')[2] or why}"
        case Rejected(why):
            return f"answered, but not kept: {why}"
        case Failed(why, kind, is_site_wide):
            whose = "; the host's trouble, so it does not count as an attempt" if is_site_wide else ""
            return f"failed, {format_values.describe_reason(kind)}: {why}{whose}"


def _join_pairs(lines: list[str]) -> list[str]:
    """A history is long: two lines of it in one."""
    return [", ".join(map(sanitize_text, lines[at : at + 2])) for at in range(0, len(lines), 2)]


def validation_lines(fetch: FetchRecord, is_page: bool = True) -> list[str]:
    """What the reader thought of the answer, on what evidence, and how its letters were read.

    Of a sitemap or a feed, what was wrong with it.
    """
    if not is_page:
        return [f"read as far as it goes: {sanitize_text(fetch.evidence)}"] if fetch.evidence else []
    parts = [_VALIDATIONS[fetch.validation]] if fetch.validation else []
    parts += [f"evidence: {sanitize_text(fetch.evidence)}"] if fetch.evidence else []
    parts += describe_charset(fetch.charset_source)
    return ["; ".join(parts)] if parts else []


def header_lines(fetch: FetchRecord) -> list[str]:
    """The kept headers of the answer, a line each."""
    return [
        truncate_middle(f"{sanitize_text(name)}: {sanitize_text(value)}", _HEADER_COLUMNS)
        for name, value in fetch.headers.items()
    ]


def error_body_lines(fetch: FetchRecord) -> list[str]:
    """How the kept body of an error begins, made inert; no lines when none is kept."""
    if not fetch.error_body:
        return []
    written = [line for raw in fetch.error_body.splitlines() if (line := sanitize_text(raw).strip())]
    shown = [f"| {truncate_middle(line, _BODY_COLUMNS)}" for line in written[:_BODY_LINES]]
    more = (
        [f"| … {format_values.pluralize(len(written) - _BODY_LINES, 'more line')}"]
        if len(written) > _BODY_LINES
        else []
    )
    return [f"it came with {format_values.pluralize(len(fetch.error_body), 'character')}:", *shown, *more]


def plan_text(plan: Plan) -> str:
    match plan:
        case Reschedule(at, spends_attempt, transport, is_unconditional, why):
            if why:
                return f"again from {format_values.format_time(at)} on: {why}"
            parts = [f"again from {format_values.format_time(at)} on"]
            parts += [TRANSPORT_PHRASES[transport]] if transport is not None else []
            parts += ["asking for the whole page"] if is_unconditional else []
            parts += ["one attempt spent"] if spends_attempt else []
            return ", ".join(parts)
        case DeadLetter(cause) if plan.needs_browser:
            return f"put aside until there is a browser: {cause}"
        case DeadLetter(cause):
            return f"given up: {cause}"
        case Park(cause) if cause.startswith("robots:"):
            return "not fetched while robots.txt says so"
        case Park(cause):
            return f"kept back until a run allows it: {cause}"
    return "done"
