"""A page's session at the gate: counts and limits traffic, records refusals, and ends all connections with the page."""

from __future__ import annotations

import asyncio
import math
import secrets
from typing import NamedTuple, TypeAlias

from tenax.fetch.proxies import Proxy
from tenax.fetch.target import Origin
from tenax.model import Deferred, Failed, Refused

MAX_OPEN_CONNECTIONS = 64
"""Per page; Chromium itself uses half of that."""
MAX_SENT_BYTES = 4 * 1024 * 1024
"""Per page, requests included: more is not fetching a page any more."""

Denial: TypeAlias = Refused | Failed | Deferred


class Endpoint(NamedTuple):
    """Where a connection leads, and through which proxy."""

    address: str
    proxy: Proxy | None


class GateSession:
    """One page's session at the gate: its traffic, its refusals, and its end."""

    def __init__(
        self,
        page_host: str,
        max_bytes: int,
        max_connections: int,
        connect_timeout_seconds: float,
        deadline: float = math.inf,
    ) -> None:
        """`deadline`, in the loop's time: nothing is sent from then on."""
        self.user = "page"
        self.password = secrets.token_urlsafe(24)
        self.page_host = page_host
        self.connect_timeout_seconds = connect_timeout_seconds
        self.received_bytes = 0
        """From the sites, as received on the wire."""
        self.is_too_large = False
        self._deadline = deadline
        self._max_bytes = max_bytes
        self._connections_left = max_connections
        self._sent_bytes = 0
        self._open: set[asyncio.Task[None]] = set()
        self._results: dict[tuple[str, int], Endpoint | Denial] = {}
        self._is_closed = False

    def denial(self, origin: Origin) -> Denial | None:
        """Why the last connection to this origin failed, if it did."""
        end = self._results.get((origin.host, origin.port))
        return None if isinstance(end, Endpoint) else end

    def endpoint(self, origin: Origin) -> Endpoint | None:
        """Where the last connection to this origin leads; None if there was none."""
        end = self._results.get((origin.host, origin.port))
        return end if isinstance(end, Endpoint) else None

    @property
    def is_expired(self) -> bool:
        """True when it is too late to send anything."""
        return asyncio.get_running_loop().time() >= self._deadline

    def close(self) -> None:
        """End every connection of the page at once."""
        self._is_closed = True
        for task in self._open:
            task.cancel()

    def admit_connection(self, task: asyncio.Task[None]) -> bool:
        """Whether one more connection may begin."""
        if self._is_closed or len(self._open) >= MAX_OPEN_CONNECTIONS or not self._connections_left:
            return False
        self._connections_left -= 1
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return True

    def record_result(self, origin: Origin, result: Endpoint | Denial) -> None:
        """Record the result of a connection."""
        self._results[(origin.host, origin.port)] = result

    def count_received(self, byte_count: int) -> None:
        self.received_bytes += byte_count
        if self.received_bytes > self._max_bytes:
            self.is_too_large = True
            self.close()

    def count_sent(self, byte_count: int) -> bool:
        """Count bytes to send; False when the limit is exceeded."""
        self._sent_bytes += byte_count
        if self._sent_bytes > MAX_SENT_BYTES or self.is_expired:
            self.close()
        return not self._is_closed
