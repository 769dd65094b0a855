"""The lie of a page: what its boxes are called and hold, where its prose stands, where its title is.

What is said of a box is computed once for the box, from sums over all blocks before a place, and only for boxes that
hold text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Final

from tenax.extract.article.blocks import LONG_CHARS, Blocks
from tenax.extract.article.class_hints import BIT, ROLES, TAGS, marks_of
from tenax.extract.article.decision_trees import Numbers
from tenax.extract.article.hints import Hints, hint_numbers
from tenax.extract.html.node import tag_number

TAG_CLASSES: Final = (
    "p", "li", "h1", "h2", "h3", "h4 h5 h6", "td th tr table tbody thead tfoot caption",
    "div section body main center html header footer aside form", "article", "blockquote", "pre listing xmp",
    "figcaption figure", "dt dd dl", "summary details legend fieldset address nav", "button select option textarea",
)  # fmt: skip
CLASS_OF: Final = {tag_number(name): place for place, names in enumerate(TAG_CLASSES) for name in names.split()}
P, LI, H1, H2, H3, CELL, DIV, PRE = 0, 1, 2, 3, 4, 6, 7, 10
UNREAD_TAG: Final = 14
"""The class of buttons and fields, which are seen but not read."""
OTHER_TAG: Final = 15
HEADINGS: Final = frozenset((H1, H2, H3, 5))

_MARKED_TAGS: Final = {tag_number(name): BIT[mark] for name, mark in TAGS.items()}
_MARKED_ROLES: Final = {name: BIT[mark] for name, mark in ROLES.items()}
_MARKING: Final = frozenset(("id", "itemprop", "role", "hidden", "aria-hidden", "style"))
_HIDDEN: Final = BIT["unshown"]
_UNSHOWN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_MIN_TITLE_CHARS: Final = 8
_MAX_TITLE_CHARS: Final = 300

_POSITIVE: Final = BIT["article"] | BIT["content"]
_NEGATIVE: Final = (
    BIT["comment"] | BIT["footer"] | BIT["side"] | BIT["related"] | BIT["share"] | BIT["ad"] | BIT["consent"]
    | BIT["nav"] | BIT["meta"]
)  # fmt: skip
_TAG_POINTS: Final = {
    tag_number(name): points
    for names, points in (
        ("div", 5.0), ("pre td blockquote", 3.0), ("address ol ul dl dd dt li form", -3.0),
        ("h1 h2 h3 h4 h5 h6 th", -5.0),
    )
    for name in names.split()
}  # fmt: skip
_SAID_CHARS: Final = 25
_MOST_WORTH: Final = 800
_SHARES: Final = (1.0, 0.5, 1 / 6, 1 / 9)
"""What a block's points are worth to the boxes around it, from its parent outwards."""
_COUNTED_MARKS: Final = (BIT["product"], BIT["forum"], BIT["list"])
_COUNTED: Final = sum(_COUNTED_MARKS)

OF_PAGE: Final = (
    "page chars", "page link share", "page long", "page blocks", "og article", "og product", "ld article", "ld product",
    "ld list", "ld forum", "ld faq", "path depth", "slug chars", "slug dashes", "path year", "is root", "has query",
    "li share", "cell share", "pre", "top points", "top share", "top link share", "top2 share", "h1 count", "headings",
    "same classes", "product share", "forum share", "list share",
)  # fmt: skip
FRACTIONS_OF_PAGE: Final = frozenset((
    "page link share", "li share", "cell share", "top points", "top share", "top link share", "top2 share", "headings",
    "same classes", "product share", "forum share", "list share",
))  # fmt: skip
"""The numbers of a page that are not whole."""
_NO_FACTS: Final = (0, 0.0, 0, 0, 0.0, 0.0)


