"""What the head of a page holds, taken in one pass: metas, title, canonical address, JSON-LD."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tenax.extract.html.dom import Dom, MetadataElement
from tenax.extract.html.links import LINK, is_followable, strip_href
from tenax.extract.html.node import Node, tag_number
from tenax.model import Value

OUR_ROBOT_NAMES: Final = frozenset(("robots", "tenax"))
_META, _SCRIPT, _TITLE = (tag_number(name) for name in ("meta", "script", "title"))
_MAX_SCRIPTS: Final = 30
_MAX_VALUES_PER_NAME: Final = 20
"""How often a name is listened to: many authors have a meta each."""


_MAX_FEEDS: Final = 20
_FEED_TYPES: Final = frozenset(
    ("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json", "text/rss+xml")
)
_MAX_SCRIPT_CHARS: Final = 1_000_000
_SCRIPT_DATE_WORDS: Final = ("ublish", "reated")
_SCRIPT_DATE = re.compile(r"[a-zA-Z_]{0,8}[\"']?\s?:\s?[\"'](\d[^\"']{7,30})")
"""What follows one of these words where it is the name of a date."""


Attributes = Mapping[str, str | None]


class Head(Value, frozen=True):
    """The elements of a page that tell what it is, as written."""

    meta_values: dict[str, list[str]]
    """What metas said, by `name`, `property`, `itemprop` or `http-equiv` in lower case; never an empty list."""
    robots: tuple[tuple[str, str], ...] = ()
    """Every rule for robots: name and content."""
    title: str = ""
    canonical: str | None = None
    image_href: str = ""
    scripts: tuple[str, ...] = ()
    """JSON-LD."""
    feeds: tuple[str, ...] = ()
    """Where it says that feeds are, as written."""
    next_href: str = ""
    """Where it says that it goes on."""

    def meta(self, name: str) -> str:
        return self.meta_values[name][0] if name in self.meta_values else ""


def read_head(dom: Dom) -> Head:
    named: dict[str, list[str]] = {}
    robots: list[tuple[str, str]] = []
    title: MetadataElement | None = None
    links: dict[str, str] = {}
    scripts: list[str] = []
    feeds: list[str] = []
    for told in dom.metadata_elements:
        tag = told.tag
        if tag == _META:
            _add_meta(told.attributes, named, robots)
        elif tag == LINK:
            _add_link(told.attributes, links, feeds)
        elif tag == _SCRIPT:
            if told.text and len(scripts) < _MAX_SCRIPTS:
                scripts.append(told.text)
        elif tag == _TITLE:
            title = title or told
    canonical = links.get("canonical", "")
    return Head(
        named,
        tuple(robots),
        _read_title(dom, title) if title is not None else "",
        canonical if is_followable(canonical) else None,
        links.get("image_src", ""),
        tuple(scripts),
        tuple(dict.fromkeys(feeds))[:_MAX_FEEDS],
        links.get("next", ""),
    )


def find_script_dates(dom: Dom) -> Iterator[str]:
    """Dates that scripts hold under a name that says when the page was published; costly, so asked last."""
    if dom.searcher is not None and not dom.searcher.may_have_script_dates():
        return
    scripts = "\n".join(map(_first_text, dom.select("script")))[:_MAX_SCRIPT_CHARS]
    for word in _SCRIPT_DATE_WORDS:
        # Scripts are long and the words rare: `find` is quicker than a search for a pattern.
        place = scripts.find(word)
        while place >= 0:
            place += len(word)
            if found := _SCRIPT_DATE.match(scripts, place):
                yield found[1]
                place = found.end()
            place = scripts.find(word, place)


def _add_meta(attributes: Attributes, meta_values: dict[str, list[str]], robots: list[tuple[str, str]]) -> None:
    content = attributes.get("content")
    if not content:
        return
    # Some give a meta a name and a property; either may be the one that is known.
    for key in ("name", "property", "itemprop", "http-equiv"):
        # A property may be several, `dc:title og:title`.
        for name in (attributes.get(key) or "").lower().split():
            if name in OUR_ROBOT_NAMES:
                robots.append((name, content))
                continue
            if name.startswith(("dc:", "dcterms:")):
                name = name.replace(":", ".", 1)
            if len(said := meta_values.setdefault(name, [])) < _MAX_VALUES_PER_NAME:
                said.append(content)


def _add_link(attributes: Attributes, links: dict[str, str], feeds: list[str]) -> None:
    rel = attributes.get("rel")
    if not rel or "href" not in attributes:
        return
    for relation in rel.lower().split():
        if relation in ("canonical", "image_src", "next"):
            links.setdefault(relation, strip_href(attributes["href"]))
        elif relation in ("alternate", "feed") and _is_feed(attributes.get("type")):
            feeds.append(strip_href(attributes["href"]))


def _is_feed(media_type: str | None) -> bool:
    declared = (media_type or "").partition(";")[0].strip().lower()
    return declared in _FEED_TYPES


def _read_title(dom: Dom, first: MetadataElement) -> str:
    if first.is_in_head:
        return first.text or ""
    # An SVG's <title> is the tooltip of a drawing.
    return next(
        (_first_text(node) for node, is_in_svg in dom.select_with_ancestor("title", "svg") if not is_in_svg), ""
    )


def _first_text(node: Node) -> str:
    child = node.first_child
    return child.text_content or "" if child is not None else ""
