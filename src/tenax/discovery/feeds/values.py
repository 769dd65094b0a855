"""A feed as it is read: frozen values, and the bounds of reading one."""

from __future__ import annotations

from typing import Final

from tenax.model import Value

MAX_BODY_BYTES: Final = 10_000_000
MAX_ENTRIES: Final = 5_000
MAX_DEPTH: Final = 512
"""Of nested elements. A feed needs six, and the XHTML in it a few dozen."""
MAX_ELEMENTS: Final = 500_000
MAX_ATTRIBUTES: Final = 500
"""Of one element."""
MAX_TAG_BYTES: Final = 1024 * 1024
MAX_TEXT_CHARS: Final = 65_536
"""Of a title or a link; of a longer title this much is read, and a longer link is none."""
MAX_BASE_CHARS: Final = 2_048
"""Of an `xml:base`, resolved; a longer one is ignored, as every link within would be longer still."""
MAX_RESOLVED_CHARS: Final = 4_000_000
"""What the relative links of one feed may come to."""
MAX_JSON_QUOTES: Final = 2_500_000
"""In JSON: each text takes far more memory than its two quotes. Feeds have one in ten characters or fewer."""
MAX_JSON_PARTS: Final = 200_000
"""Lists and objects in JSON: each takes many times the space that it is written in."""
MAX_PREFIXES: Final = 200
"""Of namespaces that are bound at once."""


class FeedEntry(Value, frozen=True):
    """One item of a feed, as its author declared it."""

    link: str = ""
    """Absolute when the feed has a URL; the id where that serves as the link. Empty where it is no http or https."""
    id: str = ""
    title: str = ""
    """Plain text: markup and character references are gone, spaces are single."""
    published: float | None = None
    """Seconds since the epoch, as declared: it may lie in the future."""
    updated: float | None = None


class Feed(Value, frozen=True):
    """What a feed says about its site. One that could not be read has no format, no entries, and a problem."""

    format: str = ""
    """`rss 2.0`, `atom 1.0`, `json feed 1.1`; a number is left out where none is declared."""
    title: str = ""
    link: str = ""
    """The page this is the feed of."""
    language: str = ""
    published: float | None = None
    updated: float | None = None
    entries: tuple[FeedEntry, ...] = ()
    next_link: str = ""
    """Where older entries are, for paged and archived feeds (RFC 5005)."""
    hub: str = ""
    """Who tells of new entries (WebSub)."""
    refresh_seconds: float | None = None
    """How often it asks to be read: `ttl`, or `sy:updatePeriod`. A hint only."""
    problems: tuple[str, ...] = ()
    """What had to be repaired, and what was left out."""
