"""One visit in words: how it ended, how it was carried, what was measured, and what was planned."""

from __future__ import annotations

from tenax.cli import words
from tenax.cli.layout import plain
from tenax.ledger import VisitRecord
from tenax.model import (
    Again,
    DeadLetter,
    Deferred,
    Failed,
    Fetched,
    FetchRecord,
    Outcome,
    Plan,
    Redirected,
    Refused,
    Rejected,
    Unchanged,
    Way,
)

_UNMEASURED = FetchRecord()
_WAYS = {Way.HTTP: "by plain HTTP", Way.CURL: "by curl", Way.BROWSER: "in the browser"}
_ADDRESSES = {
    "public": "a public address",
    "allowed": "an address of an allowed network",
    "typed": "the address of a typed seed",
}
_VALIDATIONS = {"valid": "it reads like a page", "soft": "it may be no page yet", "hard": "it is no page"}


def visit_lines(visit: VisitRecord) -> list[str]:
    """All that is kept of a visit."""
    fetch = visit.fetch
    lines = [outcome_text(visit.outcome, fetch)]
    if visit.attempt or visit.is_conditional:
        asked = [f"after {words.several(visit.attempt, 'failed attempt')}"] if visit.attempt else []
        asked += ["asked for only if it has changed"] if visit.is_conditional else []
        lines.append(", ".join(asked))
    lines += [text for text in (fetch_text(fetch), validation_text(fetch)) if text]
    if visit.offered or visit.refusals:
        left = ", ".join(words.tally(visit.refusals))
        lines.append(f"{words.several(visit.offered, 'link')} offered" + (f"; not followed: {left}" if left else ""))
    return [*lines, f"→ {plan_text(visit.plan)}"]


def outcome_text(outcome: Outcome, fetch: FetchRecord = _UNMEASURED) -> str:
    match outcome:
        case Fetched(status):
            return f"fetched, HTTP {status}"
        case Unchanged(why) if why:
            return f"unchanged, not asked for: {why}"
        case Unchanged():
            return "unchanged, HTTP 304" + (f" (saved {words.size(fetch.saved_bytes)})" if fetch.saved_bytes else "")
        case Redirected(status, to, why):
            return f"redirected, HTTP {status}, to {to}" + (f"; not followed: {why}" if why else "")
        case Deferred(until, why):
            return f"put off until {words.moment(until)}: {why}"
        case Refused(why):
            return f"not fetched: {why.partition(': ')[2] or why}"
        case Rejected(why):
            return f"answered{f' with HTTP {fetch.status}' if fetch.status else ''}, but not kept: {why}"
        case Failed(why, kind, is_site_wide):
            whose = "; the host's trouble, so it does not count as an attempt" if is_site_wide else ""
            return f"failed, {words.reason(kind)}: {why}{whose}"


def fetch_text(fetch: FetchRecord) -> str:
    """The measurements, those that were taken, and how the request was carried."""
    return "; ".join(part for part in (", ".join(_measurements(fetch)), ", ".join(_carriage(fetch))) if part)


def _measurements(fetch: FetchRecord) -> list[str]:
    parts = [plain(fetch.content_type)] if fetch.content_type else []
    if fetch.wire_bytes:
        parts.append(f"{words.size(fetch.wire_bytes)} received")
    if fetch.body_bytes:
        parts.append(f"{words.size(fetch.body_bytes)} decoded")
    if fetch.ttfb_seconds:
        parts.append(f"first byte after {words.brief_duration(fetch.ttfb_seconds)}")
    if fetch.total_seconds:
        parts.append(f"whole in {words.brief_duration(fetch.total_seconds)}")
    speed = fetch.kilobytes_per_second
    if speed and fetch.wire_bytes:
        parts.append(f"{speed:,.0f} kB/s" if speed >= 10 else f"{speed:.1f} kB/s")
    return parts


def _carriage(fetch: FetchRecord) -> list[str]:
    parts = [fetch.protocol] if fetch.protocol else []
    if fetch.protocol or fetch.way is not Way.HTTP:
        parts.append(_WAYS[fetch.way])
    if fetch.address_class:
        parts.append(f"from {_ADDRESSES[fetch.address_class]}")
    if fetch.proxy:
        parts.append(f"through the proxy {plain(fetch.proxy)}")
    if fetch.is_unverified:
        parts.append("its certificate was not checked")
    return parts


def validation_text(fetch: FetchRecord) -> str:
    """What the reader thought of the answer, and on what evidence."""
    parts = [_VALIDATIONS[fetch.validation]] if fetch.validation else []
    if fetch.evidence:
        parts.append(f"evidence: {plain(fetch.evidence)}")
    if fetch.charset_source:
        parts.append(f"charset by {plain(fetch.charset_source)}")
    return "; ".join(parts)


def plan_text(plan: Plan) -> str:
    match plan:
        case Again(at, spends_attempt, way, is_unconditional):
            parts = [f"again from {words.moment(at)} on"]
            parts += [_WAYS[way]] if way is not None else []
            parts += ["asking for the whole page"] if is_unconditional else []
            parts += ["one attempt spent"] if spends_attempt else []
            return ", ".join(parts)
        case DeadLetter(cause):
            return f"given up: {cause}"
    return "done"


def way_text(way: Way) -> str:
    return _WAYS[way]
