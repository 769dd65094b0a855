"""Translates Chromium's error names into failures, in this one place."""

from __future__ import annotations

import re

from tenax.fetch.failures import reset_failure, truncated_failure
from tenax.model import Failed, FailureKind

_ERROR_NAME = re.compile(r"net::ERR_([A-Z0-9_]+)")

_RESET_ERRORS = frozenset({
    "CONNECTION_ABORTED", "CONNECTION_CLOSED", "CONNECTION_RESET", "EMPTY_RESPONSE", "HTTP2_PING_FAILED",
    "HTTP2_SERVER_REFUSED_STREAM", "SOCKET_NOT_CONNECTED",
})  # fmt: skip
_TRUNCATION_ERRORS = frozenset({"CONTENT_LENGTH_MISMATCH", "INCOMPLETE_CHUNKED_ENCODING"})
_CONNECT_ERRORS = frozenset({
    "ADDRESS_UNREACHABLE", "CONNECTION_FAILED", "CONNECTION_REFUSED", "INTERNET_DISCONNECTED",
})  # fmt: skip
_TIMEOUT_ERRORS = frozenset({"CONNECTION_TIMED_OUT", "TIMED_OUT"})
_TLS_PREFIXES = ("BAD_SSL_", "CERT_", "SSL_")


def error_name(message: str) -> str:
    """`CONNECTION_RESET` from Playwright's long text; empty if it names none."""
    match = _ERROR_NAME.search(message)
    return match[1] if match else ""


def is_truncation(message: str) -> bool:
    """Whether a document that had begun was cut off."""
    name = error_name(message)
    return (
        name in _TRUNCATION_ERRORS
        or name in _RESET_ERRORS
        or name in ("CONTENT_DECODING_FAILED", "INVALID_CHUNKED_ENCODING")
    )


def navigation_failure(message: str, *, in_body: bool = False) -> Failed:
    """The failure that this message means."""
    name = error_name(message)
    words = name.replace("_", " ").lower()
    if name in _TRUNCATION_ERRORS or (in_body and name in _RESET_ERRORS):
        return truncated_failure()
    if name in _RESET_ERRORS:
        return reset_failure()
    if name == "PROXY_CONNECTION_FAILED":
        return Failed("browser: it does not reach its gate", FailureKind.INTERNAL, is_site_wide=True)
    if name == "TUNNEL_CONNECTION_FAILED":  # the gate gave no other reason
        return Failed("the page has used up its connections", FailureKind.BAD_RESPONSE)
    if name in _CONNECT_ERRORS:
        return Failed(words, FailureKind.CONNECT, is_site_wide=True)
    if name in _TIMEOUT_ERRORS:
        return Failed("no connection: timed out", FailureKind.TIMEOUT_CONNECT, is_site_wide=True)
    if name == "NAME_NOT_RESOLVED":
        return Failed("no such host", FailureKind.DNS)
    if name.startswith(_TLS_PREFIXES):
        return Failed(f"TLS: {words}", FailureKind.TLS, is_site_wide=True)
    if name == "TOO_MANY_REDIRECTS":
        return Failed("redirect loop", FailureKind.REDIRECT)
    if name == "ABORTED" or "Download is starting" in message:
        return Failed("a download, not a page", FailureKind.BAD_RESPONSE)
    return Failed(f"not a proper answer: {words or 'the browser gave up on it'}", FailureKind.BAD_RESPONSE)
