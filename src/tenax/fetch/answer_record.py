"""What is kept of an answer besides its page: its headers, and the body of an error. Bounded, and without secrets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from tenax.config import FetchConfig
from tenax.fetch import Response
from tenax.fetch.headers import Headers
from tenax.model import FetchRecord
from tenax.text.masking import MASK, mask_reference, mask_text

MAX_HEADERS: Final = 64
MAX_NAME_CHARS: Final = 100
"""A longer name is strange enough for its value to be masked; nor are many such names to be remembered."""
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
    """The measurements of a fetch, with what else is kept of its answer."""
    headers = select_headers(response.headers, fetch.keep_headers)
    body = error_body(response, fetch.keep_error_body_bytes)
    if not headers and not body:
        return record
    return msgspec.structs.replace(record, headers=headers, error_body=body)


def select_headers(headers: Headers, wanted: tuple[str, ...]) -> dict[str, str]:
    """The headers of these names, `*` for all, in the order they came; several of one name are joined by commas.

    What would go beyond the bounds is left out. Values that may let somebody in are masked.
    """
    if not wanted:
        return {}
    names = None if ALL_HEADERS in wanted else frozenset(name.lower() for name in wanted)
    kept: dict[str, str] = {}
    room = MAX_HEADERS_CHARS
    for name, values in headers.lists():
        if names is not None and name not in names:
            continue
        value = values[0]
        if len(name) > MAX_NAME_CHARS or _is_secret(name):
            value = _mask_values(name, values)
        elif len(values) > 1 or len(value) > MAX_VALUE_CHARS or "@" in value or not value.isascii():
            value = _join_values(name, values)
        room -= len(name) + len(value)
        if room < 0 or len(kept) >= MAX_HEADERS:
            break
        kept[name] = value
    return kept


def error_body(response: Response, max_bytes: int) -> str:
    """The beginning of what came with an error, as text; empty for other answers, and where none is kept."""
    if not max_bytes or response.status < 400 or not response.body:
        return ""
    from tenax.extract.html.charset import decode  # a crawl that keeps none does without it

    return decode(response.body[:max_bytes], response.content_type).text


def _join_values(name: str, values: Sequence[str]) -> str:
    """One text of bounded length, without passwords in URLs. They are masked first: half of one is not known for it."""
    mask = mask_reference if name in _URL_HEADERS else mask_text
    text = ", ".join(mask(value) for value in values)
    return text[:MAX_VALUE_CHARS].encode("utf-8", "replace").decode()


def _mask_values(name: str, values: Sequence[str]) -> str:
    return ", ".join(map(_mask_cookie, values))[:MAX_VALUE_CHARS] if name in _COOKIE_HEADERS else MASK


def _mask_cookie(value: str) -> str:
    """Which cookie it is may be known, but not what it says."""
    found = _COOKIE_NAME.match(value)
    return f"{found[0]}={MASK}" if found is not None else MASK


@lru_cache(1024)
def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None
