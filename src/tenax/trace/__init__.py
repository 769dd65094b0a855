"""Traces: fetch single URLs by the rules of a crawl, report every decision, and store nothing.

`visit` does what a crawl would do. `describe` holds the results, and turns each decision into text. `url_lists` fetches
several documents in the same way, such as the sitemaps of a site.
"""

from __future__ import annotations

from tenax.trace.describe import Step, Trace, TraceRequest
from tenax.trace.visit import trace_url

__all__ = ["Step", "Trace", "TraceRequest", "trace_url"]
