"""The elements of every feed format, brought to one set of names.

A prefix means the namespace it is bound to; bound to none that is known here, it is taken at its word, because many
feeds forget to declare what they use.
"""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Final


class Kind(IntEnum):
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
    "rss": Kind.RSS,
    "rdf:rdf": Kind.RDF,
    "feed": Kind.ATOM,
    "channel": Kind.CHANNEL,
    **dict.fromkeys(("item", "entry"), Kind.ENTRY),
    **dict.fromkeys(("image", "textinput", "source"), Kind.ASIDE),
    **dict.fromkeys(
        (
            *("description", "summary", "content", "body", "fullitem", "abstract", "rights", "copyright", "info"),
            *("subtitle", "tagline", "content:encoded", "xhtml:body", "dc:description", "dc:rights"),
            *("media:description", "itunes:summary", "itunes:subtitle", "feedburner:browserfriendly"),
        ),
        Kind.CONTENT,
    ),
    **dict.fromkeys(("title", "dc:title"), Kind.TITLE),
    "media:title": Kind.MEDIA_TITLE,
    "link": Kind.LINK,
    **dict.fromkeys(("guid", "id"), Kind.ID),
    **dict.fromkeys(("published", "issued", "pubdate", "dcterms:issued"), Kind.PUBLISHED),
    **dict.fromkeys(("updated", "modified", "lastbuilddate", "dc:date", "dcterms:modified"), Kind.UPDATED),
    **dict.fromkeys(("language", "dc:language"), Kind.LANGUAGE),
    "ttl": Kind.TTL,
    "sy:updateperiod": Kind.PERIOD,
    "sy:updatefrequency": Kind.FREQUENCY,
}

_PLAIN: Final = ""
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
        _PLAIN,
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


def prefix_of(namespace: str, written: str) -> str:
    """The prefix that `KINDS` knows a namespace by, or the one that was written."""
    lowered = namespace.lower()
    if "backend.userland.com/rss" in lowered:  # a namespace for each of its versions
        return _PLAIN
    return NAMESPACES.get(lowered, written)


def kind_of(name: str, prefixes: dict[str, str]) -> Kind:
    """What `prefix:Name` is, where these prefixes are bound."""
    prefix, _, local = name.lower().rpartition(":")
    prefix = prefixes.get(prefix, prefix)
    return KINDS.get(f"{prefix}:{local}" if prefix else local, Kind.OTHER)
