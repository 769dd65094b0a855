"""Reads feeds of every format: decodes them, then reads RSS 0.9 to 2.0, RDF, Atom 0.3 and 1.0, CDF or JSON Feed.

Well-formed XML is parsed by expat. Other input is repaired and parsed again; if that fails, a tolerant parser parses
it. Entities are never expanded, and no feed raises an exception.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from tenax.discovery.feeds.builder import FeedBuilder
from tenax.discovery.feeds.elements import ElementScope
from tenax.discovery.feeds.values import (
    MAX_BODY_BYTES,
    MAX_ENTRIES,
    MAX_JSON_PARTS,
    MAX_JSON_QUOTES,
    Feed,
    FeedEntry,
    parse_date,
)
from tenax.discovery.feeds.xml import ParseFault, parse_strictly, parse_tolerantly, remove_doctype, repair_xml

_BOMS: Final = (
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
)
_XML_STARTS: Final = (
    (b"\x4c\x6f\xa7\x94", "cp037"),
    (b"\x00\x3c\x00\x3f", "utf-16-be"),
    (b"\x3c\x00\x3f\x00", "utf-16-le"),
    (b"\x00\x00\x00\x3c", "utf-32-be"),
    (b"\x3c\x00\x00\x00", "utf-32-le"),
)
"""`<?xm` in encodings that are not ASCII-compatible (XML 1.0, appendix F)."""
_DECLARED_ENCODING = re.compile(r"""\s*<\?xml[^>]{0,400}?\sencoding\s*=\s*["']([^"'>]{1,40})["']""")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([^"';,\s]{1,40})""", re.IGNORECASE)
_SUPERSET_CHARSETS: Final = {"gb2312": "gb18030", "gbk": "gb18030"}
_NO_CHARSETS: Final = frozenset({"idna", "punycode", "raw_unicode_escape", "unicode_escape", "undefined", "utf-7"})
"""Python encodings that no feed uses; some take quadratic time."""
_FALLBACK_CHARSETS: Final = ("utf-8", "windows-1252", "iso-8859-2")
"""Strict encodings first. The last one accepts any bytes."""
_MAX_DECLARATION_BYTES: Final = 1024


def decode_feed(body: bytes, content_type: str | None) -> tuple[str, str]:
    """The text; and the encoding that was used, if it is not the declared one."""
    mark, length = _detect_bom(body)
    payload = body[length:] if length else body
    header = _CHARSET.search(content_type or "")
    top = payload[:_MAX_DECLARATION_BYTES].decode(mark or "latin-1", "replace")
    declared = _DECLARED_ENCODING.match(top)
    wanted = mark or _codec_name(header[1] if header else "") or _codec_name(declared[1] if declared else "") or "utf-8"
    for charset in (wanted, _codec_name(declared[1]) if declared else "", *_FALLBACK_CHARSETS):
        if charset:
            try:
                return payload.decode(charset), "" if charset == wanted else charset
            except UnicodeError:
                continue
    raise AssertionError("ISO 8859-2 accepts any bytes")


def _detect_bom(body: bytes) -> tuple[str, int]:
    """The encoding that the first bytes show, and the length of the byte order mark."""
    for mark, charset in _BOMS:
        if body.startswith(mark):
            return charset, len(mark)
    return next((charset for beginning, charset in _XML_STARTS if body.startswith(beginning)), ""), 0


def _codec_name(written: str) -> str:
    """The Python name of the encoding; empty if unknown."""
    try:
        name = codecs.lookup(_SUPERSET_CHARSETS.get(written.lower(), written)).name if written else ""
    except (LookupError, ValueError):
        return ""
    return "" if name in _NO_CHARSETS else name


VERSION: Final = "jsonfeed.org/version/"


