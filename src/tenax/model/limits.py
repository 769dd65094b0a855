"""The limits that can keep out a URL that the rules allow, and the setting of each.

A rule (scope, include, exclude, traps, robots.txt, nofollow) says what a crawl is about. A limit says how much of it is
taken. What a limit cuts off is stored in the database: the page, the limit, how many. So a run with a higher limit can
continue there, and a crawl that was cut off is not reported as complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

LIMIT_SETTINGS = {
    "depth": "crawl.max_depth",
    "feeds_too_deep": "crawl.max_depth",
    "max_links_per_page": "crawl.max_links_per_page",
    "facets_per_path": "urls.facets_per_path",
    "facets": "urls.facet_samples",
    "series": "urls.max_same_in_series",
    "hosts_per_domain": "urls.hosts_per_domain",
    "max_sitemaps": "discovery.max_sitemaps",
    "max_sitemap_urls": "discovery.max_sitemap_urls",
    "max_sitemap_bytes": "discovery.max_sitemap_bytes",
    "max_feeds": "discovery.max_feeds",
    "guesses": "discovery.min_guesses",
    "pages_guessed": "discovery.max_guessed_pages",
    "links_read": "50,000 links and 56 MB of elements of a page",
    "sitemap_read": "100,000 URLs of a sitemap",
}
"""By the name under which a refusal is counted. The last two are no settings: they limit the cost of reading a
document."""


ROBOTS_CLOSED_SUFFIX = ":closed"
"""Suffix of a limit's name for cut-off links that robots.txt refuses as well. They are stored like the others, but no
limit is reported for them."""
LINKS_NOT_KEPT = "links_not_kept"
"""Links refused by the rules, of a page whose links are not stored (`extract.link_graph`). Not a limit, but stored like
one: under other rules the page is fetched again."""
GUESS_LIMITS = frozenset({"guesses", "pages_guessed"})
"""Limits of guesses: guesses held back are pending in the host's record, and are no links of the page."""


def limit_refusals(refusals: Mapping[str, int]) -> dict[str, int]:
    """The refusals that are stored with the page."""
    names = LIMIT_SETTINGS.keys() | {LINKS_NOT_KEPT}
    return {name: count for name, count in refusals.items() if name in names and count}


def count_rule_refusals(refusals: Mapping[str, int]) -> int:
    """Number of refusals made by rules, not limits."""
    return sum(count for name, count in refusals.items() if name not in LIMIT_SETTINGS and name != LINKS_NOT_KEPT)


def limit_names(cut: Iterable[str]) -> set[str]:
    """The limits among the cut-off entries of a document, whether robots.txt refuses them or not."""
    return {name.removesuffix(ROBOTS_CLOSED_SUFFIX) for name in cut}


def limit_setting(name: str) -> str:
    """The setting that decides a refusal, such as `crawl.max_depth`; empty for a rule."""
    return LIMIT_SETTINGS.get(name, "")
