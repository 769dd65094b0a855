"""The plain way: HTTP/1.1 of our own on llhttp. `transport` asks, `connections` keeps, `wire` speaks."""

from tenax.fetch.http.transport import HttpTransport

__all__ = ["HttpTransport"]
