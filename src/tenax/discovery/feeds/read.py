"""Reads feeds of every format: RSS 0.9 to 2.0, RDF, Atom 0.3 and 1.0, CDF, JSON Feed.

Well-formed XML is parsed by expat. Other input is repaired and parsed again, and if that fails, parsed by a tolerant
parser. Entities are never expanded, and no feed raises an exception.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from tenax.discovery.feeds.builder import FeedBuilder
from tenax.discovery.feeds.charset import decode_feed
from tenax.discovery.feeds.json_feed import VERSION, read_json
from tenax.discovery.feeds.repair import remove_doctype, repair_xml
from tenax.discovery.feeds.values import MAX_BODY_BYTES, Feed, FeedEntry
from tenax.discovery.feeds.xml import ParseFault, parse_strictly, parse_tolerantly

__all__ = ["Feed", "FeedEntry", "looks_like_feed", "read_feed"]

_FEED_TYPES = re.compile(r"(?:rss|atom|rdf|cdf)\+xml|application/(?:rss|atom|x-cdf|rdf)\b|feed\+json", re.IGNORECASE)
_ROOT = re.compile(rb"<(?:[\w-]{1,20}:)?(\w[\w-]*)[\s>/]")
_ROOTS: Final = frozenset({b"rss", b"feed", b"rdf", b"channel"})
_NON_FEED_ROOTS: Final = frozenset({b"html", b"head", b"body", b"urlset", b"sitemapindex"})
_FIRST_BYTES: Final = 4096
_NON_WEB_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_NON_ELEMENT_MARKUP = re.compile(rb"<!--.*?(?:-->|\Z)|<[?!][^>]*>?", re.DOTALL)


def looks_like_feed(body: bytes, content_type: str | None) -> bool:
    """Judged by the root element, or by a feed-only media type if the beginning is inconclusive."""
    top = body[:_FIRST_BYTES].replace(b"\0", b"")
    if top.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return VERSION.encode() in top or VERSION.replace("/", "\\/").encode() in top
    found = _ROOT.search(_NON_ELEMENT_MARKUP.sub(b"", top))
    root = found[1].lower() if found is not None else b""
    return root in _ROOTS or (root not in _NON_FEED_ROOTS and _FEED_TYPES.search(content_type or "") is not None)


def read_feed(body: bytes, content_type: str | None, url: str, now: float) -> Feed:
    """The feed in these bytes, with links resolved against its URL; errors are in `problems`."""
    problems = []
    if len(body) > MAX_BODY_BYTES:
        body = body[:MAX_BODY_BYTES]
        problems.append(f"larger than {MAX_BODY_BYTES} bytes: the rest was not read")
    text, charset = decode_feed(body, content_type)
    if charset:
        problems.append(f"not in the encoding it declares: read as {charset}")
    if text.lstrip().startswith("{"):
        feed = read_json(text, url, now)
    else:
        text, has_entities = remove_doctype(text)
        if has_entities:
            problems.append("declares entities: they were left out")
        feed = _read_xml(text, url, now)
    entries = tuple(map(_keep_web_link, feed.entries))
    return msgspec.structs.replace(
        feed,
        link=_drop_non_web_link(feed.link),
        next_link=_drop_non_web_link(feed.next_link),
        hub=_drop_non_web_link(feed.hub),
        entries=entries,
        problems=(*problems, *feed.problems),
    )


def _keep_web_link(entry: FeedEntry) -> FeedEntry:
    link = _drop_non_web_link(entry.link)
    return entry if link == entry.link else msgspec.structs.replace(entry, link=link)


def _drop_non_web_link(link: str) -> str:
    """The link if it is http or https, else empty: a feed or its `xml:base` could link to local files of a reader."""
    return "" if _NON_WEB_SCHEME.match(link) else link


def _read_xml(text: str, url: str, now: float) -> Feed:
    """Each step costs more than the one before and handles what that one could not read."""
    builder = FeedBuilder(url, now)
    fault = parse_strictly(text, builder)
    problems = (f"not well-formed: {fault.reason}",) if fault else ()
    if not _is_complete(fault, builder):
        text = repair_xml(text)
        builder = FeedBuilder(url, now)
        if not _is_complete(parse_strictly(text, builder), builder):
            builder = FeedBuilder(url, now)
            parse_tolerantly(text, builder)
    feed = builder.build_feed()
    if not builder.is_feed:
        problems = ("not a feed",)
    return msgspec.structs.replace(feed, problems=(*problems, *feed.problems))


def _is_complete(fault: ParseFault | None, builder: FeedBuilder) -> bool:
    """Whether the whole feed was read: an error after its end, or only a missing end, does not matter."""
    return fault is None or builder.is_complete or (fault.is_at_end and builder.is_feed)
