"""What is remembered of a host whose pages are kept fresh."""

from __future__ import annotations

from tenax.model.value import PageKind, Value


class RecrawlCost(Value, frozen=True):
    """How dear a visit is at this host, so that all its pages together ask for no more visits than it may get."""

    price: float = 0.0
    """See `tenax.recrawl.visit_budget`; 0: none was set yet."""
    priced_at: float = 0.0
    planned_per_day: float = 0.0
    """Visits a day that its pages ask for, as each was last planned."""
    priors: dict[PageKind, tuple[float, ...]] = {}
    """By kind of page: what is believed of the rate of each, added up."""
