"""What the status of a response means, where a redirect leads, and what is stored of a response besides its page.

Stored are the headers and the body of an error, limited in size and without secrets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Final, NamedTuple

from can_ada import parse

from tenax.config import FetchConfig, SiteConfig
from tenax.fetch import REDIRECT_STATUSES, Response
from tenax.fetch.headers import Headers
from tenax.model import (
    Failed,
    FailureKind,
    Fetched,
    FetchRecord,
    Hop,
    Outcome,
    Rejected,
    RobotsCopy,
    TransportKind,
    Unchanged,
    Value,
)
from tenax.text.sanitize import MASK, mask_reference, mask_text
from tenax.urls.normalize import MAX_HREF_CHARS, NormalizeOptions, normalize


class RedirectTarget(Value, frozen=True):
    """A redirect to another URL, which becomes a candidate with its own host, robots.txt and rate limit."""

    url: str
    origin: str
    chain: tuple[Hop, ...]


class Probe(Value, frozen=True):
    """The response of a host that was down to a probe."""

    is_up: bool
    why: str


class FetchResult(Value, frozen=True):
    """The result of a fetch."""

    outcome: Outcome
    answered_at: float
    """When the headers of the last response arrived, or when the request was given up."""
    requests: int = 0
    """Requests sent to the host, including those for robots.txt. Each counts for the rate limit."""
    transport: TransportKind = TransportKind.HTTP
    robots: RobotsCopy | None = None
    """The host's robots.txt, if this visit fetched it."""
    probe: Probe | None = None
    """Set if this visit only probed the host."""
    response: Response | None = None
    """The page's own response, if there was one."""
    record: FetchRecord = FetchRecord()
    redirect_target: RedirectTarget | None = None
    """Target of a redirect."""
    chain: tuple[Hop, ...] = ()
    """Every redirect so far, including this visit's."""


class VisitEnd(NamedTuple):
    """The end of a visit: everything that the rules for the host and the task need."""

    answer: FetchResult
    outcome: Outcome
    """How the visit ended. Extraction may have changed the outcome of the fetch."""
    site: SiteConfig
    now: float
    jitter: float
    """Random, from 0 to 1."""
    available: frozenset[TransportKind]
    """The installed transports."""


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
    if status in REDIRECT_STATUSES:
        return None
    if status == 304:
        return Unchanged()
    if 200 <= status < 300:
        if status == 206:
            return Rejected("partial: only a part of the page came")
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
        # Relative to the host's own Date if there is one, because clocks may differ.
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


class SameUrl(Value, frozen=True):
    """A redirect that the site requires to another spelling of the task's own normalized URL. It is requested at
    once."""

    exact_url: str


class Stop(Value, frozen=True):
    """A redirect that is not followed."""

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
    """The absolute URL without fragment, user and password. Bytes that were not UTF-8 arrive as surrogates and are
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


MAX_HEADERS: Final = 64
MAX_NAME_CHARS: Final = 100
"""A longer name is so unusual that its value is masked, and it is not cached."""
MAX_VALUE_CHARS: Final = 1000
MAX_HEADERS_CHARS: Final = 8000
"""Maximum length of names and values together."""
ALL_HEADERS: Final = "*"

_URL_HEADERS: Final = frozenset({"location", "content-location"})
_COOKIE_HEADERS: Final = frozenset({"set-cookie", "set-cookie2", "cookie"})
_SECRET_NAME: Final = re.compile(
    r"auth(?!or|enticate)|authori[sz]|cookie|credential|csrf|(?:api|access)[-_]?key|passw|secret|session|signature|token"
)
_COOKIE_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}(?==)")


def fetch_record(response: Response, fetch: FetchConfig, saved_bytes: int = 0) -> FetchRecord:
    """What is stored with the visit: measurements, headers, and the body of an error."""
    return FetchRecord(
        status=response.status,
        content_type=response.headers.content_type or None,
        wire_bytes=response.wire_bytes,
        body_bytes=len(response.body),
        ttfb_seconds=response.answered_at - response.started_at,
        total_seconds=response.finished_at - response.started_at,
        protocol=response.protocol,
        transport=response.transport,
        address_class=response.address_class,
        proxy=response.proxy,
        is_unverified=response.is_unverified,
        saved_bytes=saved_bytes,
        headers=select_headers(response.headers, fetch.keep_headers),
        error_body=error_body(response, fetch.keep_error_body_bytes),
    )


def select_headers(headers: Headers, wanted: tuple[str, ...]) -> dict[str, str]:
    """The headers with these names, `*` for all, in order. Several headers with one name are joined by commas.

    Headers beyond the limits are left out. Values that may be credentials are masked.
    """
    if not wanted:
        return {}
    if wanted == (ALL_HEADERS,) and (plain := _plain_headers(headers)) is not None:
        return plain
    names = None if ALL_HEADERS in wanted else frozenset(name.lower() for name in wanted)
    selected: dict[str, str] = {}
    remaining_chars = MAX_HEADERS_CHARS
    for name, values in headers.lists():
        if names is not None and name not in names:
            continue
        value = values[0]
        if len(name) > MAX_NAME_CHARS or _is_secret(name):
            value = _mask_values(name, values)
        elif len(values) > 1 or len(value) > MAX_VALUE_CHARS or "@" in value or not value.isascii():
            value = _join_values(name, values)
        remaining_chars -= len(name) + len(value)
        if remaining_chars < 0 or len(selected) >= MAX_HEADERS:
            break
        selected[name] = value
    return selected


def _plain_headers(headers: Headers) -> dict[str, str] | None:
    """All headers, checked at once, if each occurs once and nothing has to be cut or masked; otherwise None.

    Most responses are like that, and the responses of one server have the same names.
    """
    selected = headers.single_values()
    if selected is None or len(selected) > MAX_HEADERS or not _are_plain_names(tuple(selected)):
        return None
    values = "".join(selected.values())
    return selected if len(values) <= MAX_VALUE_CHARS and values.isascii() and "@" not in values else None


@lru_cache(256)
def _are_plain_names(names: tuple[str, ...]) -> bool:
    return sum(map(len, names)) <= MAX_NAME_CHARS * 10 and not any(
        len(name) > MAX_NAME_CHARS or _is_secret(name) for name in names
    )


def error_body(response: Response, max_bytes: int) -> str:
    """The beginning of an error's body, as text; empty for other responses, and if none is stored."""
    if not max_bytes or response.status < 400 or not response.body:
        return ""
    from tenax.extract.html.charset import decode  # only loaded when error bodies are stored

    return decode(response.body[:max_bytes], response.headers.content_type).text


def _join_values(name: str, values: Sequence[str]) -> str:
    """One text of limited length, with passwords in URLs masked. They are masked before the text is cut, because a
    password that was cut would not be found."""
    mask = mask_reference if name in _URL_HEADERS else mask_text
    text = ", ".join(mask(value) for value in values)
    return text[:MAX_VALUE_CHARS].encode("utf-8", "replace").decode()


def _mask_values(name: str, values: Sequence[str]) -> str:
    return ", ".join(map(_mask_cookie, values))[:MAX_VALUE_CHARS] if name in _COOKIE_HEADERS else MASK


def _mask_cookie(value: str) -> str:
    """Keep the name of the cookie, mask its value."""
    found = _COOKIE_NAME.match(value)
    return f"{found[0]}={MASK}" if found is not None else MASK


@lru_cache(1024)
def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None
