"""Translates libcurl's error codes, in this one place. Its messages contain addresses and are not used."""

from __future__ import annotations

import errno
from typing import Final

from tenax.fetch.failures import failure_from_error, file_limit_failure, reset_failure, truncated_failure
from tenax.fetch.proxies import Proxy
from tenax.fetch.tunnels import ProxyError, connect_error, credentials_error, socks5_error
from tenax.model import Failed, FailureKind, Value
from tenax.runtime.open_files import are_files_used_up

# https://curl.se/libcurl/c/libcurl-errors.html, by number: this file can be imported without the library.
OK: Final = 0
STOPPED: Final = -1
"""Not a libcurl code: we ended the transfer."""
_CONNECT_FAILED: Final = 7
_PARTIAL_FILE: Final = 18
_OUT_OF_MEMORY: Final = 27
TIMED_OUT: Final = 28
_TLS_FAILED: Final = 35
_GOT_NOTHING: Final = 52
_SEND_FAILED: Final = 55
_RECEIVE_FAILED: Final = 56
_CERTIFICATE_REFUSED: Final = 60
_BAD_CODING: Final = 61
_CERTIFICATES_UNREADABLE: Final = 77
_PROXY_FAILED: Final = 97
_TOO_LONG: Final = 100
_HTTP2_CODES: Final = frozenset({16, 92})

# Not HTTP/1 or 2, a body that contradicts its headers, headers too long.
_BAD_HTTP_CODES: Final = frozenset({1, 8, _TOO_LONG})
_BROKEN_CODES: Final = _HTTP2_CODES | {_PARTIAL_FILE, _GOT_NOTHING, _SEND_FAILED, _RECEIVE_FAILED}
# Results of certificates that cannot be opened.
_FILE_LIMIT_CODES: Final = frozenset({_OUT_OF_MEMORY, _TLS_FAILED, _CERTIFICATE_REFUSED, _CERTIFICATES_UNREADABLE})
_RESET_ERRNOS: Final = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED})

# X509_V_ERR_…, in the words of the HTTP transport.
_CERTIFICATE_REASONS: Final = {
    9: "certificate is not yet valid",
    10: "certificate has expired",
    18: "self-signed certificate",
    19: "self-signed certificate in certificate chain",
    20: "unable to get local issuer certificate",
    62: "hostname mismatch",
}


_TLS_REASON: Final = "TLS: no secure connection"

# CURLPX_…: the reply code of a SOCKS5 proxy.
_SOCKS_REPLIES: Final = {19: 5, 20: 1, 21: 4, 22: 3, 23: 2, 24: 6, 18: 7, 17: 8, 25: 9}
_SOCKS_UNKNOWN_USER: Final = frozenset({12, 33})
_SOCKS_BAD_VERSION: Final = 2
_SOCKS_CLOSED: Final = frozenset({3, 13, 14, 15, 16, 28, 29, 30})


class TransferResult(Value, frozen=True):
    """How a transfer ended, as reported by libcurl."""

    code: int = OK
    system_error: int = 0
    certificate_error: int = 0
    """Also nonzero when a handshake with the host began and did not finish."""
    is_abrupt_close: bool = False
    """The connection was closed without a TLS alert."""
    connections: int = 0
    """Connections opened for it; 0: a kept one, or none."""
    connect_status: int = 0
    """A proxy's status for CONNECT."""
    socks_error: int = 0
    proxy_certificate_error: int = 0

    @property
    def has_tunnel(self) -> bool:
        """For a timeout: whether the proxy had connected us to the host by then."""
        return 200 <= self.connect_status < 300 or self.certificate_error != 0


