"""Feed values, and the limits of reading a feed."""

from __future__ import annotations

from typing import Final

from tenax.model import Value

MAX_BODY_BYTES: Final = 10_000_000
MAX_ENTRIES: Final = 5_000
MAX_DEPTH: Final = 512
"""Nested elements. A feed needs six, XHTML in it a few dozen."""
MAX_ELEMENTS: Final = 500_000
MAX_ATTRIBUTES: Final = 500
"""Per element."""
MAX_TAG_BYTES: Final = 1024 * 1024
MAX_TEXT_CHARS: Final = 65_536
"""Of a title or a link; a longer title is cut, a longer link dropped."""
MAX_BASE_CHARS: Final = 2_048
"""Of a resolved `xml:base`; a longer one is ignored, because every link would be longer still."""
MAX_RESOLVED_CHARS: Final = 4_000_000
"""Total length of the resolved relative links of one feed."""
MAX_JSON_QUOTES: Final = 2_500_000
"""Quotes in JSON: each string takes far more memory than its two quotes. Feeds have one per ten characters or fewer."""
MAX_JSON_PARTS: Final = 200_000
"""Lists and objects in JSON: each takes many times its written size in memory."""
MAX_PREFIXES: Final = 200
"""Namespace prefixes bound at the same time."""


class FeedEntry(Value, frozen=True):
    """One item of a feed, as declared."""

    link: str = ""
    """Absolute if the feed has a URL; the id if it serves as the link. Empty if not http or https."""
    id: str = ""
    title: str = ""
    """Plain text without markup and character references, with single spaces."""
    published: float | None = None
    """Seconds since the epoch, as declared: it may be in the future."""
    updated: float | None = None


class Feed(Value, frozen=True):
    """The contents of a feed. One that could not be read has no format, no entries, and a problem."""

    format: str = ""
    """`rss 2.0`, `atom 1.0`, `json feed 1.1`; without a number if none is declared."""
    title: str = ""
    link: str = ""
    """The page that the feed belongs to."""
    language: str = ""
    published: float | None = None
    updated: float | None = None
    entries: tuple[FeedEntry, ...] = ()
    next_link: str = ""
    """Older entries of paged and archived feeds (RFC 5005)."""
    hub: str = ""
    """Hub that publishes new entries (WebSub)."""
    refresh_seconds: float | None = None
    """How often the feed asks to be read: `ttl` or `sy:updatePeriod`. A hint only."""
    problems: tuple[str, ...] = ()
    """What was repaired or left out."""
