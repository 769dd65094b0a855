"""Lists and tables, which are kept whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tenax.extract.article.blocks import Blocks
from tenax.extract.html.node import tag_number

TABLE: Final = tag_number("table")
_WHOLES: Final = frozenset((TABLE, *map(tag_number, ("ul", "ol", "dl"))))
_CELL_CHARS: Final = 60


class Wholes:
    """The lists and tables of a page; where blocks stand is found once for each box."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._homes = {0: -1}

    def home(self, box: int) -> int:
        """The nearest list or table around a box; -1 for none."""
        homes = self._homes
        tags, parents = self._blocks.walk.box_tags, self._blocks.walk.box_parents
        entered = []
        while (home := homes.get(box)) is None:
            entered.append(box)
            if tags[box] in _WHOLES:
                home = box
                break
            box = parents[box]
        for inner in entered:
            homes[inner] = home
        return home

    def members(self, blocks: Iterable[int]) -> dict[int, list[int]]:
        """Of these blocks those that stand in a list or a table, by the nearest one."""
        found: dict[int, list[int]] = {}
        boxes, homes = self._blocks.boxes, self._homes
        for at in blocks:
            box = boxes[at]
            home = homes[box] if box in homes else self.home(box)
            if home >= 0:
                if home in found:
                    found[home].append(at)
                else:
                    found[home] = [at]
        return found

    def is_whole(self, home: int, members: list[int]) -> bool:
        """Large cells are columns, in which the page is laid out: they are judged each for itself."""
        chars = self._blocks.chars
        return self._blocks.walk.box_tags[home] != TABLE or sum([chars[at] for at in members]) < _CELL_CHARS * len(
            members
        )
