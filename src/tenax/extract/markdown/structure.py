"""The Markdown context of a block: the quotes, lists, headings, tables or code around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tenax.extract.article.blocks import Blocks
from tenax.extract.html.node import tag_number
from tenax.extract.markdown.tables import Table, find_data_table
from tenax.extract.markdown.writer import MAX_LEVELS, Container, Containers, count_levels

MAX_HEADING_CHARS: Final = 400
MAX_HEADING_BLOCKS: Final = 4
"""A longer heading is an article inside a heading that was never closed."""

_HEADING_LEVELS: Final = {tag_number(f"h{level}"): level for level in range(1, 7)}
_PREFORMATTED_TAGS: Final = frozenset(map(tag_number, ("pre", "listing", "xmp", "plaintext")))
_LI, _OL, _QUOTE, _DT, _TABLE = map(tag_number, ("li", "ol", "blockquote", "dt", "table"))
_STRUCTURAL_TAGS: Final = frozenset((*_HEADING_LEVELS, *_PREFORMATTED_TAGS, _LI, _QUOTE, _DT, _TABLE))
"""Boxes that affect the Markdown of their content."""


class BlockContext(NamedTuple):
    """The context of a block."""

    containers: Containers = ()
    level: int = 0
    """Heading level; 0 for none."""
    owner_box: int = -1
    """The box of the heading, preformatted text or table."""
    is_code: bool = False
    is_term: bool = False
    table: Table | None = None


class BlockContexts:
    """The context of each box with kept blocks; call in the order of the page, so that list items are counted."""

    def __init__(self, blocks: Blocks, kept_before: Sequence[int]) -> None:
        self._blocks, self._kept_before = blocks, kept_before
        self._tags, self._parents = blocks.walk.box_tags, blocks.walk.box_parents
        self._context_by_box: dict[int, BlockContext] = {0: BlockContext()}
        self._next_numbers: dict[int, int] = {}

    def find_context(self, box: int) -> BlockContext:
        """Computed once per box, from the context of its parent."""
        contexts, tags = self._context_by_box, self._tags
        if (found := contexts.get(box)) is not None:
            return found
        if (outer := contexts.get(self._parents[box])) is not None:
            found = contexts[box] = self._nest_context(outer, box) if tags[box] in _STRUCTURAL_TAGS else outer
            return found
        entered = []
        while (found := contexts.get(box)) is None:
            entered.append(box)
            box = self._parents[box]
        for box in reversed(entered):
            if tags[box] in _STRUCTURAL_TAGS:
                found = self._nest_context(found, box)
            contexts[box] = found
        return found

    def _nest_context(self, outer: BlockContext, box: int) -> BlockContext:
        """The context within a structural box."""
        tag = self._tags[box]
        if outer.is_code or outer.table is not None:
            return outer
        if tag == _LI:
            return BlockContext(self._add_item(outer.containers, box))
        if tag == _QUOTE:
            return BlockContext(
                (*outer.containers, Container()) if count_levels(outer.containers) < MAX_LEVELS else outer.containers
            )
        if tag in _PREFORMATTED_TAGS:
            return BlockContext(outer.containers, owner_box=box, is_code=True)
        if tag in _HEADING_LEVELS and self._is_heading_sized(box):
            return BlockContext(outer.containers, _HEADING_LEVELS[tag], box)
        if tag == _DT:
            return BlockContext(outer.containers, is_term=True)
        if tag == _TABLE:
            table = find_data_table(self._blocks, self._kept_before, box)
            return (
                BlockContext(outer.containers, owner_box=box, table=table)
                if table is not None
                else BlockContext(outer.containers)
            )
        return outer

    def _add_item(self, containers: Containers, box: int) -> Containers:
        if count_levels(containers) + 2 > MAX_LEVELS:
            return containers
        parent = self._parents[box]
        if self._tags[parent] != _OL:
            return (*containers, Container(parent))
        number = self._next_numbers.get(parent)
        if number is None:
            start = self._blocks.walk.box_nodes[parent].attributes.get("start") or ""
            number = int(start) if start.isascii() and start.isdecimal() and len(start) < 9 else 1
        self._next_numbers[parent] = number + 1
        return (*containers, Container(parent, number))

    def _is_heading_sized(self, box: int) -> bool:
        first, end = self._blocks.span(box)
        chars = self._blocks.chars_before
        return end - first <= MAX_HEADING_BLOCKS and chars[end] - chars[first] <= MAX_HEADING_CHARS
