"""Elements of feeds: one set of kinds for every format, and the base URL and prefix bindings of an element.

A prefix means the namespace that it is bound to. If a prefix is bound to an unknown namespace, or not declared, as in
many feeds, the prefix itself is used.
"""

from __future__ import annotations

import re
from enum import IntEnum, auto
from typing import Final
from urllib.parse import urljoin

from tenax.discovery.feeds.values import MAX_BASE_CHARS, MAX_PREFIXES, MAX_RESOLVED_CHARS, MAX_TEXT_CHARS


class ElementKind(IntEnum):
    """The kind of an element, whatever its name in a format."""

    OTHER = auto()
    RSS = auto()
    RDF = auto()
    ATOM = auto()
    CHANNEL = auto()
    ENTRY = auto()
    ASIDE = auto()
    """An element with its own titles and links, which are not those of the feed or entry around it."""
    CONTENT = auto()
    """Markup of an entry. Elements in it are not feed elements."""
    TITLE = auto()
    MEDIA_TITLE = auto()
    """The title of a picture or video. It is used for an entry without another title."""
    LINK = auto()
    ID = auto()
    PUBLISHED = auto()
    UPDATED = auto()
    LANGUAGE = auto()
    TTL = auto()
    PERIOD = auto()
    FREQUENCY = auto()


KINDS: Final = {
    "rss": ElementKind.RSS,
    "rdf:rdf": ElementKind.RDF,
    "feed": ElementKind.ATOM,
    "channel": ElementKind.CHANNEL,
    **dict.fromkeys(("item", "entry"), ElementKind.ENTRY),
    **dict.fromkeys(("image", "textinput", "source"), ElementKind.ASIDE),
    **dict.fromkeys(
        (
            *("description", "summary", "content", "body", "fullitem", "abstract", "rights", "copyright", "info"),
            *("subtitle", "tagline", "content:encoded", "xhtml:body", "dc:description", "dc:rights"),
            *("media:description", "itunes:summary", "itunes:subtitle", "feedburner:browserfriendly"),
        ),
        ElementKind.CONTENT,
    ),
    **dict.fromkeys(("title", "dc:title"), ElementKind.TITLE),
    "media:title": ElementKind.MEDIA_TITLE,
    "link": ElementKind.LINK,
    **dict.fromkeys(("guid", "id"), ElementKind.ID),
    **dict.fromkeys(("published", "issued", "pubdate", "dcterms:issued"), ElementKind.PUBLISHED),
    **dict.fromkeys(("updated", "modified", "lastbuilddate", "dc:date", "dcterms:modified"), ElementKind.UPDATED),
    **dict.fromkeys(("language", "dc:language"), ElementKind.LANGUAGE),
    "ttl": ElementKind.TTL,
    "sy:updateperiod": ElementKind.PERIOD,
    "sy:updatefrequency": ElementKind.FREQUENCY,
}

_NO_PREFIX: Final = ""
NAMESPACES: Final = {
    **dict.fromkeys(
        (
            "",
            "http://backend.userland.com/rss",
            "http://blogs.law.harvard.edu/tech/rss",
            "http://my.netscape.com/rdf/simple/0.9/",
            "http://purl.org/atom/ns#",
            "http://purl.org/echo/",
            "http://purl.org/pie/",
            "http://purl.org/rss/1.0/",
            "http://purl.org/rss/1.0/modules/rss091#",
            "http://www.w3.org/2005/atom",
        ),
        _NO_PREFIX,
    ),
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://www.w3.org/1999/xhtml": "xhtml",
    "http://purl.org/rss/1.0/modules/content/": "content",
    "http://purl.org/rss/1.0/modules/syndication/": "sy",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://search.yahoo.com/mrss": "media",
    "http://search.yahoo.com/mrss/": "media",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner",
}
"""Namespaces and their prefix in `KINDS`. They are in lower case, because their spelling varies."""

