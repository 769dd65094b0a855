from __future__ import annotations

import errno

import pytest
from curl_cffi import CurlECode
from hypothesis import given
from hypothesis import strategies as st

from tenax.fetch.curl.responses import TransferResult, transfer_failure, transfer_proxy_error
from tenax.fetch.proxies import Proxy, ProxyScheme
from tenax.model import FailureKind

UNKNOWN_USER = "it does not accept our user and password"
_SCHEMES: tuple[ProxyScheme, ...] = ("http", "socks5")
NOTHING, BEGUN, HEADERS = (False, False), (True, False), (True, True)


@pytest.mark.parametrize(
    ("ending", "progress", "kind", "is_site_wide"),
    [
        (TransferResult(CurlECode.COULDNT_CONNECT, errno.ECONNREFUSED), NOTHING, FailureKind.CONNECT, True),
        (TransferResult(CurlECode.COULDNT_CONNECT, errno.EHOSTUNREACH), NOTHING, FailureKind.CONNECT, True),
        (TransferResult(CurlECode.COULDNT_CONNECT, errno.ETIMEDOUT), NOTHING, FailureKind.TIMEOUT_CONNECT, True),
        (TransferResult(CurlECode.COULDNT_CONNECT, errno.EMFILE), NOTHING, FailureKind.INTERNAL, True),
        (TransferResult(CurlECode.COULDNT_CONNECT), NOTHING, FailureKind.CONNECT, True),
        (TransferResult(CurlECode.GOT_NOTHING), NOTHING, FailureKind.RESET, True),
        (TransferResult(CurlECode.RECV_ERROR, errno.ECONNRESET), NOTHING, FailureKind.RESET, True),
        (TransferResult(CurlECode.RECV_ERROR, errno.ECONNRESET), HEADERS, FailureKind.TRUNCATED, False),
        (TransferResult(CurlECode.RECV_ERROR), HEADERS, FailureKind.BAD_RESPONSE, False),
        (TransferResult(CurlECode.SEND_ERROR, errno.EPIPE), NOTHING, FailureKind.RESET, True),
        (TransferResult(CurlECode.PARTIAL_FILE), HEADERS, FailureKind.TRUNCATED, False),
        (TransferResult(CurlECode.HTTP2), NOTHING, FailureKind.RESET, True),
        (TransferResult(CurlECode.HTTP2), BEGUN, FailureKind.BAD_RESPONSE, False),
        (TransferResult(CurlECode.HTTP2_STREAM), NOTHING, FailureKind.RESET, True),
        (TransferResult(CurlECode.HTTP2_STREAM), HEADERS, FailureKind.TRUNCATED, False),
        (TransferResult(CurlECode.SSL_CONNECT_ERROR), NOTHING, FailureKind.TLS, True),
        (TransferResult(CurlECode.SSL_CONNECT_ERROR, errno.ECONNRESET), NOTHING, FailureKind.RESET, True),
        (TransferResult(CurlECode.PEER_FAILED_VERIFICATION, 0, 10), NOTHING, FailureKind.TLS, True),
        (TransferResult(CurlECode.SSL_CACERT_BADFILE), NOTHING, FailureKind.INTERNAL, True),
        (TransferResult(CurlECode.WEIRD_SERVER_REPLY), BEGUN, FailureKind.BAD_RESPONSE, False),
        (TransferResult(CurlECode.UNSUPPORTED_PROTOCOL), NOTHING, FailureKind.BAD_RESPONSE, False),
    ],
)
def test_each_code_has_its_kind(
    ending: TransferResult, progress: tuple[bool, bool], kind: FailureKind, is_site_wide: bool
) -> None:
    has_begun, has_headers = progress
    failed = transfer_failure(ending, has_started=has_begun, has_headers=has_headers)
    assert (failed.kind, failed.is_site_wide) == (kind, is_site_wide), failed.why


HTTP, SOCKS = (Proxy("p:1", scheme, "p", 1, b"me") for scheme in _SCHEMES)
CUT = "it closed the connection"


