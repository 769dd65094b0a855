"""One DOM per page and one walk through it: the small interface through which the other rooms see the parser.

The parser is lexbor, by way of selectolax. Only this file names it, so that a faster one can take its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, SelectolaxError

# Without events: the one they serve, copying a chosen <option>, makes long <select> lists quadratic.
_OPTIONS: Final = int(LexborDocumentOptions.WO_EVENTS)
_numbering: Final = LexborHTMLParser("")


class Node(Protocol):
    """An element, a text or a comment of the tree: what the other rooms may ask of it."""

    @property
    def tag_id(self) -> int:
        """The number that `tag_number` gives for its name."""

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
        """By lower-case name; None for an attribute without a value. Built anew at each call: ask once."""

    def css(self, query: str, /) -> Sequence[Node]:
        """Elements at or below this one that match a selector, in document order."""

    def traverse(self) -> Iterator[Node]:
        """This element and everything below it that is no text, in document order."""


class Walk(NamedTuple):
    """What one walk through a tree gathers, in document order."""

    fragments: list[str]
    """The texts that are seen, as written, with a BREAK or a space where elements part them."""
    leading: list[Node]
    """Elements that may lead elsewhere: a, area, iframe and link, seen or not."""
    telling: list[Node]
    """Elements that may tell what the page is: base, link, meta, script and title, seen or not."""


class Dom:
    """A parsed page; for one thread. The markup must have passed `bounds.bounded`: the parser has no limits."""

    __slots__ = ("_parser", "_walk", "root")

    def __init__(self, html: str | bytes) -> None:
        """Bytes are UTF-8, and valid."""
        try:
            self._parser = LexborHTMLParser(html, options=_OPTIONS)
        except SelectolaxError:
            self._parser = LexborHTMLParser("", options=_OPTIONS)
        self.root: Node | None = self._parser.root
        self._walk: Walk | None = None

    @property
    def walk(self) -> Walk:
        """The walk through the whole page, taken once: text, links and metadata share it."""
        if self._walk is None:
            self._walk = walk(self.root) if self.root is not None else Walk([], [], [])
        return self._walk

    def select(self, selector: str) -> Sequence[Node]:
        """Elements that match a CSS selector, in document order. What is inside <template> is not searched."""
        return self._parser.css(selector)

    def first(self, selector: str) -> Node | None:
        return self._parser.css_first(selector)


def tag_number(name: str) -> int:
    """The number of a tag name, the same in every document; comparing numbers is cheaper than names."""
    return _numbering.create_node(name).tag_id


TEXT: Final = 2
"""The `tag_id` of a text node."""
BREAK: Final = "\0"
"""Stands for a line break among texts that hold line breaks of their own; no parsed text contains it."""

_BLOCKS = """
address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure
footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol optgroup p
plaintext pre search section summary table tbody tfoot thead tr ul xmp
"""
_SPACED = "td th button input select option textarea img rt"
_UNSEEN = "head title script style noscript template svg iframe noembed noframes canvas audio video datalist"
_EDGES: Final[dict[int, str | None]] = {
    tag_number(name): edge
    for names, edge in ((_BLOCKS, BREAK), (_SPACED, " "), (_UNSEEN, None))
    for name in names.split()
}
"""What stands on both sides of an element's text; None for elements whose text is not seen. All others are inline and
have no edges, so that `foo<b>bar</b>` stays one word."""
_A: Final = tag_number("a")
_LEADING: Final = frozenset(map(tag_number, ("a", "area", "iframe", "link")))
_TELLING: Final = frozenset(map(tag_number, ("base", "link", "meta", "script", "title")))
_NOTED: Final = _LEADING | _TELLING


def walk(root: Node) -> Walk:
    """Walk below this node. It keeps its own stack, so no page is too deep for it, and changes nothing in the tree.

    The hottest loop of the house: few names, few calls.
    """
    gathered = Walk([], [], [])
    add, lead, edge_of = gathered.fragments.append, gathered.leading.append, _EDGES.get
    resume: list[tuple[Node | None, str]] = []
    node = root.first_child
    while True:
        while node is not None:
            text = node.text_content
            if text is not None:
                add(text)
                node = node.next
                continue
            tag = node.tag_id
            edge = edge_of(tag, "")
            if edge:
                add(edge)
            elif edge is None:
                _note(node, gathered)
                node = node.next
                continue
            elif tag == _A:
                lead(node)
            elif tag in _NOTED:
                _note_one(tag, node, gathered)
            child = node.first_child
            node = node.next
            if child is None:
                continue
            # Most elements begin with a text, and many hold nothing else: no need to step down and up again for it.
            text = child.text_content
            if text is not None:
                add(text)
                child = child.next
            if child is not None:
                resume.append((node, edge))
                node = child
            elif edge:
                add(edge)
        if not resume:
            return gathered
        node, edge = resume.pop()
        if edge:
            add(edge)


def _note(unseen: Node, gathered: Walk) -> None:
    """Note what an unseen element is, and holds, that is of use unseen."""
    for node in unseen.traverse():
        if (tag := node.tag_id) in _NOTED:
            _note_one(tag, node, gathered)


def _note_one(tag: int, node: Node, gathered: Walk) -> None:
    if tag in _LEADING:
        gathered.leading.append(node)
    if tag in _TELLING:
        gathered.telling.append(node)
