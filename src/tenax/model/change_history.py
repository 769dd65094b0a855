"""What is stored about a page to decide when to visit it again."""

from __future__ import annotations

from tenax.model.value import Value

MAX_FALSE_ALARMS = 2
"""After this many announced changes in a row that were none, a page's sitemap is ignored."""


class ChangeHistory(Value, frozen=True):
    """How a page has changed so far, in few numbers: stored with every page."""

    seen_at: float
    """When its content was last known: first extracted, or compared with the stored copy."""
    rates: bytes = b""
    """Estimate of its change rate, as packed by `tenax.recrawl.change_rates`; empty: the prior. For an article that
    settles, the rate of a new one."""
    list_hash: str = ""
    """Of a URL list: prefix of the hash of its entries when last seen."""
    visits: int = 1
    """Visits with a result, the first included."""
    changes: int = 0
    """Visits after the first that found it changed."""
    published_at: float | None = None
    """Of an article with a credible date: it changes less from then on."""
    tried_at: float | None = None
    """The last visit, if it failed or found no page; None: it was `seen_at`."""
    misses: int = 0
    """Failed visits in a row."""
    gone: int = 0
    """Visits in a row that found no page."""
    false_alarms: int = 0
    """Times in a row that its sitemap announced a change that was none."""
    is_hub: bool = False
    """A list of other pages: the older the copy, the longer new pages are missed."""
    has_validator: bool = False
    """It has an ETag or a date, so an unchanged page costs its host almost nothing."""
    planned_seconds: int = 0
    """The planned interval: its share of the host's visits until the next plan."""

    @property
    def is_sitemap_trusted(self) -> bool:
        return self.false_alarms < MAX_FALSE_ALARMS
