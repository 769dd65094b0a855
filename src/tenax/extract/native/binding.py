"""The kernel as Python calls it: the library found, compared and given its tables; a page opened, read, closed."""

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

from tenax.extract.html.links import Link
from tenax.extract.native.build import library_path
from tenax.model import Value

_LEXBOR: Final = (
    "lxb_dom_element_first_attribute_noi",
    "lxb_dom_element_next_attribute_noi",
    "lxb_dom_attr_qualified_name",
    "lxb_dom_attr_value_noi",
    "lxb_dom_attr_data_by_id",
)
"""What the kernel asks of the parser, in its order."""
_MIRRORED: Final = (
    "<main class=a id='' Rel hidden data-a-name-of-many-letters=b><p itemprop=c style=d>one<i>two</i>three</p>"
    "<x-y role=e>four</x-y><svg><a xlink:href=f viewbox=g>five</a></svg></main>"
)
_TELLS: Final = 8
_ELEMENT: Final = 1
_TEXT_NODE: Final = 3
_MOST_SPARE: Final = 4
_TO_BE_READ: Final = 0x100  # PyBUF_READ
_view: Final = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)
_looking = Lock()


class Seen(Value, frozen=True, array_like=True):
    """What is asked of a page before it is read, see `html.Seen`."""

    telling: list[tuple[int, bool, dict[str, str | None], str | None]]
    """Elements that tell what the page is: see `html.Telling`."""
    language: str | None
    xml_language: str | None
    first_headings: list[str]
    lower_headings: list[str]
    byline_marks: int

    @property
    def languages(self) -> tuple[str | None, str | None]:
        return self.language, self.xml_language


class Skimmed(Value, frozen=True, array_like=True):
    text: str
    links: tuple[Link, ...]


class Answer(Value, frozen=True, array_like=True):
    """What was read in a page, see `body.Body`."""

    text: str
    is_clean: bool
    cut_at: int | None
    kind: int
    """Its place in the table of kinds; -1 for a page without text."""
    article: str
    abstract: str | None
    words: int
    fingerprint: bytes
    links: tuple[Link, ...]
    hrefs: list[str]
    """What the Markdown needs the addresses of."""


_seen = msgspec.msgpack.Decoder(Seen)
_skimmed = msgspec.msgpack.Decoder(Skimmed)
_answer = msgspec.msgpack.Decoder(Answer)
_text = msgspec.msgpack.Decoder(str)
_lines = msgspec.msgpack.Decoder(tuple[list[str], list[str]])
_language = msgspec.msgpack.Decoder(tuple[str | None, float])


class Kernel:
    """The library, ready. Its pages are for one thread each."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.call = library
        self._spare: list[int] = []

    def page(self) -> int:
        """Room for a page, kept from one to the next."""
        made: int = self._spare.pop() if self._spare else self.call.kernel_page()
        if not made:
            raise MemoryError
        return made

    def shorten(self, root: int, most_chars: int) -> bool:
        """As `long_text.shorten`, of a tree that no sheet is open on."""
        answer: bool = self.call.kernel_shorten(root, most_chars)
        return answer

    def give_back(self, page: int) -> None:
        self.call.kernel_close(page)
        if len(self._spare) < _MOST_SPARE:
            self._spare.append(page)
        else:
            self.call.kernel_page_free(page)


class Sheet:
    """One page in the kernel's hands. The tree it was opened on must outlive it."""

    __slots__ = ("_at", "_kernel", "_page", "seen")

    def __init__(self, kernel: Kernel, root: int, *, is_skimmed: bool = False) -> None:
        """`root` is the address of the tree's root. Raises `GaveUp` as every other call does."""
        self._kernel = kernel
        self._page = kernel.page()
        self._at = ctypes.c_void_p()
        try:
            size = kernel.call.kernel_open(self._page, root, is_skimmed, self._at)
            self.seen: Seen = _seen.decode(self._answered(size))
        except GaveUp:
            self.close()
            raise

    def skim(self) -> Skimmed:
        return _skimmed.decode(self._answered(self._kernel.call.kernel_skim(self._page, self._at)))

    def read(self, title: str, numbers: Sequence[float]) -> Answer:
        """`title` is the page's in lower case; `numbers` those of the hints, then those of the address."""
        said, given = title.encode("utf-8", "replace"), array("d", numbers)
        size = self._kernel.call.kernel_read(self._page, said, len(said), given.buffer_info()[0], self._at)
        return _answer.decode(self._answered(size))

    def markdown(self, addresses: Sequence[str]) -> str:
        """After `read`; with an address for each of its hrefs, empty for one that leads nowhere."""
        joined = "".join([f"{address}\0" for address in addresses]).encode("utf-8", "replace")
        size = self._kernel.call.kernel_markdown(self._page, joined, len(joined), self._at)
        return _text.decode(self._answered(size))

    def lines(self, title: str) -> tuple[list[str], list[str]] | None:
        """After `read`; see `html.Searcher`."""
        try:
            said = title.encode()
            size = self._kernel.call.kernel_lines(self._page, said, len(said), self._at)
            return _lines.decode(self._answered(size))
        except (GaveUp, UnicodeEncodeError):
            return None

    def may_have_stamps(self) -> bool:
        """See `html.Searcher`."""
        answer: bool = self._kernel.call.kernel_may_have_stamps(self._page)
        return answer

    def language(self, sample: str) -> tuple[str, float]:
        """As `language.detected`."""
        said = sample.encode("utf-8", "replace")
        size = self._kernel.call.kernel_language(self._page, said, len(said), self._at)
        tag, confidence = _language.decode(self._answered(size))
        return tag or "", round(confidence, 3)

    def close(self) -> None:
        if self._page:
            self._kernel.give_back(self._page)
            self._page = 0

    def _answered(self, size: int) -> memoryview:
        """The answer where it lies: good until the next call."""
        if not size:
            raise GaveUp(self._kernel.call.kernel_why(self._page).decode())
        answer: memoryview = _view(self._at, size, _TO_BE_READ)
        return answer


