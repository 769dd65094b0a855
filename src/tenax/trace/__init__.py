"""One URL tried out: fetched by the rules of a crawl, with every decision told, and nothing written down.

`attempt` does what a crawl would do, `telling` says it in words, `notes` are the values that come of it. `errand`
fetches several documents in the same way, and `sitemaps` those that list a site's pages.
"""

from __future__ import annotations

from tenax.trace.values import Step, Trial, Wanted
from tenax.trace.visit import tried

__all__ = ["Step", "Trial", "Wanted", "tried"]
