"""The measurements of one fetch as text."""

from __future__ import annotations

from tenax.cli.views import format_values
from tenax.model import AddressClass, FetchRecord, TransportKind

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
    """Lines for status, transport, bytes and times; none without an answer."""
    return (
        []
        if fetch.status is None
        else [_format_response(fetch), _format_transport(fetch), _format_bytes(fetch), _format_times(fetch)]
    )


def describe_charset(source: str, charset: str = "") -> list[str]:
    """A line for the charset of a text and its source; none when nothing was read."""
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
