"""Selects the blocks that need scoring.

Scoring is the slowest part of extraction. On an article most blocks are links among links, or long paragraphs of the
main part, and need no scoring. Of a long list some items are scored, and represent all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tenax.extract.article.blocks import LONG_BLOCK_CHARS, Blocks
from tenax.extract.article.class_hints import HINT_BIT, classify_beginning
from tenax.extract.article.decision_trees import FeatureValues
from tenax.extract.article.layout import CONTROL_TAG, HEADING_TAGS, P, PageLayout
from tenax.extract.article.lists_and_tables import ListIndex
from tenax.model import Value

SHORT_CHARS: Final = 200
SHORT_LINE_CHARS: Final = 60
UNRELATED_BEGINNINGS: Final = frozenset((3, 4))
"""Beginnings (see `class_hints`) that change the topic even outside of headings."""

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
"""Larger than any ratio."""
_WHOLE_PAGE_SHARE: Final = 0.9
_UNSAMPLED_TAGS: Final = HEADING_TAGS | {CONTROL_TAG}
"""Headings affect all blocks after them, and controls are never content: neither represents others."""
LIST_SAMPLE_SIZE: Final = 12
"""This many items of a list represent all. Half as many lose 0.002 of F1 on pages that are not articles."""


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
    """Blocks that certainly belong to an article; a block in no field here certainly does not."""
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
    """For callers that need all values: training and explanations."""
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
    """Prose in the box with most of it, in parts without a hint against them.

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
    """The ratio of links from which a short block in this box counts as listed."""
    second = parents[box]
    if _is_link_list(layout.box_stats[second]) or _is_link_list(layout.box_stats[parents[second]]):
        return 0.0
    return _MIN_LINK_SHARE if layout.box_stats[box][1] > _MIN_PARENT_LINK_SHARE else _UNREACHABLE_SHARE


def _is_link_list(box_stats: FeatureValues) -> bool:
    """Whether a box is a list of links. Never the box around the whole page, which may contain little but its menu."""
    _, linked, long, _, share, _ = box_stats
    return not long and linked > _MIN_LIST_LINK_SHARE and share < _WHOLE_PAGE_SHARE
