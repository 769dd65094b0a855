"""XML parsing, strict by expat or by a tolerant tokenizer; and repairs of feeds that are almost XML.

Neither parser expands entities: declarations are removed with the DOCTYPE before parsing. Both take linear time.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from html.entities import html5
from itertools import islice
from typing import Final, NamedTuple
from xml.parsers import expat

from tenax.discovery.feeds.builder import FeedBuilder, LimitReached
from tenax.discovery.feeds.values import MAX_ATTRIBUTES, MAX_TAG_BYTES

_CDATA: Final = "<![CDATA["
_CDATA_END: Final = "]]>"
_FIRST_ELEMENT = re.compile(r"<[A-Za-z_]")
_DOCTYPE = re.compile(r"<!DOCTYPE\b", re.IGNORECASE)
_END_OF_SUBSET = re.compile(r"\]\s*>")
_ENTITY = re.compile(r"<!ENTITY\b", re.IGNORECASE)
_DECLARATION = re.compile(r"\A<\?xml\b[^>]*\?>")
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_BARE_AMPERSAND = re.compile(r"&(?!(?:#(?:\d{1,8}|[xX][0-9a-fA-F]{1,7})|\w{1,40});)")
_XML_REFERENCE = re.compile(r"&(?:(#(?:\d{1,8}|[xX][0-9a-fA-F]{1,7}))|(\w{1,40}));")
_NON_XML_REFERENCE = re.compile(rf"&(?!(?:amp|lt|gt|quot|apos);){_XML_REFERENCE.pattern[1:]}")
_MAX_PARTS: Final = 50_000
_XML_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def remove_doctype(text: str) -> tuple[str, bool]:
    """The text without its DOCTYPE, and whether the DOCTYPE declared entities. Entities are never expanded."""
    found = _DOCTYPE.search(text)
    if found is None:
        return text, False
    first = _FIRST_ELEMENT.search(text)
    if first is not None and first.start() < found.start():
        return text, False
    end = _doctype_end(text, found.end())
    return text[: found.start()] + text[end:], _ENTITY.search(text, found.end(), end) is not None


def _doctype_end(text: str, at: int) -> int:
    """The position after the DOCTYPE. It ends at its `>`; with an internal subset (`[…]`), at the first `]>`."""
    end, subset = text.find(">", at), text.find("[", at)
    if 0 <= subset < end:
        closing = _END_OF_SUBSET.search(text, subset)
        end = closing.end() - 1 if closing else -1
    return end + 1 if end >= 0 else len(text)


def repair_xml(text: str) -> str:
    """The text from the first element or declaration on, without characters, references and ampersands that are invalid
    in XML."""
    text = _ILLEGAL.sub("", text[max(text.find("<"), 0) :])
    text = _DECLARATION.sub("", text)
    parts: list[str] = []
    end = 0
    while (start := text.find(_CDATA, end)) >= 0:
        found = text.find(_CDATA_END, start)
        before, end = end, found + len(_CDATA_END) if found >= 0 else len(text)
        parts += [_fix_references(text[before:start]), text[start:end]]
        if len(parts) >= _MAX_PARTS:  # a million parts would take many times the memory
            parts = ["".join(parts)]
    return "".join((*parts, _fix_references(text[end:])))


def decode_references(escaped: str) -> str:
    """Decode XML references, and HTML names with a semicolon."""
    return _XML_REFERENCE.sub(_decode_reference, escaped) if "&" in escaped else escaped


def _fix_references(text: str) -> str:
    return _NON_XML_REFERENCE.sub(_to_xml_reference, _BARE_AMPERSAND.sub("&amp;", text)) if "&" in text else text


def _to_xml_reference(found: re.Match[str]) -> str:
    """The reference in valid XML."""
    number, name = found.groups()
    if number:
        return found[0] if _decode_number(number) else ""
    return html5.get(f"{name};") or f"&amp;{name};"


def _decode_reference(found: re.Match[str]) -> str:
    number, name = found.groups()
    if number:
        return _decode_number(number)
    return _XML_ENTITIES.get(name) or html5.get(f"{name};", found[0])


def _decode_number(number: str) -> str:
    """The character with this number; empty if XML does not allow it."""
    code = int(number[2:], 16) if number[1] in "xX" else int(number[1:])
    character = chr(code) if code <= 0x10FFFF else ""
    return "" if _ILLEGAL.match(character) else character


_MARKUP = re.compile(
    r"<(?:(?P<comment>!--)|(?P<cdata>!\[CDATA\[)|[?!][^<>]*>?|(?P<end>/)?(?P<name>[A-Za-z_][\w.:-]*)(?P<more>[^<>]*)(?P<close>>?))"
)
_REST_OF_TAG = re.compile(r"[^<>]*>?")
# Matched only from the first character of a name. Otherwise a long word would take quadratic time.
_ATTRIBUTE = re.compile(
    r"""(?<![\w.:-])(?:(?![A-Za-z_:])[\w.:-])*+([A-Za-z_:][\w.:-]*+)\s*+=\s*+(?:"([^"]*)"?|'([^']*)'?|([^\s"'>]+))"""
)
_PIECE_BYTES: Final = 256 * 1024
_UNCLOSED_ERROR: Final = expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]
_ENTRIES: Final = frozenset({"item", "entry"})
_CONTAINERS: Final = frozenset({"rss", "rdf", "channel", "feed"})
"""Elements that contain entries. When an entry starts, all other open elements are closed."""
_MAX_EXTENSIONS: Final = 8
"""Maximum number of `>` in a quoted value; with more, the quote is treated as a mistake."""


class ParseFault(NamedTuple):
    """Why the strict parser stopped before the end."""

    reason: str
    is_at_end: bool
    """Whether the whole text was read and only end tags are missing."""


def parse_strictly(text: str, builder: FeedBuilder) -> ParseFault | None:
    """Parse well-formed XML. Returns the first error, if there is one."""
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.buffer_size = 65536
    parser.StartElementHandler = builder.start
    parser.CharacterDataHandler = builder.text
    parser.EndElementHandler = lambda _name: builder.end()
    try:
        # In pieces, so that a tag without an end is noticed before it is parsed.
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
        reason = expat.ErrorString(error.code).removeprefix("not well-formed ").strip("()")
        return ParseFault(f"{reason} in line {error.lineno}", error.code == _UNCLOSED_ERROR)
    return None


def parse_tolerantly(text: str, builder: FeedBuilder) -> None:
    """Parse any text: close elements that were never closed, ignore end tags without a start."""
    with suppress(LimitReached):
        _Tokenizer(text, builder).run()


class _Tokenizer:
    """Reads the text in a single pass. Every character is read a bounded number of times."""

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
        """The text before the mark; empty if there is no mark."""
        if mark in self._missing_marks:
            return ""
        index = self._text.find(mark, self._at)
        if index < 0:
            self._missing_marks.add(mark)
            return ""
        inner = self._text[self._at : index]
        self._at = index + len(mark)
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
