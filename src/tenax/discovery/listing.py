"""What the links of a list page say about its further pages and about archives."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tenax.discovery.archives import earliest_linked_periods
from tenax.discovery.paged_urls import (
    Numbering,
    find_numbering_among,
    link_fingerprint,
    page_url_prefix,
    parse_paged_url,
    to_relative_url,
)
from tenax.model import Value

MAX_DATE_PATTERNS = 4
_ANY_DIGIT = re.compile(r"\d")


class Listing(Value, frozen=True):
    """What a list says about its other pages and about archives, small enough to send between processes."""

    numbering: Numbering | None = None
    earliest_periods: dict[str, int] = {}
    """Date patterns among its links, with the earliest period of each."""
    link_fingerprint: bytes = b""
    links: int = 0
    """Number of links to its own host, except those to other pages of the list."""


def build_listing(url: str, links: Iterable[str], rel_next: str | None) -> Listing:
    """`links` are all links of the page, known ones included: without those the numbering would be incomplete."""
    origin = url[: len(url) - len(to_relative_url(url)) + 1]
    own = dict.fromkeys(link for link in links if link.startswith(origin))
    numbered = [link for link in own if _ANY_DIGIT.search(link, len(origin))]
    prefix = page_url_prefix(url)
    pages = {link: parse_paged_url(link) for link in numbered if link.startswith(prefix)}
    following = parse_paged_url(rel_next) if rel_next is not None and rel_next.startswith(origin) else None
    dates = dict(sorted(earliest_linked_periods(numbered).items())[:MAX_DATE_PATTERNS])
    others = [link for link in own if (page := pages.get(link)) is None or not page.is_sure]
    return Listing(find_numbering_among(url, pages.values(), following), dates, link_fingerprint(others), len(others))
