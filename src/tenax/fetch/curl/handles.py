"""libcurl handles that connect only to the given address, driven by our event loop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, Final, cast

from curl_cffi import AsyncCurl, Curl, CurlError, CurlHttpVersion, CurlInfo, CurlMOpt, CurlOpt, ffi, lib

from tenax.errors import TenaxError
from tenax.fetch import KEEP_ALIVE_SECONDS
from tenax.fetch.curl.responses import STOPPED, TransferResult
from tenax.fetch.headers import BROWSER_VERSION
from tenax.fetch.proxies import Proxy
from tenax.model import Value
from tenax.runtime.resources import file_share, raise_file_limit

_MAX_IDLE_CONNECTIONS: Final = 64
_MAX_IDLE_HANDLES: Final = 64
Receiver = Callable[[bytes], int]
"""Takes received data. Returns how much it took, or `responses.STOP`."""


class CurlRequest(Value, frozen=True):
    """One request, as libcurl needs it."""

    url: str
    address: str
    """The only address that may be connected to, whatever the URL names."""
    port: int
    headers: tuple[bytes, ...]
    connect_timeout_seconds: float
    timeout_seconds: float
    """Total timeout."""
    is_head: bool = False
    verify_tls: bool = True
    proxy: Proxy | None = None
    """The proxy, which is asked for a tunnel to the address."""
    proxy_addresses: tuple[str, ...] = ()
    """The only addresses at which the proxy may be connected to."""


class CurlHandles:
    """Transfers of one event loop; handles are reused, and libcurl keeps connections."""

    def __init__(self, is_browser: bool) -> None:
        """Must be created while the event loop runs."""
        self._is_browser = is_browser
        self._certificates = ssl.get_default_verify_paths().cafile or ""
        self._idle: list[Curl] = []
        self._multi = cast(Any, AsyncCurl())  # its methods have no types
        self._multi.setopt(CurlMOpt.MAXCONNECTS, min(_MAX_IDLE_CONNECTIONS, file_share(raise_file_limit())))

    def start_transfer(self, request: CurlRequest, on_header: Receiver, on_body: Receiver) -> Transfer:
        """Start a transfer. The receivers are called from the event loop, and must not raise."""
        curl = self._idle.pop() if self._idle else self._new_handle()
        pin = _pin_address(curl, request.address, request.port)
        _set_proxy(curl, request.proxy, request.proxy_addresses)
        curl.setopt(CurlOpt.URL, request.url.encode("ascii"))
        curl.setopt(CurlOpt.HTTPGET, 1)  # resets an earlier NOBODY
        curl.setopt(CurlOpt.NOBODY, int(request.is_head))
        curl.setopt(CurlOpt.HTTPHEADER, request.headers)
        curl.setopt(CurlOpt.CONNECTTIMEOUT_MS, max(int(request.connect_timeout_seconds * 1000), 1))
        curl.setopt(CurlOpt.TIMEOUT_MS, max(int(request.timeout_seconds * 1000), 1))
        curl.setopt(CurlOpt.SSL_VERIFYPEER, int(request.verify_tls))
        curl.setopt(CurlOpt.SSL_VERIFYHOST, 2 if request.verify_tls else 0)
        curl.setopt(CurlOpt.HEADERFUNCTION, on_header)
        curl.setopt(CurlOpt.WRITEFUNCTION, on_body)
        return Transfer(self, curl, pin, self._multi.add_handle(curl))

    def remove(self, curl: Curl) -> None:
        self._multi.remove_handle(curl)

    def release(self, curl: Curl) -> None:
        curl.clean_handles_and_buffers()
        if len(self._idle) < _MAX_IDLE_HANDLES:
            self._idle.append(curl)
        else:
            curl.close()

    async def close(self) -> None:
        await self._multi.close()
        for curl in self._idle:
            curl.close()
        self._idle.clear()

    def _new_handle(self) -> Curl:
        """A handle with the options of every request: no state, no defaults of libcurl."""
        curl = Curl(cacert=self._certificates)
        if self._is_browser:
            curl.impersonate(f"chrome{BROWSER_VERSION}", default_headers=False)
        for option, value in _FIXED_OPTIONS:
            curl.setopt(option, value)
        return curl


class Transfer:
    """A running request. Its future is done when it ends; `finish` must always be called, once."""

    def __init__(self, handles: CurlHandles, curl: Curl, pin: Any, future: asyncio.Future[None]) -> None:
        self.future = future
        self._handles = handles
        self._curl = curl
        self._pin = pin
        """libcurl reads this list until the end of the transfer."""

    @property
    def seconds_to_send(self) -> float | None:
        """Time until the request was sent; None while there is no connection."""
        microseconds = self._int_info(CurlInfo.PRETRANSFER_TIME_T)
        return microseconds / 1_000_000 if microseconds > 0 else None

    def resume(self) -> None:
        """Deliver the data again that a receiver did not take."""
        if not self.future.done():
            self._curl.pause(_CONTINUE)

    def finish(self) -> TransferResult:
        """Stop the transfer if it still runs, and return the handle."""
        if not self.future.done():
            ending = self._build_result(STOPPED)
            self._handles.remove(self._curl)
        elif self.future.cancelled():
            ending = TransferResult(STOPPED)  # all of libcurl was closed
        else:
            ending = self._result_from_error(self.future.exception())
        self._handles.release(self._curl)
        return ending

    def _result_from_error(self, error: BaseException | None) -> TransferResult:
        if error is None:
            return _SUCCESS
        if not isinstance(error, CurlError):
            raise error
        return self._build_result(int(error.code), str(error))

    def _build_result(self, code: int, error_text: str = "") -> TransferResult:
        return TransferResult(
            code,
            self._int_info(CurlInfo.OS_ERRNO),
            self._int_info(CurlInfo.SSL_VERIFYRESULT),
            # The text of an error is used only here, because no code reports this.
            is_abrupt_close=any(sign in error_text for sign in _ABRUPT_CLOSE_TEXTS),
            connections=self._int_info(CurlInfo.NUM_CONNECTS),
            connect_status=self._int_info(CurlInfo.HTTP_CONNECTCODE),
            socks_error=self._int_info(CurlInfo.PROXY_ERROR),
            proxy_certificate_error=self._int_info(CurlInfo.PROXY_SSL_VERIFYRESULT),
        )

    def _int_info(self, info: CurlInfo) -> int:
        number = self._curl.getinfo(info)
        return number if isinstance(number, int) else 0


_SUCCESS: Final = TransferResult()
_ABRUPT_CLOSE_TEXTS: Final = ("closed abruptly", "SSL_ERROR_SYSCALL")
_BASIC_AUTH: Final = 1
_CONTINUE: Final = 0
"""CURLPAUSE_CONT."""
_FIXED_OPTIONS: Final[tuple[tuple[CurlOpt, str | int], ...]] = (
    (CurlOpt.PROTOCOLS_STR, "http,https"),
    (CurlOpt.HTTP_VERSION, CurlHttpVersion.V2TLS),
    (CurlOpt.FOLLOWLOCATION, 0),
    (CurlOpt.PATH_AS_IS, 1),
    (CurlOpt.HTTPPROXYTUNNEL, 1),  # no proxy gets requests in absolute form, because it would look up the name
    (CurlOpt.SUPPRESS_CONNECT_HEADERS, 1),
    (CurlOpt.PROXYAUTH, _BASIC_AUTH),
    (CurlOpt.SOCKS5_AUTH, _BASIC_AUTH),
    (CurlOpt.NETRC, 0),
    (CurlOpt.HTTP_CONTENT_DECODING, 0),  # `bodies` decodes, within its limits
    (CurlOpt.PIPEWAIT, 1),  # one connection to a host is enough where requests can share it
    (CurlOpt.MAXAGE_CONN, int(KEEP_ALIVE_SECONDS)),
    (CurlOpt.NOSIGNAL, 1),
)


def _set_proxy(curl: Curl, proxy: Proxy | None, addresses: tuple[str, ...]) -> None:
    """Use this proxy or none, whatever the environment says. We also look up its addresses."""
    # Handles are used again, so options of one request must be reset for the next.
    curl.setopt(CurlOpt.NOPROXY, "*" if proxy is None else "")
    curl.setopt(CurlOpt.PROXYUSERNAME, proxy.user if proxy is not None and proxy.user else ffi.NULL)
    curl.setopt(CurlOpt.PROXYPASSWORD, proxy.password if proxy is not None and proxy.user else ffi.NULL)
    if proxy is None:
        curl.setopt(CurlOpt.PROXY, "")
        return
    proxy_endpoint = f"{_bracket_host(proxy.host)}:{proxy.port}"
    curl.setopt(CurlOpt.PROXY, f"{proxy.scheme}://{proxy_endpoint}")
    if addresses != (proxy.host,):
        # The plus means that the entry expires. One entry serves every transfer, and all name the same proxy.
        curl.setopt(CurlOpt.RESOLVE, [f"+{proxy_endpoint}:{','.join(_bracket_host(address) for address in addresses)}"])


def _bracket_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _pin_address(curl: Curl, address: str, port: int) -> Any:
    """Connect to this address and port, whatever the URL names, so that nothing is left to look up.

    A proxy is asked for a tunnel there too. Unlike CURLOPT_RESOLVE it belongs to one transfer, and a kept connection is
    reused only for the same address. It is set through the C library: `Curl.setopt` only supports lists of headers.
    """
    connect_to = f"::{_bracket_host(address)}:{port}".encode("ascii")
    pin = ffi.gc(lib.curl_slist_append(ffi.NULL, connect_to), lib.curl_slist_free_all)
    if curl.setopt(CurlOpt.CONNECT_TO, pin) != 0:
        raise TenaxError("curl_cffi does not support CURLOPT_CONNECT_TO: update curl_cffi")
    return pin
