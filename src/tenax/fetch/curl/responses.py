"""Responses from libcurl: collected with limits on everything. Its error codes are translated into failures.

Messages of libcurl contain addresses, so they are not used.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from typing import Final

from tenax.fetch import BODILESS_STATUSES, MAX_HEAD_BYTES, MAX_HEADERS, SMALL_BODY_BYTES, Request
from tenax.fetch.bodies import BodyDecoder, too_large_failure
from tenax.fetch.body_budget import BodyReceiver, memory_deferral, reserve_callback
from tenax.fetch.connect import ProxyError, connect_error, credentials_error, socks5_error
from tenax.fetch.failures import failure_from_error, file_limit_failure, reset_failure, truncated_failure
from tenax.fetch.headers import Headers, parse_framing
from tenax.fetch.proxies import Proxy
from tenax.model import Deferred, Failed, FailureKind, Value
from tenax.runtime.resources import are_files_used_up

STOP: Final = 0xFFFF_FFFF
"""CURL_WRITEFUNC_ERROR: a receiver returns it to stop the transfer."""
PAUSE: Final = 0x1000_0001
"""CURL_WRITEFUNC_PAUSE: libcurl delivers the same data again when the transfer is resumed."""


class CurlResponse:
    """The two receivers of a transfer, and the collected response. They never raise."""

    def __init__(self, request: Request, now: Callable[[], float], loop: asyncio.AbstractEventLoop) -> None:
        self._request = request
        self._now = now
        self._loop = loop
        self._loop_time = loop.time
        self.status = 0
        self.protocol = ""
        self.headers: Headers | None = None
        self.answered_at = 0.0
        self.received_at = 0.0
        """In the time of the event loop."""
        self.wire_bytes = 0
        self.body = b""
        self._head_bytes = 0
        self._header_pairs: list[tuple[bytes, bytes]] = []
        self.waited_seconds = 0.0
        self.change_future: asyncio.Future[None] = loop.create_future()
        """Done when the body starts or stops waiting for memory. Then a new future replaces it."""
        self._receiver: BodyReceiver | None = None
        self._failed: Failed | None = None
        self._deferred: Deferred | None = None

    # -- libcurl callbacks ----------------------------------------------------------------------------------

    def on_header(self, line: bytes) -> int:
        """A line of a head: status, header or the empty line at its end. Lines after the head are trailers."""
        if self.headers is not None:
            return len(line)
        self._head_bytes += len(line)
        if self._head_bytes > MAX_HEAD_BYTES:
            return self._reject("the headers are too long")
        text = line.rstrip(b"\r\n")
        if not text:
            return self._finish_head(len(line))
        if line.startswith(b"HTTP/"):
            self._start_head(text)
        elif text[:1] in b" \t" and self._header_pairs:
            name, value = self._header_pairs[-1]
            self._header_pairs[-1] = (name, value + b" " + text.strip())
        else:
            name, _, value = text.partition(b":")
            self._header_pairs.append((name, value))
        return self._reject("too many headers") if len(self._header_pairs) > MAX_HEADERS else len(line)

    def on_body(self, data: bytes) -> int:
        self.received_at = self._loop_time()
        if self.is_waiting:
            return PAUSE
        self.wire_bytes += len(data)
        if self._receiver is None:
            return STOP
        self._failed = self._receiver.feed(data)
        if self._receiver.is_waiting:
            self._notify_change()
        return STOP if self._failed is not None or self._receiver.is_full else len(data)

    # -- for the caller -------------------------------------------------------------------------------------

    @property
    def has_started(self) -> bool:
        """True when any part of a head has arrived."""
        return self._head_bytes > 0

    @property
    def is_waiting(self) -> bool:
        """Whether the body waits for memory."""
        return self._receiver is not None and self._receiver.is_waiting

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more is needed, although libcurl may not know yet."""
        return self._failed is not None or self._deferred is not None

    def finish(self) -> CurlResponse | Failed | Deferred:
        """The response, after libcurl received all of it and there was memory for it."""
        content = self._receiver.finish() if self._receiver is not None and not self.is_stopped else b""
        if isinstance(content, Failed) or self.is_stopped:
            return self.finish_failed(content if isinstance(content, Failed) else truncated_failure())
        self.body = content
        return self

    def finish_failed(self, failed: Failed) -> CurlResponse | Failed | Deferred:
        """The result after a failure. A response that is not a page (an error, a redirect) is complete without a
        body."""
        if self._receiver is not None and self._receiver.is_full:
            return self.finish()  # we ended it: the beginning is enough
        if self.headers is not None and self.status >= 300:
            return self
        failed = self._failed or failed
        if self._deferred is not None or self._receiver is None:
            return self._deferred or failed
        return self._receiver.adjust_failure(failed, self._now())

    def mark_arrived(self) -> None:
        """libcurl is done, and the body only waits for memory."""
        if self._receiver is not None:
            self._receiver.mark_arrived()

    def close(self) -> None:
        if self._receiver is not None:
            self._receiver.close()

    # -- the head -------------------------------------------------------------------------------------------

    def _start_head(self, status_line: bytes) -> None:
        protocol, _, rest = status_line.partition(b" ")
        self.protocol = protocol.decode("ascii", "replace")
        self.status = int(rest[:3]) if rest[:3].isdigit() else 0
        self._header_pairs = []

    def _finish_head(self, taken: int) -> int:
        if 100 <= self.status < 200 and self.status != 101:
            return taken  # not the final response; these bytes still count towards the limit of the head
        if self.status < 200:
            return self._reject("switched to another protocol" if self.status == 101 else "invalid HTTP response")
        self.headers = headers = Headers(self._header_pairs)
        self.answered_at, self.received_at = self._now(), self._loop_time()
        is_page = self.status < 300
        max_bytes = self._request.max_body_bytes if is_page else SMALL_BODY_BYTES
        takes_beginning = is_page and self._request.may_truncate
        if self._request.method == "HEAD" or self.status in BODILESS_STATUSES:
            return taken
        framing = parse_framing(headers)
        if isinstance(framing, Failed):
            self._failed = framing
            return STOP
        if framing.length is not None and framing.length > max_bytes and not takes_beginning:
            self._failed = too_large_failure(max_bytes)
            return STOP
        reservation, seconds = self._request.reservation, self._request.total_timeout_seconds
        body = BodyDecoder(
            framing.content_coding, max_bytes, reserve_callback(reservation), may_truncate=takes_beginning
        )
        self._receiver = BodyReceiver(body, reservation, seconds, self._on_reserved, self._on_budget_exhausted)
        return taken

    # -- memory for the body --------------------------------------------------------------------------------

    def _on_reserved(self, waited_seconds: float, failed: Failed | None) -> None:
        self.received_at = self._loop_time()
        self.waited_seconds += waited_seconds
        self._failed = failed
        self._notify_change()

    def _on_budget_exhausted(self) -> None:
        self._deferred = memory_deferral(self._now())
        self._notify_change()

    def _notify_change(self) -> None:
        self.change_future.set_result(None)
        self.change_future = self._loop.create_future()

    def _reject(self, why: str) -> int:
        self._failed = Failed(why, FailureKind.BAD_RESPONSE)
        return STOP


# https://curl.se/libcurl/c/libcurl-errors.html, by number, because this file can be imported without the library.
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

# Not HTTP/1 or 2, a body that contradicts its headers, or headers that are too long.
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
    """Also nonzero if a handshake with the host began and did not finish."""
    is_abrupt_close: bool = False
    """The connection was closed without a TLS alert."""
    connections: int = 0
    """Connections that were opened for the transfer; 0: it used a kept connection, or none."""
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
            return Failed("its Transfer-Encoding was not requested", FailureKind.BAD_RESPONSE)
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
    return Failed("invalid HTTP response", FailureKind.BAD_RESPONSE)
