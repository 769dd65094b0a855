"""The limits that can keep a URL out which the rules allow, and the setting of each.

A rule (scope, include, exclude, traps, robots.txt, nofollow) says what a crawl is about. A limit says how much of it is
taken. What a limit cuts off is kept in the database: the page, the limit, how many. So a run with a higher limit can
take it up, and a crawl that was cut off does not call itself complete.
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
"""By the name under which a refusal is counted. The last two are no settings: they bound what reading a document may
cost."""


ROBOTS_CLOSED_SUFFIX = ":closed"
"""After the name of a limit: links that it cut off, and that robots.txt refuses as well. Those are kept as the others
are, but no limit is said to keep them out."""
LINKS_NOT_KEPT = "links_not_kept"
"""Links that the rules refuse, of a page whose links are not kept (`extract.link_graph`). No limit, but kept like one:
under other rules the page is fetched again."""
GUESS_LIMITS = frozenset({"guesses", "pages_guessed"})
"""Limits of guesses: what they keep back is owed in the host's record, and no link of the page."""


def limit_refusals(refusals: Mapping[str, int]) -> dict[str, int]:
    """Of some refusals, those that are kept with the page."""
    names = LIMIT_SETTINGS.keys() | {LINKS_NOT_KEPT}
    return {name: count for name, count in refusals.items() if name in names and count}


def count_rule_refusals(refusals: Mapping[str, int]) -> int:
    """How many refusals no limit made."""
    return sum(count for name, count in refusals.items() if name not in LIMIT_SETTINGS and name != LINKS_NOT_KEPT)


def limit_names(cut: Iterable[str]) -> set[str]:
    """The limits among what was cut off of a document, whether robots.txt refuses it or not."""
    return {name.removesuffix(ROBOTS_CLOSED_SUFFIX) for name in cut}


def limit_setting(name: str) -> str:
    """The setting that decides a refusal, such as `crawl.max_depth`; empty for a rule."""
    return LIMIT_SETTINGS.get(name, "")
