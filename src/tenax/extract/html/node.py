"""The node interface that the other packages use, and the numbers of tag names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from selectolax.lexbor import LexborHTMLParser

_tag_ids: Final = LexborHTMLParser("")


class Node(Protocol):
    """An element, a text or a comment of the tree."""

    @property
    def tag_id(self) -> int:
        """The `tag_number` of its name."""

    @property
    def mem_id(self) -> int:
        """Identifies the node within its page, independent of the wrapping object."""

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
        """By lower-case name; None for an attribute without a value. Rebuilt at each call: call once."""

    def css(self, query: str, /) -> Sequence[Node]:
        """Elements at or below this one that match a selector, in document order."""

    def traverse(self) -> Iterator[Node]:
        """This element and all non-text nodes below it, in document order."""


def tag_number(name: str) -> int:
    """The number of a tag name, the same in every document; comparing numbers is cheaper than names."""
    return _tag_ids.create_node(name).tag_id


TEXT: Final = 2
"""The `tag_id` of a text node."""
