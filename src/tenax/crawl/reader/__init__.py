"""Readers: processes that extract pages, and the pool that feeds them.

A document that crashes a reader or takes too long fails its own URL; it never stops the crawl or another page.
"""
