"""What went wrong on the wire, in our words: each error of the system and the parser is translated here, once.

The texts are short and name no address: an error must not tell what the guard has seen.
"""

from __future__ import annotations

import errno
import os
import ssl

from httptools import HttpParserError

from tenax.model import Deferred, Failed, FailureKind
from tenax.runtime.open_files import are_files_used_up, is_out_of_files

_NO_FILES = "out of file descriptors: raise `ulimit -n`"
_CUT_OFF = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED, errno.ESHUTDOWN})


def failure_of(error: Exception, *, in_body: bool = False) -> Failed:
    """The failure that this error means."""
    match error:
        case ssl.SSLError() if are_files_used_up():
            return out_of_files()  # certificates are files, and one that cannot be opened is not spoken of
        case ssl.SSLError():
            return _site_wide(_tls_words(error), FailureKind.TLS)
        case HttpParserError() if in_body:
            return Failed("the body is not proper HTTP", FailureKind.BAD_RESPONSE)
        case HttpParserError():
            return Failed(_clean(f"not a proper HTTP answer: {error}"), FailureKind.BAD_RESPONSE)
        case OSError():
            return _unconnected(error)
        case _:
            return Failed("not a proper HTTP answer", FailureKind.BAD_RESPONSE)


def total_timeout(seconds: float) -> Failed:
    return Failed(f"no whole answer within {seconds:g} s", FailureKind.TIMEOUT_TOTAL)


def headers_timeout(seconds: float) -> Failed:
    return Failed(f"no answer within {seconds:g} s", FailureKind.TIMEOUT_HEADERS)


def body_timeout(seconds: float) -> Failed:
    return Failed(f"nothing more of the body for {seconds:g} s", FailureKind.TIMEOUT_BODY)


def connect_timeout(seconds: float) -> Failed:
    return _site_wide(f"no connection within {seconds:.3g} s", FailureKind.TIMEOUT_CONNECT)


def too_late(now: float) -> Deferred:
    """Nothing was sent: its time was over before it could be, as after a sleep of this process."""
    return Deferred(now, "too late: its turn was over before it could be sent")


def cut_off() -> Failed:
    return Failed("the body ends too early", FailureKind.TRUNCATED)


def out_of_files() -> Failed:
    """Ours, not the host's; but the URL must not pay for it either."""
    return _site_wide(_NO_FILES, FailureKind.INTERNAL)


def tells_of_files(failed: Failed) -> bool:
    """Whether it is the failure above, whoever has added to its words."""
    return failed.kind is FailureKind.INTERNAL and _NO_FILES in failed.why


def dropped() -> Failed:
    return _site_wide("the connection was closed before an answer", FailureKind.RESET)


def _unconnected(error: OSError) -> Failed:
    code = error.errno
    if is_out_of_files(error):
        return out_of_files()
    if code == errno.ECONNREFUSED:
        return _site_wide("connection refused", FailureKind.CONNECT)
    if code == errno.ETIMEDOUT:
        return _site_wide("no connection: timed out", FailureKind.TIMEOUT_CONNECT)
    if code in _CUT_OFF or (code is None and isinstance(error, ConnectionError)):
        return dropped()
    # Not `str(error)`: the loop writes the address it tried into it.
    words = os.strerror(code).lower() if code is not None and code > 0 else "no connection"
    return _site_wide(words, FailureKind.CONNECT)


def _tls_words(error: ssl.SSLError) -> str:
    words = getattr(error, "verify_message", "") or getattr(error, "reason", "") or "no secure connection"
    return _clean(f"TLS: {str(words).replace('_', ' ').lower()}")


def _site_wide(why: str, kind: FailureKind) -> Failed:
    return Failed(why, kind, is_site_wide=True)


def _clean(words: str) -> str:
    """One short line: the other side may have written part of it."""
    return "".join(char if char.isprintable() else " " for char in words)[:160].strip()
