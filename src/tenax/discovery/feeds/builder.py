"""Builds a feed from its elements, independent of the XML parser.

The strict and the tolerant parser report starts, text and ends to a `FeedBuilder`. Every start has its end. The builder
knows the conventions of feeds: a link may be text or an attribute, an id may be a link, and the title of a channel's
picture is not the title of the channel.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tenax.discovery.feeds.elements import ElementKind, ElementScope
from tenax.discovery.feeds.values import (
    HIDDEN_TAGS,
    HTML,
    MAX_DEPTH,
    MAX_ELEMENTS,
    MAX_ENTRIES,
    MAX_RESOLVED_CHARS,
    MAX_TEXT_CHARS,
    TEXT,
    XHTML,
    Feed,
    FeedEntry,
    decode_base64,
    is_base64,
    parse_content_type,
    parse_date,
    to_one_line,
    to_plain_title,
)

_RSS_FORMATS: Final = {"0.91": "rss 0.91", "0.92": "rss 0.92", "0.93": "rss 0.93", "0.94": "rss 0.94"}
_PERIODS: Final = {"hourly": 3600, "daily": 86400, "weekly": 604800, "monthly": 2592000, "yearly": 31536000}
_MAX_REFRESH_SECONDS: Final = 31536000.0
_OLDER_RELATIONS: Final = ("next", "prev-archive")
_STRAY_REFERENCE = re.compile(r"&(\w+);")
_TEXT_KINDS: Final = frozenset({
    ElementKind.LINK, ElementKind.ID, ElementKind.PUBLISHED, ElementKind.UPDATED,
    ElementKind.LANGUAGE, ElementKind.TTL, ElementKind.PERIOD, ElementKind.FREQUENCY,
})  # fmt: skip


class LimitReached(Exception):
    """A limit was reached; the feed ends here."""


class _Draft:
    """A feed or an entry while it is being read."""

    def __init__(self) -> None:
        self.link: str | None = None
        self.id = ""
        self.title = ""
        self.title_depth = MAX_DEPTH
        """A title that is nested less deeply takes precedence."""
        self.dates: dict[ElementKind, float] = {}

    def to_entry(self) -> FeedEntry:
        return FeedEntry(
            self.link or "",
            self.id,
            self.title,
            self.dates.get(ElementKind.PUBLISHED),
            self.dates.get(ElementKind.UPDATED),
        )


class FeedBuilder:
    """Takes every element in order. `build_feed` returns the result."""

    def __init__(self, url: str, now: float) -> None:
        self._scope = ElementScope(url)
        self._now = now
        self._format = ""
        self._feed = _Draft()
        self._entries: list[FeedEntry] = []
        self._entry: _Draft | None = None
        self._language = ""
        self._metadata: dict[str, str] = {}
        self._problems: list[str] = []
        self._depth = 0
        """The depth of the element that started last."""
        self._elements = 0
        self._is_in_feed = False
        self._open: list[tuple[int, ElementKind, dict[str, str]]] = []
        self._pieces: list[str] | None = None
        """Collects the current text; None if it is not needed."""
        self._markup_depth = 0
        """The depth of an element whose content is markup; 0: not in one."""
        self._hidden_depth = 0
        """The depth of a script or similar element in it, which is not text; 0: not in one."""
        self._has_markup = False
        self._title_depth = 0
        """The depth of the last title, so that no deeper title replaces it; 0: none."""

    # ---- parser events ------------------------------------------------------------------------------------

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        if self._depth > MAX_DEPTH:
            self._stop_reading(f"nested more than {MAX_DEPTH} deep: the rest was not read")
        if self._elements > MAX_ELEMENTS:
            self._stop_reading(f"more than {MAX_ELEMENTS} elements: the rest was not read")
        if self._scope.remaining_chars < 0:
            self._stop_reading(f"links of more than {MAX_RESOLVED_CHARS:,} characters: the rest was not read")
        if self._markup_depth:
            self._begin_markup(name.lower())
            return
        if attributes:
            attributes = self._scope.enter(self._depth, attributes)
            self._format = self._format or self._scope.format
        kind = self._scope.element_kind(name)
        if kind is not ElementKind.OTHER:
            self._begin(kind, attributes)

    def text(self, data: str) -> None:
        if self._pieces is not None and not self._hidden_depth:
            self._pieces.append(data)

    def end(self) -> None:
        """End the element that started last and is still open."""
        depth = self._depth
        self._depth -= 1
        if self._markup_depth:
            if depth == self._hidden_depth:
                self._hidden_depth = 0
            if depth > self._markup_depth:
                return
            self._markup_depth = 0
        if self._open and self._open[-1][0] == depth:
            _, kind, attributes = self._open.pop()
            self._finish(kind, attributes, depth)
        self._scope.leave(depth)

    # ---- elements -----------------------------------------------------------------------------------------

    def _begin(self, kind: ElementKind, attributes: dict[str, str]) -> None:
        if kind in _TEXT_KINDS:
            if kind is ElementKind.LINK and self._take_link_attribute(attributes):
                return
            self._pieces = []
        elif kind is ElementKind.TITLE or kind is ElementKind.MEDIA_TITLE:
            self._pieces = []
            self._markup_depth = self._depth
            self._has_markup = False
        elif kind is ElementKind.CONTENT:
            self._markup_depth = self._depth
        elif kind is ElementKind.ASIDE:
            self._markup_depth = self._depth
            self._title_depth = 0
        elif kind is ElementKind.ENTRY:
            self._begin_entry(attributes)
        else:
            self._begin_feed(kind, attributes)
        self._open.append((self._depth, kind, attributes))

    def _begin_markup(self, tag: str) -> None:
        """Handle an element in a title or in content. A `div` around escaped text changes nothing."""
        if tag in HIDDEN_TAGS and not self._hidden_depth:
            self._hidden_depth = self._depth
        if tag.rpartition(":")[2] != "div":
            self._has_markup = True

    def _begin_feed(self, kind: ElementKind, attributes: dict[str, str]) -> None:
        version = attributes.get("version", "")
        if kind is ElementKind.RSS and not self._format.startswith("rss"):
            self._format = _RSS_FORMATS.get(version) or ("rss 2.0" if version.startswith("2.") else "rss")
        elif kind is ElementKind.RDF:
            self._format = self._format or "rss"
        elif kind is ElementKind.ATOM:
            known = version in ("0.1", "0.2", "0.3")
            self._format = self._format or (f"atom {version}" if known else "atom")
        elif kind is ElementKind.CHANNEL:
            self._format = self._format or "cdf"
            self._take_attributes(self._feed, attributes)
        if kind is ElementKind.ATOM or kind is ElementKind.CHANNEL:
            self._is_in_feed = True
        if kind is not ElementKind.CHANNEL and (language := attributes.get("xml:lang") or attributes.get("lang")):
            self._language = language

    def _begin_entry(self, attributes: dict[str, str]) -> None:
        if len(self._entries) >= MAX_ENTRIES:
            self._stop_reading(f"more than {MAX_ENTRIES} entries: the rest was not read")
        self._entry = _Draft()
        self._entry.id = attributes.get("rdf:about", "")
        self._title_depth = 0
        self._take_attributes(self._entry, attributes)

    def _take_attributes(self, draft: _Draft, attributes: dict[str, str]) -> None:
        """Take values from attributes: CDF uses them where other formats use elements."""
        if "lastmod" in attributes:
            self._take_date(draft, ElementKind.UPDATED, attributes["lastmod"], attributes)
        if "href" in attributes:
            draft.link = self._scope.resolve(attributes["href"])

    def _take_link_attribute(self, attributes: dict[str, str]) -> bool:
        """Take a link from an attribute. Returns False if the link is the text that follows."""
        href = attributes.get("url") or attributes.get("uri") or attributes.get("href")
        if href is None:
            return False
        href = self._scope.resolve(href)
        relation = attributes.get("rel", "alternate").lower()
        draft = self._current_draft()
        if relation == "alternate" and draft and parse_content_type(attributes.get("type", "text/html")) in HTML:
            draft.link = href
        elif draft is self._feed:
            self._metadata.setdefault(relation, href)
        return True

    def _finish(self, kind: ElementKind, attributes: dict[str, str], depth: int) -> None:
        value = "".join(self._pieces or ())[: MAX_TEXT_CHARS + 1]
        self._pieces = None
        draft = self._current_draft()
        if kind is ElementKind.TITLE or kind is ElementKind.MEDIA_TITLE:
            self._hidden_depth = 0
            self._finish_title(value, kind, attributes, depth)
        elif kind is ElementKind.ENTRY:
            self._end_entry()
        elif kind is ElementKind.ATOM or kind is ElementKind.CHANNEL:
            self._is_in_feed = False
        elif draft is not None and (take := _HANDLERS.get(kind)):
            take(self, draft, kind, value.strip(), attributes)

    def _end_entry(self) -> None:
        if self._entry is not None:
            self._entries.append(self._entry.to_entry())
            self._entry = None

    def _finish_title(self, value: str, kind: ElementKind, attributes: dict[str, str], depth: int) -> None:
        draft = self._current_draft()
        if draft is None or 0 < self._title_depth <= depth:
            return
        content_type = parse_content_type(attributes.get("type", TEXT))
        if is_base64(content_type, attributes.get("mode", "")):
            value = decode_base64(value)
        if self._has_markup or content_type == XHTML:  # in this case the text between its elements is not escaped
            title = to_one_line(value)
        else:
            title = to_plain_title(value, content_type, is_atom=self._format.startswith("atom"))
        if draft is self._feed or depth <= draft.title_depth:
            draft.title, draft.title_depth = title, depth
        if title and kind is ElementKind.TITLE:
            self._title_depth = depth

    def _take_link(self, draft: _Draft, _kind: ElementKind, value: str, attributes: dict[str, str]) -> None:
        if value:
            draft.link = _STRAY_REFERENCE.sub(r"&\1", self._scope.resolve(value).replace("&amp;", "&"))

    def _take_id(self, draft: _Draft, _kind: ElementKind, value: str, attributes: dict[str, str]) -> None:
        is_link = attributes.get("ispermalink", "true") == "true"
        draft.id = self._scope.resolve(value) if is_link else value
        if is_link and draft.link is None:
            draft.link = draft.id

    def _take_date(self, draft: _Draft, kind: ElementKind, value: str, _attributes: dict[str, str]) -> None:
        stamp = parse_date(value, self._now)
        if stamp is not None:
            draft.dates[kind] = stamp

    def _take_language(self, draft: _Draft, _kind: ElementKind, value: str, _attributes: dict[str, str]) -> None:
        if draft is self._feed:
            self._language = value

    def _take_metadata(self, draft: _Draft, kind: ElementKind, value: str, _attributes: dict[str, str]) -> None:
        if draft is self._feed:
            self._metadata.setdefault(kind.name, value)

    # ---- result -------------------------------------------------------------------------------------------

    def _current_draft(self) -> _Draft | None:
        """The entry or feed that is being read; None after an RDF channel."""
        return self._entry or (self._feed if self._is_in_feed else None)

    @property
    def is_feed(self) -> bool:
        """Whether a format was recognized, or there is an entry."""
        return bool(self._format or self._entries or self._entry)

    @property
    def is_complete(self) -> bool:
        """Whether the root element has ended. Anything after it is ignored."""
        return self._depth == 0 and self.is_feed

    def _stop_reading(self, problem: str) -> None:
        self._problems.append(problem)
        raise LimitReached

    def build_feed(self) -> Feed:
        """What was read so far, including an entry that never ended."""
        self._end_entry()
        draft = self._feed
        return Feed(
            format=self._format,
            title=draft.title,
            link=draft.link or "",
            language=self._language.replace("_", "-"),
            published=draft.dates.get(ElementKind.PUBLISHED),
            updated=draft.dates.get(ElementKind.UPDATED),
            entries=tuple(self._entries),
            next_link=next((self._metadata[name] for name in _OLDER_RELATIONS if name in self._metadata), ""),
            hub=self._metadata.get("hub", ""),
            refresh_seconds=_refresh_seconds(self._metadata),
            problems=tuple(self._problems),
        )


_HANDLERS: Final[dict[ElementKind, Callable[[FeedBuilder, _Draft, ElementKind, str, dict[str, str]], None]]] = {
    ElementKind.LINK: FeedBuilder._take_link,
    ElementKind.ID: FeedBuilder._take_id,
    ElementKind.PUBLISHED: FeedBuilder._take_date,
    ElementKind.UPDATED: FeedBuilder._take_date,
    ElementKind.LANGUAGE: FeedBuilder._take_language,
    **dict.fromkeys((ElementKind.TTL, ElementKind.PERIOD, ElementKind.FREQUENCY), FeedBuilder._take_metadata),
}


def _refresh_seconds(notes: dict[str, str]) -> float | None:
    """How often the feed changes: its `ttl`, or its `sy` period divided by its `sy` frequency; None: unknown."""
    try:
        if ElementKind.TTL.name in notes:
            seconds = int(notes[ElementKind.TTL.name]) * 60.0
        else:
            seconds = _PERIODS[notes[ElementKind.PERIOD.name].lower()] / int(notes.get(ElementKind.FREQUENCY.name) or 1)
    except (KeyError, ValueError, ZeroDivisionError):
        return None
    return seconds if 0 < seconds <= _MAX_REFRESH_SECONDS else None
