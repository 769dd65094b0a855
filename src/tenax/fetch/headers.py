"""Who we say we are: the headers that every request carries."""

from __future__ import annotations

from tenax.config import FetchConfig
from tenax.errors import ConfigError
from tenax.version import __version__

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ACCEPT_LANGUAGE = "en,*;q=0.5"
ACCEPT_ENCODING = "gzip, deflate, zstd"
"""What `tenax.fetch.bodies` can decode."""


def honest_headers(fetch: FetchConfig) -> tuple[tuple[str, str], ...]:
    """The standing headers. Raises `ConfigError` when the config's text cannot be sent as one."""
    for knob, text in (("fetch.contact", fetch.contact), ("fetch.user_agent", fetch.user_agent)):
        if not (text.isascii() and (text.isprintable() or not text)):
            raise ConfigError(f"bad value {text!r} for `{knob}`: only printable ASCII can be sent in a header")
    return (
        ("User-Agent", user_agent(fetch)),
        ("Accept", ACCEPT),
        ("Accept-Language", ACCEPT_LANGUAGE),
        ("Accept-Encoding", ACCEPT_ENCODING),
    )


def user_agent(fetch: FetchConfig) -> str:
    if fetch.user_agent:
        return fetch.user_agent
    return f"Tenax/{__version__} (+{fetch.contact})" if fetch.contact else f"Tenax/{__version__}"
