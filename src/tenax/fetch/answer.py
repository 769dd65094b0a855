"""The result of a fetch, with everything learned from it."""

from __future__ import annotations

from tenax.fetch import Response
from tenax.fetch.redirects import RedirectTarget
from tenax.model import FetchRecord, Hop, Outcome, RobotsCopy, TransportKind, Value


class Probe(Value, frozen=True):
    """The response of a host that was down to a probe."""

    is_up: bool
    why: str


class FetchResult(Value, frozen=True):
    """The result of a fetch."""

    outcome: Outcome
    answered_at: float
    """When the last response's headers arrived, or when the request was given up."""
    requests: int = 0
    """Requests sent to the host, robots.txt included: each counts for the rate limit."""
    transport: TransportKind = TransportKind.HTTP
    robots: RobotsCopy | None = None
    """The host's robots.txt, if this visit fetched it."""
    probe: Probe | None = None
    """Set if this visit only probed the host."""
    response: Response | None = None
    """The page's own response, if there was one."""
    record: FetchRecord = FetchRecord()
    redirect_target: RedirectTarget | None = None
    """Target of a redirect."""
    chain: tuple[Hop, ...] = ()
    """Every redirect so far, including this visit's."""
