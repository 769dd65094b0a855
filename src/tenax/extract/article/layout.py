"""Page layout: class hints and text statistics per element, the position of the prose and of the title.

The values of a box are computed once, from prefix sums over all blocks, and only for boxes with text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Final

from tenax.extract.article.blocks import LONG_BLOCK_CHARS, Blocks
from tenax.extract.article.class_hints import HINT_BIT, ROLE_HINTS, TAG_HINTS, find_name_hints
from tenax.extract.article.decision_trees import FeatureValues
from tenax.extract.html.head import PageHints, page_hint_values
from tenax.extract.html.tree import tag_number

TAG_GROUPS: Final = (
    "p", "li", "h1", "h2", "h3", "h4 h5 h6", "td th tr table tbody thead tfoot caption",
    "div section body main center html header footer aside form", "article", "blockquote", "pre listing xmp",
    "figcaption figure", "dt dd dl", "summary details legend fieldset address nav", "button select option textarea",
)  # fmt: skip
TAG_GROUP: Final = {tag_number(name): group for group, names in enumerate(TAG_GROUPS) for name in names.split()}
P, LI, H1, H2, H3, CELL, DIV, PRE = 0, 1, 2, 3, 4, 6, 7, 10
CONTROL_TAG: Final = 14
"""The group of buttons and fields. They are visible but not content."""
OTHER_TAG: Final = 15
HEADING_TAGS: Final = frozenset((H1, H2, H3, 5))

_HINT_BY_TAG: Final = {tag_number(name): HINT_BIT[hint] for name, hint in TAG_HINTS.items()}
_HINT_BY_ROLE: Final = {name: HINT_BIT[hint] for name, hint in ROLE_HINTS.items()}
_HINT_ATTRIBUTES: Final = frozenset(("id", "itemprop", "role", "hidden", "aria-hidden", "style"))
_UNSHOWN_BIT: Final = HINT_BIT["unshown"]
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_MIN_TITLE_CHARS: Final = 8
_MAX_TITLE_CHARS: Final = 300

_POSITIVE_HINTS: Final = HINT_BIT["article"] | HINT_BIT["content"]
_NEGATIVE_HINTS: Final = (
    HINT_BIT["comment"] | HINT_BIT["footer"] | HINT_BIT["side"] | HINT_BIT["related"] | HINT_BIT["share"]
    | HINT_BIT["ad"] | HINT_BIT["consent"] | HINT_BIT["nav"] | HINT_BIT["meta"]
)  # fmt: skip
_TAG_POINTS: Final = {
    tag_number(name): points
    for names, points in (
        ("div", 5.0), ("pre td blockquote", 3.0), ("address ol ul dl dd dt li form", -3.0),
        ("h1 h2 h3 h4 h5 h6 th", -5.0),
    )
    for name in names.split()
}  # fmt: skip
_MIN_SCORED_CHARS: Final = 25
_MAX_BLOCK_POINTS: Final = 800
_ANCESTOR_SHARES: Final = (1.0, 0.5, 1 / 6, 1 / 9)
"""Weights of a block's points for the boxes around it, the parent first."""
_COUNTED_HINTS: Final = (HINT_BIT["product"], HINT_BIT["forum"], HINT_BIT["list"])
_COUNTED_HINT_BITS: Final = sum(_COUNTED_HINTS)

PAGE_FEATURES: Final = (
    "page chars", "page link share", "page long", "page blocks", "og article", "og product", "ld article", "ld product",
    "ld list", "ld forum", "ld faq", "path depth", "slug chars", "slug dashes", "path year", "is root", "has query",
    "li share", "cell share", "pre", "top points", "top share", "top link share", "top2 share", "h1 count", "headings",
    "same classes", "product share", "forum share", "list share",
)  # fmt: skip
PAGE_FRACTION_FEATURES: Final = frozenset((
    "page link share", "li share", "cell share", "top points", "top share", "top link share", "top2 share", "headings",
    "same classes", "product share", "forum share", "list share",
))  # fmt: skip
"""The page features that are not integers."""
_EMPTY_BOX_STATS: Final = (0, 0.0, 0, 0, 0.0, 0.0)


