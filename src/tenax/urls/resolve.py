"""The base of a document's links, and how many of them are resolved.

A base is written once and multiplied by every link: 2,000 characters times 50,000 links are 100 MB from a page of 1 MB.
So a base longer than any URL that is followed is ignored, and relative links are resolved up to a total of
`MAX_RESOLVED_CHARS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tenax.config import UrlsConfig
from tenax.urls.normalize import NormalizeOptions, normalize, split_base

MAX_RESOLVED_CHARS = 4_000_000
"""Total length of the resolved relative links of one document: 80 for each of 50,000, the most that are read of a page.
"""
_ABSOLUTE_PREFIXES = ("http://", "https://")
_PLAIN_OPTIONS = NormalizeOptions()


def resolve_base(base_href: str | None, document_url: str, max_chars: int = UrlsConfig().max_length) -> str:
    """The base of relative links: the `<base href>`, or the document if there is none or it is too long.

    Not normalized: that could remove a slash that matters here.
    """
    if base_href is None:
        return document_url
    base = normalize(base_href, document_url, _PLAIN_OPTIONS)
    return base.url if base is not None and len(base.url) <= max_chars else document_url


def make_link_resolver(base: str) -> Callable[[str], str]:
    """A function that makes the links of one document absolute, otherwise unchanged.

    A link that is no web URL is returned unchanged, as are links beyond the limit.
    """
    remaining_chars, base_chars = MAX_RESOLVED_CHARS, len(base)

    def resolve(href: str) -> str:
        nonlocal remaining_chars
        if remaining_chars < 0:
            return href
        # Its full length, however short the result: that much is parsed.
        remaining_chars -= base_chars + len(href)
        found = normalize(href, base, _PLAIN_OPTIONS)
        return href if found is None else found.url

    return resolve


def count_resolvable(hrefs: Iterable[str], base: str) -> int:
    """How many of the links, from the first, can be resolved within the limit of a document."""
    _, directory = split_base(base) or ("", "")
    remaining_chars, count = MAX_RESOLVED_CHARS, 0
    for href in hrefs:
        remaining_chars -= 0 if href.startswith(_ABSOLUTE_PREFIXES) else len(directory) + len(href)
        if remaining_chars < 0:
            break
        count += 1
    return count
