"""The end of a visit as the rules get it, with what matters to a test."""

from __future__ import annotations

from tenax.config import SiteConfig
from tenax.fetch.answer import FetchResult, VisitEnd
from tenax.model import Outcome, TransportKind

PLAIN = frozenset({TransportKind.HTTP})


def visit_end(
    outcome: Outcome,
    now: float,
    site: SiteConfig | None = None,
    *,
    answer: FetchResult | None = None,
    transport: TransportKind = TransportKind.HTTP,
    jitter: float = 0.0,
    available: frozenset[TransportKind] = PLAIN,
) -> VisitEnd:
    answer = answer or FetchResult(outcome, now, 1, transport)
    return VisitEnd(answer, outcome, site or SiteConfig(), now, jitter, available)
