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
    """The lists and tables of a page; where blocks stand is found once for each box."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._list_by_box = {0: -1}

    def enclosing_list(self, box: int) -> int:
        """The nearest list or table around a box; -1 for none."""
        homes = self._list_by_box
        tags, parents = self._blocks.walk.box_tags, self._blocks.walk.box_parents
        entered = []
        while (home := homes.get(box)) is None:
            entered.append(box)
            if tags[box] in _LIST_TAGS:
                home = box
                break
            box = parents[box]
        for inner in entered:
            homes[inner] = home
        return home

    def group_by_list(self, blocks: Iterable[int]) -> dict[int, list[int]]:
        """Of these blocks those that stand in a list or a table, by the nearest one."""
        found: dict[int, list[int]] = {}
        boxes, homes = self._blocks.boxes, self._list_by_box
        for at in blocks:
            box = boxes[at]
            home = homes[box] if box in homes else self.enclosing_list(box)
            if home >= 0:
                if home in found:
                    found[home].append(at)
                else:
                    found[home] = [at]
        return found

    def is_scored_together(self, list_box: int, members: list[int]) -> bool:
        """Large cells are columns, in which the page is laid out: they are judged each for itself."""
        chars = self._blocks.chars
        return self._blocks.walk.box_tags[list_box] != TABLE or sum([chars[at] for at in members]) < _CELL_CHARS * len(
            members
        )
