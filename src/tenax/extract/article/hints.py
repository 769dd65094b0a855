"""What the head of a page and its URL tell about its body."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from tenax.extract.html.head import Head
from tenax.extract.text.visible import collapse_spaces
from tenax.model import Value

_MAX_SCRIPT_CHARS: Final = 200_000
_MAX_TITLE_CHARS: Final = 2_000
"""Longer text is no title, and each block is compared with it."""
_YEAR_IN_PATH = re.compile(r"/(?:19|20)\d\d/")
_JSON_LD_TYPES = re.compile(r'"@type"\s*:\s*"(\w{1,60})"')


class PageHints(Value, frozen=True):
    title: str = ""
    og_type: str = ""
    ld_types: str = ""
    """The types of JSON-LD nodes, joined by spaces."""
    host: str = ""
    path: str = "/"
    query: str = ""


def read_page_hints(head: Head, url: str | None) -> PageHints:
    host, path, query = _split_url(url or "")
    return PageHints(
        title=collapse_spaces((head.meta("og:title") or head.title)[:_MAX_TITLE_CHARS]),
        og_type=head.meta("og:type").lower(),
        ld_types=" ".join(_JSON_LD_TYPES.findall(" ".join(head.scripts)[:_MAX_SCRIPT_CHARS])) if head.scripts else "",
        host=host,
        path=path or "/",
        query=query,
    )


def _split_url(url: str) -> tuple[str, str, str]:
    """Host, path and query as `urlsplit` returns them, in a fifth of the time for ordinary URLs."""
    is_plain = url.isascii() and url.isprintable() and url.startswith(("http://", "https://"))
    if not is_plain or "[" in url or "]" in url:
        address = urlsplit(url)
        return address.netloc, address.path, address.query
    before, _, query = url.partition("#")[0].partition("?")
    host, slash, path = before.partition("://")[2].partition("/")
    return host, slash + path, query


def page_hint_values(hints: PageHints) -> tuple[float, ...]:
    """The hints as numbers: "og article" to "has query" of `layout.PAGE_FEATURES`."""
    og_type, types, path = hints.og_type, hints.ld_types, hints.path
    slug = path.rstrip("/").rpartition("/")[2]
    return (
        int("article" in og_type), int("product" in og_type), int("Article" in types or "BlogPosting" in types),
        int("Product" in types), int("ItemList" in types or "CollectionPage" in types),
        int("DiscussionForum" in types or "QAPage" in types), int("FAQ" in types), path.count("/"), len(slug),
        slug.count("-"), int(_YEAR_IN_PATH.search(path) is not None), int(path in ("", "/")), int(bool(hints.query)),
    )  # fmt: skip
