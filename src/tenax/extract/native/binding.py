"""The Python interface of the native library: load, check and initialize it; open, read and close a page."""

from __future__ import annotations

import ctypes
import unicodedata
from array import array
from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import Any, Final

import msgspec
from selectolax import lexbor

from tenax.extract.html.links import Links
from tenax.extract.html.tree import Feeder
from tenax.extract.native.build import library_path
from tenax.model import Value

_LEXBOR_FUNCTIONS: Final = (
    "lxb_dom_element_first_attribute_noi",
    "lxb_dom_element_next_attribute_noi",
    "lxb_dom_attr_qualified_name",
    "lxb_dom_attr_value_noi",
    "lxb_dom_attr_data_by_id",
)
"""The parser functions that the library calls, in its order."""
_LAYOUT_SAMPLE: Final = (
    "<main class=a id='' Rel hidden data-a-name-of-many-letters=b><p itemprop=c style=d>one<i>two</i>three</p>"
    "<x-y role=e>four</x-y><svg><a xlink:href=f viewbox=g>five</a></svg></main>"
)
_NODE_FIELD_COUNT: Final = 8
_ELEMENT: Final = 1
_TEXT_NODE: Final = 3
_MAX_SPARE_PAGES: Final = 4
_READ_ONLY: Final = 0x100  # PyBUF_READ
_memory_view: Final = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)
_load_lock = Lock()


class PageScan(Value, frozen=True, array_like=True):
    """What is read from a page first, see `html.dom.PageScan`."""

    metadata_elements: list[tuple[int, bool, dict[str, str | None], str | None]]
    """Elements that describe the page: see `html.dom.MetadataElement`."""
    language: str | None
    xml_language: str | None
    h1_texts: list[str]
    subheading_texts: list[str]
    byline_clauses: int

    @property
    def languages(self) -> tuple[str | None, str | None]:
        return self.language, self.xml_language


class SkimmedPage(Value, frozen=True, array_like=True):
    text: str
    links: Links


class NativeContent(Value, frozen=True, array_like=True):
    """The content of a page, see `body.PageBody`."""

    text: str
    is_clean: bool
    truncated_at_block: int | None
    kind_index: int
    """Its index in the table of kinds; -1 for a page without text."""
    article: str
    abstract: str | None
    words: int
    fingerprint: bytes
    links: Links
    hrefs: list[str]
    """The hrefs that the Markdown needs resolved."""


_scan_decoder = msgspec.msgpack.Decoder(PageScan)
_skim_decoder = msgspec.msgpack.Decoder(SkimmedPage)
_content_decoder = msgspec.msgpack.Decoder(NativeContent)
_text_decoder = msgspec.msgpack.Decoder(str)
_lines_decoder = msgspec.msgpack.Decoder(tuple[list[str], list[str]])
_language_decoder = msgspec.msgpack.Decoder(tuple[str | None, float])


