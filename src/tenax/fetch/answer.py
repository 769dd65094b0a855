"""What a fetch came to, with all that was learned on the way."""

from __future__ import annotations

from tenax.fetch import Response
from tenax.fetch.redirects import RedirectTarget
from tenax.model import FetchRecord, Hop, Outcome, RobotsCopy, TransportKind, Value


class Probe(Value, frozen=True):
    """What a host that was down said to one small request."""

    is_up: bool
    why: str


class FetchResult(Value, frozen=True):
    """What a fetch came to."""

    outcome: Outcome
    answered_at: float
    """When the last answer's headers were here, or when we gave up on it."""
    requests: int = 0
    """Sent to the host, robots.txt included: each takes its share of the pace."""
    transport: TransportKind = TransportKind.HTTP
    robots: RobotsCopy | None = None
    """The host's robots.txt, when this visit asked for it."""
    probe: Probe | None = None
    """When this visit only asked whether the host is back."""
    response: Response | None = None
    """The page's own answer, when one came."""
    record: FetchRecord = FetchRecord()
    redirect_target: RedirectTarget | None = None
    """Where a redirect leads."""
    chain: tuple[Hop, ...] = ()
    """Every redirect up to here, this visit's included."""
