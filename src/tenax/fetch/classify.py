"""What a status means: a page, a redirect, or a failure of some kind."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from tenax.fetch import Response
from tenax.model import Failed, FailureKind, Fetched, Rejected, Unchanged

_FAILURE_KINDS = {
    401: FailureKind.BLOCKED,
    403: FailureKind.BLOCKED,
    404: FailureKind.NOT_FOUND,
    408: FailureKind.TIMEOUT_TOTAL,
    410: FailureKind.GONE,
    429: FailureKind.RATE_LIMITED,
    451: FailureKind.BLOCKED,
    999: FailureKind.BLOCKED,  # not standard; a large site sends it to crawlers
}
_SITE_WIDE_STATUSES = frozenset({502, 503, 504})


def response_outcome(
    response: Response, max_retry_after_seconds: float
) -> Fetched | Unchanged | Rejected | Failed | None:
    """How a visit with this response ends; None for a redirect, which `redirects` handles."""
    status = response.status
    if response.is_redirect:
        return None
    if status == 304:
        return Unchanged()
    if 200 <= status < 300:
        if status == 206:
            return Rejected("partial: a part of a page, which was not asked for")
        return Fetched(status) if response.body else Rejected("empty")
    retry_after = retry_after_seconds(response, max_retry_after_seconds)
    return Failed(f"HTTP {status}", _failure_kind(status), status in _SITE_WIDE_STATUSES, status, retry_after)


def _failure_kind(status: int) -> FailureKind:
    if status in _FAILURE_KINDS:
        return _FAILURE_KINDS[status]
    if 400 <= status < 500:
        return FailureKind.CLIENT_ERROR
    if 500 <= status < 600:
        return FailureKind.SERVER_ERROR
    return FailureKind.BAD_RESPONSE


def retry_after_seconds(response: Response, max_seconds: float) -> float | None:
    """The host's Retry-After, at most `max_seconds`; None if missing or invalid."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        seconds = float(text[:18])  # longer text exceeds any limit
    else:
        at = _parse_http_date(text)
        if at is None:
            return None
        # Relative to the host's own Date if present: clocks may differ.
        now = _parse_http_date(response.headers.get("Date", "")) or datetime.fromtimestamp(response.answered_at, UTC)
        seconds = (at - now).total_seconds()
    return min(seconds, max_seconds) if seconds > 0 else None


def _parse_http_date(text: str) -> datetime | None:
    if not text or len(text) > 64:
        return None
    try:
        date = parsedate_to_datetime(text)
        return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
