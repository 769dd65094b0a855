"""Builds the tree of a page piece by piece, within limits of time and memory.

The parser is lexbor, as bundled with selectolax. Its time is linear for ordinary pages, but it has no limits of its
own: a tag may examine every open element, each paragraph rebuilds unclosed formatting, and the attributes of a tag are
compared with each other. So it gets a few kilobytes at a time. Before each piece we read the parser's own counters: the
more is open, the smaller the piece, so that none costs much. Every few pieces we check the time and the memory of the
tree. The native code, if available, feeds the pieces between two checks.
"""

from __future__ import annotations

import ctypes
import math
import sys
from typing import Any, Final, NamedTuple, cast

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from tenax.extract.budget import CpuBudget, ExtractLimitExceeded
from tenax.extract.html.lexbor_functions import (
    OK,
    POINTER,
    POINTER_BYTES,
    SIZE,
    are_readable,
    functions,
    measure_attributes,
    read_count,
    read_pointer,
    view,
)
from tenax.extract.html.tree import FAILED, FED, HANDED_BACK, Feed, Feeder

MAX_TREE_BYTES: Final = 56 * 1024 * 1024
"""Memory for nodes and attributes: about 350,000 nodes. The rest of the page is not read. With this limit, extraction
of the worst page fits into 200 MB; the longest real pages, source code of 8 MB, need 143."""
MAX_DEPTH: Final = 10_000
"""Maximum number of open elements. Code that reads the tree looks up parents, which takes long in a deeper tree."""
MAX_ATTRIBUTES: Final = 5_000
"""Per tag: comparing this many with each other takes a few hundredths of a second."""
MAX_REBUILT_BYTES: Final = 4_096
"""Limit for the attributes of a formatting element that is rebuilt. The copies share them, so they cost nothing here,
but readers of the tree read them with every copy. An element with longer ones ends where its parent does."""

PIECE_BYTES: Final = 4_096
"""Small enough for the worst that can begin and end within one piece: 100 MB, and less than a tenth of a second."""
SMALL_PIECE_BYTES: Final = 1_024
"""The same for a tree that is already large: at worst 6 MB more."""
_LARGE_TREE_BYTES: Final = MAX_TREE_BYTES // 8
MIN_PIECE_BYTES: Final = 64
CHECK_EVERY_BYTES: Final = 4 * PIECE_BYTES
"""Time and memory are checked after this many bytes while few elements are open, else after every piece."""
_PIECE_STEPS: Final = 2_000_000
"""Bytes of a piece times open elements: some hundredths of a second at worst."""
_FEW_OPEN: Final = 400
"""With at most this many open elements, none of them formatting, a piece has its full size."""
_FORMATTING_STEPS: Final = 12
"""A tag may rebuild each open formatting element, which costs as much as examining this many open ones; so does each of
its attributes."""

# Without events: their only use, copying a chosen <option>, makes long <select> lists quadratic.
_OPTIONS: Final = int(LexborDocumentOptions.WO_EVENTS)
_EMPTY_DOCUMENT: Final = b"<!doctype html>"
"""Without the doctype, a document is in quirks mode, and stays so when it is reused."""
_MAX_REUSED_CHUNKS: Final = 32
"""The tree of the last page may stay in memory until the next one is parsed: at most a megabyte."""
_REFERENCES_UNUSED: Final = 2
"""What `sys.getrefcount` says of the tree in a tuple that nobody else uses: the tuple's reference and its own."""

# Offsets, in pointers, of the lexbor fields that we read: in its tokenizer, its tree builder and its list types.
_TOKEN, _TOKEN_ATTRIBUTES = 8, 10
_FIRST_ATTRIBUTE = 4
_OPEN_ELEMENTS, _FORMATTING = 4, 5
_LIST, _LIST_LENGTH, _OBJECTS_ALLOCATED = 0, 2, 2
_CHUNKS: Final = 3
"""Number of memory chunks of a tree."""
_CHUNK_BYTES: Final = 32_776
_TOKEN_ATTRIBUTE_BYTES: Final = 88
_BATCH_ELEMENTS: Final = 64
_MAX_SPARE_PARSERS: Final = 4
_LAYOUT_SAMPLE: Final = (
    b"<div><p>words",
    b"<b title=abc ",
    b"id=de",
    b"><i>",
    b"<br>" * 250 + b"<b",
    b" class=f id",
)
_SAMPLE_TAGS: Final = [0, 1, 1, 0, 0, 2]
"""In which tag with attributes each piece of the sample ends; 0 for none."""
_UNSUPPORTED_LEXBOR: Final = "this selectolax contains another lexbor than version 1.0.2"

