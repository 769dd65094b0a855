"""Log lines about hosts that go down, come back or back off."""

from __future__ import annotations

import logging

from tenax.model import HostRecord

log = logging.getLogger(__name__)


def log_host_change(before: HostRecord, host: HostRecord, now: float) -> None:
    """Log an outage, its end, and a block. A continuing outage is not logged again."""
    if (before.breaker == "closed") != (host.breaker == "closed"):
        log.info(
            "host is up again" if host.breaker == "closed" else "host down, probing",
            extra={
                "host": host.origin,
                "why": host.backoff_reason,
                "backoff_seconds": round(max(host.next_at - now, 0)),
            },
        )
    elif host.next_at > before.next_at and host.backoff_reason.startswith("cooldown"):
        log.info(
            "host backing off",
            extra={"host": host.origin, "why": host.backoff_reason, "backoff_seconds": round(host.next_at - now)},
        )
