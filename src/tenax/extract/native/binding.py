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
from tenax.extract.html.tree import Feeder, tag_number
from tenax.extract.native.build import library_path
from tenax.model import Value

_LEXBOR_FUNCTIONS: Final = (
    "lxb_dom_node_tag_id_noi",
    "lxb_dom_node_type_noi",
    "lxb_dom_node_parent_noi",
    "lxb_dom_node_first_child_noi",
    "lxb_dom_node_next_noi",
    "lxb_dom_node_remove",
    "lxb_dom_node_text_content_set",
    "lxb_dom_element_first_attribute_noi",
    "lxb_dom_element_next_attribute_noi",
    "lxb_dom_attr_qualified_name",
    "lxb_dom_attr_value_noi",
    "lexbor_str_data_noi",
    "lexbor_str_length_noi",
)
"""The parser functions that the library calls, in the order that it expects."""
SAMPLE_TEXTS: Final = ("one", "two", "a text that is longer than the others " * 20, "four", "five", "six")
SAMPLE: Final = (
    '<html lang="a"><head></head><body><main class="b" id="" Rel hidden data-of-many-letters="c" data-original="d">'
    '<p itemprop="{long}" style="e">{}<i>{}</i>{}</p><!--a comment--><x-y role="f">{}</x-y><table></table><svg>'
    '<a xlink:href="g" href="h">{}</a></svg><p>{}</p></main></body></html>'
).format(*SAMPLE_TEXTS, long="l" * 300)
"""A page with which the library tests how it reads the parser's tree."""
SAMPLE_TREE: Final = (
    SAMPLE.replace("Rel", "rel")
    .replace(' data-of-many-letters="c"', "")
    .replace("<!--a comment-->", "<other></other>")
    .replace("x-y", "unknown")
)
"""What the library must read from the sample: only names that it knows."""
_SAMPLE_CHARS: Final = 50
_ANOTHER_PARSER: Final = "does not fit this selectolax:"
CUT_SAMPLE_TREE: Final = (
    SAMPLE_TREE.replace(SAMPLE_TEXTS[2], SAMPLE_TEXTS[2][: _SAMPLE_CHARS - 24]).replace("four", "").replace("six", "")
)
"""The same, after the text of the sample was limited. Each short text then counts as twelve characters."""
_MAX_SPARE_PAGES: Final = 4
_READ_ONLY: Final = 0x100  # PyBUF_READ
_memory_view: Final = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)
_load_lock = Lock()


class PageScan(Value, frozen=True, array_like=True):
    """What is read from a page first; see `html.dom.PageScan`."""

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
    """The content of a page; see `body.PageBody`."""

    text: str
    is_clean: bool
    truncated_at_block: int | None
    kind_index: int
    """The index of its kind in the table of kinds; -1 for a page without text."""
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
        """Memory for a page. It is used again for the next page."""
        page: int = self._spare_pages.pop() if self._spare_pages else self.functions.native_page_new()
        if not page:
            raise MemoryError
        return page

    def truncate_text(self, root: int, max_chars: int) -> bool:
        """The same as `document.truncate_text`, for a tree without an open `NativePage`."""
        answer: bool = self.functions.native_truncate_text(root, max_chars)
        return answer

    def release_page(self, page: int) -> None:
        self.functions.native_page_close(page)
        if len(self._spare_pages) < _MAX_SPARE_PAGES:
            self._spare_pages.append(page)
        else:
            self.functions.native_page_free(page)

    def close(self) -> None:
        """Free the memory that is kept for the next pages."""
        while self._spare_pages:
            self.functions.native_page_free(self._spare_pages.pop())


class NativePage:
    """One page that is open in the native library. Its tree must exist for as long as this object."""

    __slots__ = ("_answer_pointer", "_library", "_page", "scan")

    def __init__(self, library: NativeLibrary, root: int, *, is_skimmed: bool = False) -> None:
        """`root` is the address of the root of the tree. Raises `Unsupported`, as all other calls do."""
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
        """Read the page. `title` is the title of the page in lower case. `numbers` are those of the hints, and then
        those of the URL."""
        encoded, values = title.encode("utf-8", "replace"), array("d", numbers)
        size = self._library.functions.native_read(
            self._page, encoded, len(encoded), values.buffer_info()[0], self._answer_pointer
        )
        return _content_decoder.decode(self._answer_view(size))

    def markdown(self, addresses: Sequence[str]) -> str:
        """The Markdown of the page. Call this after `read`, with a URL for each of its hrefs; empty if the href cannot
        be used."""
        joined = "".join([f"{address}\0" for address in addresses]).encode("utf-8", "replace")
        size = self._library.functions.native_markdown(self._page, joined, len(joined), self._answer_pointer)
        return _text_decoder.decode(self._answer_view(size))

    def find_byline_lines(self, title: str) -> tuple[list[str], list[str]] | None:
        """See `html.dom.PageSearcher`. Call this after `read`."""
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
        """The same as `language.detect.detect_sample`."""
        encoded = sample.encode("utf-8", "replace")
        size = self._library.functions.native_detect_language(self._page, encoded, len(encoded), self._answer_pointer)
        tag, confidence = _language_decoder.decode(self._answer_view(size))
        return tag or "", round(confidence, 3)

    def close(self) -> None:
        if self._page:
            self._library.release_page(self._page)
            self._page = 0

    def _answer_view(self, size: int) -> memoryview:
        """The result in the memory of the library. It is valid until the next call."""
        if not size:
            raise Unsupported(self._library.functions.native_error(self._page).decode())
        answer: memoryview = _memory_view(self._answer_pointer, size, _READ_ONLY)
        return answer