class NativeLibrary:
    """The initialized library. Each of its pages belongs to one thread."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.functions = library
        self.feed: Feeder = library.native_feed
        """Feeds the parser, see `html.parser`."""
        self._spare_pages: list[int] = []

    def acquire_page(self) -> int:
        """Memory for a page, reused for the next."""
        page: int = self._spare_pages.pop() if self._spare_pages else self.functions.native_page_new()
        if not page:
            raise MemoryError
        return page

    def truncate_text(self, root: int, max_chars: int) -> bool:
        """Same as `document.truncate_text`, for a tree without an open `NativePage`."""
        answer: bool = self.functions.native_truncate_text(root, max_chars)
        return answer

    def release_page(self, page: int) -> None:
        self.functions.native_page_close(page)
        if len(self._spare_pages) < _MAX_SPARE_PAGES:
            self._spare_pages.append(page)
        else:
            self.functions.native_page_free(page)


class NativePage:
    """One page open in the native library. Its tree must outlive it."""

    __slots__ = ("_answer_pointer", "_library", "_page", "scan")

    def __init__(self, library: NativeLibrary, root: int, *, is_skimmed: bool = False) -> None:
        """`root` is the address of the tree's root. Raises `Unsupported`, as do all other calls."""
        self._library = library
        self._page = library.acquire_page()
        self._answer_pointer = ctypes.c_void_p()
        try:
            size = library.functions.native_open(self._page, root, is_skimmed, self._answer_pointer)
            self.scan: PageScan = _scan_decoder.decode(self._answer_view(size))
        except Unsupported:
            self.close()
            raise

    def skim(self) -> SkimmedPage:
        return _skim_decoder.decode(
            self._answer_view(self._library.functions.native_skim(self._page, self._answer_pointer))
        )

    def read(self, title: str, numbers: Sequence[float]) -> NativeContent:
        """`title` is the page's in lower case; `numbers` are those of the hints, then those of the URL."""
        encoded, values = title.encode("utf-8", "replace"), array("d", numbers)
        size = self._library.functions.native_read(
            self._page, encoded, len(encoded), values.buffer_info()[0], self._answer_pointer
        )
        return _content_decoder.decode(self._answer_view(size))

    def markdown(self, addresses: Sequence[str]) -> str:
        """Call after `read`, with a URL for each of its hrefs, empty for one that cannot be used."""
        joined = "".join([f"{address}\0" for address in addresses]).encode("utf-8", "replace")
        size = self._library.functions.native_markdown(self._page, joined, len(joined), self._answer_pointer)
        return _text_decoder.decode(self._answer_view(size))

    def find_byline_lines(self, title: str) -> tuple[list[str], list[str]] | None:
        """Call after `read`; see `html.dom.PageSearcher`."""
        try:
            encoded = title.encode()
            size = self._library.functions.native_byline_lines(self._page, encoded, len(encoded), self._answer_pointer)
            return _lines_decoder.decode(self._answer_view(size))
        except (Unsupported, UnicodeEncodeError):
            return None

    def may_have_script_dates(self) -> bool:
        """See `html.dom.PageSearcher`."""
        answer: bool = self._library.functions.native_may_have_script_dates(self._page)
        return answer

    def detect_language(self, sample: str) -> tuple[str, float]:
        """Same as `language.detect.detect_sample`."""
        encoded = sample.encode("utf-8", "replace")
        size = self._library.functions.native_detect_language(self._page, encoded, len(encoded), self._answer_pointer)
        tag, confidence = _language_decoder.decode(self._answer_view(size))
        return tag or "", round(confidence, 3)

    def close(self) -> None:
        if self._page:
            self._library.release_page(self._page)
            self._page = 0

    def _answer_view(self, size: int) -> memoryview:
        """The answer in place: valid until the next call."""
        if not size:
            raise Unsupported(self._library.functions.native_error(self._page).decode())
        answer: memoryview = _memory_view(self._answer_pointer, size, _READ_ONLY)
        return answer


class Unsupported(Exception):
    """The native library cannot read this page, or is missing; Python can."""


def open_page(root: int, *, is_skimmed: bool = False) -> NativePage:
    """Open a page by the address of its tree's root. Raises `Unsupported`, as do all calls of the page.

    `is_skimmed`: author and date will not be asked for.
    """
    ready = _find_native()
    if isinstance(ready, str):
        raise Unsupported(ready)
    return NativePage(ready, root, is_skimmed=is_skimmed)


def load_native() -> NativeLibrary | None:
    """The library, if it was built and fits the parser; searched for once."""
    ready = _find_native()
    return None if isinstance(ready, str) else ready


def native_refusal() -> str:
    """Why there is no library; empty if there is one."""
    ready = _find_native()
    return ready if isinstance(ready, str) else ""


def _find_native() -> NativeLibrary | str:
    with _load_lock:
        return _load_native()


@cache
def _load_native() -> NativeLibrary | str:
    """The library, or why there is none."""
    path = library_path()
    if path is None:
        return "the native code was not built"
    try:
        library = _declare_functions(ctypes.CDLL(str(path)))
        parser = ctypes.CDLL(lexbor.__file__)
        addresses = [ctypes.cast(getattr(parser, name), ctypes.c_void_p).value for name in _LEXBOR_FUNCTIONS]
    except (OSError, AttributeError) as error:  # built for another machine, or a parser without the needed symbols
        return f"the native code cannot be loaded: {error}"
    library.native_set_lexbor((ctypes.c_void_p * len(addresses))(*addresses))
    if why := _find_mismatch(library):
        return why
    try:
        _send_tables(library)
    except (ImportError, AttributeError, ValueError) as error:  # this Python parses patterns differently
        return f"the native code does not support this Python: {error}"
    return NativeLibrary(library)


