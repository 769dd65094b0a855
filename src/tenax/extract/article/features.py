"""The values by which a block is scored: its own, those of the boxes around it, and those of the page.

Pure arithmetic on columns. `BLOCK_FEATURES`, `BOX_FEATURES` and `PAGE_FEATURES` define the order of the values; the
learned tables refer to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tenax.extract.article.blocks import Blocks
from tenax.extract.article.class_hints import HINT_NAMES, classify_beginning
from tenax.extract.article.decision_trees import FeatureValues
from tenax.extract.article.layout import HEADING_TAGS, PAGE_FEATURES, PAGE_FRACTION_FEATURES, PageLayout, box_distances
from tenax.extract.article.prefilter import (
    SHORT_CHARS,
    SHORT_LINE_CHARS,
    UNRELATED_BEGINNINGS,
    ScoringPlan,
    plan_scoring_all,
)
from tenax.model import Value

_SENTENCE_ENDS: Final = frozenset('.!?。！？…"”’»)؟۔।')
_PSEUDO_HEADING_LEVEL: Final = 9
_MAX_UNRELATED_HEADINGS: Final = 9
_MAX_CACHED_LEVELS: Final = 20_000
_NO_NEIGHBOUR: Final = (-1, -1.0, -1)
_NO_TITLE_DISTANCE: Final = -999
"""The distance of a block from a title that is not shown."""


_ANCESTOR_NAMES: Final = ("box", "parent", "grandparent", "third")
BLOCK_FEATURES: Final = (
    "tag", "chars", "words", "link share", "links", "pauses", "ends", "beginning", "in title", "alike", "alike chars",
    "alike link share", "place", "chars before", "from title", "from h1", "in range", "from first", "to last",
    "heading", "from heading", "heading level", "strangers", "same text", "before chars", "before link share",
    "before tag", "after chars", "after link share", "after tag",
)  # fmt: skip
BOX_FEATURES: Final = (
    *HINT_NAMES,
    *(
        f"{level} {what}"
        for level in _ANCESTOR_NAMES
        for what in ("chars", "link share", "long", "blocks", "share", "pauses")
    ),
    "depth", "from top", "to top", "from top2", "to top2", "points share",
)  # fmt: skip


FRACTION_FEATURES: Final = frozenset((
    "link share", "in title", "alike chars", "alike link share", "place", "chars before", "before link share",
    "after link share",
    *(f"{level} {what}" for level in _ANCESTOR_NAMES for what in ("link share", "share", "pauses")), "points share",
    *PAGE_FRACTION_FEATURES,
))  # fmt: skip
"""The values that are not integers. A table compares integers with integers: Python does that twice as fast."""


class Features(Value, frozen=True):
    """The values of one page."""

    plan: ScoringPlan
    block_values: list[FeatureValues]
    """Empty for blocks that are not scored."""
    box_values: dict[int, FeatureValues]
    """By box, for boxes that directly contain scored blocks."""
    inherited_hints: list[int]
    """By box, its hints and those of all boxes around it."""
    page_values: FeatureValues
    title_block: int
    """The block of the title; -1 for none."""


def compute_features(blocks: Blocks, layout: PageLayout, plan: ScoringPlan | None = None) -> Features:
    """For the scored blocks of the plan, or for all."""
    plan = plan or plan_scoring_all(blocks)
    return Features(
        plan,
        _compute_block_values(blocks, layout, plan.link_shares, plan.scored),
        _compute_box_values(blocks, layout, {blocks.boxes[at] for at in plan.scored}),
        layout.inherited_hints,
        layout.page_values,
        layout.title_block,
    )


def _compute_box_values(blocks: Blocks, layout: PageLayout, boxes: Iterable[int]) -> dict[int, FeatureValues]:
    parents, facts, points = blocks.walk.box_parents, layout.box_stats, layout.rule_points
    from_top = box_distances(layout.length_top, parents, boxes)
    from_top2 = box_distances(layout.rule_top, parents, boxes)
    peak = max(1.0, points[layout.rule_top])
    found: dict[int, FeatureValues] = {}
    for box in boxes:
        parent = parents[box]
        second = parents[parent]
        found[box] = (
            *_hint_levels(layout.own_hints[box], layout.nearby_hints(box), layout.inherited_hints[box]),
            *facts[box], *facts[parent], *facts[second], *facts[parents[second]],
            layout.depth[box], *from_top[box], *from_top2[box],
            max(points[box], points[parent], points[second]) / peak,
        )  # fmt: skip
    return found


_cached_levels: dict[tuple[int, int, int], tuple[int, ...]] = {}


def _hint_levels(own: int, near: int, above: int) -> tuple[int, ...]:
    """For each hint: 3 if the box itself has it, 2 if its parent or grandparent, 1 if one further up, else 0."""
    found = _cached_levels.get((own, near, above))
    if found is None:
        if len(_cached_levels) >= _MAX_CACHED_LEVELS:
            _cached_levels.clear()
        bits = [1 << index for index in range(len(HINT_NAMES))]
        found = tuple(3 if own & bit else 2 if near & bit else 1 if above & bit else 0 for bit in bits)
        _cached_levels[own, near, above] = found
    return found


def _compute_block_values(
    blocks: Blocks, layout: PageLayout, link_shares: list[float], scored: Sequence[int]
) -> list[FeatureValues]:
    """One long loop, because it runs for every scored block of every page."""
    count, total_chars = len(blocks), max(1, blocks.chars_before[-1])
    tags, h1_at = layout.block_tags, layout.h1_block if layout.h1_block >= 0 else -_NO_TITLE_DISTANCE
    title_at = layout.title_block if layout.title_block >= 0 else -_NO_TITLE_DISTANCE
    first, end_of_top = blocks.span(layout.length_top)
    last = end_of_top - 1
    texts, words, link_counts, pauses = blocks.texts, blocks.words, blocks.link_counts, blocks.punctuation_counts
    lengths = {len(texts[at]) for at in scored}
    same = Counter([text for text in texts if len(text) in lengths])
    title_words = set(layout.hints.title.lower().split())
    heading, heading_at, heading_level, unrelated = 0, -1, 0, 0
    rows: list[FeatureValues] = [()] * count
    ends, headings, chars_before = _SENTENCE_ENDS, HEADING_TAGS, blocks.chars_before
    neighbours = [_NO_NEIGHBOUR, *zip(blocks.chars, link_shares, tags, strict=True), _NO_NEIGHBOUR]
    for at, similar in zip(scored, _similar_block_stats(blocks, layout, link_shares, scored), strict=True):
        n, share, tag = neighbours[at + 1]
        text = texts[at]
        beginning = 0
        in_title = 0.0
        if n < SHORT_CHARS:
            lowered = text.lower()
            beginning = classify_beginning(lowered)
            if title_words:
                in_title = len(title_words.intersection(lowered.split())) / len(title_words)
            if tag in headings:
                heading, heading_at, heading_level = beginning, at, tag
                unrelated += beginning > 0
            elif beginning in UNRELATED_BEGINNINGS and n < SHORT_LINE_CHARS:
                heading, heading_at, heading_level = beginning, at, _PSEUDO_HEADING_LEVEL
                unrelated += 1
        rows[at] = (
            tag, n, words[at], share, link_counts[at], pauses[at], 1 if text[-1] in ends else 0, beginning, in_title,
            *similar, at / count, chars_before[at] / total_chars, at - title_at, at - h1_at,
            1 if first <= at <= last else 0,
            at - first, last - at, heading, at - heading_at if heading_at >= 0 else -1, heading_level,
            unrelated if unrelated < _MAX_UNRELATED_HEADINGS else _MAX_UNRELATED_HEADINGS, same[text],
            *neighbours[at], *neighbours[at + 2],
        )  # fmt: skip
    return rows


def _similar_block_stats(
    blocks: Blocks, layout: PageLayout, link_shares: list[float], scored: Sequence[int]
) -> list[tuple[int, float, float]]:
    """How many blocks are in boxes of the same style within boxes of the same style, and their averages."""
    styles, parents = layout.styles, blocks.walk.box_parents
    keys = [(styles[box], styles[parents[box]]) for box in blocks.boxes]
    sums: dict[tuple[int, int], list[float]] = {keys[at]: [0, 0, 0.0] for at in scored}
    for key, n, share in zip(keys, blocks.chars, link_shares, strict=True):
        known = sums.get(key)
        if known is not None:
            known[0] += 1
            known[1] += n
            known[2] += share
    means = {key: (int(times), chars / times, linked / times) for key, (times, chars, linked) in sums.items()}
    return [means[keys[at]] for at in scored]


__all__ = ["BLOCK_FEATURES", "BOX_FEATURES", "FRACTION_FEATURES", "PAGE_FEATURES", "Features", "compute_features"]
