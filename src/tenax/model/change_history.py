"""What is remembered of a page to know when it is worth another visit."""

from __future__ import annotations

from tenax.model.value import Value

MAX_FALSE_ALARMS = 2
"""After so many announced changes in a row that were none, a page's sitemap is not heard."""


class ChangeHistory(Value, frozen=True):
    """How a page has changed so far, in few numbers: stored with every page."""

    seen_at: float
    """When its content was last known: compared with what we held, or first read."""
    rates: bytes = b""
    """Belief about its rate of change, as `tenax.recrawl.change_rates` packs it; empty: what is usual. For an article
    that settles it is the rate of a fresh one."""
    list_hash: str = ""
    """Of a list of URLs: the beginning of a hash of what it named when it was last seen."""
    visits: int = 1
    """Visits that told something, the first included."""
    changes: int = 0
    """Of those after the first, the ones that found it changed."""
    published_at: float | None = None
    """Of an article with a credible date: it changes less from then on."""
    tried_at: float | None = None
    """The last visit, if that failed or found nothing; None: it was `seen_at`."""
    misses: int = 0
    """Visits in a row that failed."""
    gone: int = 0
    """Visits in a row that found nothing there."""
    false_alarms: int = 0
    """Times in a row that its sitemap told of a change and there was none."""
    is_hub: bool = False
    """A list of other pages: the longer it is old, the longer new ones are missed."""
    has_validator: bool = False
    """It has an ETag or a date, so an unchanged page costs its host next to nothing."""
    planned_seconds: int = 0
    """After how long it was to be visited again: what it takes of its host's visits, until it is planned anew."""

    @property
    def is_sitemap_trusted(self) -> bool:
        return self.false_alarms < MAX_FALSE_ALARMS
