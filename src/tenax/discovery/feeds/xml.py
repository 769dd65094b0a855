"""Taking XML apart: strictly by expat, or by a tokenizer that forgives everything.

Neither expands an entity: declarations are cut out with the DOCTYPE before either sees the text. Both take time in
proportion to the length of it.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple
from xml.parsers import expat

from tenax.discovery.feeds.builder import FeedBuilder, LimitReached
from tenax.discovery.feeds.repair import decode_references
from tenax.discovery.feeds.values import MAX_ATTRIBUTES, MAX_TAG_BYTES

_MARKUP = re.compile(
    r"<(?:(?P<comment>!--)|(?P<cdata>!\[CDATA\[)|[?!][^<>]*>?|(?P<end>/)?(?P<name>[A-Za-z_][\w.:-]*)(?P<more>[^<>]*)(?P<close>>?))"
)
_REST_OF_TAG = re.compile(r"[^<>]*>?")
# A name is tried from its first character only: tried from each, a long word would cost the square of its length.
_ATTRIBUTE = re.compile(
    r"""(?<![\w.:-])(?:(?![A-Za-z_:])[\w.:-])*+([A-Za-z_:][\w.:-]*+)\s*+=\s*+(?:"([^"]*)"?|'([^']*)'?|([^\s"'>]+))"""
)
_PIECE_BYTES: Final = 256 * 1024
_UNCLOSED_ERROR: Final = expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]
_ENTRIES: Final = frozenset({"item", "entry"})
_CONTAINERS: Final = frozenset({"rss", "rdf", "channel", "feed"})
"""What entries stand in: an entry that begins ends whatever else is open."""
_MAX_EXTENSIONS: Final = 8
"""How many `>` a quoted value may hold before the quote is taken for a mistake."""


class ParseFault(NamedTuple):
    """Why the strict reader ended before the text did."""

    why: str
    is_at_end: bool
    """It is only that elements are still open: all of the text was read."""


def parse_strictly(text: str, builder: FeedBuilder) -> ParseFault | None:
    """The first fault of the XML, if there is any."""
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.buffer_size = 65536
    parser.StartElementHandler = builder.start
    parser.CharacterDataHandler = builder.text
    parser.EndElementHandler = lambda _name: builder.end()
    try:
        # In pieces, so that a tag without end is noticed before it is taken apart.
        data = memoryview(text.encode("utf-8", "replace"))
        for start in range(0, len(data), _PIECE_BYTES):
            piece = data[start : start + _PIECE_BYTES]
            parser.Parse(piece, False)
            if start + len(piece) - parser.CurrentByteIndex > MAX_TAG_BYTES:
                return ParseFault(
                    f"a tag of more than {MAX_TAG_BYTES:,} bytes in line {parser.CurrentLineNumber}", False
                )
        parser.Parse(b"", True)
    except LimitReached:
        pass
    except expat.ExpatError as error:
        why = expat.ErrorString(error.code).removeprefix("not well-formed ").strip("()")
        return ParseFault(f"{why} in line {error.lineno}", error.code == _UNCLOSED_ERROR)
    return None


def parse_tolerantly(text: str, builder: FeedBuilder) -> None:
    """Ends what was begun and never ended, passes over ends without a beginning."""
    with suppress(LimitReached):
        _Tokenizer(text, builder).run()


class _Tokenizer:
    """One way through the text; every character is looked at a bounded number of times."""

    def __init__(self, text: str, builder: FeedBuilder) -> None:
        self._text = text
        self._builder = builder
        self._open: list[str] = []
        self._counts: Counter[str] = Counter()
        self._at = 0
        self._missing_marks: set[str] = set()

    def run(self) -> None:
        while found := _MARKUP.search(self._text, self._at):
            self._add_text(decode_references(self._text[self._at : found.start()]))
            self._at = found.end()
            if found["comment"]:
                self._read_until("-->")
            elif found["cdata"]:
                self._add_text(self._read_until("]]>"))
            elif (name := found["name"]) is not None:
                self._handle_tag(name.lower(), found["more"], is_end=bool(found["end"]), is_closed=bool(found["close"]))
        self._add_text(decode_references(self._text[self._at :]))

    def _read_until(self, mark: str) -> str:
        """What stands before the mark; nothing when it does not come."""
        if mark in self._missing_marks:
            return ""
        place = self._text.find(mark, self._at)
        if place < 0:
            self._missing_marks.add(mark)
            return ""
        inner = self._text[self._at : place]
        self._at = place + len(mark)
        return inner

    def _handle_tag(self, name: str, more: str, *, is_end: bool, is_closed: bool) -> None:
        if is_end:
            self._end(name)
            return
        for _ in range(_MAX_EXTENSIONS):
            if not is_closed or (more.count('"') % 2 == 0 and more.count("'") % 2 == 0):
                break
            rest = _REST_OF_TAG.match(self._text, self._at)
            if rest is None or not rest[0].endswith(">"):
                break
            more += ">" + rest[0][:-1]
            self._at = rest.end()
        found = islice(_ATTRIBUTE.finditer(more), MAX_ATTRIBUTES)
        self._start(name, {each[1]: decode_references(each[2] or each[3] or each[4] or "") for each in found})
        if more.rstrip().endswith("/"):
            self._end(name)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if _local_name(name) in _ENTRIES:
            while self._open and _local_name(self._open[-1]) not in _CONTAINERS:
                self._close()
        self._open.append(name)
        self._counts[name] += 1
        self._builder.start(name, attributes)

    def _end(self, name: str) -> None:
        if self._counts[name]:
            while self._close() != name:
                pass

    def _close(self) -> str:
        name = self._open.pop()
        self._counts[name] -= 1
        self._builder.end()
        return name

    def _add_text(self, data: str) -> None:
        if data:
            self._builder.text(data)


def _local_name(name: str) -> str:
    return name.rpartition(":")[2]
