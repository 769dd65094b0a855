"""One DOM per page: the small interface through which the other rooms see the parser.

The parser is lexbor, by way of selectolax. Only this file names it, so that a faster one can take its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

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


_TELLING = 'a[href], area[href], iframe[src], link[href][rel], base[href], meta[content], script[type*="ld+json" i]'


class Dom:
    """A parsed page; for one thread. The markup must have passed `bounds.bounded`: the parser has no limits."""

    __slots__ = ("_parser", "_telling", "root")

    def __init__(self, html: str) -> None:
        try:
            self._parser = LexborHTMLParser(html, options=_OPTIONS)
        except SelectolaxError:
            self._parser = LexborHTMLParser("", options=_OPTIONS)
        self.root: Node | None = self._parser.root
        self._telling: list[tuple[int, Node]] | None = None

    @property
    def telling(self) -> list[tuple[int, Node]]:
        """The elements that tell where a page leads and what it is, with their tags' numbers, in document order.

        Each query walks the whole tree, so links and metadata share this one.
        """
        if self._telling is None:
            self._telling = [(node.tag_id, node) for node in self._parser.css(_TELLING)]
        return self._telling

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
