"""Parses seeds as typed by a person."""

from __future__ import annotations

import re

from tenax.errors import UsageError
from tenax.text.masking import mask_url
from tenax.urls.normalize import NormalizeOptions, WebUrl, normalize
from tenax.urls.scope import is_address

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_PORT = re.compile(r"(?:\[[^\]]*\]|[^\s/?#:@\\]+):(\d++)(?=[/?#]|$)")
_MAX_SHOWN_CHARS = 200


def parse_seed(text: str, options: NormalizeOptions) -> WebUrl:
    """The URL for `example.org`, `localhost:8000/a` or a whole URL; raises `UsageError` for anything else.

    Without a scheme it is https, but http for an address, for localhost and with an explicit port: such servers rarely
    have a certificate.
    """
    seed = text.strip()
    if seed.startswith("//"):
        seed = seed[2:]
    port = _PORT.match(seed)
    scheme = None if port else _SCHEME.match(seed)
    if scheme is None:
        url = _parse_without_scheme(seed, (port[1].lstrip("0") or "0") if port else None, options)
    elif scheme[1].lower() in ("http", "https"):
        url = normalize(seed, None, options)
    elif mask_url(seed).startswith(scheme[0]):
        raise UsageError(f"`{_format_seed(seed)}`: `{scheme[1]}` is not a scheme we fetch; give an http or https URL")
    else:
        url = None  # what looks like a scheme is a user
    if url is None:
        raise UsageError(f"`{_format_seed(seed)}` is not a URL; write it like https://example.org/")
    return url


def _parse_without_scheme(seed: str, port: str | None, options: NormalizeOptions) -> WebUrl | None:
    url = normalize(f"https://{seed}", None, options) if seed[:1] not in ("", "/", "?", "#", "\\") else None
    if url is None:
        return None
    is_local = is_address(url.host) or url.host == "localhost" or url.host.endswith(".localhost")
    if not is_local and port is None and "." not in url.host:
        return None  # a single word: more likely a mistake than a host
    wants_http = port != "443" if port else is_local
    return normalize(f"http://{seed}", None, options) if wants_http else url


def _format_seed(seed: str) -> str:
    """For a message: no password, no control characters, not too long."""
    return "".join(char if char.isprintable() else "?" for char in mask_url(seed)[:_MAX_SHOWN_CHARS])
