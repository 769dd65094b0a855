"""Which blocks need scoring, and the values by which they are scored: of the block, its boxes and the page.

Scoring is the slowest part of extraction. On an article most blocks are links among links, or long paragraphs of the
main part, and need no scoring. Of a long list some items are scored, and represent all items. Pure arithmetic on
columns. `BLOCK_FEATURES`, `BOX_FEATURES` and `PAGE_FEATURES` define the order of the values; the learned tables depend
on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tenax.extract.article.blocks import LONG_BLOCK_CHARS, Blocks, ListIndex
from tenax.extract.article.class_hints import HINT_BIT, HINT_NAMES, classify_beginning
from tenax.extract.article.decision_trees import FeatureValues
from tenax.extract.article.layout import (
    CONTROL_TAG,
    HEADING_TAGS,
    PAGE_FEATURES,
    PAGE_FRACTION_FEATURES,
    P,
    PageLayout,
    box_distances,
)
from tenax.model import Value

SHORT_CHARS: Final = 200
SHORT_LINE_CHARS: Final = 60
UNRELATED_BEGINNINGS: Final = frozenset((3, 4))
"""Beginnings (see `class_hints`) that change the topic even if they are not headings."""

_MAX_PROSE_LINK_SHARE: Final = 0.15
_EXCLUDING_HINTS: Final = HINT_BIT["consent"] | HINT_BIT["footer"] | HINT_BIT["comment"] | HINT_BIT["unshown"]
_DOUBTFUL_HINTS: Final = (
    HINT_BIT["related"]
    | HINT_BIT["ad"]
    | HINT_BIT["side"]
    | HINT_BIT["nav"]
    | HINT_BIT["share"]
    | HINT_BIT["login"]
    | HINT_BIT["byline"]
    | HINT_BIT["hidden"]
)
_MIN_LINK_SHARE: Final = 0.8
_MIN_PARENT_LINK_SHARE: Final = 0.7
_MIN_LIST_LINK_SHARE: Final = 0.6
_MAX_LISTED_CHARS: Final = 120
_UNREACHABLE_SHARE: Final = 2.0
"""Larger than any ratio can be."""
_WHOLE_PAGE_SHARE: Final = 0.9
_UNSAMPLED_TAGS: Final = HEADING_TAGS | {CONTROL_TAG}
"""Headings affect all blocks after them, and controls are never content. Neither represents other blocks."""
LIST_SAMPLE_SIZE: Final = 12
"""This many items of a list represent all items. Half as many lose 0.002 of F1 on pages that are not articles."""


class SampledList(Value, frozen=True):
    """The items of one list: those that are scored, and those that get the same score."""

    sampled: list[int]
    unsampled: list[int]


class ScoringPlan(Value, frozen=True):
    link_shares: list[float]
    """The ratio of links in each block."""
    scored: Sequence[int]
    """The blocks to score, in order."""
    certain: frozenset[int] = frozenset()
    """Blocks that certainly belong to an article. A block that is in no field here certainly does not."""
    sampled_lists: tuple[SampledList, ...] = ()


def plan_scoring(blocks: Blocks, layout: PageLayout, *, is_article: bool) -> ScoringPlan:
    every = plan_scoring_all(blocks)
    scored, certain = every.scored, frozenset[int]()
    if is_article:
        listed, certain = (
            _find_listed_blocks(blocks, layout, every.link_shares),
            _find_certain_blocks(blocks, layout, every.link_shares),
        )
        scored = [at for at, is_passed in enumerate(listed) if not is_passed and at not in certain]
    samples = _sample_lists(blocks, layout, scored)
    unsampled = {at for sample in samples for at in sample.unsampled}
    return ScoringPlan(
        every.link_shares, [at for at in scored if at not in unsampled] if unsampled else scored, certain, samples
    )


def plan_scoring_all(blocks: Blocks) -> ScoringPlan:
    """A plan that scores all blocks, for training and explanations."""
    shares = [linked / n if linked else 0.0 for linked, n in zip(blocks.link_chars, blocks.chars, strict=True)]
    return ScoringPlan(shares, range(len(blocks)))


def _sample_lists(blocks: Blocks, layout: PageLayout, scored: Sequence[int]) -> tuple[SampledList, ...]:
    if len(scored) <= LIST_SAMPLE_SIZE:
        return ()
    lists, tags, found = ListIndex(blocks), layout.block_tags, []
    for list_box, members in lists.group_by_list(at for at in scored if tags[at] not in _UNSAMPLED_TAGS).items():
        count = len(members)
        if count > LIST_SAMPLE_SIZE and lists.is_scored_together(list_box, members):
            sample = [members[index * count // LIST_SAMPLE_SIZE] for index in range(LIST_SAMPLE_SIZE)]
            found.append(SampledList(sample, sorted({*members}.difference(sample))))
    return tuple(found)


def _find_certain_blocks(blocks: Blocks, layout: PageLayout, link_shares: list[float]) -> frozenset[int]:
    """Prose in the box with most of the prose, in parts without a hint against them.

    The table keeps all but two of a thousand such blocks, so they are not scored. After a heading that changes the
    topic, no block is certain.
    """
    parents, around, own, points = blocks.walk.box_parents, layout.inherited_hints, layout.own_hints, layout.rule_points
    first, end = blocks.span(layout.length_top)
    enough, found = points[layout.rule_top] / 2, []
    for at in range(first, end):
        n, tag = blocks.chars[at], layout.block_tags[at]
        if tag == P and n >= LONG_BLOCK_CHARS and link_shares[at] < _MAX_PROSE_LINK_SHARE:
            box = blocks.boxes[at]
            parent = parents[box]
            second = parents[parent]
            if (
                not around[box] & _EXCLUDING_HINTS
                and not (own[box] | own[parent] | own[second]) & _DOUBTFUL_HINTS
                and (points[parent] >= enough or points[second] >= enough or points[box] >= enough)
                and (n >= SHORT_CHARS or not classify_beginning(blocks.texts[at].lower()))
            ):
                found.append(at)
        elif n < SHORT_CHARS and (tag in HEADING_TAGS or n < SHORT_LINE_CHARS):
            beginning = classify_beginning(blocks.texts[at].lower())
            if beginning in UNRELATED_BEGINNINGS or (beginning and tag in HEADING_TAGS):
                break
    return frozenset(found)


def _find_listed_blocks(blocks: Blocks, layout: PageLayout, link_shares: list[float]) -> list[bool]:
    """Whether each block is a link among links, or a word in a list of them."""
    parents = blocks.walk.box_parents
    around = [parents[box] for box in blocks.boxes]
    enough = {box: _listed_link_share(box, parents, layout) for box in set(around)}
    return [
        n < _MAX_LISTED_CHARS and share >= enough[box]
        for n, share, box in zip(blocks.chars, link_shares, around, strict=True)
    ]


def _listed_link_share(box: int, parents: list[int], layout: PageLayout) -> float:
    """The ratio of links from which on a short block in this box counts as listed."""
    second = parents[box]
    if _is_link_list(layout.box_stats[second]) or _is_link_list(layout.box_stats[parents[second]]):
        return 0.0
    return _MIN_LINK_SHARE if layout.box_stats[box][1] > _MIN_PARENT_LINK_SHARE else _UNREACHABLE_SHARE


def _is_link_list(box_stats: FeatureValues) -> bool:
    """Whether a box is a list of links. The box around the whole page never is, because it may contain little more than
    its menu."""
    _, linked, long, _, share, _ = box_stats
    return not long and linked > _MIN_LIST_LINK_SHARE and share < _WHOLE_PAGE_SHARE


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
"""The values that are not integers. A table compares integers with integers, which Python does twice as fast."""


class Features(Value, frozen=True):
    """The values of one page."""

    plan: ScoringPlan
    block_values: list[FeatureValues]
    """Empty for blocks that are not scored."""
    box_values: dict[int, FeatureValues]
    """The values of boxes that directly contain scored blocks."""
    inherited_hints: list[int]
    """For each box, its hints and those of all boxes around it."""
    page_values: FeatureValues
    title_block: int
    """The block of the title; -1: none."""


def compute_features(blocks: Blocks, layout: PageLayout, plan: ScoringPlan | None = None) -> Features:
    """The values of the scored blocks of the plan, or of all blocks."""
    plan = plan or plan_scoring_all(blocks)
    return Features(
        plan,
        _compute_block_values(blocks, layout, plan.link_shares, plan.scored),
        _compute_box_values(blocks, layout, {blocks.boxes[at] for at in plan.scored}),
        inherited_hints=layout.inherited_hints,
        page_values=layout.page_values,
        title_block=layout.title_block,
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
    """For each hint: 3 if the box itself has it, 2 if its parent or grandparent has it, 1 if a box further up has it,
    else 0."""
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
    """One long loop, because this runs for every scored block of every page."""
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
    """How many blocks are in boxes of the same style, in boxes of the same style; and their averages."""
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
