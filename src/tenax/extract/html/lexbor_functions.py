"""lexbor's functions, as bundled with selectolax, and views of its memory where it has no function."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Final, TypeVar

from selectolax import lexbor

POINTER, SIZE = ctypes.c_void_p, ctypes.c_size_t
_status = ctypes.c_uint
POINTER_BYTES: Final = ctypes.sizeof(POINTER)
_END_OF_MEMORY: Final = 1 << 8 * POINTER_BYTES
View = TypeVar("View", ctypes.c_void_p, ctypes.c_size_t, ctypes.Array[ctypes.c_size_t])
OK: Final = 0
_SIGNATURES: Final[dict[str, tuple[Any, ...]]] = {
    "lxb_dom_attr_value_noi": (POINTER, POINTER, ctypes.POINTER(SIZE)),
    "lxb_dom_element_first_attribute_noi": (POINTER, POINTER),
    "lxb_dom_element_next_attribute_noi": (POINTER, POINTER),
    "lxb_dom_node_first_child_noi": (POINTER, POINTER),
    "lxb_dom_node_next_noi": (POINTER, POINTER),
    "lxb_dom_node_parent_noi": (POINTER, POINTER),
    "lxb_dom_node_remove": (None, POINTER),
    "lxb_dom_node_text_content_set": (_status, POINTER, ctypes.c_char_p, SIZE),
    "lxb_html_document_clean": (None, POINTER),
    "lxb_html_document_mraw_noi": (POINTER, POINTER),
    "lexbor_mem_chunk_length_noi": (SIZE, POINTER),
    "lxb_html_parser_create": (POINTER,),
    "lxb_html_parser_init": (_status, POINTER),
    "lxb_html_parser_clean": (None, POINTER),
    "lxb_html_parser_destroy": (POINTER, POINTER),
    "lxb_html_parser_tokenizer_noi": (POINTER, POINTER),
    "lxb_html_parser_tree_noi": (POINTER, POINTER),
    "lxb_html_parse_chunk_prepare": (_status, POINTER, POINTER),
    "lxb_html_parse_chunk_process": (_status, POINTER, POINTER, SIZE),
    "lxb_html_parse_chunk_end": (_status, POINTER),
    "lxb_html_tree_active_formatting_marker": (POINTER,),
    "lxb_html_tree_active_formatting_remove_by_node": (None, POINTER, POINTER),
}


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(lexbor.__file__)
    for name, (result, *arguments) in _SIGNATURES.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"this selectolax does not export {name} of lexbor; version 1.0.2 does") from None
        function.restype, function.argtypes = result, arguments
    return library


functions: Final = _load()
_write: Final = ctypes.CDLL(None).write
_write.restype, _write.argtypes = ctypes.c_ssize_t, (ctypes.c_int, POINTER, SIZE)


def view(kind: type[View], address: int | None) -> View:
    """What is at an address, not a copy. Nothing is read yet."""
    return kind.from_address((address or 0) % _END_OF_MEMORY)


def read_pointer(owner: int, number: int) -> ctypes.c_void_p:
    """A pointer within a lexbor object: a view, not a copy."""
    return view(POINTER, owner + number * POINTER_BYTES)


def read_count(owner: int, field: int, count: int) -> ctypes.c_size_t:
    """The length of a list that a field of `owner` points to: a view, not a copy."""
    return view(SIZE, (read_pointer(owner, field).value or 0) + count * POINTER_BYTES)


def are_readable(*views: ctypes.c_void_p | ctypes.c_size_t | ctypes.Array[ctypes.c_size_t]) -> bool:
    """Whether there is memory behind views: the system copies it, and reports an address where there is none."""
    source, target = os.pipe()
    try:
        return all(_write(target, ctypes.addressof(one), ctypes.sizeof(one)) == ctypes.sizeof(one) for one in views)
    finally:
        os.close(source)
        os.close(target)


def measure_attributes(element: int, max_bytes: int) -> tuple[int, int]:
    """Number of attributes and total length of their values; stops once that is too long."""
    count, total, size = 0, 0, SIZE()
    attribute = functions.lxb_dom_element_first_attribute_noi(element)
    while attribute and total <= max_bytes:
        count += 1
        functions.lxb_dom_attr_value_noi(attribute, ctypes.byref(size))
        total += size.value
        attribute = functions.lxb_dom_element_next_attribute_noi(attribute)
    return count, total


def remove_node(node: int) -> None:
    """Take a node out of its tree; the tree keeps its memory."""
    functions.lxb_dom_node_remove(node)


def set_text(node: int, text: bytes) -> None:
    """Replace the text of a text node."""
    functions.lxb_dom_node_text_content_set(node, text, len(text))