class PageLayout:
    """Data of each box, by its number, and of the page."""

    __slots__ = (
        "_blocks",
        "all_hints",
        "block_tags",
        "box_stats",
        "depth",
        "h1_block",
        "hints",
        "inherited_hints",
        "length_top",
        "own_hints",
        "page_values",
        "rule_points",
        "rule_top",
        "styles",
        "text_boxes",
        "title_block",
    )  # fmt: skip

    def __init__(self, blocks: Blocks, hints: PageHints) -> None:
        count = len(blocks.walk.box_tags)
        self.hints = hints
        self.depth, self.own_hints, self.inherited_hints = [0] * count, [0] * count, [0] * count
        """Hints of the box itself, and hints of the box together with all boxes around it."""
        self._blocks = blocks
        self.box_stats: list[FeatureValues] = [_EMPTY_BOX_STATS] * count
        """Characters, ratio of links, long blocks, blocks, ratio of the page, ratio of punctuation."""
        self.text_boxes: list[int] = []
        """The boxes with text. An outer box comes before the boxes in it."""
        self.styles = [0] * count
        """Equal numbers for boxes with the same tag and class."""
        self._read_boxes(blocks)
        self.all_hints = reduce(or_, self.own_hints, 0)
        """The hints that any box has."""
        self.block_tags = [TAG_GROUP.get(blocks.walk.box_tags[box], OTHER_TAG) for box in blocks.boxes]
        points, self.rule_points = self._score_boxes(blocks)
        self.length_top, self.rule_top = self._find_top_box(points), self._find_top_box(self.rule_points)
        """The boxes with the most prose, one by each score."""
        self.title_block, self.h1_block = _find_title_block(blocks, self.block_tags, hints.title.lower())
        """The blocks of the title and of the first <h1>; -1: none."""
        self.page_values = self._compute_page_values(blocks, points[self.length_top])

    def nearby_hints(self, box: int) -> int:
        """The hints of a box and of the two around it."""
        own, parents = self.own_hints, self._blocks.walk.box_parents
        parent = parents[box]
        return own[box] | own[parent] | own[parents[parent]]

    def _read_boxes(self, blocks: Blocks) -> None:
        """Read hints and statistics of the boxes with text.

        The count of a box is the prefix sum at its end, minus the prefix sum at its begin.
        """
        walk, firsts, marked = blocks.walk, blocks.first_of_run, _HINT_BY_TAG
        depth, owns, alls, box_styles, add = (
            self.depth,
            self.own_hints,
            self.inherited_hints,
            self.styles,
            self.text_boxes.append,
        )
        facts, before, links = self.box_stats, blocks.chars_before, blocks.links_before
        long, pauses, whole = blocks.long_blocks_before, blocks.punctuation_before, blocks.chars_before[-1]
        known: dict[tuple[int, str | None], tuple[int, int]] = {}
        for box, (first_run, end_run, parent, tag, node) in enumerate(
            zip(walk.box_starts, walk.box_ends, walk.box_parents, walk.box_tags, walk.box_nodes, strict=True)
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
                found = known[tag, name] = len(known), marked.get(tag, 0) | (find_name_hints(name) if name else 0)
            box_styles[box], own = found
            if not _HINT_ATTRIBUTES.isdisjoint(attributes):
                own |= _find_attribute_hints(attributes)
            owns[box] = own
            depth[box] = depth[parent] + 1
            alls[box] = own | alls[parent]

    def _score_boxes(self, blocks: Blocks) -> tuple[list[float], list[float]]:
        """Two scores of the prose in a box: by its length, and by the rules of browsers' reader modes."""
        walk = blocks.walk
        parents, tags = walk.box_parents, walk.box_tags
        by_length, by_rules = [0.0] * len(parents), [0.0] * len(parents)
        earned_in: dict[int, float] = {}
        for box, tag, n, linked, pauses in zip(
            blocks.boxes, self.block_tags, blocks.chars, blocks.link_chars, blocks.punctuation_counts, strict=True
        ):
            if n < _MIN_SCORED_CHARS:
                continue
            parent = parents[box]
            if n >= LONG_BLOCK_CHARS and pauses and 2 * linked < n:
                owner = box if tag == DIV else parent
                worth = n if n < _MAX_BLOCK_POINTS else _MAX_BLOCK_POINTS
                by_length[owner] += worth
                by_length[parents[owner]] += worth / 2
            earned_in[parent] = earned_in.get(parent, 0.0) + 1 + pauses + (n // 100 if n < 300 else 3)
        for parent, points in earned_in.items():
            for share in _ANCESTOR_SHARES:
                by_rules[parent] += points * share
                if parents[parent] == parent:
                    break
                parent = parents[parent]
        for box in self.text_boxes:
            if earned := by_rules[box]:
                own = self.own_hints[box]
                weight = (25 if own & _POSITIVE_HINTS else 0) - (25 if own & _NEGATIVE_HINTS else 0)
                by_rules[box] = (earned + _TAG_POINTS.get(tags[box], 0.0) + weight) * (1 - self.box_stats[box][1])
        return by_length, by_rules

    def _find_top_box(self, points: list[float]) -> int:
        best, found = 0.0, 0
        for box in self.text_boxes:
            if (value := points[box]) > best and (value := value * (1 - self.box_stats[box][1])) > best:
                best, found = value, box
        return found

    def _compute_page_values(self, blocks: Blocks, top_points: float) -> FeatureValues:
        count = max(1, len(blocks))
        whole, tags = blocks.chars_before[-1], self.block_tags
        top, top2 = self.box_stats[self.length_top], self.box_stats[self.rule_top]
        headings = tags.count(H1) + tags.count(H2) + tags.count(H3)
        return (
            whole, blocks.links_before[-1] / max(1, whole), blocks.long_blocks_before[-1], len(blocks),
            *page_hint_values(self.hints),
            tags.count(LI) / count, tags.count(CELL) / count, tags.count(PRE), top_points, top[4], top[1], top2[4],
            tags.count(H1), headings / count, len(set(blocks.boxes)) / count,
            *self._hint_shares(blocks, max(1, whole)),
        )  # fmt: skip

    def _hint_shares(self, blocks: Blocks, total_chars: int) -> FeatureValues:
        """The ratio of text in boxes that have each of some hints."""
        counted = dict.fromkeys(_COUNTED_HINTS, 0)
        own, above, parents, before = self.own_hints, self.inherited_hints, blocks.walk.box_parents, blocks.chars_before
        for box in self.text_boxes:
            # A box that inherits the hint was already counted, with the box from which it inherits it.
            if (hints := own[box] & _COUNTED_HINT_BITS) and (hints := hints & ~above[parents[box]] if box else hints):
                first, end = blocks.span(box)
                for bit in _COUNTED_HINTS:
                    if hints & bit:
                        counted[bit] += before[end] - before[first]
        return tuple(count / total_chars for count in counted.values())


def _find_attribute_hints(attributes: Mapping[str, str | None]) -> int:
    get, found = attributes.get, 0
    if name := get("id"):
        found |= find_name_hints(name)
    if name := get("itemprop"):
        found |= find_name_hints(name)
    if name := get("role"):
        found |= _HINT_BY_ROLE.get(name, 0)
    if (
        "hidden" in attributes
        or get("aria-hidden") == "true"
        or ((style := get("style")) and _HIDDEN_STYLE.search(style))
    ):
        found |= _UNSHOWN_BIT
    return found


def box_distances(top: int, parents: list[int], boxes: Iterable[int]) -> dict[int, tuple[int, int]]:
    """The distance from one box to each box: the steps up to a common ancestor, and the steps down from there."""
    distances, at, steps = {}, top, 0
    while at not in distances:
        distances[at] = (steps, 0)
        steps += 1
        at = parents[at]
    for box in boxes:
        entered = []
        while box not in distances:
            entered.append(box)
            box = parents[box]
        up, down = distances[box]
        for inner in reversed(entered):
            down += 1
            distances[inner] = (up, down)
    return distances


def _find_title_block(blocks: Blocks, tags: list[int], title: str) -> tuple[int, int]:
    """The block that shows the title, and the block of the first <h1>."""
    h1 = tags.index(H1) if H1 in tags else -1
    title_block = -1
    min_chars = max(_MIN_TITLE_CHARS - 1, len(title) // 2)
    if len(title) >= _MIN_TITLE_CHARS:
        for at, (text, tag) in enumerate(zip(blocks.texts, tags, strict=True)):
            # At least half of the title. Most lines are shorter and need no comparison.
            if min_chars < len(text) <= _MAX_TITLE_CHARS and (title_block < 0 or tag in HEADING_TAGS):
                lowered = text.lower()
                if lowered in title or title in lowered:
                    if tag in HEADING_TAGS:
                        return at, h1
                    title_block = at
    return (title_block if title_block >= 0 else h1), h1
