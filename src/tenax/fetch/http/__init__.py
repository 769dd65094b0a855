"""The HTTP transport: HTTP/1.1 on llhttp. `transport` sends requests and pools connections, `wire` is the protocol."""

from tenax.fetch.http.transport import HttpTransport

__all__ = ["HttpTransport"]