def read_json(text: str, url: str, now: float) -> Feed:
    """Read a JSON Feed. Values of the wrong type are ignored."""
    if text.count("{") + text.count("[") > MAX_JSON_PARTS:
        return Feed(problems=(f"JSON of more than {MAX_JSON_PARTS:,} lists and objects: it was not read",))
    if text.count('"') > MAX_JSON_QUOTES:
        return Feed(problems=(f"JSON of more than {MAX_JSON_QUOTES // 2:,} texts: it was not read",))
    try:
        root = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        return Feed(problems=(f"not JSON: {error}",))
    version = _text_value(root, "version") if isinstance(root, dict) else ""
    items = root.get("items") if isinstance(root, dict) else None
    if VERSION not in version or not isinstance(items, list):
        return Feed(problems=("JSON, but not a JSON Feed",))
    scope = ElementScope(url)
    entries = tuple(_parse_entry(item, scope, now) for item in items[:MAX_ENTRIES] if isinstance(item, dict))
    hubs = root.get("hubs")
    return Feed(
        format=f"json feed {version.partition(VERSION)[2][:8]}",
        title=_line_value(root, "title"),
        link=_resolve_link(_text_value(root, "home_page_url"), scope),
        language=_text_value(root, "language"),
        entries=entries,
        next_link=_resolve_link(_text_value(root, "next_url"), scope),
        hub=next((_text_value(hub, "url") for hub in hubs if isinstance(hub, dict)), "")
        if isinstance(hubs, list)
        else "",
        problems=(f"more than {MAX_ENTRIES} entries: the rest was not read",) if len(items) > MAX_ENTRIES else (),
    )


def _parse_entry(item: Mapping[str, object], scope: ElementScope, now: float) -> FeedEntry:
    identity = item.get("id")
    link = _text_value(item, "url") or _text_value(item, "external_url")
    return FeedEntry(
        link=_resolve_link(link, scope),
        id=str(identity) if isinstance(identity, (str, int, float)) else "",
        title=_line_value(item, "title"),
        published=parse_date(_text_value(item, "date_published"), now),
        updated=parse_date(_text_value(item, "date_modified"), now),
    )


def _text_value(holder: Mapping[str, object], name: str) -> str:
    value = holder.get(name)
    return value.strip() if isinstance(value, str) else ""


def _line_value(holder: Mapping[str, object], name: str) -> str:
    return " ".join(_text_value(holder, name).split())


def _resolve_link(link: str, scope: ElementScope) -> str:
    return scope.resolve(link) if link else ""


_FEED_TYPES = re.compile(r"(?:rss|atom|rdf|cdf)\+xml|application/(?:rss|atom|x-cdf|rdf)\b|feed\+json", re.IGNORECASE)
_ROOT = re.compile(rb"<(?:[\w-]{1,20}:)?(\w[\w-]*)[\s>/]")
_ROOTS: Final = frozenset({b"rss", b"feed", b"rdf", b"channel"})
_NON_FEED_ROOTS: Final = frozenset({b"html", b"head", b"body", b"urlset", b"sitemapindex"})
_FIRST_BYTES: Final = 4096
_NON_WEB_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_NON_ELEMENT_MARKUP = re.compile(rb"<!--.*?(?:-->|\Z)|<[?!][^>]*>?", re.DOTALL)


def looks_like_feed(body: bytes, content_type: str | None) -> bool:
    """Whether the root element is that of a feed. If the beginning does not show it, whether the media type is only
    used for feeds."""
    top = body[:_FIRST_BYTES].replace(b"\0", b"")
    if top.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return VERSION.encode() in top or VERSION.replace("/", "\\/").encode() in top
    found = _ROOT.search(_NON_ELEMENT_MARKUP.sub(b"", top))
    root = found[1].lower() if found is not None else b""
    return root in _ROOTS or (root not in _NON_FEED_ROOTS and _FEED_TYPES.search(content_type or "") is not None)


def read_feed(body: bytes, content_type: str | None, url: str, now: float) -> Feed:
    """The feed in these bytes, with links resolved against its URL. Errors are in `problems`."""
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
    """The link if it is http or https, else empty: a feed or its `xml:base` could link to local files of the person who
    reads it."""
    return "" if _NON_WEB_SCHEME.match(link) else link


def _read_xml(text: str, url: str, now: float) -> Feed:
    """Parse in up to three ways. Each costs more than the one before, and reads what that one could not."""
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
    """Whether the whole feed was read. An error after its end, or only a missing end tag, does not matter."""
    return fault is None or builder.is_complete or (fault.is_at_end and builder.is_feed)


__all__ = ["Feed", "FeedEntry", "looks_like_feed", "read_feed"]
