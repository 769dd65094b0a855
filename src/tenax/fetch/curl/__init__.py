"""The curl transport: libcurl, for HTTP/2 and another TLS handshake. Requires the extra `curl`."""

from tenax.fetch.curl.transport import CurlTransport, curl_install_hint

__all__ = ["CurlTransport", "curl_install_hint"]
