"""The stored form of a page beside its record: metadata as JSON; texts and links compressed by deflate.

Texts and links are one string separated by NUL: text, article, Markdown, links, without empty parts at the end. Any
tool that can inflate can read it. The parts repeat each other, so together they take little more space than the longest
part.

The columns of links are targets, anchor texts, flags and `rel`, with one line per link, separated by NUL. A link within
the page's own site is stored as a path. In columns, addresses and words of a page compress well: a link with its text
takes about thirty bytes. URL lists (the feeds that a page names, the sitemaps of an index) come last and have a flag. A
URL list that is also linked to is stored twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import compress, islice
from typing import NamedTuple

import msgspec
from isal import isal_zlib

from tenax.database.rows import Row, decode_authors, decode_chain, encode
from tenax.model import (
    IN_ARTICLE_LINK,
    NOFOLLOW_LINK,
    Event,
    Page,
    PageContent,
    PageKind,
    PageLink,
    Value,
    content_values,
)

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""Maximum size of the event texts in memory for one call. The last event may exceed it."""
_SEPARATOR = "\0"
_PART_COUNT = 4
_decode_page = msgspec.json.Decoder(Page).decode
_decode_content = msgspec.json.Decoder(PageContent).decode
_decode_links = msgspec.json.Decoder(tuple[PageLink, ...]).decode


class PageTexts(Value, frozen=True):
    """The long parts of a page."""

    text: str = ""
    article: str = ""
    markdown: str = ""
    links: tuple[PageLink, ...] = ()


def encode_content(page: Page) -> tuple[bytes, bytes]:
    """The page without its texts as JSON, and its texts packed."""
    about = msgspec.structs.replace(page, text="", article="", markdown="", links=())
    return encode(about), pack_texts(page.text, page.article, page.markdown, page.links)


def pack_texts(text: str, article: str = "", markdown: str = "", links: tuple[PageLink, ...] = ()) -> bytes:
    """Compressed by deflate, so that any tool can read it. isal takes half the time of zlib."""
    parts = [text, article, markdown, encode(links).decode() if links else ""]
    if any(_SEPARATOR in part for part in parts):  # extraction leaves none in a text
        parts = [part.replace(_SEPARATOR, "\ufffd") for part in parts]
    while parts and not parts[-1]:
        parts.pop()
    return isal_zlib.compress(_SEPARATOR.join(parts).encode("utf-8", "replace"), 0)


def unpack_texts(body: bytes | None) -> PageTexts:
    if body is None:
        return PageTexts()
    parts = isal_zlib.decompress(body).decode("utf-8").split(_SEPARATOR)
    text, article, markdown, links = parts + [""] * (_PART_COUNT - len(parts))
    return PageTexts(text, article, markdown, _decode_links(links) if links else ())


def decode_events(rows: Iterable[tuple[int, float, bytes, bytes | None]]) -> list[Event]:
    """The first events of these rows up to the size limit, at least one."""
    events: list[Event] = []
    text_bytes = 0
    for seq, at, about, body in rows:
        events.append(Event(seq=seq, at=at, page=decode_event_page(about, body)))
        text_bytes += page_text_bytes(events[-1].page)
        if text_bytes > MAX_EVENT_BYTES:
            break
    return events


def page_text_bytes(page: Page) -> int:
    """The memory of the texts of a page.

    This is not the sum of their lengths: one character above U+FFFF makes every character of a text four bytes long.
    """
    return page.text.__sizeof__() + page.article.__sizeof__() + page.markdown.__sizeof__()


MAX_RECENT_EVENTS = 500
"""Maximum number. There are fewer if their texts exceed `MAX_EVENT_BYTES`."""