_HTML_AT: Final[int] = cast("Any", Feed).html.offset
_lexbor: Final = functions
_process: Final = ctypes.cast(_lexbor.lxb_html_parse_chunk_process, POINTER).value
_marker: Final[int] = _lexbor.lxb_html_tree_active_formatting_marker()
"""Marks the start of a table cell or similar among the formatting elements."""


class _Parser:
    """lexbor's parser and views of its counters. Parses one page at a time."""

    __slots__ = (
        "_first_attribute",
        "_formatting_list",
        "_rebuilt",
        "_token",
        "_token_before",
        "_tree",
        "attributes",
        "chunks",
        "feed",
        "feed_at",
        "formatting",
        "handle",
        "open_elements",
    )

    def __init__(self) -> None:
        self.handle: int = _lexbor.lxb_html_parser_create()
        if not self.handle or _lexbor.lxb_html_parser_init(self.handle) != OK:
            raise MemoryError
        tokenizer: int = _lexbor.lxb_html_parser_tokenizer_noi(self.handle)
        tree: int = _lexbor.lxb_html_parser_tree_noi(self.handle)
        self._token = read_pointer(tokenizer, _TOKEN)
        self._token_before: int | None = None
        self._first_attribute = POINTER()
        self.attributes = read_count(tokenizer, _TOKEN_ATTRIBUTES, _OBJECTS_ALLOCATED)
        """Of all tags so far."""
        self.open_elements = read_count(tree, _OPEN_ELEMENTS, _LIST_LENGTH)
        self.formatting = read_count(tree, _FORMATTING, _LIST_LENGTH)
        """Formatting elements that are rebuilt where their parent ends, and markers between them."""
        self.chunks = SIZE()
        """Memory chunks of the tree."""
        self._tree = tree
        self._rebuilt: dict[int, int] = {}
        self._formatting_list = read_pointer(read_pointer(tree, _FORMATTING).value or 0, _LIST)
        self.feed = self._feed()
        self.feed_at = ctypes.addressof(self.feed)

    def _feed(self) -> Feed:
        windows = self._token, self.attributes, self.open_elements, self.formatting, self._formatting_list
        limits = (
            *(PIECE_BYTES, SMALL_PIECE_BYTES, MIN_PIECE_BYTES, _PIECE_STEPS, _FEW_OPEN, _FORMATTING_STEPS),
            *(MAX_REBUILT_BYTES, _LARGE_TREE_BYTES // _CHUNK_BYTES, MAX_TREE_BYTES // _CHUNK_BYTES),
            *(CHECK_EVERY_BYTES, MAX_DEPTH, MAX_ATTRIBUTES, MAX_TREE_BYTES, _CHUNK_BYTES, _TOKEN_ATTRIBUTE_BYTES),
        )
        return Feed(_process, self.handle, *map(ctypes.addressof, windows), _marker, _FIRST_ATTRIBUTE, *limits)

    @property
    def tag(self) -> int:
        """Identifies the current tag as soon as it has attributes; 0 outside of tags."""
        token = self._token.value
        if not token:
            return 0
        if token != self._token_before:  # nearly always the same: lexbor reuses it
            self._token_before, self._first_attribute = token, read_pointer(token, _FIRST_ATTRIBUTE)
        return self._first_attribute.value or 0

    def begin(self, document: int, html: bytes = b"", quiet_seconds: float = math.inf) -> bool:
        self._rebuilt = {}
        chunks = _tree_memory(document) + _CHUNKS * POINTER_BYTES
        self.chunks = SIZE.from_address(chunks)
        self.feed.begin(html, chunks, quiet_seconds)
        return bool(_lexbor.lxb_html_parse_chunk_prepare(self.handle, document) == OK)

    def measure_rebuilt(self) -> int:
        """How many elements and attributes the next paragraph rebuilds. Removes elements with long attributes."""
        count = self.formatting.value
        if not count:
            return 0
        feed, list_at = self.feed, self._formatting_list.value or 0
        last = SIZE.from_address(list_at + (count - 1) * POINTER_BYTES).value
        if last != feed.rebuilt_last or count != feed.rebuilt_count:
            feed.rebuilt_last, feed.rebuilt_count = last, count
            before, self._rebuilt = self._rebuilt, dict.fromkeys(_elements_after_marker(list_at, count), 0)
            for element in self._rebuilt:
                weight = before.get(element)
                if weight is None:
                    attributes, size = measure_attributes(element, MAX_REBUILT_BYTES)
                    weight = 1 + attributes
                    if size > MAX_REBUILT_BYTES:
                        _lexbor.lxb_html_tree_active_formatting_remove_by_node(self._tree, element)
                self._rebuilt[element] = weight
            feed.rebuilt_weight = sum(self._rebuilt.values())
        return feed.rebuilt_weight

    def close(self) -> None:
        _lexbor.lxb_html_parser_destroy(self.handle)


def _elements_after_marker(list_at: int, count: int) -> set[int]:
    """The last elements of a list of formatting elements, back to the start of a cell or similar."""
    found: set[int] = set()
    while count:
        size = min(count, _BATCH_ELEMENTS)
        count -= size
        some = (SIZE * size).from_address(list_at + count * POINTER_BYTES)[:]
        if _marker in some:
            some.reverse()
            return found.union(some[: some.index(_marker)])
        found.update(some)
    return found


class ParsedTree(NamedTuple):
    """A tree, and how much of the page it contains."""

    tree: LexborHTMLParser
    truncated_at: int | None = None
    """Bytes parsed, if the tree would have become too large; None for the whole page."""


_spare_parsers: Final[list[_Parser]] = []
_last_document: Final[dict[str, tuple[LexborHTMLParser, int]]] = {}
"""The last document and its address, if it may be reused; a dict, because threads may take from it."""


def parse(html: bytes, budget: CpuBudget | None = None, feeder: Feeder | None = None) -> ParsedTree:
    """The tree of UTF-8 markup; empty when the parser itself fails.

    A page with too many nodes is truncated. Raises `ExtractLimitExceeded` for a page that nests too deep or uses up its
    budget. Without a budget the time is not limited. `feeder` is that of the native code; None feeds in Python.
    """
    tree, document = _document()
    try:
        parser = _spare_parsers.pop()
    except IndexError:
        parser = _Parser()
    try:
        parsed_bytes = _parse_pieces(parser, document, html, budget, feeder)
    except BaseException:
        parser.close()  # drop the state of the abandoned page
        raise
    _lexbor.lxb_html_parser_clean(parser.handle)
    parser.feed.html = b""  # it may be large, and ctypes keeps it when the field is set to None
    if len(_spare_parsers) < _MAX_SPARE_PARSERS:
        _spare_parsers.append(parser)
    else:
        parser.close()
    if parsed_bytes is None:
        return ParsedTree(LexborHTMLParser(_EMPTY_DOCUMENT, options=_OPTIONS))
    if parser.chunks.value <= _MAX_REUSED_CHUNKS and html[: len(_EMPTY_DOCUMENT)].lower() == _EMPTY_DOCUMENT:
        _last_document["spare"] = tree, document
    return ParsedTree(tree, parsed_bytes if parsed_bytes < len(html) else None)


def _document() -> tuple[LexborHTMLParser, int]:
    """An empty document and its address: that of the last page if nothing refers to it any more, else a new one, which
    takes longer to make than a short page to parse."""
    last = _last_document.pop("spare", None)
    if last is None or sys.getrefcount(last[0]) > _REFERENCES_UNUSED:
        tree = LexborHTMLParser(_EMPTY_DOCUMENT, options=_OPTIONS)
        assert tree.root is not None, "a blank page has a root"
        last = tree, _lexbor.lxb_dom_node_parent_noi(tree.root.mem_id)
    _lexbor.lxb_html_document_clean(last[1])
    return last


def _parse_pieces(
    parser: _Parser, document: int, html: bytes, budget: CpuBudget | None, feeder: Feeder | None
) -> int | None:
    """How many bytes were parsed; None if the parser failed."""
    if not parser.begin(document, html, budget.quiet_seconds() if budget is not None else math.inf):
        return None
    feed, feed_at, end, at = parser.feed, parser.feed_at, len(html), 0
    while at < end:
        said = feeder(feed_at) if feeder is not None else _feed_pieces(parser, html)
        if said == FAILED:
            return None
        if said == HANDED_BACK:
            feeder = None
            continue
        at = feed.at
        if _is_full(parser, budget, at, end):
            break
        feed.look_at = at + CHECK_EVERY_BYTES
    return at if _lexbor.lxb_html_parse_chunk_end(parser.handle) == OK else None


def _feed_pieces(parser: _Parser, html: bytes) -> int:
    """Feed until the next check is due. `native/feed.c` has the same rules, but hands back pages with much open."""
    feed, handle, process = parser.feed, parser.handle, _lexbor.lxb_html_parse_chunk_process
    open_elements, formatting, chunks = parser.open_elements, parser.formatting, parser.chunks
    begin = POINTER.from_buffer(feed, _HTML_AT).value or 0
    at, end, look_at, tag_before = feed.at, feed.end, feed.look_at, feed.tag_before
    piece, many, too_many = feed.piece_bytes, feed.many_chunks, feed.too_many_chunks
    is_look_due = False
    while at < end and not is_look_due:
        size = piece
        if formatting.value or open_elements.value > _FEW_OPEN:
            most = _PIECE_STEPS // (1 + open_elements.value + _FORMATTING_STEPS * parser.measure_rebuilt())
            if most < size:
                size, is_look_due = max(most, MIN_PIECE_BYTES), True
        if size > SMALL_PIECE_BYTES and chunks.value > many:
            size = SMALL_PIECE_BYTES
        tag = parser.tag
        if tag and tag == tag_before:  # a long tag: check again right after it, before it is rebuilt many times
            ends = html.find(b">", at + MIN_PIECE_BYTES, at + size)
            size = ends + 1 - at if ends > 0 else size
        tag_before = tag
        if size > end - at:
            size = end - at
        if process(handle, begin + at, size) != OK:
            return FAILED
        at += size
        is_look_due = is_look_due or at >= look_at or chunks.value > too_many
    feed.at, feed.tag_before = at, tag_before
    return FED


def _is_full(parser: _Parser, budget: CpuBudget | None, at: int, end: int) -> bool:
    """Check the time and memory that the page has used so far; whether the tree has reached its limit.

    Raises `ExtractLimitExceeded`. `native/feed.c` calls for this when one of these may be the case.
    """
    if budget is not None and budget.is_exhausted():
        budget.check(f"parsing {at:,} of its {end:,} bytes")
    if parser.open_elements.value > MAX_DEPTH:
        raise ExtractLimitExceeded(f"elements nest more than {MAX_DEPTH:,} deep")
    feed, tag, attributes = parser.feed, parser.tag, parser.attributes.value
    if tag != feed.checked_tag:
        feed.checked_tag, feed.attributes_before = tag, attributes  # too few so far to matter
    elif tag and attributes - feed.attributes_before > MAX_ATTRIBUTES:
        raise ExtractLimitExceeded(f"a tag has more than {MAX_ATTRIBUTES:,} attributes")
    return parser.chunks.value * _CHUNK_BYTES + attributes * _TOKEN_ATTRIBUTE_BYTES > MAX_TREE_BYTES


def _tree_memory(document: int) -> int:
    return POINTER.from_address(_lexbor.lxb_html_document_mraw_noi(document)).value or 0


def _check_layout() -> None:
    """Check that lexbor's counters are at the expected offsets. Raises `ImportError`."""
    parser = _Parser()
    try:
        if not _counts_sample(parser):
            raise ImportError(_UNSUPPORTED_LEXBOR)
    finally:
        parser.close()


def _counts_sample(parser: _Parser) -> bool:
    """Whether a sample is counted correctly. Reads nothing before it is certain that there is memory."""
    _kept, document = _document()
    parser.begin(document)
    tags, token = [], None
    for piece in _LAYOUT_SAMPLE:
        _lexbor.lxb_html_parse_chunk_process(parser.handle, piece, len(piece))
        if token != parser._token.value:
            token = parser._token.value
            if not are_readable(read_pointer(token or 0, _FIRST_ATTRIBUTE)):
                return False
        tags.append(parser.tag)
    memory, counters = _tree_memory(document), (parser.open_elements, parser.formatting, parser.attributes)
    if not are_readable(*counters, parser.chunks, parser._formatting_list, view(SIZE, memory)):
        return False
    if [{tags[5]: 2, tags[1]: 1, 0: 0}.get(tag) for tag in tags] != _SAMPLE_TAGS:
        return False
    counts = [counter.value for counter in counters]
    if counts != [6, 2, 4] or parser.chunks.value != _lexbor.lexbor_mem_chunk_length_noi(memory):
        return False
    formatting = view(SIZE * 2, parser._formatting_list.value)
    if not are_readable(formatting):
        return False
    child, after = _lexbor.lxb_dom_node_first_child_noi, _lexbor.lxb_dom_node_next_noi
    body = after(child(child(document)))
    bold = after(child(child(child(body))))
    return formatting[:] == [bold, child(bold)] and [
        measure_attributes(element, MAX_REBUILT_BYTES) for element in formatting
    ] == [(2, 5), (0, 0)]


_check_layout()
