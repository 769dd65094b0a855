"""Translates errors of the system and the parser into failures, in this one place.

The messages are short and contain no address, because an error must not reveal what the guard has seen.
"""

from __future__ import annotations

import errno
import os
import ssl

import msgspec
from httptools import HttpParserError

from tenax.config.sites import origin_host
from tenax.model import Deferred, Failed, FailureKind, Task
from tenax.runtime.resources import are_files_used_up, is_out_of_files

_FILE_LIMIT_REASON = "out of file descriptors: raise `ulimit -n`"
_RESET_ERRNOS = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED, errno.ESHUTDOWN})
_TIMEOUTS = frozenset({FailureKind.TIMEOUT_HEADERS, FailureKind.TIMEOUT_BODY, FailureKind.TIMEOUT_TOTAL})


def failure_from_error(error: Exception, *, in_body: bool = False) -> Failed:
    """The failure that this error stands for."""
    match error:
        case ssl.SSLError() if are_files_used_up():
            return file_limit_failure()  # certificates are files, and a failure to open one is not reported
        case ssl.SSLError():
            return _site_wide_failure(_tls_reason(error), FailureKind.TLS)
        case HttpParserError() if in_body:
            return Failed("invalid HTTP in the body", FailureKind.BAD_RESPONSE)
        case HttpParserError():
            return Failed(_clean_text(f"invalid HTTP response: {error}"), FailureKind.BAD_RESPONSE)
        case OSError():
            return _connect_failure(error)
        case _:
            return Failed("invalid HTTP response", FailureKind.BAD_RESPONSE)


def total_timeout_failure(seconds: float) -> Failed:
    return Failed(f"no complete response within {seconds:g} s", FailureKind.TIMEOUT_TOTAL)


def headers_timeout_failure(seconds: float) -> Failed:
    return Failed(f"no answer within {seconds:g} s", FailureKind.TIMEOUT_HEADERS)


def body_timeout_failure(seconds: float) -> Failed:
    return Failed(f"no data within the body for {seconds:g} s", FailureKind.TIMEOUT_BODY)


def connect_timeout_failure(seconds: float) -> Failed:
    return _site_wide_failure(f"no connection within {seconds:.3g} s", FailureKind.TIMEOUT_CONNECT)


def late_deferral(now: float) -> Deferred:
    """Nothing was sent: the permit had expired, for example while this process was suspended."""
    return Deferred(now, "too late: its permit expired before it could be sent")


def truncated_failure() -> Failed:
    return Failed("the body ends too early", FailureKind.TRUNCATED)


def file_limit_failure() -> Failed:
    """The failure if no file descriptor was left. It is ours, not the host's, and uses up no attempt of the URL."""
    return _site_wide_failure(_FILE_LIMIT_REASON, FailureKind.INTERNAL)


def is_file_limit_failure(failed: Failed) -> bool:
    """Whether this is the failure above, also if its message was extended."""
    return failed.kind is FailureKind.INTERNAL and _FILE_LIMIT_REASON in failed.why


def reset_failure() -> Failed:
    return _site_wide_failure("the connection was closed before a response", FailureKind.RESET)


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
    # Not `str(error)`, because the loop adds the address to it.
    words = os.strerror(code).lower() if code is not None and code > 0 else "no connection"
    return _site_wide_failure(words, FailureKind.CONNECT)


def _tls_reason(error: ssl.SSLError) -> str:
    words = getattr(error, "verify_message", "") or getattr(error, "reason", "") or "no secure connection"
    return _clean_text(f"TLS: {str(words).replace('_', ' ').lower()}")


def _site_wide_failure(why: str, kind: FailureKind) -> Failed:
    return Failed(why, kind, is_site_wide=True)


def _clean_text(words: str) -> str:
    """One short line, because the other side may have written part of it."""
    return "".join(char if char.isprintable() else " " for char in words)[:160].strip()


# ---- failures of a whole fetch ----------------------------------------------------------------------------


def is_local_failure(failed: Failed) -> bool:
    """Whether a proxy or the browser failed, not the host. Then nothing was learned about the host."""
    return failed.kind is FailureKind.PROXY or (failed.kind is FailureKind.INTERNAL and failed.is_site_wide)


def robots_host_failure(failed: Failed) -> Failed | None:
    """The failure of a robots.txt request, if it counts towards the host's backoff.

    The page was not requested, so no attempt is used up.
    """
    if failed.is_site_wide:
        return failed
    return msgspec.structs.replace(failed, is_site_wide=True) if failed.kind in _TIMEOUTS else None


def body_limit_setting(task: Task) -> str:
    """The setting that limits the body size of this task."""
    return "discovery.max_sitemap_bytes" if task.is_url_list else "fetch.max_body_bytes"


def add_setting_advice(failed: Failed, origin: str, body_limit: str = "fetch.max_body_bytes") -> Failed:
    """The same failure. If a setting would prevent it, the message names the setting."""
    if failed.kind is FailureKind.TOO_LARGE:
        advice = f"`{body_limit}`"
    elif failed.kind is FailureKind.TLS and "certificate" in failed.why:
        site = f'[site."{origin_host(origin)}"]'
        advice = f"`fetch.verify_tls = false` accepts it, under {site} for this site alone"
    else:
        return failed
    return msgspec.structs.replace(failed, why=f"{failed.why} ({advice})")