class RecentEvents:
    """The newest events, in order and without gaps."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._text_bytes = 0

    def add(self, events: Sequence[Event]) -> None:
        self._events.extend(events)
        self._text_bytes += sum(page_text_bytes(event.page) for event in events)
        while len(self._events) > MAX_RECENT_EVENTS or self._text_bytes > MAX_EVENT_BYTES:
            self._drop_first()

    def events_after(self, seq: int, limit: int) -> list[Event]:
        """Events after this number; empty if the next event is not cached. Earlier events are dropped."""
        while self._events and self._events[0].seq <= seq:
            self._drop_first()
        is_next = bool(self._events) and self._events[0].seq == seq + 1
        return list(islice(self._events, limit)) if is_next else []

    def _drop_first(self) -> None:
        self._text_bytes -= page_text_bytes(self._events.popleft().page)


def decode_event_page(page_json: bytes, body: bytes | None) -> Page:
    """The page of an event, with its texts."""
    texts = unpack_texts(body)
    return msgspec.structs.replace(
        _decode_page(page_json), text=texts.text, article=texts.article, markdown=texts.markdown, links=texts.links
    )


def page_from_row(row: Row, content: tuple[bytes, bytes] | None, via: str | None, duplicate_of: str | None) -> Page:
    """A page from its record, which every visit refreshes, and its content. Fields without a column are in the
    content."""
    texts = unpack_texts(content[1] if content is not None else None)
    extracted = msgspec.structs.replace(
        _decode_content(content[0]) if content is not None else PageContent(),
        title=row["title"],
        description=row["description"],
        kind=PageKind(row["kind"]),
        language=row["language"],
        headline=row["headline"] or "",
        authors=decode_authors(row["authors"]) if row["authors"] else (),
        published=row["published"],
        words=row["words"] or 0,
        canonical=row["canonical"],
        content_hash=row["content_hash"].hex(),
        charset=row["charset"],
        charset_source=row["charset_source"],
        fingerprint=row["fingerprint"] or b"",
        text=texts.text,
        article=texts.article,
        markdown=texts.markdown,
    )
    return Page(
        *content_values(extracted),
        url=row["origin"] + row["path"],
        status=row["page_status"],
        content_type=row["content_type"],
        content_length=row["content_length"],
        fetched_at=row["fetched_at"] / 1000,
        duplicate_of=duplicate_of,
        similarity=row["similarity"] or 0.0,
        links=texts.links,
        links_count=row["links_count"],
        depth=row["depth"],
        via=via,
        duration_ms=row["duration_ms"],
        chain=decode_chain(row["chain"]),
        etag=row["etag"],
        last_modified=row["last_modified"],
        stale_since=row["stale_since"] / 1000 if row["stale_since"] is not None else None,
        stale_why=row["stale_why"] or "",
    )


FEED, SITEMAP = "feed", "sitemap"
"""The `rel` of URL lists that a document names."""
_COLUMN_SEPARATOR = "\0"
_LINE_SEPARATOR = "\n"
_URL_LIST = 4
"""The third flag of a stored link, besides `NOFOLLOW_LINK` and `IN_ARTICLE_LINK`."""
_FLAG_DIGITS = "01234567"
_FOLLOWED_FLAGS = "02"
_ALL_NOFOLLOW = str.maketrans("02", "13")
_ONLY_NOFOLLOW = str.maketrans("23", "01")
_COMPRESSION_LEVEL = 0
"""The fastest level. The next one is a fifth smaller, and takes another half percent of a crawl's CPU time."""


class LinkColumns(NamedTuple):
    """The links of a page, in columns of equal length."""

    targets: Sequence[str | None]
    """None: not a URL."""
    texts: Sequence[str]
    rels: Sequence[str]
    flags: str
    """A digit for each link, the sum of `NOFOLLOW_LINK` and `IN_ARTICLE_LINK`."""

    def without_texts(self) -> LinkColumns:
        """Only the targets, with whether each is nofollow."""
        empty = [""] * len(self.targets)
        return LinkColumns(self.targets, empty, empty, self.flags.translate(_ONLY_NOFOLLOW))


def pack_links(
    origin: str,
    links: LinkColumns,
    *,
    feeds: Iterable[str | None] = (),
    excluded_url: str = "",
    is_nofollow: bool = False,
) -> bytes:
    """Pack the links of a page at this origin. `is_nofollow`: the page marks all its links as nofollow.

    Links to the same target are merged. Empty targets and `excluded_url` are dropped. `feeds` are those that the page
    names. A page without any link or feed gives an empty value.
    """
    unique = set(links.targets)
    if len(unique) < len(links.targets):
        links = _merge_links(links)
    if not unique.isdisjoint((None, excluded_url)):
        links = _drop_targets(links, (None, excluded_url))
    flags = links.flags.translate(_ALL_NOFOLLOW) if is_nofollow else links.flags
    named = list(dict.fromkeys(filter(None, feeds)))
    if not named:
        return _pack_columns(origin, links.targets, links.texts, flags, links.rels)
    return _pack_columns(
        origin,
        [*links.targets, *named],
        [*links.texts, *[""] * len(named)],
        flags + _FLAG_DIGITS[_URL_LIST + NOFOLLOW_LINK * is_nofollow] * len(named),
        [*links.rels, *[FEED] * len(named)],
    )


