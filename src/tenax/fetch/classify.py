"""What a status means: a page, a redirect and where it leads, or a failure of some kind."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from can_ada import parse

from tenax.fetch import Response
from tenax.model import Failed, FailureKind, Fetched, Hop, Rejected, Unchanged, Value
from tenax.urls.normalize import MAX_HREF_CHARS, NormalizeOptions, normalize

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
    """How a visit with this response ends; None for a redirect, see `next_hop`."""
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


_NOT_UTF8 = re.compile("[\udc80-\udcff]")


class RedirectTarget(Value, frozen=True):
    """Another URL: a candidate with its own host, robots.txt and rate limit."""

    url: str
    origin: str
    chain: tuple[Hop, ...]


class SameUrl(Value, frozen=True):
    """Another spelling of the task's own normalized URL, which the site requires. Requested at once."""

    exact_url: str


class Stop(Value, frozen=True):
    """Not followed."""

    why: str
    to: str = ""
    """The target, if it is a URL."""


def next_hop(
    visit_hops: tuple[Hop, ...],
    chain: tuple[Hop, ...],
    location: str | None,
    max_redirects: int,
    options: NormalizeOptions,
    https_domains: tuple[str, ...] = (),
) -> RedirectTarget | SameUrl | Stop:
    """What a redirect to `location` leads to: another URL, another spelling of the same one, or nothing.

    `visit_hops` are the URLs requested in this visit: that of the task, then other spellings of it. `chain` are the
    hops before this visit. Redirects to http on the `https_domains` and their subdomains are treated as redirects to
    https.
    """
    if not location:
        return Stop("redirect without a target")
    if len(location) > MAX_HREF_CHARS:
        return Stop(f"redirect to a URL of more than {MAX_HREF_CHARS:,} characters")
    exact_url = _resolve_location(location, visit_hops[-1].url, https_domains)
    target = normalize(exact_url, None, options) if exact_url is not None else None
    if exact_url is None or target is None:
        return Stop("redirect to something that is no http or https URL")
    if any(hop.url == exact_url for hop in visit_hops) or any(hop.url == target.url for hop in chain):
        return Stop("redirect loop", target.url)
    if len(chain) + len(visit_hops) > max_redirects:
        return Stop(f"more than {max_redirects} redirects", target.url)
    if target.url == visit_hops[0].url:
        return SameUrl(exact_url)
    return RedirectTarget(target.url, target.origin, (*chain, *visit_hops))


def _resolve_location(location: str, base: str, https_domains: tuple[str, ...]) -> str | None:
    """The absolute URL without fragment and credentials. Bytes that were not UTF-8 arrive as surrogates and are
    escaped."""
    location = _NOT_UTF8.sub(lambda match: f"%{ord(match[0]) - 0xDC00:02X}", location)
    try:
        url = parse(base) + location
    except (ValueError, TypeError):
        return None
    url.username = url.password = ""
    if url.protocol == "http:" and not url.port and _is_in_domains(url.hostname, https_domains):
        url.protocol = "https:"
    return url.href.partition("#")[0]


def _is_in_domains(host: str, domains: tuple[str, ...]) -> bool:
    return any(f".{host}".endswith(f".{domain.lower()}") for domain in domains)
