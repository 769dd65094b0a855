"""One visit as text: outcome, measurements of the fetch, validation and plan."""

from __future__ import annotations

from tenax.cli.output import sanitize_text, truncate_middle
from tenax.cli.views import format_values
from tenax.database import VisitRecord
from tenax.model import (
    AddressClass,
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
    TransportKind,
    Unchanged,
)

TRANSPORT_PHRASES = {
    TransportKind.HTTP: "by plain HTTP",
    TransportKind.CURL: "by curl",
    TransportKind.BROWSER: "in the browser",
}
_ADDRESS_PHRASES: dict[AddressClass, str] = {
    "public": "a public address",
    "allowed": "an address in `guard.allow_networks`",
    "typed": "a private address, allowed because it was typed as a seed",
}
_CHARSET_PHRASES = {
    "bom": "from its byte order mark",
    "header": "from the header",
    "meta": "from its meta tag",
    "utf8": "undeclared, valid UTF-8",
    "detected": "undeclared, detected from its bytes",
    "fallback": "undeclared, fallback",
}


def format_measurements(fetch: FetchRecord) -> list[str]:
    """Lines for status, transport, bytes and times; none without a response."""
    return (
        []
        if fetch.status is None
        else [_format_response(fetch), _format_transport(fetch), _format_bytes(fetch), _format_times(fetch)]
    )


def describe_charset(source: str, charset: str = "") -> list[str]:
    """A line for the charset of a text and its source; none if nothing was read."""
    name = f"{charset}, " if charset else ""
    return [f"charset {name}{_CHARSET_PHRASES.get(source, source)}"] if source else []


def _format_response(fetch: FetchRecord) -> str:
    answer = f"{fetch.protocol or 'HTTP'} {fetch.status}"
    return f"{answer}, {fetch.content_type}" if fetch.content_type else answer


def _format_transport(fetch: FetchRecord) -> str:
    parts = [TRANSPORT_PHRASES[fetch.transport]]
    parts += [f"through the proxy {fetch.proxy}"] if fetch.proxy else []
    parts += [f"to {_ADDRESS_PHRASES[fetch.address_class]}"] if fetch.address_class in _ADDRESS_PHRASES else []
    unverified = "; its certificate was NOT verified (`fetch.verify_tls` is off)" if fetch.is_unverified else ""
    return " ".join(parts) + unverified


def _format_bytes(fetch: FetchRecord) -> str:
    parts = [
        f"{format_values.format_size(fetch.wire_bytes)} received, {format_values.format_size(fetch.body_bytes)} decoded"
    ]
    parts += [f"{format_values.format_size(fetch.saved_bytes)} saved by the stored copy"] if fetch.saved_bytes else []
    return ", ".join(parts)


def _format_times(fetch: FetchRecord) -> str:
    speed = fetch.kilobytes_per_second
    download = f"download {_format_short_duration(fetch.download_seconds)}"
    if speed is not None and fetch.wire_bytes:
        download += f" at {speed:,.0f} kB/s" if speed >= 10 else f" at {speed:.1f} kB/s"
    first, total = _format_short_duration(fetch.ttfb_seconds), _format_short_duration(fetch.total_seconds)
    return f"first byte after {first}, {download}, {total} in total"


def _format_short_duration(seconds: float) -> str:
    if seconds < 0.0095:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else format_values.format_duration(seconds)


_HEADER_COLUMNS = 120
_BODY_COLUMNS = 120
_BODY_LINES = 5
_VALIDATIONS = {"valid": "valid page", "soft": "possibly not a page", "hard": "not a page"}


