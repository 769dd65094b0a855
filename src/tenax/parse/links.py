"""Where a page leads: its links in document order, each once, as written.

Resolving against the page's URL or its `<base href>` is the caller's part. What no crawl can follow is left out:
other schemes than http and https, places within the page itself, and addresses too long for any URL we keep.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from tenax.model import Value
from tenax.parse.html import Dom, tag_number

LinkKind = Literal["a", "area", "iframe", "canonical", "alternate"]

MAX_LINKS = 50_000
"""Links kept of one page at most; a bound for memory, far above any limit of a crawl."""
MAX_HREF_CHARS = 65_536

_A, _AREA, _IFRAME, LINK, _BASE = (tag_number(name) for name in ("a", "area", "iframe", "link", "base"))
_KINDS: dict[int, LinkKind] = {_A: "a", _AREA: "area", _IFRAME: "iframe"}
# What browsers strip from both ends of a URL: C0 controls and space.
_STRIPPED = "".join(map(chr, range(0x21)))
# Browsers also drop tabs and line breaks inside: `java\nscript:` is a scheme too.
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-\t\n\r]*):")
_UNBROKEN = str.maketrans("", "", "\t\n\r")
_FOLLOWED = frozenset(("http", "https"))
_PLAINLY_FOLLOWED = ("/", "https://", "http://")


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
    for node in dom.walk.leading:
        attributes = node.attributes
        if "rel" in attributes or node.tag_id != _A:
            _add_related(found, node.tag_id, attributes)
        elif href := attributes.get("href"):
            # The short way, which most links take: an address and nothing that changes its meaning.
            href = href.strip(_STRIPPED)
            if href in found:
                if found[href].is_nofollow:
                    found[href] = Link(href, found[href].kind)
            elif (href[:1] == "/" and len(href) <= MAX_HREF_CHARS) or is_followable(href):
                found[href] = Link(href)
        if len(found) >= MAX_LINKS:
            break
    return tuple(found.values())


def _add_related(found: dict[str, Link], tag: int, attributes: Mapping[str, str | None]) -> None:
    """Add any link, whatever it is to the page."""
    href = href_of(attributes.get("href" if tag != _IFRAME else "src"))
    if not is_followable(href):
        return
    rel = attributes.get("rel")
    kind: LinkKind | None = _KINDS.get(tag) or _kind_of_reference(rel, attributes.get("type"))
    if kind is None:
        return
    is_nofollow = rel is not None and "nofollow" in rel.lower().split()
    known = found.get(href)
    if known is None:
        found[href] = Link(href, kind, is_nofollow)
    elif known.is_nofollow and not is_nofollow:
        found[href] = Link(href, known.kind)


def read_base_href(dom: Dom) -> str | None:
    """The first `<base href>`, if there is one."""
    for node in dom.walk.telling:
        if node.tag_id == _BASE and "href" in (attributes := node.attributes):
            return href_of(attributes["href"]) or None
    return None


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
