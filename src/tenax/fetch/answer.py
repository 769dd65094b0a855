"""The result of a fetch, and what is stored of a response besides its page: headers and the body of an error.

Size-limited, without secrets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from tenax.config import FetchConfig, SiteConfig
from tenax.fetch import Response
from tenax.fetch.classify import RedirectTarget
from tenax.fetch.headers import Headers
from tenax.model import FetchRecord, Hop, Outcome, RobotsCopy, TransportKind, Value
from tenax.text.sanitize import MASK, mask_reference, mask_text


class Probe(Value, frozen=True):
    """The response of a host that was down to a probe."""

    is_up: bool
    why: str


class FetchResult(Value, frozen=True):
    """The result of a fetch."""

    outcome: Outcome
    answered_at: float
    """When the last response's headers arrived, or when the request was given up."""
    requests: int = 0
    """Requests sent to the host, robots.txt included: each counts for the rate limit."""
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
    """The end of a visit: what the rules for the host and the task need."""

    answer: FetchResult
    outcome: Outcome
    """How the visit ended; extraction may have changed it from the fetch's own."""
    site: SiteConfig
    now: float
    jitter: float
    """Random, from 0 to 1."""
    available: frozenset[TransportKind]
    """The installed transports."""


MAX_HEADERS: Final = 64
MAX_NAME_CHARS: Final = 100
"""A longer name is so unusual that its value is masked, and it is not cached."""
MAX_VALUE_CHARS: Final = 1000
MAX_HEADERS_CHARS: Final = 8000
"""Names and values together."""
ALL_HEADERS: Final = "*"

_URL_HEADERS: Final = frozenset({"location", "content-location"})
_COOKIE_HEADERS: Final = frozenset({"set-cookie", "set-cookie2", "cookie"})
_SECRET_NAME: Final = re.compile(
    r"auth(?!or|enticate)|authori[sz]|cookie|credential|csrf|(?:api|access)[-_]?key|passw|secret|session|signature|token"
)
_COOKIE_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}(?==)")


def add_response_details(record: FetchRecord, response: Response, fetch: FetchConfig) -> FetchRecord:
    """The measurements of a fetch, plus the stored headers and error body."""
    headers = select_headers(response.headers, fetch.keep_headers)
    body = error_body(response, fetch.keep_error_body_bytes)
    if not headers and not body:
        return record
    return msgspec.structs.replace(record, headers=headers, error_body=body)


def select_headers(headers: Headers, wanted: tuple[str, ...]) -> dict[str, str]:
    """The headers with these names, `*` for all, in order; several with one name are joined by commas.

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
    """All headers, checked at once, if each occurs once and nothing has to be cut or masked; None otherwise.

    Most responses are like that, and those of one server have the same names.
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

    return decode(response.body[:max_bytes], response.content_type).text


def _join_values(name: str, values: Sequence[str]) -> str:
    """One text of limited length, passwords in URLs masked. Masking comes first: it does not find a cut password."""
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
