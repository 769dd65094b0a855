"""Where a block of Markdown stands: which quotes, lists, headings, tables or code the boxes around it make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tenax.extract.article.blocks import Blocks
from tenax.extract.html.node import tag_number
from tenax.extract.markdown.tables import Table, data_table
from tenax.extract.markdown.writer import MAX_LEVELS, Chain, Container, levels

MAX_HEADING_CHARS: Final = 400
MAX_HEADING_BLOCKS: Final = 4
"""What is longer is an article in a heading that was never closed."""

_LEVEL_OF: Final = {tag_number(f"h{level}"): level for level in range(1, 7)}
_PRES: Final = frozenset(map(tag_number, ("pre", "listing", "xmp", "plaintext")))
_LI, _OL, _QUOTE, _DT, _TABLE = map(tag_number, ("li", "ol", "blockquote", "dt", "table"))
_TELLING: Final = frozenset((*_LEVEL_OF, *_PRES, _LI, _QUOTE, _DT, _TABLE))
"""Boxes that make a difference to what is in them."""


class Place(NamedTuple):
    """What the boxes around a block make of it."""

    chain: Chain = ()
    level: int = 0
    """Of a heading; 0 for none."""
    owner: int = -1
    """The heading, preformatted text or table itself."""
    is_code: bool = False
    is_term: bool = False
    table: Table | None = None


class Places:
    """The place of each box that holds something kept; to be asked in the order of the page, for lists to count."""

    def __init__(self, blocks: Blocks, kept_before: Sequence[int]) -> None:
        self._blocks, self._kept_before = blocks, kept_before
        self._tags, self._parents = blocks.walk.box_tags, blocks.walk.box_parents
        self._places: dict[int, Place] = {0: Place()}
        self._numbers: dict[int, int] = {}

    def of(self, box: int) -> Place:
        """Found once for each box; each asks only the box around it."""
        places, tags = self._places, self._tags
        if (found := places.get(box)) is not None:
            return found
        if (outer := places.get(self._parents[box])) is not None:
            found = places[box] = self._within(outer, box) if tags[box] in _TELLING else outer
            return found
        entered = []
        while (found := places.get(box)) is None:
            entered.append(box)
            box = self._parents[box]
        for box in reversed(entered):
            if tags[box] in _TELLING:
                found = self._within(found, box)
            places[box] = found
        return found

    def _within(self, outer: Place, box: int) -> Place:
        """What a box that may tell makes of those around it."""
        tag = self._tags[box]
        if outer.is_code or outer.table is not None:
            return outer
        if tag == _LI:
            return Place(self._item(outer.chain, box))
        if tag == _QUOTE:
            return Place((*outer.chain, Container()) if levels(outer.chain) < MAX_LEVELS else outer.chain)
        if tag in _PRES:
            return Place(outer.chain, owner=box, is_code=True)
        if tag in _LEVEL_OF and self._is_short(box):
            return Place(outer.chain, _LEVEL_OF[tag], box)
        if tag == _DT:
            return Place(outer.chain, is_term=True)
        if tag == _TABLE:
            table = data_table(self._blocks, self._kept_before, box)
            return Place(outer.chain, owner=box, table=table) if table is not None else Place(outer.chain)
        return outer

    def _item(self, chain: Chain, box: int) -> Chain:
        if levels(chain) + 2 > MAX_LEVELS:
            return chain
        parent = self._parents[box]
        if self._tags[parent] != _OL:
            return (*chain, Container(parent))
        number = self._numbers.get(parent)
        if number is None:
            start = self._blocks.walk.box_nodes[parent].attributes.get("start") or ""
            number = int(start) if start.isascii() and start.isdecimal() and len(start) < 9 else 1
        self._numbers[parent] = number + 1
        return (*chain, Container(parent, number))

    def _is_short(self, box: int) -> bool:
        first, end = self._blocks.span(box)
        chars = self._blocks.chars_before
        return end - first <= MAX_HEADING_BLOCKS and chars[end] - chars[first] <= MAX_HEADING_CHARS
