"""What went wrong on the wire, in our words: each error of aiohttp and the system is translated here, once.

The texts are short and name no address: an error must not tell what the guard has seen.
"""

from __future__ import annotations

import errno
import os
import ssl

import aiohttp

from tenax.model import Failed, FailureKind

_OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_CUT_OFF = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED, errno.ESHUTDOWN})


class DroppedWithoutAnswer(aiohttp.ClientError):
    """A new connection was closed before a whole answer's headers came."""


def failure_of(error: Exception) -> Failed:
    """The failure that this error means."""
    match error:
        case ssl.SSLError() | aiohttp.ClientSSLError() | ssl.CertificateError() | aiohttp.ServerFingerprintMismatch():
            return _site_wide(_tls_words(error), FailureKind.TLS)
        case aiohttp.ClientConnectorDNSError():
            return _site_wide("the name look-up failed", FailureKind.DNS)
        case aiohttp.ClientConnectorError():
            return _unconnected(error.os_error)
        case aiohttp.ClientPayloadError():
            return _broken_body(error)
        case aiohttp.ClientResponseError():
            return Failed(_clean(f"not a proper HTTP answer: {error.message}"), FailureKind.BAD_RESPONSE)
        case DroppedWithoutAnswer() | aiohttp.ServerDisconnectedError() | aiohttp.ClientConnectionError():
            return _site_wide("the connection was closed before an answer", FailureKind.RESET)
        case aiohttp.InvalidURL():
            return Failed("not a URL that can be requested", FailureKind.BAD_RESPONSE)
        case OSError():
            return _unconnected(error)
        case _:
            return Failed("not a proper HTTP answer", FailureKind.BAD_RESPONSE)


def total_timeout(seconds: float) -> Failed:
    return Failed(f"no whole answer within {seconds:g} s", FailureKind.TIMEOUT_TOTAL)


def connect_timeout(seconds: float) -> Failed:
    return _site_wide(f"no connection within {seconds:g} s", FailureKind.TIMEOUT_CONNECT)


def cut_off() -> Failed:
    return Failed("the body ends too early", FailureKind.TRUNCATED)


def _unconnected(error: OSError) -> Failed:
    code = error.errno
    if code in _OUT_OF_FILES:
        # Ours, not the host's; but the URL must not pay for it either.
        return _site_wide("out of file descriptors: raise `ulimit -n`", FailureKind.INTERNAL)
    if code == errno.ECONNREFUSED:
        return _site_wide("connection refused", FailureKind.CONNECT)
    if code == errno.ETIMEDOUT:
        return _site_wide("no connection: timed out", FailureKind.TIMEOUT_CONNECT)
    if code in _CUT_OFF:
        return _site_wide("the connection was closed before an answer", FailureKind.RESET)
    # Not `str(error)`: the loop writes the address it tried into it.
    words = os.strerror(code).lower() if code is not None and code > 0 else "no connection"
    return _site_wide(words, FailureKind.CONNECT)


def _broken_body(error: aiohttp.ClientPayloadError) -> Failed:
    # The parser's own words are the only thing that tells an early end from nonsense in the middle.
    words = f"{error} {error.__cause__}"
    if "Not enough data" in words or "ContentLengthError" in words or error.__cause__ is None:
        return cut_off()
    return Failed("the body is not proper HTTP", FailureKind.BAD_RESPONSE)


def _tls_words(error: Exception) -> str:
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    words = getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or "no secure connection"
    return _clean(f"TLS: {str(words).replace('_', ' ').lower()}")


def _site_wide(why: str, kind: FailureKind) -> Failed:
    return Failed(why, kind, is_site_wide=True)


def _clean(words: str) -> str:
    """One short line: the other side may have written part of it."""
    return "".join(char if char.isprintable() else " " for char in words)[:160].strip()
