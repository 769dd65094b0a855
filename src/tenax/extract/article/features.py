"""The numbers by which a block is judged: its own, those of the boxes around it, and those of the page.

Pure arithmetic on columns. The names in `OF_BLOCK`, `OF_BOX` and `OF_PAGE` are the order of the numbers; the learned
tables refer to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tenax.extract.article.blocks import Blocks
from tenax.extract.article.class_hints import MARKS, beginning_of
from tenax.extract.article.decision_trees import Numbers
from tenax.extract.article.layout import FRACTIONS_OF_PAGE, HEADINGS, OF_PAGE, Outline, ways_from
from tenax.extract.article.prefilter import LINE_CHARS, SHORT_CHARS, STRANGERS, Doubts, every_block
from tenax.model import Value

_ENDS: Final = frozenset('.!?。！？…"”’»)؟۔।')
_NO_HEADING_TAG: Final = 9
_MOST_STRANGERS: Final = 9
_MOST_LEVELS: Final = 20_000
_NO_BLOCK: Final = (-1, -1.0, -1)
_NOWHERE: Final = -999
"""How far a block is from a title that is not shown."""


_LEVELS: Final = ("box", "parent", "grandparent", "third")
OF_BLOCK: Final = (
    "tag", "chars", "words", "link share", "links", "pauses", "ends", "beginning", "in title", "alike", "alike chars",
    "alike link share", "place", "chars before", "from title", "from h1", "in range", "from first", "to last",
    "heading", "from heading", "heading level", "strangers", "same text", "before chars", "before link share",
    "before tag", "after chars", "after link share", "after tag",
)  # fmt: skip
OF_BOX: Final = (
    *MARKS,
    *(f"{level} {what}" for level in _LEVELS for what in ("chars", "link share", "long", "blocks", "share", "pauses")),
    "depth", "from top", "to top", "from top2", "to top2", "points share",
)  # fmt: skip


FRACTIONS: Final = frozenset((
    "link share", "in title", "alike chars", "alike link share", "place", "chars before", "before link share",
    "after link share",
    *(f"{level} {what}" for level in _LEVELS for what in ("link share", "share", "pauses")), "points share",
    *FRACTIONS_OF_PAGE,
))  # fmt: skip
"""The numbers that are not whole. A table compares whole numbers with whole ones: Python does that twice as fast."""


class Features(Value, frozen=True):
    """The numbers of one page."""

    doubts: Doubts
    of_block: list[Numbers]
    """Empty for blocks that are not asked about."""
    of_box: dict[int, Numbers]
    """By box, for boxes that hold blocks of their own which are."""
    around: list[int]
    """By box, the marks of it and of all around it."""
    of_page: Numbers
    title_at: int
    """The block that shows the title; -1 for none."""


def features_of(blocks: Blocks, outline: Outline, doubts: Doubts | None = None) -> Features:
    """Of the blocks that are asked about, or of all."""
    doubts = doubts or every_block(blocks)
    return Features(
        doubts,
        _of_blocks(blocks, outline, doubts.shares, doubts.asked),
        _of_boxes(blocks, outline, {blocks.boxes[at] for at in doubts.asked}),
        outline.all,
        outline.numbers,
        outline.title_at,
    )


def _of_boxes(blocks: Blocks, outline: Outline, wanted: Iterable[int]) -> dict[int, Numbers]:
    parents, facts, points = blocks.walk.box_parents, outline.facts, outline.points2
    from_top = ways_from(outline.top, parents, wanted)
    from_top2 = ways_from(outline.top2, parents, wanted)
    peak = max(1.0, points[outline.top2])
    found: dict[int, Numbers] = {}
    for box in wanted:
        parent = parents[box]
        second = parents[parent]
        found[box] = (
            *_levels(outline.own[box], outline.near(box), outline.all[box]),
            *facts[box], *facts[parent], *facts[second], *facts[parents[second]],
            outline.depth[box], *from_top[box], *from_top2[box],
            max(points[box], points[parent], points[second]) / peak,
        )  # fmt: skip
    return found


_known_levels: dict[tuple[int, int, int], tuple[int, ...]] = {}


def _levels(own: int, near: int, above: int) -> tuple[int, ...]:
    """For each mark: 3 if the box itself has it, 2 if its parent or grandparent, 1 if one further up, else 0."""
    found = _known_levels.get((own, near, above))
    if found is None:
        if len(_known_levels) >= _MOST_LEVELS:
            _known_levels.clear()
        bits = [1 << place for place in range(len(MARKS))]
        found = tuple(3 if own & bit else 2 if near & bit else 1 if above & bit else 0 for bit in bits)
        _known_levels[own, near, above] = found
    return found


def _of_blocks(blocks: Blocks, outline: Outline, shares: list[float], asked: Sequence[int]) -> list[Numbers]:
    """One long loop, because it runs for every block that is asked about, of every page."""
    count, whole = len(blocks), max(1, blocks.chars_before[-1])
    tags, h1_at = outline.tags, outline.h1_at if outline.h1_at >= 0 else -_NOWHERE
    title_at = outline.title_at if outline.title_at >= 0 else -_NOWHERE
    first, end_of_top = blocks.span(outline.top)
    last = end_of_top - 1
    texts, words, link_counts, pauses = blocks.texts, blocks.words, blocks.link_counts, blocks.pauses
    lengths = {len(texts[at]) for at in asked}
    same = Counter([text for text in texts if len(text) in lengths])
    title_words = set(outline.hints.title.lower().split())
    heading, heading_at, heading_level, strangers = 0, -1, 0, 0
    rows: list[Numbers] = [()] * count
    ends, headings, chars_before = _ENDS, HEADINGS, blocks.chars_before
    beside = [_NO_BLOCK, *zip(blocks.chars, shares, tags, strict=True), _NO_BLOCK]
    for at, alike in zip(asked, _alike(blocks, outline, shares, asked), strict=True):
        n, share, tag = beside[at + 1]
        text = texts[at]
        beginning = 0
        in_title = 0.0
        if n < SHORT_CHARS:
            lowered = text.lower()
            beginning = beginning_of(lowered)
            if title_words:
                in_title = len(title_words.intersection(lowered.split())) / len(title_words)
            if tag in headings:
                heading, heading_at, heading_level = beginning, at, tag
                strangers += beginning > 0
            elif beginning in STRANGERS and n < LINE_CHARS:
                heading, heading_at, heading_level = beginning, at, _NO_HEADING_TAG
                strangers += 1
        rows[at] = (
            tag, n, words[at], share, link_counts[at], pauses[at], 1 if text[-1] in ends else 0, beginning, in_title,
            *alike, at / count, chars_before[at] / whole, at - title_at, at - h1_at, 1 if first <= at <= last else 0,
            at - first, last - at, heading, at - heading_at if heading_at >= 0 else -1, heading_level,
            strangers if strangers < _MOST_STRANGERS else _MOST_STRANGERS, same[text], *beside[at], *beside[at + 2],
        )  # fmt: skip
    return rows


def _alike(
    blocks: Blocks, outline: Outline, shares: list[float], asked: Sequence[int]
) -> list[tuple[int, float, float]]:
    """How many blocks stand in boxes of the same name within boxes of the same name, and what they are like."""
    styles, parents = outline.styles, blocks.walk.box_parents
    keys = [(styles[box], styles[parents[box]]) for box in blocks.boxes]
    sums: dict[tuple[int, int], list[float]] = {keys[at]: [0, 0, 0.0] for at in asked}
    for key, n, share in zip(keys, blocks.chars, shares, strict=True):
        known = sums.get(key)
        if known is not None:
            known[0] += 1
            known[1] += n
            known[2] += share
    means = {key: (int(times), chars / times, linked / times) for key, (times, chars, linked) in sums.items()}
    return [means[keys[at]] for at in asked]


__all__ = ["FRACTIONS", "OF_BLOCK", "OF_BOX", "OF_PAGE", "Features", "features_of"]
