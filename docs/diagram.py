"""Draws docs/architecture.svg: packages by layer, their imports, and the path of one URL through them.

Run by `scripts/docs`. `docs/packages.py` reads the facts; this module does the layout.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from docs.from_code import GROUPS
from docs.packages import LOOSE, Package, Step, checked_steps, packages

PICTURE = Path(__file__).parent / "architecture.svg"

# In pixels.
_WIDTH, _MARGIN, _GAP = 1240, 24, 16
_CHANNEL = 50
_TITLE, _LINE, _SMALL_LINE, _PADDING = 22, 17, 15, 11
_TEXT_CHARACTER, _SMALL_CHARACTER = 7, 6.7
_WIDE = 620
_BADGE, _BADGE_STEP, _LANE, _CORNER = 11, 68, 9, 6
_BAND, _BADGE_INSET = 10, 24
_LEGEND_COLUMNS, _LEGEND_ROW = 3, 48

_FREE_COLUMNS = {"fetch": (1, 2)}
"""Columns of the widest row left free beside a package that has a row to itself: the path of a URL passes there."""

_STYLE = """\
text { font: 12.5px system-ui, sans-serif; fill: #1f2328 }
.panel { fill: #ffffff }
.box { fill: #f6f8fa; stroke: #d0d7de } .band { fill: none; stroke: #d0d7de; stroke-dasharray: 4 4 }
.name { font: 600 15px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.uses { font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #59636e }
.import { stroke: #afb8c1; fill: none } .head { fill: #afb8c1 }
.path { stroke: #0f766e; stroke-width: 2.5; fill: none; stroke-linejoin: round; stroke-linecap: round }
.badge { fill: #0f766e; stroke: #ffffff; stroke-width: 2 }
.number { font-weight: 700; fill: #ffffff; text-anchor: middle }
.what { fill: #59636e }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .panel { fill: #0d1117 } .box { fill: #161b22; stroke: #30363d } .band { stroke: #30363d }
  .uses, .what { fill: #9198a1 } .import { stroke: #6e7681 } .head { fill: #6e7681 }
  .path { stroke: #2dd4bf } .badge { fill: #2dd4bf; stroke: #0d1117 } .number { fill: #04211d }
}"""


class Box(NamedTuple):
    """A package and its position."""

    package: Package
    row: int
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class Badge(NamedTuple):
    """A step of the path, at the edge of its package."""

    box: Box
    x: float
    y: float


def svg() -> str:
    """The whole diagram."""
    boxes = place(packages())
    steps = checked_steps()
    badges = place_badges(boxes, steps)
    bottom = max(box.y + box.height for box in boxes.values())
    height = bottom + math.ceil(len(steps) / _LEGEND_COLUMNS) * _LEGEND_ROW + _BAND + 1.5 * _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" role="img">',
        "<title>The packages of Tenax, what they import, and the path of a URL through them</title>",
        f"<style>\n{_STYLE}\n</style>",
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="head" d="M0 0L8 4L0 8z"/></marker>',
        f'<rect class="panel" width="{_WIDTH}" height="{height:g}" rx="10"/>',
        _band(boxes),
        *_imports(boxes),
        *(part for box in boxes.values() for part in _drawn(box)),
        *_path(badges),
        *_legend(steps, bottom + _BAND + _MARGIN),
        "</svg>\n",
    ]
    return "\n".join(parts)


# ---- layout --------------------------------------------------------------------------------


def place(found: Mapping[str, Package]) -> dict[str, Box]:
    """Rows from the top to the bottom, boxes from the left to the right."""
    rows = [list(group) for group in reversed(GROUPS)]
    rows[-1].append(LOOSE)
    columns = max(len(row) for row in rows)
    pitch = (_WIDTH - 2 * _MARGIN + _GAP) / columns
    boxes: dict[str, Box] = {}
    y = float(_MARGIN)
    for number, row in enumerate(rows):
        left, right = _FREE_COLUMNS.get(row[0], (0, 0)) if len(row) == 1 else (0, 0)
        width = ((columns - left - right) * pitch - _GAP - (len(row) - 1) * _GAP) / len(row)
        height = max(_height(found[name], width) for name in row)
        for at, name in enumerate(row):
            x = _MARGIN + left * pitch + at * (width + _GAP)
            boxes[name] = Box(found[name], number, round(x, 1), y, round(width, 1), height)
        y += height + _CHANNEL
    return boxes


def _height(package: Package, width: float) -> float:
    sentence, uses = _texts(package, width)
    below = _BADGE if width > _WIDE else 0  # steps are on the bottom edge of wide packages
    return _PADDING * 2 + _TITLE + len(sentence) * _LINE + (len(uses) * _SMALL_LINE + 4 if uses else 0) + below


def _texts(package: Package, width: float) -> tuple[list[str], list[str]]:
    room = width - 2 * _PADDING - (2 * _BADGE_INSET if width > _WIDE else 0)
    uses = f"imports {' '.join(package.uses)}" if package.uses else ""
    sentence = package.sentence.replace("`", "")
    return textwrap.wrap(sentence, int(room / _TEXT_CHARACTER)), textwrap.wrap(uses, int(room / _SMALL_CHARACTER))


def place_badges(boxes: dict[str, Box], steps: Sequence[Step]) -> list[Badge]:
    """On the top edge of a package; on the bottom edge where the path comes back from below.

    In a wide package a step is above or below the step it is joined to, so the line between them is straight.
    """
    homes = [boxes[step.module.partition(".")[0]] for step in steps]
    narrow = min(box.width for box in boxes.values())
    own = [_own_x(homes, at) for at in range(len(homes))]
    lowest = max(box.row for box in homes)
    badges = []
    for at, box in enumerate(homes):
        x = own[at] if box.width < 2 * narrow else _joined_x(homes, own, at)
        badges.append(Badge(box, x, box.y if box.row == lowest else box.y + box.height))
    return badges


def _own_x(homes: Sequence[Box], at: int) -> float:
    """Spread around the middle, among the steps of the same package; near the right end of a wide one."""
    box = homes[at]
    of_the_box = [number for number, home in enumerate(homes) if home is box]
    if len(of_the_box) == 1 and box.width > _WIDE:
        return box.x + box.width - _BADGE_INSET
    return box.middle + (of_the_box.index(at) - (len(of_the_box) - 1) / 2) * _BADGE_STEP


def _joined_x(homes: Sequence[Box], own: Sequence[float], at: int) -> float:
    others = [number for number in (at + 1, at - 1) if 0 <= number < len(homes) and homes[number] is not homes[at]]
    is_alone = Counter(box.package.name for box in homes)[homes[at].package.name] == 1
    return own[at] if is_alone or not others else own[others[0]]


# ---- lines --------------------------------------------------------------------------------------------------


def _band(boxes: dict[str, Box]) -> str:
    """Around the lowest layer, which all others use."""
    low = boxes[LOOSE]
    x, y, height = _MARGIN - _BAND, low.y - _BAND, low.height + 2 * _BAND
    return f'<rect class="band" x="{x:g}" y="{y:g}" width="{_WIDTH - 2 * x:g}" height="{height:g}" rx="9"/>'


def _imports(boxes: dict[str, Box]) -> Iterator[str]:
    """Thin arrows to the next layer only; the other imports of a package are listed in its box."""
    lowest = boxes[LOOSE].row
    for box in boxes.values():
        below = [boxes[name] for name in box.package.uses if boxes[name].row == box.row + 1]
        if below and box.row + 1 == lowest:
            yield _arrow(box.middle, box.y + box.height, box.middle, below[0].y - _BAND)
            continue
        for target in below:
            x, to_x = _nearest(box, target)
            yield _arrow(x, box.y + box.height, to_x, target.y)


def _nearest(box: Box, target: Box) -> tuple[float, float]:
    """Where an arrow begins and ends: straight down in the middle of their overlap, if they overlap."""
    left, right = max(box.x, target.x), min(box.x + box.width, target.x + target.width)
    if left < right:
        return (left + right) / 2, (left + right) / 2
    if target.x < box.x:
        return box.x + _GAP, target.x + target.width - _GAP
    return box.x + box.width - _GAP, target.x + _GAP


def _arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path class="import" marker-end="url(#head)" d="M{x:g} {y:g}L{to_x:g} {to_y - 1:g}"/>'


def _path(badges: Sequence[Badge]) -> Iterator[str]:
    lanes: Counter[int] = Counter()
    for start, end in pairwise(badges):
        yield f'<path class="path" d="{_route(start, end, lanes)}"/>'
    for number, badge in enumerate(badges, 1):
        yield f'<circle class="badge" cx="{badge.x:g}" cy="{badge.y:g}" r="{_BADGE}"/>'
        yield f'<text class="number" x="{badge.x:g}" y="{badge.y + 4:g}">{number}</text>'


def _route(start: Badge, end: Badge, lanes: Counter[int]) -> str:
    """Straight where nothing is between them, else along a lane above the lower row."""
    is_near = abs(start.x - end.x) < start.box.width / 2 + end.box.width / 2 + _GAP
    if start.x == end.x or (start.y == end.y and (start.box is end.box or is_near)):
        return f"M{start.x:g} {start.y:g}L{end.x:g} {end.y:g}"
    row = max(start.box.row, end.box.row)
    lanes[row] += 1
    lane = max(start.box.y, end.box.y) - _BADGE - lanes[row] * _LANE
    # A badge with both lines on the same side has one on either side of its middle.
    x, to_x = start.x + _CORNER, end.x - _CORNER if start.y == end.y else end.x
    return _rounded([(x, start.y), (x, lane), (to_x, lane), (to_x, end.y)])


def _rounded(points: Sequence[tuple[float, float]]) -> str:
    """A line through these points, with round corners."""
    path = f"M{points[0][0]:g} {points[0][1]:g}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        (x, y), (to_x, to_y) = _towards(corner, before), _towards(corner, after)
        path += f"L{x:g} {y:g}Q{corner[0]:g} {corner[1]:g} {to_x:g} {to_y:g}"
    return f"{path}L{points[-1][0]:g} {points[-1][1]:g}"


def _towards(corner: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """The point where the curve of a corner meets the straight line to another point."""
    length = math.dist(corner, other)
    share = min(_CORNER, length / 2) / length
    return corner[0] + (other[0] - corner[0]) * share, corner[1] + (other[1] - corner[1]) * share


# ---- boxes and words ----------------------------------------------------------------------------------------


def _drawn(box: Box) -> Iterator[str]:
    sentence, uses = _texts(box.package, box.width)
    x, y = box.x + _PADDING, box.y + _PADDING + 13
    yield f'<rect class="box" x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="6"/>'
    yield f'<text class="name" x="{x:g}" y="{y:g}">{escape(box.package.name)}</text>'
    for at, line in enumerate(sentence):
        yield f'<text x="{x:g}" y="{y + _TITLE + at * _LINE:g}">{escape(line)}</text>'
    below = _BADGE if box.width > _WIDE else 0
    top = box.y + box.height - _PADDING - (len(uses) - 1) * _SMALL_LINE - below
    for at, line in enumerate(uses):
        yield f'<text class="uses" x="{x:g}" y="{top + at * _SMALL_LINE:g}">{escape(line)}</text>'


def _legend(steps: Sequence[Step], top: float) -> Iterator[str]:
    """The steps by number, down the columns."""
    rows = math.ceil(len(steps) / _LEGEND_COLUMNS)
    pitch = (_WIDTH - 2 * _MARGIN + _GAP) / _LEGEND_COLUMNS
    for number, step in enumerate(steps):
        x = _MARGIN + _BADGE + number // rows * pitch
        y = top + 20 + number % rows * _LEGEND_ROW
        yield f'<circle class="badge" cx="{x:g}" cy="{y:g}" r="{_BADGE}"/>'
        yield f'<text class="number" x="{x:g}" y="{y + 4:g}">{number + 1}</text>'
        yield f'<text class="name" x="{x + 20:g}" y="{y - 2:g}">{escape(step.module)}</text>'
        yield f'<text class="what" x="{x + 20:g}" y="{y + 15:g}">{escape(step.what)}</text>'