class Unsupported(Exception):
    """The native library cannot read this page, or is missing. Python can read the page."""


class Refusal(Exception):
    """The native library is missing or does not fit."""


def open_page(root: int, *, is_skimmed: bool = False) -> NativePage:
    """Open a page by the address of the root of its tree. Raises `Unsupported`, as all calls of the page do.

    `is_skimmed`: author and date will not be requested.
    """
    ready = _find_native()
    if isinstance(ready, str):
        raise Unsupported(ready)
    return NativePage(ready, root, is_skimmed=is_skimmed)


def load_native() -> NativeLibrary | None:
    """The library, if it was built and fits the parser. It is searched for once."""
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
    try:
        library = open_library()
        tree = lexbor.LexborHTMLParser(SAMPLE)
        assert tree.root is not None, "a page with elements has a root"
        attach_parser(library, ctypes.CDLL(lexbor.__file__), tree.root.mem_id)
        _send_tables(library)
    except Refusal as refusal:
        return f"the native code {refusal}"
    return NativeLibrary(library)


def open_library() -> ctypes.CDLL:
    """The library without a parser. Raises `Refusal`."""
    path = library_path()
    if path is None:
        raise Refusal("was not built")
    try:
        library = _declare_functions(ctypes.CDLL(str(path)))
    except (OSError, AttributeError) as error:  # the library was built for another machine
        raise Refusal(f"cannot be loaded: {error}") from error
    version = library.native_unicode_version().decode()
    if version != unicodedata.unidata_version:
        raise Refusal(f"was built for Unicode {version}, this Python has {unicodedata.unidata_version}")
    return library


def attach_parser(library: ctypes.CDLL, parser: ctypes.CDLL, sample: int) -> None:
    """Give the library the functions and numbers of the parser, and test them on the `SAMPLE` whose root is at this
    address.

    Raises `Refusal` unless the library reads exactly what is there.
    """
    try:
        addresses = [ctypes.cast(getattr(parser, name), ctypes.c_void_p).value for name in _LEXBOR_FUNCTIONS]
    except AttributeError as error:
        raise Refusal(f"{_ANOTHER_PARSER} {error}") from error
    library.native_set_lexbor((ctypes.c_void_p * len(addresses))(*addresses))
    numbers = [tag_number(name) for name in library.native_tags().decode().split()]
    if not library.native_set_tags((ctypes.c_uint64 * len(numbers))(*numbers)):
        raise Refusal(f"{_ANOTHER_PARSER} it has other tag numbers")
    texts = "".join(f"{text}\0" for text in SAMPLE_TEXTS).encode()
    failure = library.native_find_texts(sample, texts, len(SAMPLE_TEXTS))
    if failure is not None:
        raise Refusal(f"{_ANOTHER_PARSER} {failure.decode()}")
    if read_tree(library, sample) != SAMPLE_TREE:
        raise Refusal(f"{_ANOTHER_PARSER} a sample is read wrongly")
    library.native_truncate_text(sample, _SAMPLE_CHARS)
    if read_tree(library, sample) != CUT_SAMPLE_TREE:
        raise Refusal(f"{_ANOTHER_PARSER} a sample is truncated wrongly")


def read_tree(library: ctypes.CDLL, root: int) -> str | None:
    """The tree as the library reads it, in markup; None if it cannot read it."""
    page, answer = library.native_page_new(), ctypes.c_void_p()
    if not page:
        raise MemoryError
    try:
        size = library.native_write_tree(page, root, answer)
        return _text_decoder.decode(_memory_view(answer, size, _READ_ONLY)) if size else None
    finally:
        library.native_page_free(page)


def _send_tables(library: ctypes.CDLL) -> None:
    try:
        # Not needed in any other place.
        from tenax.extract.native.packed_tables import pack_class_hints, pack_decision_trees, pack_language_data

        tables = pack_class_hints(), pack_language_data(), pack_decision_trees()
    except (ImportError, AttributeError, ValueError) as error:
        raise Refusal(f"does not support this Python: {error}") from error
    for give, data in zip(
        (library.native_set_class_hints, library.native_set_languages, library.native_set_decision_trees),
        tables,
        strict=True,
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
        "native_set_tags": (ctypes.c_bool, pointer),
        "native_find_texts": (ctypes.c_char_p, pointer, ctypes.c_char_p, count),
        "native_write_tree": (size, pointer, pointer, answer),
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
