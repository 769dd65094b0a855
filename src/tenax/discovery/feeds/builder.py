"""A feed put together from its elements, one after the other, whoever takes the XML apart.

Both readers, the strict and the tolerant one, tell a `FeedBuilder` what begins, what is said and what ends. Every start
has its end. The builder keeps to what feeds mean by it: a link may be text or an attribute, an id may be a link, the
title of a channel's picture is not the channel's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tenax.discovery.feeds.dates import date_of
from tenax.discovery.feeds.names import Kind
from tenax.discovery.feeds.scope import Scope
from tenax.discovery.feeds.text import (
    HTML,
    MUTE_TAGS,
    TEXT,
    XHTML,
    content_type_of,
    is_base64,
    one_line,
    plain_title,
    unpacked,
)
from tenax.discovery.feeds.values import (
    MAX_DEPTH,
    MAX_ELEMENTS,
    MAX_ENTRIES,
    MAX_RESOLVED_CHARS,
    MAX_TEXT_CHARS,
    Feed,
    FeedEntry,
)

_RSS_FORMATS: Final = {"0.91": "rss 0.91", "0.92": "rss 0.92", "0.93": "rss 0.93", "0.94": "rss 0.94"}
_PERIODS: Final = {"hourly": 3600, "daily": 86400, "weekly": 604800, "monthly": 2592000, "yearly": 31536000}
_MOST_REFRESH: Final = 31536000.0
_OLDER: Final = ("next", "prev-archive")
_STRAY_REFERENCE = re.compile(r"&(\w+);")
_TEXTS: Final = frozenset({
    Kind.LINK, Kind.ID, Kind.PUBLISHED, Kind.UPDATED, Kind.LANGUAGE, Kind.TTL, Kind.PERIOD, Kind.FREQUENCY,
})  # fmt: skip


class EnoughRead(Exception):
    """A bound is reached: what was read until here is the feed."""


class _Draft:
    """A feed or an entry while it is being read."""

    def __init__(self) -> None:
        self.link: str | None = None
        self.id = ""
        self.title = ""
        self.title_depth = MAX_DEPTH
        """An outer title is more of a title than an inner one."""
        self.dates: dict[Kind, float] = {}

    def entry(self) -> FeedEntry:
        return FeedEntry(
            self.link or "", self.id, self.title, self.dates.get(Kind.PUBLISHED), self.dates.get(Kind.UPDATED)
        )


class FeedBuilder:
    """Tell it of every element in order; `feed` is what came of them."""

    def __init__(self, url: str, now: float) -> None:
        self._scope = Scope(url)
        self._now = now
        self._format = ""
        self._feed = _Draft()
        self._entries: list[FeedEntry] = []
        self._entry: _Draft | None = None
        self._language = ""
        self._notes: dict[str, str] = {}
        self._problems: list[str] = []
        self._depth = 0
        """Of the element that was begun last."""
        self._elements = 0
        self._is_in_feed = False
        self._open: list[tuple[int, Kind, dict[str, str]]] = []
        self._pieces: list[str] | None = None
        """Where text goes; nowhere when nobody wants it."""
        self._inside = 0
        """The depth of an element whose markup is its own affair; 0 outside of one."""
        self._muted = 0
        """The depth of a script or the like in there, which is no text; 0 outside of one."""
        self._has_markup = False
        self._title_depth = 0
        """Of the last title, so that no deeper one replaces it; 0 for none."""

    # ---- what is told -------------------------------------------------------------------------------------

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        if self._depth > MAX_DEPTH:
            self._give_up(f"nested more than {MAX_DEPTH} deep: the rest was not read")
        if self._elements > MAX_ELEMENTS:
            self._give_up(f"more than {MAX_ELEMENTS} elements: the rest was not read")
        if self._scope.room < 0:
            self._give_up(f"links of more than {MAX_RESOLVED_CHARS:,} characters: the rest was not read")
        if self._inside:
            self._begin_markup(name.lower())
            return
        if attributes:
            attributes = self._scope.enter(self._depth, attributes)
            self._format = self._format or self._scope.format
        kind = self._scope.kind(name)
        if kind is not Kind.OTHER:
            self._begin(kind, attributes)

    def text(self, data: str) -> None:
        if self._pieces is not None and not self._muted:
            self._pieces.append(data)

    def end(self) -> None:
        """The element that was begun last, and has not ended, ends."""
        depth = self._depth
        self._depth -= 1
        if self._inside:
            if depth == self._muted:
                self._muted = 0
            if depth > self._inside:
                return
            self._inside = 0
        if self._open and self._open[-1][0] == depth:
            _, kind, attributes = self._open.pop()
            self._finish(kind, attributes, depth)
        self._scope.leave(depth)

    # ---- elements -----------------------------------------------------------------------------------------

    def _begin(self, kind: Kind, attributes: dict[str, str]) -> None:
        if kind in _TEXTS:
            if kind is Kind.LINK and self._linked(attributes):
                return
            self._pieces = []
        elif kind is Kind.TITLE or kind is Kind.MEDIA_TITLE:
            self._pieces = []
            self._inside = self._depth
            self._has_markup = False
        elif kind is Kind.CONTENT:
            self._inside = self._depth
        elif kind is Kind.ASIDE:
            self._inside = self._depth
            self._title_depth = 0
        elif kind is Kind.ENTRY:
            self._begin_entry(attributes)
        else:
            self._begin_feed(kind, attributes)
        self._open.append((self._depth, kind, attributes))

    def _begin_markup(self, tag: str) -> None:
        """An element in a title or in content. A `div` around what is escaped all the same changes nothing."""
        if tag in MUTE_TAGS and not self._muted:
            self._muted = self._depth
        if tag.rpartition(":")[2] != "div":
            self._has_markup = True

    def _begin_feed(self, kind: Kind, attributes: dict[str, str]) -> None:
        version = attributes.get("version", "")
        if kind is Kind.RSS and not self._format.startswith("rss"):
            self._format = _RSS_FORMATS.get(version) or ("rss 2.0" if version.startswith("2.") else "rss")
        elif kind is Kind.RDF:
            self._format = self._format or "rss"
        elif kind is Kind.ATOM:
            known = version in ("0.1", "0.2", "0.3")
            self._format = self._format or (f"atom {version}" if known else "atom")
        elif kind is Kind.CHANNEL:
            self._format = self._format or "cdf"
            self._take_attributes(self._feed, attributes)
        if kind is Kind.ATOM or kind is Kind.CHANNEL:
            self._is_in_feed = True
        if kind is not Kind.CHANNEL and (language := attributes.get("xml:lang") or attributes.get("lang")):
            self._language = language

    def _begin_entry(self, attributes: dict[str, str]) -> None:
        if len(self._entries) >= MAX_ENTRIES:
            self._give_up(f"more than {MAX_ENTRIES} entries: the rest was not read")
        self._entry = _Draft()
        self._entry.id = attributes.get("rdf:about", "")
        self._title_depth = 0
        self._take_attributes(self._entry, attributes)

    def _take_attributes(self, draft: _Draft, attributes: dict[str, str]) -> None:
        """CDF says in attributes what others have elements for."""
        if "lastmod" in attributes:
            self._take_date(draft, Kind.UPDATED, attributes["lastmod"], attributes)
        if "href" in attributes:
            draft.link = self._scope.resolved(attributes["href"])

    def _linked(self, attributes: dict[str, str]) -> bool:
        """Takes a link that is an attribute; False when it is text, which follows."""
        href = attributes.get("url") or attributes.get("uri") or attributes.get("href")
        if href is None:
            return False
        href = self._scope.resolved(href)
        relation = attributes.get("rel", "alternate").lower()
        draft = self._draft()
        if relation == "alternate" and draft and content_type_of(attributes.get("type", "text/html")) in HTML:
            draft.link = href
        elif draft is self._feed:
            self._notes.setdefault(relation, href)
        return True

    def _finish(self, kind: Kind, attributes: dict[str, str], depth: int) -> None:
        value = "".join(self._pieces or ())[: MAX_TEXT_CHARS + 1]
        self._pieces = None
        draft = self._draft()
        if kind is Kind.TITLE or kind is Kind.MEDIA_TITLE:
            self._muted = 0
            self._finish_title(value, kind, attributes, depth)
        elif kind is Kind.ENTRY:
            self._end_entry()
        elif kind is Kind.ATOM or kind is Kind.CHANNEL:
            self._is_in_feed = False
        elif draft is not None and (take := _TAKE.get(kind)):
            take(self, draft, kind, value.strip(), attributes)

    def _end_entry(self) -> None:
        if self._entry is not None:
            self._entries.append(self._entry.entry())
            self._entry = None

    def _finish_title(self, value: str, kind: Kind, attributes: dict[str, str], depth: int) -> None:
        draft = self._draft()
        if draft is None or 0 < self._title_depth <= depth:
            return
        content_type = content_type_of(attributes.get("type", TEXT))
        if is_base64(content_type, attributes.get("mode", "")):
            value = unpacked(value)
        if self._has_markup or content_type == XHTML:  # then what stands between its elements is text already
            title = one_line(value)
        else:
            title = plain_title(value, content_type, is_atom=self._format.startswith("atom"))
        if draft is self._feed or depth <= draft.title_depth:
            draft.title, draft.title_depth = title, depth
        if title and kind is Kind.TITLE:
            self._title_depth = depth

    def _take_link(self, draft: _Draft, _kind: Kind, value: str, attributes: dict[str, str]) -> None:
        if value:
            draft.link = _STRAY_REFERENCE.sub(r"&\1", self._scope.resolved(value).replace("&amp;", "&"))

    def _take_id(self, draft: _Draft, _kind: Kind, value: str, attributes: dict[str, str]) -> None:
        is_link = attributes.get("ispermalink", "true") == "true"
        draft.id = self._scope.resolved(value) if is_link else value
        if is_link and draft.link is None:
            draft.link = draft.id

    def _take_date(self, draft: _Draft, kind: Kind, value: str, _attributes: dict[str, str]) -> None:
        stamp = date_of(value, self._now)
        if stamp is not None:
            draft.dates[kind] = stamp

    def _take_language(self, draft: _Draft, _kind: Kind, value: str, _attributes: dict[str, str]) -> None:
        if draft is self._feed:
            self._language = value

    def _take_note(self, draft: _Draft, kind: Kind, value: str, _attributes: dict[str, str]) -> None:
        if draft is self._feed:
            self._notes.setdefault(kind.name, value)

    # ---- what came of it ----------------------------------------------------------------------------------

    def _draft(self) -> _Draft | None:
        """What is being told about; nothing, after a channel of RDF."""
        return self._entry or (self._feed if self._is_in_feed else None)

    @property
    def is_feed(self) -> bool:
        """It has begun as some format, or has an entry."""
        return bool(self._format or self._entries or self._entry)

    @property
    def is_whole(self) -> bool:
        """The root has ended; whatever follows is not the feed's."""
        return self._depth == 0 and self.is_feed

    def _give_up(self, problem: str) -> None:
        self._problems.append(problem)
        raise EnoughRead

    def feed(self) -> Feed:
        """What was read so far; an entry that never ended counts."""
        self._end_entry()
        draft = self._feed
        return Feed(
            format=self._format,
            title=draft.title,
            link=draft.link or "",
            language=self._language.replace("_", "-"),
            published=draft.dates.get(Kind.PUBLISHED),
            updated=draft.dates.get(Kind.UPDATED),
            entries=tuple(self._entries),
            next_link=next((self._notes[name] for name in _OLDER if name in self._notes), ""),
            hub=self._notes.get("hub", ""),
            refresh_seconds=_refresh_seconds(self._notes),
            problems=tuple(self._problems),
        )


_TAKE: Final[dict[Kind, Callable[[FeedBuilder, _Draft, Kind, str, dict[str, str]], None]]] = {
    Kind.LINK: FeedBuilder._take_link,
    Kind.ID: FeedBuilder._take_id,
    Kind.PUBLISHED: FeedBuilder._take_date,
    Kind.UPDATED: FeedBuilder._take_date,
    Kind.LANGUAGE: FeedBuilder._take_language,
    **dict.fromkeys((Kind.TTL, Kind.PERIOD, Kind.FREQUENCY), FeedBuilder._take_note),
}


def _refresh_seconds(notes: dict[str, str]) -> float | None:
    """`ttl` is in minutes; a period of `sy` is parted by its frequency."""
    try:
        if Kind.TTL.name in notes:
            seconds = int(notes[Kind.TTL.name]) * 60.0
        else:
            seconds = _PERIODS[notes[Kind.PERIOD.name].lower()] / int(notes.get(Kind.FREQUENCY.name) or 1)
    except (KeyError, ValueError, ZeroDivisionError):
        return None
    return seconds if 0 < seconds <= _MOST_REFRESH else None
