"""Traces: fetch single URLs by the rules of a crawl, report every decision, and store nothing.

`visit` does what a crawl would do, `describe` turns each decision into text, and `values` holds the results.
`fetch_many` fetches several documents in the same way, and `sitemaps` the sitemaps of a site.
"""

from __future__ import annotations

from tenax.trace.values import Step, Trace, TraceRequest
from tenax.trace.visit import trace_url

__all__ = ["Step", "Trace", "TraceRequest", "trace_url"]