def transfer_failure(result: TransferResult, *, has_started: bool, has_headers: bool) -> Failed:
    """The failure for any result except OK, STOPPED or TIMED_OUT."""
    if _is_file_limit(result):
        return file_limit_failure()
    match result.code:
        case code if code in _BAD_HTTP_CODES:
            return _bad_http_failure()
        case code if code == _BAD_CODING:  # of the transfer; libcurl does not decode content codings
            return Failed("its Transfer-Encoding was not asked for", FailureKind.BAD_RESPONSE)
        case code if code in _BROKEN_CODES:
            return _broken_transfer_failure(result, has_started, has_headers)
        case code if code == _CERTIFICATE_REFUSED:
            return Failed(_certificate_reason(result.certificate_error), FailureKind.TLS, is_site_wide=True)
        case code if code == _TLS_FAILED:
            if result.is_abrupt_close or result.system_error in _RESET_ERRNOS:
                return reset_failure()
            return Failed(_TLS_REASON, FailureKind.TLS, is_site_wide=True)
        case code if code == _CONNECT_FAILED:
            return failure_from_error(OSError(result.system_error or None, ""))
        case code if code in (_OUT_OF_MEMORY, _CERTIFICATES_UNREADABLE):
            # Our failure, not the host's; it must not use up an attempt of the URL either.
            return Failed("curl could not begin: memory or certificates", FailureKind.INTERNAL, is_site_wide=True)
        case code:
            return (
                truncated_failure()
                if has_headers
                else Failed(f"curl failed with code {code}", FailureKind.BAD_RESPONSE)
            )


def transfer_proxy_error(result: TransferResult, proxy: Proxy, *, has_started: bool) -> ProxyError | None:
    """What a result except OK, STOPPED or TIMED_OUT says about the proxy.

    None: the proxy connected us to the host, or the failure is our own.
    """
    if _is_file_limit(result):
        return None
    match result.code:
        case code if code == _PROXY_FAILED:
            return _socks_code_error(proxy, result.socks_error)
        case code if code == _CONNECT_FAILED:
            if result.connect_status or not result.system_error:
                return connect_error(proxy, result.connect_status)
            failed = failure_from_error(OSError(result.system_error, ""))
            return ProxyError(proxy, failed.why) if failed.kind is not FailureKind.INTERNAL else None
        case code if code == _TOO_LONG and not has_started:
            return connect_error(proxy, 0)
        case code if proxy.scheme == "socks5" or not result.connections or result.connect_status:
            return None
        case code if code == _CERTIFICATE_REFUSED:
            return ProxyError(proxy, _certificate_reason(result.proxy_certificate_error))
        case code if code == _TLS_FAILED and not result.is_abrupt_close and result.system_error not in _RESET_ERRNOS:
            return ProxyError(proxy, _TLS_REASON)
        case code if code == _TLS_FAILED or code in _BROKEN_CODES:
            return ProxyError(proxy, "it closed the connection")
        case _:
            return None


def _is_file_limit(result: TransferResult) -> bool:
    """Whether no file descriptor was left: libcurl does not report it for sockets or certificates."""
    is_unsaid = result.code == _CONNECT_FAILED and not result.system_error and not result.connect_status
    return (is_unsaid or result.code in _FILE_LIMIT_CODES) and are_files_used_up()


def _socks_code_error(proxy: Proxy, error: int) -> ProxyError:
    if error in _SOCKS_REPLIES:
        return socks5_error(proxy, _SOCKS_REPLIES[error])
    if error in _SOCKS_UNKNOWN_USER:
        return credentials_error(proxy)
    if error == _SOCKS_BAD_VERSION:
        return ProxyError(proxy, "not a SOCKS5 proxy")
    return ProxyError(proxy, "it closed the connection" if error in _SOCKS_CLOSED else "not a proper SOCKS5 answer")


def _certificate_reason(error: int) -> str:
    return f"TLS: {_CERTIFICATE_REASONS.get(error, 'the certificate is not for this host')}"


def _broken_transfer_failure(result: TransferResult, has_started: bool, has_headers: bool) -> Failed:
    is_received = (
        result.code == _RECEIVE_FAILED and not result.is_abrupt_close and result.system_error not in _RESET_ERRNOS
    )
    is_half_a_head = result.code in _HTTP2_CODES and has_started and not has_headers
    if is_received or is_half_a_head:  # ended by libcurl itself: a chunk without a length, a head without end
        return _bad_http_failure()
    return truncated_failure() if has_headers else reset_failure()


def _bad_http_failure() -> Failed:
    return Failed("not a proper HTTP answer", FailureKind.BAD_RESPONSE)
