"""One URL tried out: fetched by the rules of a crawl, with every decision told, and nothing written down.

`visit` does what a crawl would do, `describe_steps` holds the values and says each decision in words. `fetch_many`
fetches several documents in the same way, and `sitemaps` those that list a site's pages.
"""

from __future__ import annotations

from tenax.trace.values import Step, Trace, TraceRequest
from tenax.trace.visit import trace_url

__all__ = ["Step", "Trace", "TraceRequest", "trace_url"]
