"""What went wrong in libcurl, in our words: its codes are translated here, once. Its texts name addresses: not used."""

from __future__ import annotations

import errno
from typing import Final

from tenax.fetch.failures import cut_off, dropped, failure_of, out_of_files
from tenax.fetch.proxies import Proxy
from tenax.fetch.tunnels import ProxyFailed, connect_refused, socks_refused, wrong_credentials
from tenax.model import Failed, FailureKind, Value
from tenax.runtime.open_files import are_files_used_up

# https://curl.se/libcurl/c/libcurl-errors.html, by number: this file can be read without the library.
OK: Final = 0
STOPPED: Final = -1
"""Not one of libcurl's: we have ended it."""
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
_HTTP2: Final = frozenset({16, 92})

# Not HTTP/1 or 2 at all, a body that is not what its headers say, headers too long.
_IMPROPER: Final = frozenset({1, 8, _TOO_LONG})
_BROKEN_OFF: Final = _HTTP2 | {_PARTIAL_FILE, _GOT_NOTHING, _SEND_FAILED, _RECEIVE_FAILED}
# What comes of certificates that cannot be opened.
_WITHOUT_FILES: Final = frozenset({_OUT_OF_MEMORY, _TLS_FAILED, _CERTIFICATE_REFUSED, _CERTIFICATES_UNREADABLE})
_CUT: Final = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED})

# X509_V_ERR_…, in the words of the other transport.
_CERTIFICATE_WORDS: Final = {
    9: "certificate is not yet valid",
    10: "certificate has expired",
    18: "self-signed certificate",
    19: "self-signed certificate in certificate chain",
    20: "unable to get local issuer certificate",
    62: "hostname mismatch",
}


_NO_TLS: Final = "TLS: no secure connection"

# CURLPX_…: what a SOCKS5 proxy replied, by the number that it sent.
_SOCKS_REPLIES: Final = {19: 5, 20: 1, 21: 4, 22: 3, 23: 2, 24: 6, 18: 7, 17: 8, 25: 9}
_SOCKS_UNKNOWN_USER: Final = frozenset({12, 33})
_SOCKS_BAD_VERSION: Final = 2
_SOCKS_CLOSED: Final = frozenset({3, 13, 14, 15, 16, 28, 29, 30})


class Ending(Value, frozen=True):
    """How a transfer ended, as libcurl tells it."""

    code: int = OK
    system_error: int = 0
    certificate_error: int = 0
    """Not 0 either when a handshake with the host has begun and was not finished."""
    is_cut: bool = False
    """The connection was closed without a word of TLS."""
    connections: int = 0
    """That were opened for it; 0: one that was kept, or none."""
    connect_status: int = 0
    """A proxy's answer to CONNECT."""
    socks_error: int = 0
    proxy_certificate_error: int = 0

    @property
    def has_tunnel(self) -> bool:
        """For one that took too long: whether the proxy had brought us to the host by then."""
        return 200 <= self.connect_status < 300 or self.certificate_error != 0


def failure_of_ending(ending: Ending, *, has_begun: bool, has_headers: bool) -> Failed:
    """The failure that an ending other than OK, STOPPED or TIMED_OUT means."""
    if _lacked_files(ending):
        return out_of_files()
    match ending.code:
        case code if code in _IMPROPER:
            return _improper()
        case code if code == _BAD_CODING:  # of the transfer: those of the content it leaves alone
            return Failed("its Transfer-Encoding was not asked for", FailureKind.BAD_RESPONSE)
        case code if code in _BROKEN_OFF:
            return _broken_off(ending, has_begun, has_headers)
        case code if code == _CERTIFICATE_REFUSED:
            return Failed(_certificate_words(ending.certificate_error), FailureKind.TLS, is_site_wide=True)
        case code if code == _TLS_FAILED:
            if ending.is_cut or ending.system_error in _CUT:
                return dropped()
            return Failed(_NO_TLS, FailureKind.TLS, is_site_wide=True)
        case code if code == _CONNECT_FAILED:
            return failure_of(OSError(ending.system_error or None, ""))
        case code if code in (_OUT_OF_MEMORY, _CERTIFICATES_UNREADABLE):
            # Ours, not the host's; but the URL must not pay for it either.
            return Failed("curl could not begin: memory or certificates", FailureKind.INTERNAL, is_site_wide=True)
        case code:
            return cut_off() if has_headers else Failed(f"curl failed with code {code}", FailureKind.BAD_RESPONSE)


def proxy_failure_of(ending: Ending, proxy: Proxy, *, has_begun: bool) -> ProxyFailed | None:
    """What an ending other than OK, STOPPED or TIMED_OUT says of the proxy.

    None: it brought us to the host, or the trouble is our own.
    """
    if _lacked_files(ending):
        return None
    match ending.code:
        case code if code == _PROXY_FAILED:
            return _socks_failure(proxy, ending.socks_error)
        case code if code == _CONNECT_FAILED:
            if ending.connect_status or not ending.system_error:
                return connect_refused(proxy, ending.connect_status)
            failed = failure_of(OSError(ending.system_error, ""))
            return ProxyFailed(proxy, failed.why) if failed.kind is not FailureKind.INTERNAL else None
        case code if code == _TOO_LONG and not has_begun:
            return connect_refused(proxy, 0)
        case code if proxy.scheme == "socks5" or not ending.connections or ending.connect_status:
            return None
        case code if code == _CERTIFICATE_REFUSED:
            return ProxyFailed(proxy, _certificate_words(ending.proxy_certificate_error))
        case code if code == _TLS_FAILED and not ending.is_cut and ending.system_error not in _CUT:
            return ProxyFailed(proxy, _NO_TLS)
        case code if code == _TLS_FAILED or code in _BROKEN_OFF:
            return ProxyFailed(proxy, "it closed the connection")
        case _:
            return None


def _lacked_files(ending: Ending) -> bool:
    """Whether there was no file descriptor for it: libcurl does not say so of a socket, nor of certificates."""
    is_unsaid = ending.code == _CONNECT_FAILED and not ending.system_error and not ending.connect_status
    return (is_unsaid or ending.code in _WITHOUT_FILES) and are_files_used_up()


def _socks_failure(proxy: Proxy, error: int) -> ProxyFailed:
    if error in _SOCKS_REPLIES:
        return socks_refused(proxy, _SOCKS_REPLIES[error])
    if error in _SOCKS_UNKNOWN_USER:
        return wrong_credentials(proxy)
    if error == _SOCKS_BAD_VERSION:
        return ProxyFailed(proxy, "not a SOCKS5 proxy")
    return ProxyFailed(proxy, "it closed the connection" if error in _SOCKS_CLOSED else "not a proper SOCKS5 answer")


def _certificate_words(error: int) -> str:
    return f"TLS: {_CERTIFICATE_WORDS.get(error, 'the certificate is not for this host')}"


def _broken_off(ending: Ending, has_begun: bool, has_headers: bool) -> Failed:
    is_received = ending.code == _RECEIVE_FAILED and not ending.is_cut and ending.system_error not in _CUT
    is_half_a_head = ending.code in _HTTP2 and has_begun and not has_headers
    if is_received or is_half_a_head:  # given up by libcurl itself: a chunk without a length, a head without end
        return _improper()
    return cut_off() if has_headers else dropped()


def _improper() -> Failed:
    return Failed("not a proper HTTP answer", FailureKind.BAD_RESPONSE)