class GaveUp(Exception):
    """The kernel cannot read this page; Python can."""


def open_sheet(root: int, *, is_skimmed: bool = False) -> Sheet | None:
    """A page for the kernel to read, by the address of its tree's root; None if it cannot, or is not there.

    Of one that is only skimmed nobody will ask who wrote it.
    """
    ready = kernel()
    if ready is None:
        return None
    try:
        return Sheet(ready, root, is_skimmed=is_skimmed)
    except GaveUp:
        return None


def kernel() -> Kernel | None:
    """The kernel, if it was built and fits the parser; looked for once."""
    with _looking:
        return _kernel()


@cache
def _kernel() -> Kernel | None:
    path = library_path()
    if path is None:
        return None
    try:
        library = _declared(ctypes.CDLL(str(path)))
        parser = ctypes.CDLL(lexbor.__file__)
        addresses = [ctypes.cast(getattr(parser, name), ctypes.c_void_p).value for name in _LEXBOR]
    except (OSError, AttributeError):
        return None  # made for another machine, or a parser that shows nothing of itself
    library.kernel_set_lexbor((ctypes.c_void_p * len(addresses))(*addresses))
    if not _fits(library):
        return None
    try:
        _give_tables(library)
    except (ImportError, AttributeError, ValueError):
        return None  # a Python whose patterns are not read as we read them
    return Kernel(library)


def _give_tables(library: ctypes.CDLL) -> None:
    # Nobody else needs them.
    from tenax.extract.native.class_hints import marks_data
    from tenax.extract.native.decision_trees import tables_data
    from tenax.extract.native.language_data import languages_data

    for give, data in (
        (library.kernel_set_marks, marks_data()),
        (library.kernel_set_languages, languages_data()),
        (library.kernel_set_tables, tables_data()),
    ):
        give(data, len(data))


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    pointer, size, count = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
    answer = ctypes.POINTER(ctypes.c_void_p)
    signatures: dict[str, tuple[Any, ...]] = {
        "kernel_set_lexbor": (None, pointer),
        "kernel_set_marks": (None, ctypes.c_char_p, size),
        "kernel_set_languages": (None, ctypes.c_char_p, size),
        "kernel_set_tables": (None, ctypes.c_char_p, size),
        "kernel_page": (pointer,),
        "kernel_page_free": (None, pointer),
        "kernel_close": (None, pointer),
        "kernel_why": (ctypes.c_char_p, pointer),
        "kernel_tags": (ctypes.c_char_p,),
        "kernel_unicode": (ctypes.c_char_p,),
        "kernel_mirror": (None, pointer, pointer),
        "kernel_mirrors_attributes": (ctypes.c_bool, pointer),
        "kernel_open": (size, pointer, pointer, ctypes.c_bool, answer),
        "kernel_shorten": (ctypes.c_bool, pointer, count),
        "kernel_skim": (size, pointer, answer),
        "kernel_read": (size, pointer, ctypes.c_char_p, count, pointer, answer),
        "kernel_lines": (size, pointer, ctypes.c_char_p, count, answer),
        "kernel_may_have_stamps": (ctypes.c_bool, pointer),
        "kernel_markdown": (size, pointer, ctypes.c_char_p, count, answer),
        "kernel_language": (size, pointer, ctypes.c_char_p, count, answer),
    }
    for name, (result, *arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _fits(library: ctypes.CDLL) -> bool:
    """Whether it knows the characters that Python knows, and its picture of the tree is the parser's: the numbers of
    tags, and where a node has what."""
    if library.kernel_unicode().decode() != unicodedata.unidata_version:
        return False
    parser = lexbor.LexborHTMLParser(_MIRRORED)
    if any(parser.create_node(name).tag_id != number for name, number in _tags_of(library).items()):
        return False
    main = parser.css_first("main")
    nodes = list(main.traverse(include_text=True)) if main is not None else []
    return bool(nodes) and all(_is_mirrored(library, node) for node in nodes)


def _tags_of(library: ctypes.CDLL) -> dict[str, int]:
    lines = map(str.split, library.kernel_tags().decode().splitlines())
    return {name: int(number) for name, number in lines}


def _is_mirrored(library: ctypes.CDLL, node: Any) -> bool:
    seen = (ctypes.c_uint64 * _TELLS)()
    library.kernel_mirror(node.mem_id, seen)
    tag, kind, size, parent, child, following, first, last = seen
    text = (node.text_content or "").encode()
    return (tag, parent, child, following) == (
        node.tag_id,
        *(one.mem_id if one is not None else 0 for one in (node.parent, node.first_child, node.next)),
    ) and (
        (kind, size, first, last) == (_TEXT_NODE, len(text), text[0], text[-1])
        if text
        else kind == _ELEMENT and bool(library.kernel_mirrors_attributes(node.mem_id))
    )
