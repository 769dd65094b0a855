"""Lists and tables, which are kept whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tenax.extract.article.blocks import Blocks
from tenax.extract.html.node import tag_number

TABLE: Final = tag_number("table")
_LIST_TAGS: Final = frozenset((TABLE, *map(tag_number, ("ul", "ol", "dl"))))
_CELL_CHARS: Final = 60


class ListIndex:
    """The lists and tables of a page; looked up once per box."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._list_by_box = {0: -1}

    def enclosing_list(self, box: int) -> int:
        """The nearest list or table around a box; -1 for none."""
        homes = self._list_by_box
        tags, parents = self._blocks.walk.box_tags, self._blocks.walk.box_parents
        entered = []
        while (list_box := homes.get(box)) is None:
            entered.append(box)
            if tags[box] in _LIST_TAGS:
                list_box = box
                break
            box = parents[box]
        for inner in entered:
            homes[inner] = list_box
        return list_box

    def group_by_list(self, blocks: Iterable[int]) -> dict[int, list[int]]:
        """Those of the blocks that are in a list or a table, by the nearest one."""
        found: dict[int, list[int]] = {}
        boxes, homes = self._blocks.boxes, self._list_by_box
        for at in blocks:
            box = boxes[at]
            list_box = homes[box] if box in homes else self.enclosing_list(box)
            if list_box >= 0:
                if list_box in found:
                    found[list_box].append(at)
                else:
                    found[list_box] = [at]
        return found

    def is_scored_together(self, list_box: int, members: list[int]) -> bool:
        """Large cells are layout columns: each is scored separately."""
        chars = self._blocks.chars
        return self._blocks.walk.box_tags[list_box] != TABLE or sum([chars[at] for at in members]) < _CELL_CHARS * len(
            members
        )
