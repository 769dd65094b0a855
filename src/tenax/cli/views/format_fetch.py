"""What was measured of one fetch, in lines that people can read."""

from __future__ import annotations

from tenax.cli.views import format_values
from tenax.model import AddressClass, FetchRecord, Way

WAYS = {Way.HTTP: "by plain HTTP", Way.CURL: "by curl", Way.BROWSER: "in the browser"}
_ADDRESSES: dict[AddressClass, str] = {
    "public": "a public address",
    "allowed": "an address of `guard.allow_networks`",
    "typed": "a private address that was typed as a seed",
}
_CHARSET_SOURCES = {
    "bom": "by its byte order mark",
    "header": "by the header",
    "meta": "by its meta tag",
    "utf8": "undeclared, but plain from its bytes",
    "detected": "undeclared, guessed from its bytes",
    "fallback": "undeclared, for want of anything better",
}


def measured(fetch: FetchRecord) -> list[str]:
    """Line by line: what answered and how it was reached, how much came, how fast. No lines when no answer came."""
    return [] if fetch.status is None else [_answer(fetch), _carried(fetch), _bytes(fetch), _times(fetch)]


def charset_words(source: str, charset: str = "") -> list[str]:
    """What told the charset that a text was read in, in a line; none when nothing was read."""
    name = f"{charset}, " if charset else ""
    return [f"charset {name}{_CHARSET_SOURCES.get(source, source)}"] if source else []


def _answer(fetch: FetchRecord) -> str:
    answer = f"{fetch.protocol or 'HTTP'} {fetch.status}"
    return f"{answer}, {fetch.content_type}" if fetch.content_type else answer


def _carried(fetch: FetchRecord) -> str:
    parts = [WAYS[fetch.way]]
    parts += [f"through the proxy {fetch.proxy}"] if fetch.proxy else []
    parts += [f"to {_ADDRESSES[fetch.address_class]}"] if fetch.address_class in _ADDRESSES else []
    unverified = "; its certificate was NOT checked (`fetch.verify_tls` is off)" if fetch.is_unverified else ""
    return " ".join(parts) + unverified


def _bytes(fetch: FetchRecord) -> str:
    parts = [f"{format_values.size(fetch.wire_bytes)} received, {format_values.size(fetch.body_bytes)} decoded"]
    parts += [f"{format_values.size(fetch.saved_bytes)} spared by the stored copy"] if fetch.saved_bytes else []
    return ", ".join(parts)


def _times(fetch: FetchRecord) -> str:
    speed = fetch.kilobytes_per_second
    download = f"download {_short(fetch.download_seconds)}"
    if speed is not None and fetch.wire_bytes:
        download += f" at {speed:,.0f} kB/s" if speed >= 10 else f" at {speed:.1f} kB/s"
    return f"first byte after {_short(fetch.ttfb_seconds)}, {download}, {_short(fetch.total_seconds)} in all"


def _short(seconds: float) -> str:
    if seconds < 0.0095:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else format_values.duration(seconds)
