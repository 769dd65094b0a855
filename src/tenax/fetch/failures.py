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

_FILE_LIMIT_REASON = "out of file descriptors: raise `ulimit -n`"
_RESET_ERRNOS = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED, errno.ESHUTDOWN})


def failure_from_error(error: Exception, *, in_body: bool = False) -> Failed:
    """The failure that this error means."""
    match error:
        case ssl.SSLError() if are_files_used_up():
            return file_limit_failure()  # certificates are files, and one that cannot be opened is not spoken of
        case ssl.SSLError():
            return _site_wide_failure(_tls_reason(error), FailureKind.TLS)
        case HttpParserError() if in_body:
            return Failed("the body is not proper HTTP", FailureKind.BAD_RESPONSE)
        case HttpParserError():
            return Failed(_clean_text(f"not a proper HTTP answer: {error}"), FailureKind.BAD_RESPONSE)
        case OSError():
            return _connect_failure(error)
        case _:
            return Failed("not a proper HTTP answer", FailureKind.BAD_RESPONSE)


def total_timeout_failure(seconds: float) -> Failed:
    return Failed(f"no whole answer within {seconds:g} s", FailureKind.TIMEOUT_TOTAL)


def headers_timeout_failure(seconds: float) -> Failed:
    return Failed(f"no answer within {seconds:g} s", FailureKind.TIMEOUT_HEADERS)


def body_timeout_failure(seconds: float) -> Failed:
    return Failed(f"nothing more of the body for {seconds:g} s", FailureKind.TIMEOUT_BODY)


def connect_timeout_failure(seconds: float) -> Failed:
    return _site_wide_failure(f"no connection within {seconds:.3g} s", FailureKind.TIMEOUT_CONNECT)


def late_deferral(now: float) -> Deferred:
    """Nothing was sent: its time was over before it could be, as after a sleep of this process."""
    return Deferred(now, "too late: its turn was over before it could be sent")


def truncated_failure() -> Failed:
    return Failed("the body ends too early", FailureKind.TRUNCATED)


def file_limit_failure() -> Failed:
    """Ours, not the host's; but the URL must not pay for it either."""
    return _site_wide_failure(_FILE_LIMIT_REASON, FailureKind.INTERNAL)


def is_file_limit_failure(failed: Failed) -> bool:
    """Whether it is the failure above, whoever has added to its words."""
    return failed.kind is FailureKind.INTERNAL and _FILE_LIMIT_REASON in failed.why


def reset_failure() -> Failed:
    return _site_wide_failure("the connection was closed before an answer", FailureKind.RESET)


def _connect_failure(error: OSError) -> Failed:
    code = error.errno
    if is_out_of_files(error):
        return file_limit_failure()
    if code == errno.ECONNREFUSED:
        return _site_wide_failure("connection refused", FailureKind.CONNECT)
    if code == errno.ETIMEDOUT:
        return _site_wide_failure("no connection: timed out", FailureKind.TIMEOUT_CONNECT)
    if code in _RESET_ERRNOS or (code is None and isinstance(error, ConnectionError)):
        return reset_failure()
    # Not `str(error)`: the loop writes the address it tried into it.
    words = os.strerror(code).lower() if code is not None and code > 0 else "no connection"
    return _site_wide_failure(words, FailureKind.CONNECT)


def _tls_reason(error: ssl.SSLError) -> str:
    words = getattr(error, "verify_message", "") or getattr(error, "reason", "") or "no secure connection"
    return _clean_text(f"TLS: {str(words).replace('_', ' ').lower()}")


def _site_wide_failure(why: str, kind: FailureKind) -> Failed:
    return Failed(why, kind, is_site_wide=True)


def _clean_text(words: str) -> str:
    """One short line: the other side may have written part of it."""
    return "".join(char if char.isprintable() else " " for char in words)[:160].strip()