class Outline:
    """What is known of each box, by its number, and of the page."""

    __slots__ = (
        "_blocks", "all", "depth", "facts", "full", "h1_at", "hints", "marks", "numbers", "own", "points2", "styles",
        "tags", "title_at", "top", "top2",
    )  # fmt: skip

    def __init__(self, blocks: Blocks, hints: Hints) -> None:
        count = len(blocks.walk.box_tags)
        self.hints = hints
        self.depth, self.own, self.all = [0] * count, [0] * count, [0] * count
        """Marks: of the box itself, also of all around it."""
        self._blocks = blocks
        self.facts: list[Numbers] = [_NO_FACTS] * count
        """Characters, share of links, long blocks, blocks, share of the page, share of punctuation."""
        self.full: list[int] = []
        """The boxes that hold text, outer before inner."""
        self.styles = [0] * count
        """Equal for boxes of the same tag and class."""
        self._look(blocks)
        self.marks = reduce(or_, self.own, 0)
        """Those that any box has."""
        self.tags = [CLASS_OF.get(blocks.walk.box_tags[box], OTHER_TAG) for box in blocks.boxes]
        points, self.points2 = self._points(blocks)
        self.top, self.top2 = self._top(points), self._top(self.points2)
        """The boxes with the most prose, by either count."""
        self.title_at, self.h1_at = _title_at(blocks, self.tags, hints.title.lower())
        """The blocks that show the title and the first <h1>; -1 for none."""
        self.numbers = self._of_page(blocks, points[self.top])

    def near(self, box: int) -> int:
        """The marks of a box and of the two around it."""
        own, parents = self.own, self._blocks.walk.box_parents
        parent = parents[box]
        return own[box] | own[parent] | own[parents[parent]]

    def _look(self, blocks: Blocks) -> None:
        """Look at the boxes that hold text: what they are called, and what is in them.

        What is in a box is what is counted up to where it ends, less what is counted up to where it begins.
        """
        walk, firsts, marked = blocks.walk, blocks.first_of_run, _MARKED_TAGS
        depth, owns, alls, box_styles, add = self.depth, self.own, self.all, self.styles, self.full.append
        facts, before, links = self.facts, blocks.chars_before, blocks.links_before
        long, pauses, whole = blocks.long_before, blocks.pauses_before, blocks.chars_before[-1]
        known: dict[tuple[int, str | None], tuple[int, int]] = {}
        for box, (first_run, end_run, parent, tag, node) in enumerate(
            zip(walk.box_firsts, walk.box_ends, walk.box_parents, walk.box_tags, walk.box_nodes, strict=True)
        ):
            first, end = firsts[first_run], firsts[end_run]
            if first == end:
                continue
            add(box)
            chars = before[end] - before[first]
            facts[box] = (
                chars, (links[end] - links[first]) / chars, long[end] - long[first], end - first, chars / whole,
                (pauses[end] - pauses[first]) / chars,
            )  # fmt: skip
            attributes = node.attributes
            name = attributes.get("class")
            found = known.get((tag, name))
            if found is None:
                found = known[tag, name] = len(known), marked.get(tag, 0) | (marks_of(name) if name else 0)
            box_styles[box], own = found
            if not _MARKING.isdisjoint(attributes):
                own |= _marks_beside_class(attributes)
            owns[box] = own
            depth[box] = depth[parent] + 1
            alls[box] = own | alls[parent]

    def _points(self, blocks: Blocks) -> tuple[list[float], list[float]]:
        """Two counts of how much prose stands in a box: by its length, and by the rules that reader modes use."""
        walk = blocks.walk
        parents, tags = walk.box_parents, walk.box_tags
        by_length, by_rules = [0.0] * len(parents), [0.0] * len(parents)
        earned_in: dict[int, float] = {}
        for box, tag, n, linked, pauses in zip(
            blocks.boxes, self.tags, blocks.chars, blocks.link_chars, blocks.pauses, strict=True
        ):
            if n < _SAID_CHARS:
                continue
            parent = parents[box]
            if n >= LONG_CHARS and pauses and 2 * linked < n:
                home = box if tag == DIV else parent
                worth = n if n < _MOST_WORTH else _MOST_WORTH
                by_length[home] += worth
                by_length[parents[home]] += worth / 2
            earned_in[parent] = earned_in.get(parent, 0.0) + 1 + pauses + (n // 100 if n < 300 else 3)
        for parent, points in earned_in.items():
            for share in _SHARES:
                by_rules[parent] += points * share
                if parents[parent] == parent:
                    break
                parent = parents[parent]
        for box in self.full:
            if earned := by_rules[box]:
                own = self.own[box]
                weight = (25 if own & _POSITIVE else 0) - (25 if own & _NEGATIVE else 0)
                by_rules[box] = (earned + _TAG_POINTS.get(tags[box], 0.0) + weight) * (1 - self.facts[box][1])
        return by_length, by_rules

    def _top(self, points: list[float]) -> int:
        best, found = 0.0, 0
        for box in self.full:
            if (value := points[box]) > best and (value := value * (1 - self.facts[box][1])) > best:
                best, found = value, box
        return found

    def _of_page(self, blocks: Blocks, top_points: float) -> Numbers:
        count = max(1, len(blocks))
        whole, tags = blocks.chars_before[-1], self.tags
        top, top2 = self.facts[self.top], self.facts[self.top2]
        headings = tags.count(H1) + tags.count(H2) + tags.count(H3)
        return (
            whole, blocks.links_before[-1] / max(1, whole), blocks.long_before[-1], len(blocks),
            *hint_numbers(self.hints),
            tags.count(LI) / count, tags.count(CELL) / count, tags.count(PRE), top_points, top[4], top[1], top2[4],
            tags.count(H1), headings / count, len(set(blocks.boxes)) / count,
            *self._shares(blocks, max(1, whole)),
        )  # fmt: skip

    def _shares(self, blocks: Blocks, whole: int) -> Numbers:
        """How much of the text stands in boxes with each of some marks."""
        counted = dict.fromkeys(_COUNTED_MARKS, 0)
        own, above, parents, before = self.own, self.all, blocks.walk.box_parents, blocks.chars_before
        for box in self.full:
            # What is in a box that has the mark from one around it was counted there.
            if (marks := own[box] & _COUNTED) and (marks := marks & ~above[parents[box]] if box else marks):
                first, end = blocks.span(box)
                for bit in _COUNTED_MARKS:
                    if marks & bit:
                        counted[bit] += before[end] - before[first]
        return tuple(count / whole for count in counted.values())


def _marks_beside_class(attributes: Mapping[str, str | None]) -> int:
    get, found = attributes.get, 0
    if name := get("id"):
        found |= marks_of(name)
    if name := get("itemprop"):
        found |= marks_of(name)
    if name := get("role"):
        found |= _MARKED_ROLES.get(name, 0)
    if "hidden" in attributes or get("aria-hidden") == "true" or ((style := get("style")) and _UNSHOWN.search(style)):
        found |= _HIDDEN
    return found


def ways_from(top: int, parents: list[int], boxes: Iterable[int]) -> dict[int, tuple[int, int]]:
    """From one box to each: how many steps up to a box that holds both, and how many from there down."""
    ways, at, steps = {}, top, 0
    while at not in ways:
        ways[at] = (steps, 0)
        steps += 1
        at = parents[at]
    for box in boxes:
        entered = []
        while box not in ways:
            entered.append(box)
            box = parents[box]
        up, down = ways[box]
        for inner in reversed(entered):
            down += 1
            ways[inner] = (up, down)
    return ways


def _title_at(blocks: Blocks, tags: list[int], title: str) -> tuple[int, int]:
    """Where the title is shown, and where the first <h1> is."""
    h1 = tags.index(H1) if H1 in tags else -1
    place = -1
    least = max(_MIN_TITLE_CHARS - 1, len(title) // 2)
    if len(title) >= _MIN_TITLE_CHARS:
        for at, (text, tag) in enumerate(zip(blocks.texts, tags, strict=True)):
            # Half of the title at least: most lines are shorter, and need not be looked at.
            if least < len(text) <= _MAX_TITLE_CHARS and (place < 0 or tag in HEADINGS):
                lowered = text.lower()
                if lowered in title or title in lowered:
                    if tag in HEADINGS:
                        return at, h1
                    place = at
    return (place if place >= 0 else h1), h1
