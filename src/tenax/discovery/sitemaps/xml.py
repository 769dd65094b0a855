"""XML sitemaps and feeds, parsed incrementally by expat. No entity is declared, expanded or fetched.

Prefixes and namespaces are ignored, because many sites write them incorrectly; the position of an element decides.
Nesting, the number and length of tag names, and texts are limited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final
from xml.parsers import expat

from tenax.discovery.sitemaps.entries import (
    Bytes,
    ReadStopped,
    SitemapEntry,
    SitemapForm,
    SitemapLimits,
    clean_url,
    is_web_url,
    parse_changefreq,
    parse_feed_time,
    parse_priority,
    parse_time,
)

FORMS: Final[dict[str, SitemapForm]] = {
    "urlset": "urlset",
    "sitemapindex": "index",
    "rss": "feed",
    "RDF": "feed",
    "feed": "feed",
}
"""The form of a document, by its root element."""
_ITEMS: dict[str, SitemapForm] = {"url": "urlset", "sitemap": "index", "item": "feed", "entry": "feed"}
_FIELDS: dict[SitemapForm, frozenset[str]] = {
    "urlset": frozenset({"loc", "lastmod", "changefreq", "priority"}),
    "index": frozenset({"loc", "lastmod"}),
    "feed": frozenset({"link", "guid", "title", "pubDate", "date", "updated", "published", "modified", "issued"}),
}
_NEWS_FIELDS = frozenset({"title", "publication_date"})
_ATTRIBUTE_FIELDS = frozenset({"link", "guid"})
_FEED_DATES = ("updated", "modified", "pubDate", "date", "published", "issued")
_NO_DEPTH = 1_000_000
"""A depth that no element has. It means that no item is open."""
_MAX_DEPTH = 32
_MAX_NAMES = 10_000
"""Maximum number of distinct names of tags and attributes, because expat keeps each of them."""
_MAX_BUFFERED_BYTES = 1024 * 1024
"""How much expat buffers until a tag is complete. It scans the whole buffer again with each piece."""
_MAX_TEXT_PIECES = 16
_MAX_LEFT_OUT = 500_000
_REPAIRABLE_ERRORS = frozenset(
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_INVALID_TOKEN,
        expat.errors.XML_ERROR_UNDEFINED_ENTITY,
        expat.errors.XML_ERROR_BAD_CHAR_REF,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
    )
)
_MAX_TITLE_CHARS = 1_000


class NotASitemap(Exception):
    """The root element is of another kind, which the message names."""


class NotWellFormed(ReadStopped):
    """The document is not well-formed."""

    def __init__(self, error: expat.ExpatError) -> None:
        super().__init__(f"broken at line {error.lineno}: {expat.ErrorString(error.code)}")
        self.is_repairable = error.code in _REPAIRABLE_ERRORS
        """Whether an invalid character was the cause. A missing tag cannot be repaired."""


class XmlEntries:
    """Iterates over the entries. Its attributes describe what was read so far.

    Iterating may raise `ReadStopped`, a subclass of `ReadStopped`, or `NotASitemap`. Entries before that are valid.
    """

    def __init__(self, pieces: Iterable[Bytes], limits: SitemapLimits) -> None:
        self.form: SitemapForm = "none"
        self.left_out = 0
        self.over_limit = 0
        """How many entries were left out because they are beyond the maximum."""
        self.relative_urls = 0
        self._pieces = pieces
        self._limits = limits
        self._room = limits.max_urls
        self._has_entries = False
        self._found: list[SitemapEntry] = []
        self._depth = 0
        self._item_depth = _NO_DEPTH
        self._field_depth = _NO_DEPTH
        self._fields: dict[str, str] = {}
        """The fields of this form, by their names as written in the document, prefixes included."""
        self._is_news = False
        """Whether the child of the open item is a news article."""
        self._values: dict[str, str] = {}
        self._alternates: list[str] = []
        self._text: list[str] = []
        """The text since the last field began."""
        self._names: dict[str, str] = {}
        self._parser = self._new_parser()

    def _new_parser(self) -> expat.XMLParserType:
        # Whatever the declaration says, the input is UTF-8 here.
        parser = expat.ParserCreate("utf-8", None, self._names)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = _refuse_doctype
        parser.EntityDeclHandler = _refuse_entity
        return parser

    def __iter__(self) -> Iterator[SitemapEntry]:
        fed, cut = 0, None
        for piece in chain(self._pieces, [None]):
            try:
                self._feed(piece)
                fed += len(piece or b"")
                self._check_limits(fed)
            except (ReadStopped, NotASitemap) as error:
                cut = error
            yield from self._take_entries()
            if cut is not None:
                break
        # Break the reference cycle between the parser and our methods.
        self._parser.StartElementHandler = self._parser.EndElementHandler = self._parser.CharacterDataHandler = None
        if cut is not None:
            raise cut

    def _feed(self, piece: Bytes | None) -> None:
        """Parse a piece; None is the end of the input."""
        try:
            self._parser.Parse(piece or b"", piece is None)
        except expat.ExpatError as error:
            raise NotWellFormed(error) from None

    def _take_entries(self) -> list[SitemapEntry]:
        found, self._found = self._found, []
        return found

    def _check_limits(self, fed: int) -> None:
        if len(self._names) > _MAX_NAMES:
            raise ReadStopped(f"more than {_MAX_NAMES:,} kinds of tags: the rest was not read")
        if self.left_out > _MAX_LEFT_OUT:
            raise ReadStopped(f"more than {_MAX_LEFT_OUT:,} unusable entries: the rest was not read")
        if fed - self._parser.CurrentByteIndex > _MAX_BUFFERED_BYTES:
            raise ReadStopped(f"a tag of more than {_MAX_BUFFERED_BYTES:,} bytes: the rest was not read")
        del self._text[_MAX_TEXT_PIECES:]  # the text is already too long for any field

    # -- expat callbacks ----------------------------------------------------------------------------------------

    # Called twice per element, half a million times for a large sitemap. So common cases come first.

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth = depth = self._depth + 1
        if depth == self._field_depth:
            if name in self._fields:
                self._text.clear()
            if attributes or name not in self._fields:
                self._start_other(_local_name(name), name, attributes)
        elif depth > _MAX_DEPTH:
            raise ReadStopped(f"nested more than {_MAX_DEPTH} deep: the rest was not read")
        elif depth > self._field_depth:
            if self._is_news and _local_name(name) in _NEWS_FIELDS:
                self._text.clear()
        elif depth == 1:
            self.form = _root_form(_local_name(name))
        elif (item := _local_name(name)) in _ITEMS:
            self._start_item(item, depth)

    def _end(self, name: str) -> None:
        depth = self._depth
        self._depth = depth - 1
        if depth == self._field_depth:
            field = self._fields.get(name)
            if field is None:
                self._is_news = False
            elif field not in self._values:
                self._values[field] = "".join(self._text)
        elif depth == self._item_depth:
            self._end_item()
        elif self._is_news and depth == self._field_depth + 1 and _local_name(name) in _NEWS_FIELDS:
            self._values.setdefault(_local_name(name), "".join(self._text))

    def _start_other(self, name: str, written: str, attributes: dict[str, str]) -> None:
        """Handle a field with a prefix or attributes, or an element that is not a field."""
        if written not in self._fields and name in _FIELDS[self.form]:
            self._fields[written] = name
            self._text.clear()
        self._is_news = name == "news"
        if name in _ATTRIBUTE_FIELDS:
            self._read_attributes(name, attributes)

    def _start_item(self, name: str, depth: int) -> None:
        kind = _ITEMS[name]
        if kind != self.form:
            if "feed" in (self.form, kind):
                return
            # An index may have the root of the other form. Its first entry shows this.
            if self._has_entries:
                self.left_out += 1
                return
            self.form = kind
        if not self._has_entries:
            self._has_entries = True
            self._fields = {field: field for field in _FIELDS[kind]}
            self._parser.CharacterDataHandler = self._text.append
        if self._room <= 0:
            self.left_out += 1
            self.over_limit += 1
            return
        self._item_depth, self._field_depth = depth, depth + 1

    def _read_attributes(self, name: str, attributes: dict[str, str]) -> None:
        """Take data from attributes: hreflang in a sitemap; in a feed the link of the entry, or that its id is not a
        permalink."""
        if name == "guid":
            if attributes.get("isPermaLink", "").strip().lower() == "false":
                self._values.setdefault("guid", "")
            return
        href = clean_url(attributes.get("href", ""))
        if not href or attributes.get("rel", "alternate") != "alternate":
            return
        if self.form == "feed":
            self._values.setdefault("href", href)
        elif len(self._alternates) < self._limits.max_alternates and self._is_usable_url(href):
            self._alternates.append(href)

    def _end_item(self) -> None:
        entry = _feed_entry(self._values) if self.form == "feed" else _sitemap_entry(self._values, self._alternates)
        if entry is None or not self._is_usable_url(entry.url):
            self.left_out += 1
        else:
            self._room -= 1
            self._found.append(entry)
        self._item_depth = self._field_depth = _NO_DEPTH
        self._values.clear()
        self._alternates.clear()

    def _is_usable_url(self, url: str) -> bool:
        if len(url) > self._limits.max_url_chars or not is_web_url(url):
            return False
        if url[:8].lower().startswith(("http://", "https://")):
            return True
        self.relative_urls += 1
        return self.relative_urls <= self._limits.max_relative_urls


def _local_name(name: str) -> str:
    return name.rpartition(":")[2] if ":" in name else name


def _root_form(root: str) -> SitemapForm:
    form = FORMS.get(root)
    if form is None:
        what = "an HTML page" if root.lower() == "html" else f"XML of another kind (`{root[:40]}`)"
        raise NotASitemap(f"{what}, not a sitemap")
    return form


def _sitemap_entry(values: dict[str, str], alternates: list[str]) -> SitemapEntry | None:
    url = clean_url(values.get("loc", ""))
    if not url:
        return None
    lastmod, changefreq, priority = values.get("lastmod"), values.get("changefreq"), values.get("priority")
    published = values.get("publication_date")
    return SitemapEntry(
        url,
        parse_time(lastmod) if lastmod else None,
        parse_changefreq(changefreq) if changefreq else "",
        priority=parse_priority(priority) if priority else None,
        alternates=tuple(alternates),
        title=_entry_title(values),
        published=parse_time(published) if published else None,
    )


def _feed_entry(values: dict[str, str]) -> SitemapEntry | None:
    url = clean_url(values.get("link", "")) or values.get("href", "")
    guid = clean_url(values.get("guid", ""))
    if not url and guid.startswith(("http://", "https://")):
        url = guid
    if not url:
        return None
    times = (parse_feed_time(values[name]) for name in _FEED_DATES if name in values)
    return SitemapEntry(url, next((at for at in times if at is not None), None), title=_entry_title(values))


def _entry_title(values: dict[str, str]) -> str:
    return " ".join(values["title"].split())[:_MAX_TITLE_CHARS] if "title" in values else ""


def _refuse_doctype(name: str, system_id: str | None, public_id: str | None, has_internal_subset: bool) -> None:
    if name.lower() == "html":
        raise NotASitemap("an HTML page, not a sitemap")
    if has_internal_subset:
        raise ReadStopped("refused: its DOCTYPE has an internal subset, which may declare entities")
    if system_id or public_id:
        raise ReadStopped("refused: its DOCTYPE refers to another file")


def _refuse_entity(*_: object) -> None:
    raise ReadStopped("refused: it declares an entity")
