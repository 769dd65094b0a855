"""Data tables as Markdown, and how they are recognized: other tables only lay out the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from tenax.extract.article.blocks import Blocks
from tenax.extract.html.tree import Node, tag_number

MAX_COLUMNS: Final = 60
MAX_ROWS: Final = 2_000
"""A larger table is rendered cell by cell."""
MAX_CELL_CHARS: Final = 600
MAX_CELL_BLOCKS: Final = 8
_MAX_SPAN_DIGITS: Final = 5

_TR, _TD, _TH, _THEAD, _CAPTION = map(tag_number, ("tr", "td", "th", "thead", "caption"))
_NEVER_IN_TABLE: Final = frozenset(
    map(
        tag_number,
        ("table", "pre", "listing", "xmp", "h1", "h2", "h3", "blockquote", "article", "section", "form", "hr"),
    )
)


class Cell(NamedTuple):
    box: int
    is_head: bool
    columns: int
    rows: int


class Table(NamedTuple):
    rows: list[list[Cell]]
    captions: list[int]
    """Boxes, like the first row."""
    first_row: int = 0
    has_thead: bool = False


def find_data_table(blocks: Blocks, kept_before: Sequence[int], box: int) -> Table | None:
    """The table of a box, if its kept blocks are better shown in rows and columns than one after the other."""
    table = _read_table(blocks, box)
    if table is None:
        return None
    full = [sum(_count_kept(blocks, kept_before, cell.box) > 0 for cell in row) for row in table.rows]
    if max(full, default=0) < 2 or sum(map(bool, full)) < 2:
        return None
    width = max(sum(cell.columns for cell in row) for row in table.rows)
    return table if width <= MAX_COLUMNS and len(table.rows) <= MAX_ROWS else None


def _read_table(blocks: Blocks, box: int) -> Table | None:
    walk = blocks.walk
    tags, parents = walk.box_tags, walk.box_parents
    table = Table([], [])
    at, runs = box + 1, 0
    while at < len(tags) and parents[at] >= box:
        tag = tags[at]
        if tag in _NEVER_IN_TABLE:
            return None
        if tag == _TR:
            if not table.rows:
                table = table._replace(first_row=at, has_thead=tags[parents[at]] == _THEAD)
            table.rows.append([])
        elif tag in (_TD, _TH) and table.rows:
            first, end = blocks.span(at)
            if end - first > MAX_CELL_BLOCKS or blocks.chars_before[end] - blocks.chars_before[first] > MAX_CELL_CHARS:
                return None
            table.rows[-1].append(Cell(at, tag == _TH, *_cell_spans(walk.box_nodes[at])))
            runs += walk.box_ends[at] - walk.box_starts[at]
        elif tag == _CAPTION:
            table.captions.append(at)
            runs += walk.box_ends[at] - walk.box_starts[at]
        at += 1
    # No run may be outside of the cells, or in two of them, which is possible with nested cells of formulas.
    return table if table.rows and runs == walk.box_ends[box] - walk.box_starts[box] else None


def _cell_spans(cell: Node) -> tuple[int, int]:
    attributes = cell.attributes
    if not attributes:
        return 1, 1
    return _parse_span(attributes.get("colspan"), MAX_COLUMNS), _parse_span(attributes.get("rowspan"), MAX_ROWS)


def _parse_span(text: str | None, max_span: int) -> int:
    return min(max(int(text[:_MAX_SPAN_DIGITS]), 1), max_span) if text and text.isascii() and text.isdecimal() else 1


def _count_kept(blocks: Blocks, kept_before: Sequence[int], box: int) -> int:
    first, end = blocks.span(box)
    return kept_before[end] - kept_before[first]


def format_table(table: Table, format_cell: Callable[[int, bool], str]) -> str:
    """The table in GFM. `format_cell` returns the text of a cell's box on one line, for header cells without bold."""
    rows = [
        ([format_cell(cell.box, cell.is_head).replace("|", "\\|") if cell else "" for cell in row], row)
        for row in _layout_rows(table.rows)
    ]
    rows = [(texts, row) for texts, row in rows if any(texts)]
    width = max((len(texts) for texts, _ in rows), default=0)
    if not width:
        return ""
    first = rows[0][1]
    is_headed = table.has_thead or all(cell.is_head for cell in first if cell)
    lines = [texts + [""] * (width - len(texts)) for texts, _ in rows]
    if not is_headed:
        lines.insert(0, [""] * width)
    lines.insert(1, ["---"] * width)
    return "\n".join(f"| {' | '.join(texts)} |" for texts in lines)


def _layout_rows(rows: Sequence[Sequence[Cell]]) -> Iterator[list[Cell | None]]:
    """Rows with None for each cell that a cell on the left or above spans."""
    below: dict[int, int] = {}
    for row in rows:
        placed: list[Cell | None] = []
        for cell in row:
            while below.get(len(placed), 0) > 0:
                placed.append(None)
            at = len(placed)
            placed += [cell] + [None] * (cell.columns - 1)
            if cell.rows > 1:
                # Limited, because otherwise cells that span several rows could make every row wider than the one
                # before.
                below.update(dict.fromkeys(range(at, min(len(placed), MAX_COLUMNS)), cell.rows))
        while below.get(len(placed), 0) > 0:
            placed.append(None)
        below = {column: left - 1 for column, left in below.items() if left > 1}
        yield placed
