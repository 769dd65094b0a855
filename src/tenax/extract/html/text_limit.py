"""Limits the text of a long page, before any step of extraction.

Extraction needs many times the size of the text: the whole text, the article and the Markdown, each in several steps.
Elements stay, and so do links.
"""

from __future__ import annotations

from typing import Final

from tenax.extract.html.lexbor_functions import remove_node, set_text
from tenax.extract.html.tree import SKIPPED_TAGS, Node, tag_number
from tenax.extract.html.visible import MAX_TEXT_CHARS
from tenax.extract.native.binding import load_native

MIN_TEXT_CHARS: Final = 12
"""Each text counts at least this much: a short text takes more memory than its characters."""
LONG_PAGE_BYTES: Final = 500_000
"""A shorter page needs no check: it cannot contain that many texts."""
# On a page that shows nothing else, <noscript> is read.
_SKIPPED_TAGS: Final = SKIPPED_TAGS - {tag_number("noscript")}


def truncate_text(root: Node, max_chars: int = MAX_TEXT_CHARS, *, with_native: bool = True) -> bool:
    """Keep `max_chars` characters of the texts that may be visible, blank ones not counted; whether there were more.

    Short texts count more than their length, see `MIN_TEXT_CHARS`.
    """
    ready = load_native() if with_native else None
    if ready is not None:
        return ready.truncate_text(root.mem_id, max_chars)
    return _truncate_in_python(root, max_chars)


def _truncate_in_python(root: Node, max_chars: int) -> bool:
    left, is_cut, end = max_chars, False, root.mem_id
    node: Node | None = root
    while node is not None:
        text = node.text_content
        if text is None:
            child = node.first_child if node.tag_id not in _SKIPPED_TAGS else None
            node = child if child is not None else _next_outside(node, end)
            continue
        following = _next_outside(node, end)
        chars = 0 if is_cut or not text or text.isspace() else max(len(text), MIN_TEXT_CHARS)
        if is_cut or (chars and not left):
            remove_node(node.mem_id)
            is_cut = True
        elif chars > left:
            set_text(node.mem_id, text[:left].encode("utf-8", "replace"))
            is_cut = True
        else:
            left -= chars
        node = following
    return is_cut


def _next_outside(node: Node, end: int) -> Node | None:
    """The node after this one and its descendants."""
    while node.mem_id != end:
        following = node.next
        if following is not None:
            return following
        above = node.parent
        if above is None:
            return None
        node = above
    return None
