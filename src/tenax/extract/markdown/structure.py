"""The structure of Markdown: headings, lists and quotes of the selected blocks; and the lines that are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from tenax.extract.article.blocks import Blocks
from tenax.extract.html.tree import tag_number
from tenax.extract.markdown.tables import Table, find_data_table

MAX_LEVELS: Final = 16
"""Quotes count once and items twice, as in parsers, some of which fail at 20."""


class Container:
    """A quote, or an item of a list."""

    __slots__ = ("first_prefix", "list_box", "next_prefix", "number")

    def __init__(self, in_list: int | None = None, number: int | None = None) -> None:
        self.list_box = in_list
        """The list of an item; None for a quote."""
        self.number = number
        """None if the list is not ordered."""
        # The marker of an item depends on the list that ends just before it. The writer sets it.
        self.first_prefix = self.next_prefix = "> "


Containers: TypeAlias = tuple[Container, ...]
"""Nested containers, the outermost first."""


def count_levels(containers: Containers) -> int:
    return sum(1 if container.list_box is None else 2 for container in containers)


class MarkdownOutput:
    def __init__(self) -> None:
        self._parts: list[str] = []
        self._open_containers: Containers = ()
        self._marker_by_list: dict[int, str] = {}

    def add_block(self, containers: Containers, text: str) -> None:
        """Add a complete Markdown block."""
        if not containers:
            # The most common case.
            self._parts += ("\n\n", text) if self._parts else (text,)
            self._open_containers = ()
            return
        common = _count_shared(self._open_containers, containers)
        opened = containers[common:]
        for container in opened:
            if container.list_box is not None:
                self._set_marker(container, common if container is opened[0] else None)
        kept = "".join([container.next_prefix for container in containers[:common]])
        if self._parts:
            is_tight = bool(opened) and self._continues_list(opened[0], common)
            self._parts.append("\n" if is_tight else f"\n{kept.rstrip()}\n")
        rest = "".join([container.next_prefix for container in containers])
        first = "".join([container.first_prefix for container in opened])
        self._parts.append(f"{kept}{first}{text}".replace("\n", f"\n{rest}"))
        self._open_containers = containers

    def to_text(self) -> str:
        return "".join(self._parts)

    def _continues_list(self, item: Container, common: int) -> bool:
        """Whether the item continues the list before it, or begins a list directly below the text of an outer item."""
        if item.list_box is None:
            return False
        if common < len(self._open_containers):
            return self._open_containers[common].list_box == item.list_box
        # Only the number 1 can interrupt a paragraph.
        return common > 0 and self._open_containers[-1].list_box is not None and item.number in (None, 1)

    def _set_marker(self, item: Container, depth: int | None) -> None:
        """Set the marker of an item. It is the alternative marker if its list directly follows a list of the same
        kind."""
        assert item.list_box is not None
        sign = self._marker_by_list.get(item.list_box)
        if sign is None:
            usual, other = ("-", "*") if item.number is None else (".", ")")
            sign = usual
            if depth is not None and depth < len(self._open_containers):
                before = self._open_containers[depth]
                if before.list_box is not None and self._marker_by_list.get(before.list_box) == usual:
                    sign = other
            self._marker_by_list[item.list_box] = sign
        item.first_prefix = f"{sign} " if item.number is None else f"{item.number}{sign} "
        item.next_prefix = " " * len(item.first_prefix)


def _count_shared(one: Containers, other: Containers) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a is not b:
            break
        count += 1
    return count


MAX_HEADING_CHARS: Final = 400
MAX_HEADING_BLOCKS: Final = 4
"""A longer heading is an article in a heading that was never closed."""
_MAX_START_DIGITS: Final = 8

_HEADING_LEVELS: Final = {tag_number(f"h{level}"): level for level in range(1, 7)}
_PREFORMATTED_TAGS: Final = frozenset(map(tag_number, ("pre", "listing", "xmp", "plaintext")))
_LI, _OL, _QUOTE, _DT, _TABLE = map(tag_number, ("li", "ol", "blockquote", "dt", "table"))
_STRUCTURAL_TAGS: Final = frozenset((*_HEADING_LEVELS, *_PREFORMATTED_TAGS, _LI, _QUOTE, _DT, _TABLE))
"""Boxes that affect the Markdown of the content in them."""


class BlockContext(NamedTuple):
    """The context of a block."""

    containers: Containers = ()
    level: int = 0
    """The level of the heading; 0: not a heading."""
    owner_box: int = -1
    """The box of the heading, preformatted text or table."""
    is_code: bool = False
    is_term: bool = False
    table: Table | None = None


class BlockContexts:
    """The context of each box with kept blocks. Call it in page order, so that list items are counted."""

    def __init__(self, blocks: Blocks, kept_before: Sequence[int]) -> None:
        self._blocks, self._kept_before = blocks, kept_before
        self._tags, self._parents = blocks.walk.box_tags, blocks.walk.box_parents
        self._context_by_box: dict[int, BlockContext] = {0: BlockContext()}
        self._next_numbers: dict[int, int] = {}

    def find_context(self, box: int) -> BlockContext:
        """The context of a box. It is computed once per box, from the context of its parent."""
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
        """The context in a structural box."""
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
            number = int(start) if start.isascii() and start.isdecimal() and len(start) <= _MAX_START_DIGITS else 1
        self._next_numbers[parent] = number + 1
        return (*containers, Container(parent, number))

    def _is_heading_sized(self, box: int) -> bool:
        first, end = self._blocks.span(box)
        chars = self._blocks.chars_before
        return end - first <= MAX_HEADING_BLOCKS and chars[end] - chars[first] <= MAX_HEADING_CHARS
