"""What a page that lists others says of where its list goes on, and of archives."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tenax.discovery.archives import earliest_linked
from tenax.discovery.page_numbers import Numbering, numbering_among, paged, place_of, stem_of, trace_of
from tenax.model import Value

MOST_DATED = 4
_DIGIT = re.compile(r"\d")


class Listing(Value, frozen=True):
    """What a list says of its other pages and of archives, small enough to travel from where it was read."""

    numbering: Numbering | None = None
    dated: dict[str, int] = {}
    """Date patterns among its links, with their earliest period."""
    trace: bytes = b""
    links: int = 0
    """How many it has to its own host, those to other pages of its list left out."""


def listing_of(url: str, links: Iterable[str], rel_next: str | None) -> Listing:
    """`links` are all that the page has, known ones too: which are left out would hide where a list goes on."""
    origin = url[: len(url) - len(place_of(url)) + 1]
    own = dict.fromkeys(link for link in links if link.startswith(origin))
    numbered = [link for link in own if _DIGIT.search(link, len(origin))]
    stem = stem_of(url)
    pages = {link: paged(link) for link in numbered if link.startswith(stem)}
    following = paged(rel_next) if rel_next is not None and rel_next.startswith(origin) else None
    dates = dict(sorted(earliest_linked(numbered).items())[:MOST_DATED])
    others = [link for link in own if (page := pages.get(link)) is None or not page.is_sure]
    return Listing(numbering_among(url, pages.values(), following), dates, trace_of(others), len(others))