def pack_urls(origin: str, urls: Iterable[str | None], url_lists: Iterable[str | None] = (), rel: str = "") -> bytes:
    """Pack the URLs that a sitemap or a feed at this origin lists, and then the URL lists that it names, each with this
    `rel`."""
    found, named = (list(dict.fromkeys(filter(None, some))) for some in (urls, url_lists))
    flags = _FLAG_DIGITS[0] * len(found) + _FLAG_DIGITS[_URL_LIST] * len(named)
    return _pack_columns(origin, found + named, [], flags, [""] * len(found) + [rel] * len(named))


def _pack_columns(
    origin: str, urls: Sequence[str | None], texts: Sequence[str], flags: str, rels: Sequence[str]
) -> bytes:
    if not urls:
        return b""
    # A URL contains no line break and no NUL.
    lines = _LINE_SEPARATOR.join(["", *filter(None, urls)])
    paths = lines.replace(f"{_LINE_SEPARATOR}{origin}/", f"{_LINE_SEPARATOR}/")[1:]
    columns = (paths, _join_column(texts), flags, _join_column(rels))
    return isal_zlib.compress(_COLUMN_SEPARATOR.join(columns).encode("utf-8", "replace"), _COMPRESSION_LEVEL)


def unpack_links(origin: str, packed: bytes) -> tuple[PageLink, ...]:
    if not packed:
        return ()
    paths, texts, marks, rels = _split_columns(packed)
    urls = [origin + path if path[:1] == "/" else path for path in paths.split(_LINE_SEPARATOR)]
    said = zip(urls, _split_column(texts, len(urls)), _split_column(rels, len(urls)), map(int, marks), strict=True)
    return tuple(
        PageLink(
            url,
            text,
            rel,
            is_nofollow=bool(mark & NOFOLLOW_LINK),
            is_in_article=bool(mark & IN_ARTICLE_LINK),
            is_url_list=bool(mark & _URL_LIST),
        )
        for url, text, rel, mark in said
    )


def followed_targets(origin: str, packed: bytes) -> list[str]:
    """The targets of links that are not marked nofollow, without URL lists. Faster than unpacking everything."""
    if not packed:
        return []
    paths, _, marks, _ = _split_columns(packed)
    return [
        origin + path if path[:1] == "/" else path
        for path, mark in zip(paths.split(_LINE_SEPARATOR), marks, strict=True)
        if mark in _FOLLOWED_FLAGS
    ]


def find_links(target: str, origin: str, packed: bytes) -> list[PageLink]:
    """The link to this target, and its entry as a URL list.

    Most pages have neither. They are only searched, not unpacked.
    """
    if not packed:
        return []
    path = target[len(origin) :] if target.startswith(f"{origin}/") else target
    if path.encode("utf-8", "replace") not in isal_zlib.decompress(packed):
        return []
    return [link for link in unpack_links(origin, packed) if link.url == target]


def _drop_targets(links: LinkColumns, dropped: tuple[str | None, ...]) -> LinkColumns:
    is_kept = [target not in dropped for target in links.targets]
    return LinkColumns(
        list(compress(links.targets, is_kept)),
        list(compress(links.texts, is_kept)),
        list(compress(links.rels, is_kept)),
        "".join(compress(links.flags, is_kept)),
    )


def _merge_links(links: LinkColumns) -> LinkColumns:
    """One link per target: the first text, followed if any of them is, in the article if any is, the `rel` of the
    first."""
    merged: dict[str | None, tuple[str, str, int]] = {}
    for target, text, rel, digit in zip(*links, strict=True):
        flags, known = int(digit), merged.get(target)
        if known is not None:
            text, rel = known[0] or text, known[1]
            flags = (flags & known[2] & NOFOLLOW_LINK) + ((flags | known[2]) & IN_ARTICLE_LINK)
        merged[target] = text, rel, flags
    texts, rels, numbers = zip(*merged.values(), strict=True)
    return LinkColumns(tuple(merged), texts, rels, "".join(map(str, numbers)))


def _join_column(values: Sequence[str]) -> str:
    """One line per value; empty if all values are empty."""
    if not any(values):
        return ""
    column = _LINE_SEPARATOR.join(values)
    if column.count(_LINE_SEPARATOR) == len(values) - 1 and _COLUMN_SEPARATOR not in column:
        return column
    return _LINE_SEPARATOR.join([" ".join(value.replace(_COLUMN_SEPARATOR, " ").split()) for value in values])


def _split_columns(packed: bytes) -> list[str]:
    return isal_zlib.decompress(packed).decode("utf-8").split(_COLUMN_SEPARATOR)


def _split_column(column: str, count: int) -> list[str]:
    return column.split(_LINE_SEPARATOR) if column else [""] * count
