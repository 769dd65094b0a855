"""Parses feeds with Tenax for `bench/feeds.py`."""

from __future__ import annotations

from typing import Any

from tenax.discovery.feeds.read import read_feed

NOW = 1_790_000_000.0
"""Only used for the century of two-digit years."""


def parsed(feed: str, url: str | None) -> dict[str, Any]:
    read = read_feed(feed.encode("latin-1"), "application/xml", url or "", NOW)
    return {
        "links": [entry.link for entry in read.entries],
        "titles": [entry.title for entry in read.entries],
        "dates": [[entry.published, entry.updated] for entry in read.entries],
        "of_feed": [read.link, read.title, read.published, read.updated],
    }