def _send_tables(library: ctypes.CDLL) -> None:
    # Not needed anywhere else.
    from tenax.extract.native.packed_tables import pack_class_hints, pack_decision_trees, pack_language_data

    for give, data in (
        (library.native_set_class_hints, pack_class_hints()),
        (library.native_set_languages, pack_language_data()),
        (library.native_set_decision_trees, pack_decision_trees()),
    ):
        give(data, len(data))


def _declare_functions(library: ctypes.CDLL) -> ctypes.CDLL:
    pointer, size, count = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
    answer = ctypes.POINTER(ctypes.c_void_p)
    signatures: dict[str, tuple[Any, ...]] = {
        "native_set_lexbor": (None, pointer),
        "native_set_class_hints": (None, ctypes.c_char_p, size),
        "native_set_languages": (None, ctypes.c_char_p, size),
        "native_set_decision_trees": (None, ctypes.c_char_p, size),
        "native_page_new": (pointer,),
        "native_page_free": (None, pointer),
        "native_page_close": (None, pointer),
        "native_error": (ctypes.c_char_p, pointer),
        "native_tags": (ctypes.c_char_p,),
        "native_unicode_version": (ctypes.c_char_p,),
        "native_node_fields": (None, pointer, pointer),
        "native_attributes_match": (ctypes.c_bool, pointer),
        "native_feed": (ctypes.c_int, pointer),
        "native_open": (size, pointer, pointer, ctypes.c_bool, answer),
        "native_truncate_text": (ctypes.c_bool, pointer, count),
        "native_skim": (size, pointer, answer),
        "native_read": (size, pointer, ctypes.c_char_p, count, pointer, answer),
        "native_byline_lines": (size, pointer, ctypes.c_char_p, count, answer),
        "native_may_have_script_dates": (ctypes.c_bool, pointer),
        "native_markdown": (size, pointer, ctypes.c_char_p, count, answer),
        "native_detect_language": (size, pointer, ctypes.c_char_p, count, answer),
    }
    for name, (result, *arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _find_mismatch(library: ctypes.CDLL) -> str:
    """What does not fit: its Unicode data must be Python's, and its view of the tree the parser's, in the numbers of
    tags and in the layout of nodes. Empty if everything does."""
    version = library.native_unicode_version().decode()
    if version != unicodedata.unidata_version:
        return f"the native code was built for Unicode {version}, this Python has {unicodedata.unidata_version}"
    parser = lexbor.LexborHTMLParser(_LAYOUT_SAMPLE)
    if any(parser.create_node(name).tag_id != number for name, number in _read_tags(library).items()):
        return "the native code does not fit this selectolax, which has other tag numbers"
    main = parser.css_first("main")
    nodes = list(main.traverse(include_text=True)) if main is not None else []
    if not nodes or not all(_matches_node(library, node) for node in nodes):
        return "the native code does not fit this selectolax, which has other nodes"
    return ""


def _read_tags(library: ctypes.CDLL) -> dict[str, int]:
    lines = map(str.split, library.native_tags().decode().splitlines())
    return {name: int(number) for name, number in lines}


def _matches_node(library: ctypes.CDLL, node: Any) -> bool:
    seen = (ctypes.c_uint64 * _NODE_FIELD_COUNT)()
    library.native_node_fields(node.mem_id, seen)
    tag, kind, size, parent, child, following, first, last = seen
    text = (node.text_content or "").encode()
    return (tag, parent, child, following) == (
        node.tag_id,
        *(one.mem_id if one is not None else 0 for one in (node.parent, node.first_child, node.next)),
    ) and (
        (kind, size, first, last) == (_TEXT_NODE, len(text), text[0], text[-1])
        if text
        else kind == _ELEMENT and bool(library.native_attributes_match(node.mem_id))
    )
