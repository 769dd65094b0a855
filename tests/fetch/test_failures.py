from __future__ import annotations

import errno
import ssl

import pytest
from httptools import HttpParserError, HttpParserInvalidStatusError

from tenax.fetch.failures import connect_timeout_failure, failure_from_error, total_timeout_failure
from tenax.model import FailureKind


@pytest.mark.parametrize(
    ("error", "kind", "is_site_wide"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('10.1.2.3', 80)"), FailureKind.CONNECT, True),
        (OSError(errno.EHOSTUNREACH, "10.1.2.3"), FailureKind.CONNECT, True),
        (OSError(errno.ENETUNREACH, "10.1.2.3"), FailureKind.CONNECT, True),
        (OSError("Multiple exceptions: 10.1.2.3"), FailureKind.CONNECT, True),
        (OSError(errno.ETIMEDOUT, "10.1.2.3"), FailureKind.TIMEOUT_CONNECT, True),
        (ConnectionResetError(errno.ECONNRESET, "10.1.2.3"), FailureKind.RESET, True),
        (BrokenPipeError(errno.EPIPE, "10.1.2.3"), FailureKind.RESET, True),
        (ConnectionResetError("10.1.2.3"), FailureKind.RESET, True),
        (OSError(errno.EMFILE, "Too many open files"), FailureKind.INTERNAL, True),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"), FailureKind.TLS, True),
        (ssl.SSLCertVerificationError(1, "certificate verify failed"), FailureKind.TLS, True),
        (HttpParserError("Invalid header token"), FailureKind.BAD_RESPONSE, False),
        (HttpParserInvalidStatusError("Invalid \x1b[31mstatus code" * 20), FailureKind.BAD_RESPONSE, False),
        (ValueError("10.1.2.3"), FailureKind.BAD_RESPONSE, False),
        (UnicodeDecodeError("ascii", b"10.1.2.3", 0, 1, "x"), FailureKind.BAD_RESPONSE, False),
    ],
)
def test_each_error_in_our_words(error: Exception, kind: FailureKind, is_site_wide: bool) -> None:
    failed = failure_from_error(error)
    assert (failed.kind, failed.is_site_wide) == (kind, is_site_wide)
    assert "10.1.2.3" not in failed.why
    assert 0 < len(failed.why) <= 160


def test_timeouts_say_how_long_we_waited() -> None:
    assert total_timeout_failure(30.0).why == "no complete response within 30 s"
    assert connect_timeout_failure(0.5).why == "no connection within 0.5 s"
