"""The tree of the parser lexbor: its nodes, the state of feeding the parser, and one walk through the tree."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from selectolax.lexbor import LexborHTMLParser

_tag_ids: Final = LexborHTMLParser("")


class Node(Protocol):
    """An element, a text or a comment of the tree."""

    @property
    def tag_id(self) -> int:
        """The `tag_number` of its name."""

    @property
    def mem_id(self) -> int:
        """Identifies the node in its page, independent of the object around it."""

    @property
    def parent(self) -> Node | None: ...
    @property
    def first_child(self) -> Node | None: ...
    @property
    def next(self) -> Node | None: ...
    @property
    def text_content(self) -> str | None:
        """The text of a text node; None for anything else."""

    @property
    def attributes(self) -> Mapping[str, str | None]:
        """Attributes by lower-case name; None for an attribute without a value. They are read at each call, so call
        this once."""

    def css(self, query: str, /) -> Sequence[Node]:
        """Elements that match a selector, in document order. This element and those below it are searched."""

    def traverse(self) -> Iterator[Node]:
        """This element and all non-text nodes below it, in document order."""


def tag_number(name: str) -> int:
    """The number of a tag name, the same in every document. Comparing numbers is cheaper than comparing names."""
    return _tag_ids.create_node(name).tag_id


TEXT: Final = 2
"""The `tag_id` of a text node."""

FED, FAILED, HANDED_BACK = 0, 1, 2
"""Results: a check is due or everything is fed; the parser failed; Python continues, because more elements are open
than the native code counts."""

_pointer, _size = ctypes.c_void_p, ctypes.c_size_t

_OF_LEXBOR: Final = (
    *("process", "parser", "token", "attributes", "open_elements", "formatting", "formatting_list", "marker"),
)
_LIMITS: Final = (
    *("piece_bytes", "small_piece_bytes", "least_bytes", "piece_steps", "few_open", "formatting_steps"),
    *("rebuilt_bytes", "many_chunks", "too_many_chunks", "check_every_bytes", "max_depth", "max_attributes"),
    *("max_tree_bytes", "chunk_bytes", "token_attribute_bytes"),
)


class Feed(ctypes.Structure):
    """One parser and its page. `native/feed.c` has the same fields."""

    _fields_ = (
        *((name, _pointer) for name in _OF_LEXBOR),
        ("first_attribute", _size),
        *((name, _size) for name in _LIMITS),
        ("html", ctypes.c_char_p),
        ("chunks", _pointer),
        *((name, _size) for name in ("end", "at", "look_at", "tag_before")),
        *((name, _size) for name in ("rebuilt_count", "rebuilt_last", "rebuilt_weight")),
        *((name, _size) for name in ("checked_tag", "attributes_before")),
        *((name, ctypes.c_double) for name in ("quiet_seconds", "quiet_until")),
    )
    process: int
    """A function of lexbor; the fields up to `marker` are addresses of its counters."""
    parser: int
    token: int
    attributes: int
    open_elements: int
    formatting: int
    formatting_list: int
    marker: int
    first_attribute: int
    """Offset in a token, in pointers."""
    piece_bytes: int
    small_piece_bytes: int
    least_bytes: int
    piece_steps: int
    few_open: int
    formatting_steps: int
    rebuilt_bytes: int
    many_chunks: int
    too_many_chunks: int
    check_every_bytes: int
    max_depth: int
    max_attributes: int
    max_tree_bytes: int
    chunk_bytes: int
    token_attribute_bytes: int
    html: bytes
    chunks: int
    end: int
    at: int
    """Bytes fed so far."""
    look_at: int
    """The next check is due after this many bytes."""
    tag_before: int
    rebuilt_count: int
    """At the last measurement: the number of formatting elements, the last one, and their weight."""
    rebuilt_last: int
    rebuilt_weight: int
    checked_tag: int
    """At the last check: the current tag, and the attributes of all tags when it was first seen."""
    attributes_before: int
    quiet_seconds: float
    """Before this much time has passed, the native code need not have the time checked."""
    quiet_until: float

    def begin(self, html: bytes, chunks: int, quiet_seconds: float) -> None:
        self.html, self.chunks, self.look_at, self.end = html, chunks, self.check_every_bytes, len(html)
        self.at = self.tag_before = self.rebuilt_count = self.rebuilt_last = self.rebuilt_weight = 0
        self.checked_tag = self.attributes_before = 0
        self.quiet_seconds = quiet_seconds


Feeder: TypeAlias = Callable[[int], int]
"""Feeds in native code. Takes the address of a `Feed`, and returns one of the results above."""


BREAK: Final = "\0"
"""A line break between elements. Texts have line breaks of their own. No parsed text contains this character."""

_BLOCK_NAMES = """
address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure
footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol optgroup p
plaintext pre search section summary table tbody tfoot thead tr ul xmp
"""
_CELL_NAMES = "td th button select option textarea"
_SPACE_NAMES = "input"
_HIDDEN_NAMES = (
    "head title script style noscript template svg iframe noembed noframes canvas audio video datalist rp rt"
)
_INLINE, _BLOCK, _CELL, _LINK, _LINE, _SPACE, _IMAGE, _METADATA, _HIDDEN = range(9)
_KINDS: Final[dict[int, int]] = {
    tag_number(name): kind
    for names, kind in (
        ("area base link meta", _METADATA), (_BLOCK_NAMES, _BLOCK), (_CELL_NAMES, _CELL), ("br", _LINE),
        (_SPACE_NAMES, _SPACE), ("img", _IMAGE), ("a", _LINK), (_HIDDEN_NAMES, _HIDDEN),
    )
    for name in names.split()
}  # fmt: skip
"""How the walk treats an element. All others are inline and separate nothing: `foo<b>bar</b>` stays one word."""
BOX_TAGS: Final = frozenset(tag for tag, kind in _KINDS.items() if kind in (_BLOCK, _CELL))
"""Tags of boxes."""
SKIPPED_TAGS: Final = frozenset(tag for tag, kind in _KINDS.items() if kind > _LINK)
"""Tags of elements whose content is never read."""
_NOSCRIPT_KINDS: Final = _KINDS | {tag_number("noscript"): _BLOCK}
_EDGE_TEXTS: Final = ("", BREAK, " ")
MAX_BOXES: Final = 50_000
"""Maximum per page. Later boxes are visible text but are not scored; such pages exceed the block limit anyway."""
# Elements that would be boxes beyond the limit. Their numbers are negative, so that they index the same edge texts from
# the end.
_EXCESS_BLOCK, _EXCESS_CELL = -2, -1
_BREAK_AFTER: Final = frozenset((_BLOCK, _EXCESS_BLOCK))
_LINK_TAGS: Final = frozenset(map(tag_number, ("a", "area", "iframe", "link")))
_METADATA_TAGS: Final = frozenset(map(tag_number, ("base", "link", "meta", "script", "title")))
_RECORDED_TAGS: Final = _LINK_TAGS | _METADATA_TAGS


def _excess_kinds(kinds: Mapping[int, int]) -> Mapping[int, int]:
    others = {_BLOCK: _EXCESS_BLOCK, _CELL: _EXCESS_CELL}
    return {tag: others.get(kind, kind) for tag, kind in kinds.items()}


_EXCESS_KINDS: Final = _excess_kinds(_KINDS)
_NOSCRIPT_EXCESS_KINDS: Final = _excess_kinds(_NOSCRIPT_KINDS)


class Walk:
    """The result of one walk through a tree, in document order: columns of numbers and nodes, one list per field.

    A *box* is a block-level element; box 0 is the root. A *run* is text in one box that no start or end of another box
    interrupts. Lists with the same prefix (`box_`, `run_`, `link_`) have the same length.
    """

    __slots__ = (
        "box_ends",
        "box_nodes",
        "box_parents",
        "box_starts",
        "box_tags",
        "fragments",
        "image_positions",
        "images",
        "line_breaks",
        "link_ends",
        "link_nodes",
        "link_starts",
        "metadata_nodes",
        "run_boxes",
        "run_nodes",
        "run_starts",
        "scored_runs",
    )

    def __init__(self, root: Node | None, *, with_noscript: bool = False) -> None:
        """`with_noscript`: the content of <noscript> is also visible."""
        self.fragments: list[str] = []
        """Visible texts as written, with a BREAK or a space if elements separate them."""
        self.line_breaks = 0
        """The number of <br>."""
        self.link_nodes: list[Node] = []
        """Elements that may link to other pages: a, area, iframe and link, whether visible or not."""
        self.link_starts: list[int] = []
        self.link_ends: list[int] = []
        """The range of fragments of each link; empty for links without text."""
        self.metadata_nodes: list[Node] = []
        """Elements that may describe the page: base, link, meta, script and title, whether visible or not."""
        self.images: list[Node] = []
        self.image_positions: list[int] = []
        """The number of fragments before each image."""
        self.box_tags: list[int] = []
        self.box_nodes: list[Node] = []
        self.box_parents: list[int] = []
        """The parent of each box. The root is its own parent."""
        self.box_starts: list[int] = []
        self.box_ends: list[int] = []
        """The range of runs of each box, including inner boxes."""
        self.run_starts: list[int] = []
        """The first fragment of each run. A run ends where the next run begins."""
        self.run_boxes: list[int] = []
        self.run_nodes: list[Node] = []
        """The first text node of each run."""
        self.scored_runs: int | None = None
        """The number of runs before the box limit was reached. Later ones are not proper runs. None: all."""
        if root is not None and with_noscript:
            _walk_tree(root, self, _NOSCRIPT_KINDS, _NOSCRIPT_EXCESS_KINDS)
        elif root is not None:
            _walk_tree(root, self, _KINDS, _EXCESS_KINDS)

    def box_text(self, box: int) -> str:
        """The text of a box on one line."""
        starts, first, end = self.run_starts, self.box_starts[box], self.box_ends[box]
        if first == end:
            return ""
        stop = starts[end] if end < len(starts) else len(self.fragments)
        return " ".join("".join(self.fragments[starts[first] : stop]).replace(BREAK, " ").split())


def _walk_tree(root: Node, walk: Walk, kinds: Mapping[int, int], excess_kinds: Mapping[int, int]) -> None:
    """Walk below this node. The walk has its own stack, so the depth is not limited, and it does not change the tree.

    One long function, because this is the loop of extraction that takes most time: it avoids calls and attribute
    look-ups.
    """
    fragments, run_starts, leading = walk.fragments, walk.run_starts, walk.link_nodes
    link_starts, link_ends = walk.link_starts, walk.link_ends
    box_ends, box_parents = walk.box_ends, walk.box_parents
    add, add_run, add_run_box, add_run_node = (
        fragments.append, run_starts.append, walk.run_boxes.append, walk.run_nodes.append,
    )  # fmt: skip
    add_tag, add_node, add_parent, add_first, add_end = (
        walk.box_tags.append, walk.box_nodes.append, box_parents.append, walk.box_starts.append,
        box_ends.append,
    )  # fmt: skip
    kind_of, edges = kinds.get, _EDGE_TEXTS
    add_tag(root.tag_id)
    add_node(root)
    add_parent(0)
    add_first(0)
    add_end(0)
    box, is_fresh = 0, True
    # The node after the end of an element, the kind of the element, and its number if it is a link.
    resume: list[tuple[Node | None, int, int]] = []
    node = root.first_child
    while True:
        while node is not None:
            text = node.text_content
            if text is not None:
                if is_fresh and not text.isspace():
                    add_run(len(fragments))
                    add_run_box(box)
                    add_run_node(node)
                    is_fresh = False
                add(text)
                node = node.next
                continue
            tag = node.tag_id
            kind = kind_of(tag, 0)
            if kind > _LINK:
                _add_void(kind, tag, node, walk)
                node = node.next
                continue
            child = node.first_child
            number = 0
            if kind == _LINK:
                number = len(leading)
                leading.append(node)
                link_starts.append(len(fragments))
                link_ends.append(len(fragments))
            elif kind:
                add(edges[kind])
                if kind > 0:
                    is_fresh = True
                    add_tag(tag)
                    add_node(node)
                    add_parent(box)
                    add_first(len(run_starts))
                    add_end(len(run_starts))
                    if len(box_ends) == MAX_BOXES:
                        kind_of, walk.scored_runs = excess_kinds.get, len(run_starts)
            node = node.next
            if child is None:
                if kind in _BREAK_AFTER:
                    add(BREAK)
                continue
            # Most elements begin with a text, and many contain nothing else. These are handled without descending.
            text = child.text_content
            if text is not None:
                if is_fresh and not text.isspace():
                    add_run(len(fragments))
                    add_run_box(box if kind <= 0 or kind == _LINK else len(box_ends) - 1)
                    add_run_node(child)
                    is_fresh = False
                add(text)
                child = child.next
            if child is not None:
                resume.append((node, kind, number))
                node = child
                if 0 < kind < _LINK:
                    box = len(box_ends) - 1
            elif kind == _LINK:
                link_ends[number] = len(fragments)
            elif kind:
                add(edges[kind])
                if kind > 0:
                    is_fresh = True
                    box_ends[-1] = len(run_starts)
        if not resume:
            break
        node, kind, number = resume.pop()
        if kind == _LINK:
            link_ends[number] = len(fragments)
        elif kind:
            add(edges[kind])
            if kind > 0:
                is_fresh = True
                box_ends[box] = len(run_starts)
                box = box_parents[box]
    box_ends[0] = len(run_starts)


def _add_void(kind: int, tag: int, node: Node, walk: Walk) -> None:
    """Record an element whose content is not read."""
    if kind == _LINE:
        walk.fragments.append(BREAK)
        walk.line_breaks += 1
    elif kind == _HIDDEN:
        _record_hidden(node, walk)
    elif kind == _METADATA:
        _record_node(tag, node, walk)
    else:
        walk.fragments.append(" ")
        if kind == _IMAGE:
            walk.image_positions.append(len(walk.fragments))
            walk.images.append(node)


def _record_hidden(hidden: Node, walk: Walk) -> None:
    """Record links and metadata in an invisible element."""
    for node in hidden.traverse():
        if (tag := node.tag_id) in _RECORDED_TAGS:
            _record_node(tag, node, walk)


def _record_node(tag: int, node: Node, walk: Walk) -> None:
    if tag in _LINK_TAGS:
        walk.link_nodes.append(node)
        walk.link_starts.append(len(walk.fragments))
        walk.link_ends.append(len(walk.fragments))
    if tag in _METADATA_TAGS:
        walk.metadata_nodes.append(node)