FORMATS: Final = {
    "http://my.netscape.com/rdf/simple/0.9/": "rss 0.90",
    "http://purl.org/rss/1.0/": "rss 1.0",
    "http://www.w3.org/2005/atom": "atom 1.0",
}
"""Formats that are declared only by a namespace."""


def known_prefix(namespace: str, written: str) -> str:
    """The prefix of a namespace in `KINDS`; if there is none, the prefix as written."""
    lowered = namespace.lower()
    if "backend.userland.com/rss" in lowered:  # each version has its own namespace
        return _NO_PREFIX
    return NAMESPACES.get(lowered, written)


def find_element_kind(name: str, prefixes: dict[str, str]) -> ElementKind:
    """The kind of `prefix:Name` with these prefix bindings."""
    prefix, _, local = name.lower().rpartition(":")
    prefix = prefixes.get(prefix, prefix)
    return KINDS.get(f"{prefix}:{local}" if prefix else local, ElementKind.OTHER)


_ABSOLUTE = re.compile(r"https?://[^/\s?#\[\]][^\s;\[\]]*[^\s?#;\[\]]")
"""Most links match this; resolving would not change them."""
_WEB_SCHEMES = ("http://", "https://")
_SLASHES = re.compile(r"(?<=[A-Za-z0-9+.-]://)/+")


class ElementScope:
    """The base URL and prefix bindings at a position. It is entered with every element that has attributes, and left
    with every element."""

    def __init__(self, url: str) -> None:
        self.format = ""
        """The first format declared by a namespace."""
        self.remaining_chars = MAX_RESOLVED_CHARS
        """Characters left for resolved relative links; below 0 if they exceed the limit."""
        self._base = url
        self._prefixes = {"atom": ""}  # RSS feeds often use this prefix without declaring it
        self._kinds: dict[str, ElementKind] = {}
        """Cache of element kinds for the current bindings."""
        self._outer: list[tuple[int, str, dict[str, str], dict[str, ElementKind]]] = []

    def enter(self, depth: int, attributes: dict[str, str]) -> dict[str, str]:
        """The attributes, with names in lower case. Applies `xml:base` and prefix bindings to the content of the
        element."""
        lowered = {name.lower(): value for name, value in attributes.items()}
        base = lowered.get("xml:base") or lowered.get("base")
        bound = [(name, value) for name, value in lowered.items() if name.startswith("xmlns")]
        if base or bound:
            self._outer.append((depth, self._base, self._prefixes, self._kinds))
        if base and 0 < len(within := self.resolve(base)) <= MAX_BASE_CHARS:
            # A feed on the web must not link to local files.
            self._base = (
                within if within.startswith(_WEB_SCHEMES) or not self._base.startswith(_WEB_SCHEMES) else self._base
            )
        if bound:
            self._bind(bound)
        return lowered

    def _bind(self, bound: list[tuple[str, str]]) -> None:
        self._prefixes, self._kinds = dict(self._prefixes), {}
        for name, namespace in bound:
            prefix = name.partition(":")[2]
            if len(self._prefixes) < MAX_PREFIXES:
                self._prefixes[prefix] = known_prefix(namespace, prefix)
            self.format = self.format or FORMATS.get(namespace.lower(), "")

    def leave(self, depth: int) -> None:
        if self._outer and self._outer[-1][0] == depth:
            _, self._base, self._prefixes, self._kinds = self._outer.pop()

    def element_kind(self, name: str) -> ElementKind:
        found = self._kinds.get(name)
        if found is None:
            found = self._kinds[name] = find_element_kind(name, self._prefixes)
        return found

    def resolve(self, href: str) -> str:
        """The absolute URL, if the URL of the feed itself is absolute; empty if it is too long or the limit is used up.

        `http:///host/` is a mistake that browsers also accept.
        """
        if len(href) > MAX_TEXT_CHARS:
            return ""
        if _ABSOLUTE.fullmatch(href):
            return href
        self.remaining_chars -= len(self._base) + len(href)
        if self.remaining_chars < 0:
            return ""
        try:
            return urljoin(self._base, _SLASHES.sub("", href, count=1) if ":///" in href else href)
        except ValueError:
            return ""
