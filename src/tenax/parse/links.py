"""Where a page leads: its links in document order, each once, as written.

Resolving against the page's URL or its `<base href>` is the caller's part. What no crawl can follow is left out:
other schemes than http and https, places within the page itself, and addresses too long for any URL we keep.
"""

from __future__ import annotations

import re
from typing import Literal

from tenax.model import Value
from tenax.parse.html import Dom, tag_number

LinkKind = Literal["a", "area", "iframe", "canonical", "alternate"]

MAX_LINKS = 50_000
"""Links kept of one page at most; a bound for memory, far above any limit of a crawl."""
MAX_HREF_CHARS = 65_536

_A, _AREA, _IFRAME, LINK, _BASE = (tag_number(name) for name in ("a", "area", "iframe", "link", "base"))
_KINDS: dict[int, LinkKind] = {_AREA: "area", _IFRAME: "iframe"}
_SOURCES = frozenset((_A, _AREA, _IFRAME, LINK))
# What browsers strip from both ends of a URL: C0 controls and space.
_STRIPPED = "".join(map(chr, range(0x21)))
# Browsers also drop tabs and line breaks inside: `java\nscript:` is a scheme too.
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-\t\n\r]*):")
_UNBROKEN = str.maketrans("", "", "\t\n\r")
_FOLLOWED = frozenset(("http", "https"))
_PLAINLY_FOLLOWED = ("https://", "http://", "/")
_PLAINLY_SHORT = 2048


class Link(Value, frozen=True):
    """One link of a page."""

    href: str
    """As written, without the white space around it; not resolved."""
    kind: LinkKind = "a"
    is_nofollow: bool = False
    """True when every occurrence on the page asks not to be followed."""


def read_links(dom: Dom) -> tuple[Link, ...]:
    """The links of the page. Of equal hrefs the first stays, followable if any of them is."""
    found: dict[str, Link] = {}
    for tag, node in dom.telling:
        if tag not in _SOURCES:
            continue
        attribute = node.attributes.get
        href = (attribute("href" if tag != _IFRAME else "src") or "").strip(_STRIPPED)
        # Most links are plainly good; the others are looked at more closely.
        if not (href.startswith(_PLAINLY_FOLLOWED) and len(href) < _PLAINLY_SHORT) and not is_followable(href):
            continue
        rel = attribute("rel")
        kind: LinkKind | None = "a" if tag == _A else _KINDS.get(tag) or _kind_of_reference(rel, attribute("type"))
        if kind is None:
            continue
        is_nofollow = rel is not None and "nofollow" in rel.lower().split()
        known = found.get(href)
        if known is None:
            found[href] = Link(href, kind, is_nofollow)
            if len(found) >= MAX_LINKS:
                break
        elif known.is_nofollow and not is_nofollow:
            found[href] = Link(href, known.kind)
    return tuple(found.values())


def read_base_href(dom: Dom) -> str | None:
    """The first `<base href>`, if there is one."""
    first = next((node for tag, node in dom.telling if tag == _BASE), None)
    return (href_of(first.attributes.get("href")) or None) if first is not None else None


def is_followable(href: str) -> bool:
    """Whether a stripped href may lead to another page: relative or http(s), and more than a place within this page."""
    if not href or href[0] == "#" or len(href) > MAX_HREF_CHARS:
        return False
    if ":" not in href or href.startswith(_PLAINLY_FOLLOWED):
        return True
    scheme = _SCHEME.match(href)
    return scheme is None or scheme[1].lower().translate(_UNBROKEN) in _FOLLOWED


def href_of(value: str | None) -> str:
    """An attribute's URL as browsers take it: without controls and spaces around it."""
    return value.strip(_STRIPPED) if value else ""


def _kind_of_reference(rel: str | None, media_type: str | None) -> LinkKind | None:
    """What a <link> is to us. An alternate in another form than HTML is a feed, an embed or a stylesheet."""
    relations = (rel or "").lower().split()
    if "canonical" in relations:
        return "canonical"
    if "alternate" in relations and "stylesheet" not in relations and "html" in (media_type or "html").lower():
        return "alternate"
    return None
