"""The README's comparison with other crawlers, from the results of `scripts/bench crawl` and `discover`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from docs.from_results import NOT_MEASURED, result
from docs.wording import number, table

_DISCOVERY_PAGES = 20_000


def comparison_table() -> str:
    """Figures of the stored results only. An empty cell was not measured."""
    crawl, discover = result("crawl"), result("discover")
    if crawl is None or discover is None:
        return NOT_MEASURED
    costs, sites = crawl["figures"], discover["figures"][f"pages_{_DISCOVERY_PAGES}"]
    rows = [
        _row("pages per second, title and text", costs, "pages_per_second"),
        _row("CPU seconds per 1,000 pages, title and text", costs, "cpu_seconds_per_1000_pages"),
        _row("peak memory of that crawl, MB", costs, "peak_rss_mb"),
        [
            "CPU seconds per 1,000 pages, full extraction",
            number(costs["tenax"]["cpu_seconds_per_1000_pages"]),
            f"{number(costs['scrapy_trafilatura']['cpu_seconds_per_1000_pages'])} (with trafilatura)",
            "",
        ],
        [f"pages found of {_DISCOVERY_PAGES:,}, two fifths of them not linked", *_shares(sites, "found_share", 0), ""],
        ["share of requests wasted on that site", *_shares(sites, "wasted_share", 1), ""],
    ]
    return table(("", "Tenax", "Scrapy", "Crawlee for Python"), rows)


def _row(what: str, costs: Mapping[str, Any], name: str) -> list[str]:
    return [what, *(number(costs[key][name]) for key in ("tenax_skim", "scrapy", "crawlee"))]


def _shares(sites: Mapping[str, Any], name: str, digits: int) -> list[str]:
    return [f"{sites[key][name] * 100:.{digits}f} %" for key in ("tenax", "scrapy")]
