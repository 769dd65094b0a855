from __future__ import annotations

import errno

import pytest
from curl_cffi import CurlECode
from hypothesis import given
from hypothesis import strategies as st

from tenax.fetch.curl.errors import Ending, failure_of_ending
from tenax.model import FailureKind

NOTHING, BEGUN, HEADERS = (False, False), (True, False), (True, True)


@pytest.mark.parametrize(
    ("ending", "progress", "kind", "is_site_wide"),
    [
        (Ending(CurlECode.COULDNT_CONNECT, errno.ECONNREFUSED), NOTHING, FailureKind.CONNECT, True),
        (Ending(CurlECode.COULDNT_CONNECT, errno.EHOSTUNREACH), NOTHING, FailureKind.CONNECT, True),
        (Ending(CurlECode.COULDNT_CONNECT, errno.ETIMEDOUT), NOTHING, FailureKind.TIMEOUT_CONNECT, True),
        (Ending(CurlECode.COULDNT_CONNECT, errno.EMFILE), NOTHING, FailureKind.INTERNAL, True),
        (Ending(CurlECode.COULDNT_CONNECT), NOTHING, FailureKind.CONNECT, True),
        (Ending(CurlECode.GOT_NOTHING), NOTHING, FailureKind.RESET, True),
        (Ending(CurlECode.RECV_ERROR, errno.ECONNRESET), NOTHING, FailureKind.RESET, True),
        (Ending(CurlECode.RECV_ERROR, errno.ECONNRESET), HEADERS, FailureKind.TRUNCATED, False),
        (Ending(CurlECode.RECV_ERROR), HEADERS, FailureKind.BAD_RESPONSE, False),
        (Ending(CurlECode.SEND_ERROR, errno.EPIPE), NOTHING, FailureKind.RESET, True),
        (Ending(CurlECode.PARTIAL_FILE), HEADERS, FailureKind.TRUNCATED, False),
        (Ending(CurlECode.HTTP2), NOTHING, FailureKind.RESET, True),
        (Ending(CurlECode.HTTP2), BEGUN, FailureKind.BAD_RESPONSE, False),
        (Ending(CurlECode.HTTP2_STREAM), NOTHING, FailureKind.RESET, True),
        (Ending(CurlECode.HTTP2_STREAM), HEADERS, FailureKind.TRUNCATED, False),
        (Ending(CurlECode.SSL_CONNECT_ERROR), NOTHING, FailureKind.TLS, True),
        (Ending(CurlECode.SSL_CONNECT_ERROR, errno.ECONNRESET), NOTHING, FailureKind.RESET, True),
        (Ending(CurlECode.PEER_FAILED_VERIFICATION, 0, 10), NOTHING, FailureKind.TLS, True),
        (Ending(CurlECode.SSL_CACERT_BADFILE), NOTHING, FailureKind.INTERNAL, True),
        (Ending(CurlECode.WEIRD_SERVER_REPLY), BEGUN, FailureKind.BAD_RESPONSE, False),
        (Ending(CurlECode.UNSUPPORTED_PROTOCOL), NOTHING, FailureKind.BAD_RESPONSE, False),
    ],
)
def test_each_code_has_its_kind(
    ending: Ending, progress: tuple[bool, bool], kind: FailureKind, is_site_wide: bool
) -> None:
    has_begun, has_headers = progress
    failed = failure_of_ending(ending, has_begun=has_begun, has_headers=has_headers)
    assert (failed.kind, failed.is_site_wide) == (kind, is_site_wide), failed.why


@pytest.mark.parametrize(
    ("number", "words"), [(10, "TLS: certificate has expired"), (18, "TLS: self-signed certificate")]
)
def test_the_words_are_those_of_the_other_transport(number: int, words: str) -> None:
    ending = Ending(CurlECode.PEER_FAILED_VERIFICATION, 0, number)
    assert failure_of_ending(ending, has_begun=False, has_headers=False).why == words


@given(code=st.integers(1, 200), system_error=st.integers(0, 200), begun=st.booleans(), headers=st.booleans())
def test_no_code_is_without_words(code: int, system_error: int, begun: bool, headers: bool) -> None:
    assert failure_of_ending(Ending(code, system_error), has_begun=begun or headers, has_headers=headers).why
