"""Where the links of one document start, and how many of them are resolved.

A base is written once and multiplied by every link: 2,000 characters times 50,000 links are 100 MB, made of a page of
1 MB. So a base longer than any URL that is followed is ignored, and relative links are resolved until they would come
to `MAX_RESOLVED_CHARS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tenax.config import UrlsConfig
from tenax.urls.normalize import NormalizeOptions, normalize, split_base

MAX_RESOLVED_CHARS = 4_000_000
"""What the relative links of one document may come to: 80 for each of 50,000, the most that are read of a page."""
_ABSOLUTE_PREFIXES = ("http://", "https://")
_PLAIN_OPTIONS = NormalizeOptions()


def resolve_base(base_href: str | None, document_url: str, max_chars: int = UrlsConfig().max_length) -> str:
    """Where relative links start: at the `<base href>`, or at the document where that is none or too long.

    Spelled plainly: the crawl's own spelling may drop a slash that matters here.
    """
    if base_href is None:
        return document_url
    base = normalize(base_href, document_url, _PLAIN_OPTIONS)
    return base.url if base is not None and len(base.url) <= max_chars else document_url


def make_link_resolver(base: str) -> Callable[[str], str]:
    """What makes the links of one document absolute, spelled as it has them otherwise.

    One that leads nowhere on the web stays as it is, and so do those that there is no more room for.
    """
    room, base_chars = MAX_RESOLVED_CHARS, len(base)

    def resolve(href: str) -> str:
        nonlocal room
        if room < 0:
            return href
        # All of it, however short what comes of it is: that much is looked at.
        room -= base_chars + len(href)
        found = normalize(href, base, _PLAIN_OPTIONS)
        return href if found is None else found.url

    return resolve


def count_resolvable(hrefs: Iterable[str], base: str) -> int:
    """How many of the links, from the first, can be resolved before they come to more than a document may."""
    _, directory = split_base(base) or ("", "")
    room, count = MAX_RESOLVED_CHARS, 0
    for href in hrefs:
        room -= 0 if href.startswith(_ABSOLUTE_PREFIXES) else len(directory) + len(href)
        if room < 0:
            break
        count += 1
    return count
