"""The elements of every feed format, brought to one set of names.

A prefix means the namespace it is bound to; bound to none that is known here, it is taken at its word, because many
feeds forget to declare what they use.
"""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Final


class ElementKind(IntEnum):
    """What an element is to us, whatever its format calls it."""

    OTHER = auto()
    RSS = auto()
    RDF = auto()
    ATOM = auto()
    CHANNEL = auto()
    ENTRY = auto()
    ASIDE = auto()
    """Has titles and links of its own, which are not those of the feed or the entry around it."""
    CONTENT = auto()
    """Markup that belongs to an entry: what looks like elements of a feed in there is none."""
    TITLE = auto()
    MEDIA_TITLE = auto()
    """The title of a picture or a film: that of the entry where it has no other."""
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
"""Namespaces in lower case, as nobody agrees on their spelling, and the prefix they have in `KINDS`."""

FORMATS: Final = {
    "http://my.netscape.com/rdf/simple/0.9/": "rss 0.90",
    "http://purl.org/rss/1.0/": "rss 1.0",
    "http://www.w3.org/2005/atom": "atom 1.0",
}
"""Formats that a namespace alone declares."""


def known_prefix(namespace: str, written: str) -> str:
    """The prefix that `KINDS` knows a namespace by, or the one that was written."""
    lowered = namespace.lower()
    if "backend.userland.com/rss" in lowered:  # a namespace for each of its versions
        return _NO_PREFIX
    return NAMESPACES.get(lowered, written)


def find_element_kind(name: str, prefixes: dict[str, str]) -> ElementKind:
    """What `prefix:Name` is, where these prefixes are bound."""
    prefix, _, local = name.lower().rpartition(":")
    prefix = prefixes.get(prefix, prefix)
    return KINDS.get(f"{prefix}:{local}" if prefix else local, ElementKind.OTHER)
