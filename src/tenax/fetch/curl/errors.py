"""What went wrong in libcurl, in our words: its codes are translated here, once. Its texts name addresses: not used."""

from __future__ import annotations

import errno
from typing import Final

from tenax.fetch.failures import cut_off, dropped, failure_of
from tenax.model import Failed, FailureKind, Value

# https://curl.se/libcurl/c/libcurl-errors.html, by number: this file can be read without the library.
OK: Final = 0
_CONNECT_FAILED: Final = 7
_PARTIAL_FILE: Final = 18
_OUT_OF_MEMORY: Final = 27
TIMED_OUT: Final = 28
_TLS_FAILED: Final = 35
_GOT_NOTHING: Final = 52
_SEND_FAILED: Final = 55
_RECEIVE_FAILED: Final = 56
_CERTIFICATE_REFUSED: Final = 60
_CERTIFICATES_UNREADABLE: Final = 77
_HTTP2: Final = frozenset({16, 92})

# Not HTTP/1 or 2 at all, a body that is not what its headers say, headers too long.
_IMPROPER: Final = frozenset({1, 8, 61, 100})
_BROKEN_OFF: Final = _HTTP2 | {_PARTIAL_FILE, _GOT_NOTHING, _SEND_FAILED, _RECEIVE_FAILED}
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


class Ending(Value, frozen=True):
    """How a transfer ended, as libcurl tells it."""

    code: int = OK
    system_error: int = 0
    certificate_error: int = 0


def failure_of_ending(ending: Ending, *, has_begun: bool, has_headers: bool) -> Failed:
    """The failure that an ending other than OK or TIMED_OUT means."""
    match ending.code:
        case code if code in _IMPROPER:
            return _improper()
        case code if code in _BROKEN_OFF:
            return _broken_off(ending, has_begun, has_headers)
        case code if code == _CERTIFICATE_REFUSED:
            words = _CERTIFICATE_WORDS.get(ending.certificate_error, "the certificate is not for this host")
            return Failed(f"TLS: {words}", FailureKind.TLS, is_site_wide=True)
        case code if code == _TLS_FAILED:
            if ending.system_error in _CUT:
                return dropped()
            return Failed("TLS: no secure connection", FailureKind.TLS, is_site_wide=True)
        case code if code == _CONNECT_FAILED:
            return failure_of(OSError(ending.system_error or None, ""))
        case code if code in (_OUT_OF_MEMORY, _CERTIFICATES_UNREADABLE):
            # Ours, not the host's; but the URL must not pay for it either.
            return Failed("curl could not begin: memory or certificates", FailureKind.INTERNAL, is_site_wide=True)
        case code:
            return cut_off() if has_headers else Failed(f"curl failed with code {code}", FailureKind.BAD_RESPONSE)


def _broken_off(ending: Ending, has_begun: bool, has_headers: bool) -> Failed:
    is_received = ending.code == _RECEIVE_FAILED and ending.system_error not in _CUT
    is_half_a_head = ending.code in _HTTP2 and has_begun and not has_headers
    if is_received or is_half_a_head:  # given up by libcurl itself: a chunk without a length, a head without end
        return _improper()
    return cut_off() if has_headers else dropped()


def _improper() -> Failed:
    return Failed("not a proper HTTP answer", FailureKind.BAD_RESPONSE)
