"""A page whose text is longer than what is read of any: what comes after that is taken out of its tree.

What is read of a text takes many times its size: as a whole, as the clean part, as Markdown, each on its way from one
step to the next. Here it is bounded once, before anything is made of it. Elements stay, and with them links.
"""

from __future__ import annotations

from typing import Final

from tenax.extract.html.node import Node, tag_number
from tenax.extract.html.parser import remove_node, truncate_text_node
from tenax.extract.html.walk import SKIPPED_TAGS
from tenax.extract.native.binding import load_native
from tenax.extract.text.visible import MAX_TEXT_CHARS

MIN_TEXT_CHARS: Final = 12
"""What each text is counted as at least: a short one takes more memory than its characters do."""
LONG_PAGE_BYTES: Final = 500_000
"""A page that is shorter needs no looking at: it has no room for so many texts."""
# Of a page that shows nothing else, what is in <noscript> is read.
_SKIPPED_TAGS: Final = SKIPPED_TAGS - {tag_number("noscript")}


def truncate_text(root: Node, max_chars: int = MAX_TEXT_CHARS, *, with_native: bool = True) -> bool:
    """Leave so many characters of the texts that may be seen, blank ones not counted; whether there were more.

    Short texts count more than they have, see `MIN_TEXT_CHARS`.
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
            truncate_text_node(node.mem_id, len(text[:left].encode("utf-8", "replace")))
            is_cut = True
        else:
            left -= chars
        node = following
    return is_cut


def _next_outside(node: Node, end: int) -> Node | None:
    """The node after all that is in this one."""
    while node.mem_id != end:
        following = node.next
        if following is not None:
            return following
        above = node.parent
        if above is None:
            return None
        node = above
    return None