def visit_lines(visit: VisitRecord) -> list[str]:
    """Everything stored about a visit."""
    fetch = visit.fetch
    lines = [outcome_text(visit.outcome)]
    if visit.attempt or visit.is_conditional:
        facts = [f"after {format_values.pluralize(visit.attempt, 'failed attempt')}"] if visit.attempt else []
        facts += ["conditional request"] if visit.is_conditional else []
        lines.append(", ".join(facts))
    is_page = isinstance(visit.outcome, Fetched) and not visit.outcome.url_list
    lines += [
        *_join_pairs(format_measurements(fetch)),
        *validation_lines(fetch, is_page or not isinstance(visit.outcome, Fetched)),
    ]
    if visit.candidate_count or visit.refusals:
        refused = ", ".join(format_values.format_counts(visit.refusals))
        noun = "candidate link" if is_page else "candidate URL"
        lines.append(
            format_values.pluralize(visit.candidate_count, noun) + (f"; not followed: {refused}" if refused else "")
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
            return f"unchanged, no request: {why}"
        case Unchanged():
            return "unchanged, HTTP 304"
        case Redirected(status, to, why):
            return f"redirected, HTTP {status}, to {to}" + (f"; not followed: {why}" if why else "")
        case Deferred(until, why):
            return f"deferred until {format_values.format_time(until)}: {why}"
        case Refused(why):
            return f"not fetched: {why.partition(': ')[2] or why}"
        case Rejected(why):
            return f"rejected, not stored: {why}"
        case Failed(why, kind, is_site_wide):
            whose = "; a failure of the host, so it does not count as an attempt" if is_site_wide else ""
            return f"failed, {format_values.describe_reason(kind)}: {why}{whose}"


def _join_pairs(lines: list[str]) -> list[str]:
    """Join pairs of lines, to keep a history short."""
    return [", ".join(map(sanitize_text, lines[at : at + 2])) for at in range(0, len(lines), 2)]


def validation_lines(fetch: FetchRecord, is_page: bool = True) -> list[str]:
    """Verdict, evidence and charset of a page. For a sitemap or a feed, the problems with it."""
    if not is_page:
        return [f"read in part: {sanitize_text(fetch.evidence)}"] if fetch.evidence else []
    parts = [_VALIDATIONS[fetch.validation]] if fetch.validation else []
    parts += [f"evidence: {sanitize_text(fetch.evidence)}"] if fetch.evidence else []
    parts += describe_charset(fetch.charset_source)
    return ["; ".join(parts)] if parts else []


def header_lines(fetch: FetchRecord) -> list[str]:
    """The stored headers of the response, one per line."""
    return [
        truncate_middle(f"{sanitize_text(name)}: {sanitize_text(value)}", _HEADER_COLUMNS)
        for name, value in fetch.headers.items()
    ]


def error_body_lines(fetch: FetchRecord) -> list[str]:
    """The start of the stored error body, sanitized; no lines if none is stored."""
    if not fetch.error_body:
        return []
    written = [line for raw in fetch.error_body.splitlines() if (line := sanitize_text(raw).strip())]
    shown = [f"| {truncate_middle(line, _BODY_COLUMNS)}" for line in written[:_BODY_LINES]]
    more = (
        [f"| … {format_values.pluralize(len(written) - _BODY_LINES, 'more line')}"]
        if len(written) > _BODY_LINES
        else []
    )
    return [f"error body, {format_values.pluralize(len(fetch.error_body), 'character')}:", *shown, *more]


def plan_text(plan: Plan) -> str:
    match plan:
        case Reschedule(at, spends_attempt, transport, is_unconditional, why):
            if why:
                return f"again after {format_values.format_time(at)}: {why}"
            parts = [f"again after {format_values.format_time(at)}"]
            parts += [TRANSPORT_PHRASES[transport]] if transport is not None else []
            parts += ["without the stored copy"] if is_unconditional else []
            parts += ["one failed attempt counted"] if spends_attempt else []
            return ", ".join(parts)
        case DeadLetter(cause) if plan.needs_browser:
            return f"waits for a browser: {cause.removeprefix('needs a browser: ')}"
        case DeadLetter(cause):
            return f"given up: {cause}"
        case Park(cause) if cause.startswith("robots:"):
            return "not fetched while robots.txt forbids it"
        case Park(cause):
            return f"kept back until the settings allow it: {cause}"
    return "done"
