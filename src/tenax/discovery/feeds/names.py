"""Maps the elements of every feed format to one set of kinds.

A prefix means the namespace that it is bound to. A prefix bound to an unknown namespace, or not declared, as in many
feeds, is used as written.
"""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Final


class ElementKind(IntEnum):
    """The kind of an element, independent of its name in a format."""

    OTHER = auto()
    RSS = auto()
    RDF = auto()
    ATOM = auto()
    CHANNEL = auto()
    ENTRY = auto()
    ASIDE = auto()
    """Has its own titles and links, which are not those of the enclosing feed or entry."""
    CONTENT = auto()
    """Markup of an entry: elements in it are not feed elements."""
    TITLE = auto()
    MEDIA_TITLE = auto()
    """Title of a picture or video: used for an entry without another title."""
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
"""Namespaces in lower case, because their spelling varies, and their prefix in `KINDS`."""

FORMATS: Final = {
    "http://my.netscape.com/rdf/simple/0.9/": "rss 0.90",
    "http://purl.org/rss/1.0/": "rss 1.0",
    "http://www.w3.org/2005/atom": "atom 1.0",
}
"""Formats declared by a namespace alone."""


def known_prefix(namespace: str, written: str) -> str:
    """The prefix of a namespace in `KINDS`, or the written one."""
    lowered = namespace.lower()
    if "backend.userland.com/rss" in lowered:  # each version has its own namespace
        return _NO_PREFIX
    return NAMESPACES.get(lowered, written)


def find_element_kind(name: str, prefixes: dict[str, str]) -> ElementKind:
    """The kind of `prefix:Name` with these prefix bindings."""
    prefix, _, local = name.lower().rpartition(":")
    prefix = prefixes.get(prefix, prefix)
    return KINDS.get(f"{prefix}:{local}" if prefix else local, ElementKind.OTHER)
