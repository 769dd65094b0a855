"""The target of a request: scheme, host, port and path of an unambiguous URL."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

# The URL parser has already normalized it. This only ensures that it is unambiguous: no userinfo, no backslash, no
# blank, nothing that a second parser could take for the end of the host.
_PLAIN_URL = re.compile(r"(https?)://([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?([/?][\x21-\x7e]*)?")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """The scheme, host and port of a connection; an IPv6 address has no brackets."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """As in the Host header: the port only if it is not the scheme's default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


class Target(NamedTuple):
    """One URL to request."""

    origin: Origin
    path: str
    """Path and query, as sent."""


def parse_target(url: str) -> Target | None:
    """The target of an absolute, escaped http or https URL; None for anything else."""
    match = _PLAIN_URL.fullmatch(url)
    if match is None:
        return None
    scheme, host, port, path = match.groups()
    origin = _build_origin(scheme, host, port)
    if origin is None:
        return None
    path = (path or "/").partition("#")[0]
    return Target(origin, path if path[0] == "/" else f"/{path}")


def parse_origin(url: str) -> Origin | None:
    """The origin of such a URL."""
    target = parse_target(url)
    return target.origin if target is not None else None


@lru_cache(maxsize=4096)
def _build_origin(scheme: str, host: str, port: str | None) -> Origin | None:
    number = int(port) if port else _DEFAULT_PORTS[scheme]
    return Origin(scheme, host.lower().strip("[]"), number) if 0 < number < 65_536 else None
