"""What is stored about a host whose pages are recrawled."""

from __future__ import annotations

from tenax.model.value import PageKind, Value


class RecrawlCost(Value, frozen=True):
    """The cost of a visit to this host, so that all its pages together stay within its visit budget."""

    price: float = 0.0
    """See `tenax.recrawl.visit_budget`; 0: not set yet."""
    priced_at: float = 0.0
    planned_per_day: float = 0.0
    """Planned visits per day of all its pages."""
    priors: dict[PageKind, tuple[float, ...]] = {}
    """By kind of page: the sum of the estimated change rates."""
