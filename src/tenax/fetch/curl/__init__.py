"""The second way: libcurl, for HTTP/2 and another handshake. Needs the extra `curl`; names it when that is missing."""

from tenax.fetch.curl.transport import CurlTransport, curl_install_hint

__all__ = ["CurlTransport", "curl_install_hint"]