@pytest.mark.parametrize(
    ("ending", "proxy", "why"),
    [
        (TransferResult(CurlECode.COULDNT_CONNECT, errno.ECONNREFUSED), HTTP, "connection refused"),
        (TransferResult(CurlECode.COULDNT_CONNECT, errno.EHOSTUNREACH), SOCKS, "no route to host"),
        (TransferResult(CurlECode.COULDNT_CONNECT, errno.EMFILE), HTTP, None),
        (TransferResult(CurlECode.COULDNT_CONNECT, connections=1), HTTP, "invalid response to CONNECT"),
        (TransferResult(CurlECode.COULDNT_CONNECT, connections=1, connect_status=502), HTTP, "answer 502 to CONNECT"),
        (TransferResult(CurlECode.COULDNT_CONNECT, connections=1, connect_status=407), HTTP, UNKNOWN_USER),
        (TransferResult(CurlECode.PROXY, connections=1, socks_error=33), SOCKS, UNKNOWN_USER),
        (TransferResult(CurlECode.PROXY, connections=1, socks_error=2), SOCKS, "not a SOCKS5 proxy"),
        (TransferResult(CurlECode.PROXY, connections=1, socks_error=15), SOCKS, CUT),
        (TransferResult(CurlECode.PROXY, connections=1, socks_error=20), SOCKS, "SOCKS5: general failure"),
        (TransferResult(CurlECode.PROXY, connections=1, socks_error=1), SOCKS, "not a proper SOCKS5 answer"),
        (TransferResult(CurlECode.RECV_ERROR, connections=1), HTTP, CUT),
        (TransferResult(CurlECode.RECV_ERROR, connections=1, connect_status=200), HTTP, None),
        (TransferResult(CurlECode.RECV_ERROR), HTTP, None),
        (TransferResult(CurlECode.GOT_NOTHING, connections=1), SOCKS, None),
        (TransferResult(CurlECode.SSL_CONNECT_ERROR, connections=1), HTTP, "TLS: no secure connection"),
        (TransferResult(CurlECode.SSL_CONNECT_ERROR, connections=1, is_abrupt_close=True), HTTP, CUT),
        (TransferResult(CurlECode.SSL_CONNECT_ERROR, connections=1, is_abrupt_close=True), SOCKS, None),
        (
            TransferResult(CurlECode.PEER_FAILED_VERIFICATION, connections=1, proxy_certificate_error=10),
            HTTP,
            "TLS: certificate has expired",
        ),
        (TransferResult(CurlECode.PEER_FAILED_VERIFICATION, 0, 10, connections=1, connect_status=200), HTTP, None),
        (
            TransferResult(CurlECode.TOO_LARGE, connections=1, connect_status=200),
            HTTP,
            "invalid response to CONNECT",
        ),
    ],
)
def test_what_is_the_proxys_fault(ending: TransferResult, proxy: Proxy, why: str | None) -> None:
    failed = transfer_proxy_error(ending, proxy, has_started=False)
    assert (failed.why if failed is not None else None) == why


def test_a_head_too_long_is_the_sites_when_it_has_begun() -> None:
    assert transfer_proxy_error(TransferResult(CurlECode.TOO_LARGE, connections=1), HTTP, has_started=True) is None


@pytest.mark.parametrize(
    ("number", "words"), [(10, "TLS: certificate has expired"), (18, "TLS: self-signed certificate")]
)
def test_the_words_are_those_of_the_other_transport(number: int, words: str) -> None:
    ending = TransferResult(CurlECode.PEER_FAILED_VERIFICATION, 0, number)
    assert transfer_failure(ending, has_started=False, has_headers=False).why == words


@given(code=st.integers(1, 200), system_error=st.integers(0, 200), begun=st.booleans(), headers=st.booleans())
def test_no_code_is_without_words(code: int, system_error: int, begun: bool, headers: bool) -> None:
    assert transfer_failure(TransferResult(code, system_error), has_started=begun or headers, has_headers=headers).why
