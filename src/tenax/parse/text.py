"""The visible text of a page: one line per block, single spaces within.

The walk keeps its own stack, so no page is too deep for it, and it changes nothing in the tree.
"""

from __future__ import annotations

from typing import Final

from tenax.parse.html import TEXT, Node, tag_number

MAX_TEXT_CHARS: Final = 2_000_000
"""Text kept of one page at most."""

_BREAK = "\0"
"""Stands for a line break while text still holds line breaks of its own; no parsed text contains it."""

# A page's text ends in terminals and logs too: no escape may survive. Tabs and line breaks are handled elsewhere.
_CONTROLS = bytes([*range(0x09), *range(0x0E, 0x20), 0x7F])

_BLOCKS = """
address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure
footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol optgroup p
plaintext pre search section summary table tbody tfoot thead tr ul xmp
"""
_SPACED = "td th button input select option textarea img rt"
_UNSEEN = "head title script style noscript template svg iframe noembed noframes canvas audio video datalist"
_EDGES: Final[dict[int, str | None]] = {
    tag_number(name): edge
    for names, edge in ((_BLOCKS, _BREAK), (_SPACED, " "), (_UNSEEN, None))
    for name in names.split()
}
"""What stands on both sides of an element's text; None for elements whose text is not seen. All others are inline and
have no edges, so that `foo<b>bar</b>` stays one word."""


def visible_text(root: Node, max_chars: int = MAX_TEXT_CHARS) -> str:
    """What a reader sees below this node, in document order, NULs never included."""
    return inert(_tidy("".join(_fragments(root))))[:max_chars]


def plain_text(text: str, max_chars: int = MAX_TEXT_CHARS) -> str:
    """A text/plain body as a page's text: its own lines, one kind of line break, nothing that steers a terminal."""
    return inert(text[:max_chars].replace("\r\n", "\n").replace("\r", "\n")).strip()


def inert(text: str) -> str:
    """The text without control characters other than white space."""
    # By bytes: in UTF-8 these controls are single bytes and part of nothing else. No regular expression is as quick.
    encoded = text.encode("utf-8", "replace")
    kept = encoded.translate(None, _CONTROLS)
    if len(kept) != len(encoded):
        text = kept.decode("utf-8")
    return text.replace("\x9b", "") if "\x9b" in text else text


def _fragments(root: Node) -> list[str]:
    """The texts below the root with their edges, as written. The hottest loop of the room: few names, few calls."""
    fragments: list[str] = []
    add = fragments.append
    edge_of = _EDGES.get
    resume: list[tuple[Node | None, str]] = []
    node = root.first_child
    while True:
        while node is not None:
            tag = node.tag_id
            if tag == TEXT:
                add(node.text_content or "")
                node = node.next
                continue
            edge = edge_of(tag, "")
            child = node.first_child if edge is not None else None
            if edge:
                add(edge)
            if child is None or edge is None:
                node = node.next
            elif child.tag_id == TEXT and child.next is None:
                # Most elements hold one text and nothing else: no need to step down and up again.
                add(child.text_content or "")
                add(edge)
                node = node.next
            else:
                resume.append((node.next, edge))
                node = child
        if not resume:
            return fragments
        node, edge = resume.pop()
        add(edge)


def _tidy(raw: str) -> str:
    """Drop empty lines and collapse white space within the others, by whole-string passes."""
    raw = _BREAK.join([line for part in raw.split(_BREAK) if (line := part.strip())])
    for blank in "\n\t\r\f\v\xa0":
        if blank in raw:
            raw = raw.replace(blank, " ")
    while "  " in raw:
        raw = raw.replace("  ", " ")
    return raw.replace(_BREAK, "\n")
