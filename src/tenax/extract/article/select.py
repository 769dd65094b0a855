"""Selects the blocks of a page that form its article.

Learned trees over the values of `features` estimate for each block the probability that a careful reader would keep it.
Then the most probable blocks are kept, as many as give the best expected result. On a page with clear scores these are
all blocks above a half; on a page with uncertain scores there are a few more.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cache
from math import exp
from typing import Final

from tenax.extract.article.blocks import Blocks, ListIndex
from tenax.extract.article.class_hints import HINT_BIT
from tenax.extract.article.decision_trees import RowSums, compile_row_sums, load_tables
from tenax.extract.article.features import (
    BLOCK_FEATURES,
    BOX_FEATURES,
    FRACTION_FEATURES,
    Features,
    compute_features,
    plan_scoring,
)
from tenax.extract.article.layout import CONTROL_TAG, HEADING_TAGS, PAGE_FEATURES, PageLayout
from tenax.model import PageKind, Value

TABLES_FILE: Final = "kept.json"
MIN_ABSTRACT_CHARS: Final = 40
MAX_ABSTRACT_CHARS: Final = 10_000
_STRICTNESS: Final = 0.8
_UNSHOWN_BIT: Final = HINT_BIT["unshown"]
_BYLINE_BIT: Final = HINT_BIT["byline"]
_MAX_PROFILE_CHARS: Final = 40
_COMMENT_BIT: Final = HINT_BIT["comment"]
_MIN_SHOWN_SHARE: Final = 0.5
_MIN_UNCOMMENTED_SHARE: Final = 0.25
"""Comments can be several times as long as the article."""
_LIKELY_SCORE: Final = 0.4
_TINY_PAGE_BLOCKS: Final = 3
_CERTAIN_SCORE: Final = 0.97
"""The average score of a block that is certain and so is not scored."""


class Selection(Value, frozen=True):
    """The decision about the blocks of a page."""

    kept: list[bool]
    scores: list[float]
    """The probability that each block belongs to the article, from 0 to 1."""


def select_article(blocks: Blocks, layout: PageLayout, kind: PageKind) -> Selection:
    """Which blocks of a page are kept. Clear cases cost nothing."""
    is_article = kind is PageKind.ARTICLE
    comments = _find_comment_boxes(blocks, layout) if is_article else set()
    plan = plan_scoring(blocks, layout, is_article=is_article)
    judgement = select_blocks(blocks, compute_features(blocks, layout, plan), kind, comments)
    if is_article and not any(judgement.kept):
        judgement = select_blocks(blocks, compute_features(blocks, layout), kind, comments)
    return judgement


def select_blocks(blocks: Blocks, features: Features, kind: PageKind, comments: Set[int] = frozenset()) -> Selection:
    """Select blocks by their scores. `comments` are boxes to drop, unless they contain the main text."""
    scores = _score_blocks(_load_row_sums("article" if kind is PageKind.ARTICLE else "other"), blocks, features)
    if kind is PageKind.FORUM:
        _drop_profiles(scores, blocks, features)
    return select_by_scores(scores, blocks, features, comments)


def select_by_scores(
    scores: list[float], blocks: Blocks, features: Features, comments: Set[int] = frozenset()
) -> Selection:
    """The same, with given scores. Used to evaluate tables that are not part of the package. Changes `scores`."""
    _drop_boxes(
        {box for box in blocks.boxes if features.inherited_hints[box] & _UNSHOWN_BIT}, _MIN_SHOWN_SHARE, scores, blocks
    )
    _drop_boxes(comments, _MIN_UNCOMMENTED_SHARE, scores, blocks)
    _average_list_scores(scores, blocks)
    threshold = _score_threshold(scores, blocks)
    kept = [score >= threshold for score in scores]
    if len(scores) <= _TINY_PAGE_BLOCKS and not any(kept):
        kept = [score > 0 for score in scores]
    return Selection(kept, scores)


def article_text(blocks: Blocks, kept: list[bool]) -> str:
    """The text of the article, one paragraph per line."""
    return "\n".join(text for text, is_kept in zip(blocks.texts, kept, strict=True) if is_kept)


def first_paragraph(blocks: Blocks, tags: Sequence[int], kept: list[bool]) -> str:
    """The first kept paragraph with real content."""
    for text, is_kept, tag in zip(blocks.texts, kept, tags, strict=True):
        if is_kept and len(text) > MIN_ABSTRACT_CHARS and tag not in HEADING_TAGS:
            return " ".join(text.split())[:MAX_ABSTRACT_CHARS]
    return ""


def kept_runs(blocks: Blocks, kept: list[bool]) -> list[bool]:
    """For each run of the walk, whether any block of the run is kept."""
    runs = [False] * (len(blocks.first_of_run) - 1)
    for run, is_kept in zip(blocks.runs, kept, strict=True):
        if is_kept:
            runs[run] = True
    return runs


def count_words(blocks: Blocks, kept: list[bool]) -> int:
    return sum(words for words, is_kept in zip(blocks.words, kept, strict=True) if is_kept)


@cache
def _load_row_sums(name: str) -> RowSums:
    """The function for this table.

    Articles are similar, so a small table scores them as well as a large one. The other kinds share the large table.
    """
    return compile_row_sums(
        load_tables(TABLES_FILE)[name], BLOCK_FEATURES, BOX_FEATURES, PAGE_FEATURES, FRACTION_FEATURES
    )


def _score_blocks(table: RowSums, blocks: Blocks, features: Features) -> list[float]:
    rows, scores = features.block_values, [0.0] * len(blocks)
    scored = [at for at, numbers in enumerate(rows) if numbers and numbers[0] != CONTROL_TAG]
    indexes = [blocks.boxes[at] for at in scored]
    sums = table([rows[at] for at in scored], indexes, features.box_values, features.page_values)
    for at, total in zip(scored, sums, strict=True):
        scores[at] = 1 / (1 + exp(-total))
    for at in features.plan.certain:
        scores[at] = _CERTAIN_SCORE
    for sample in features.plan.sampled_lists:
        mean = _mean_score(scores, blocks, sample.sampled)
        for at in sample.unsampled:
            scores[at] = mean
    return scores


def _find_comment_boxes(blocks: Blocks, layout: PageLayout) -> set[int]:
    """The boxes of reader comments: those with such names, except those that also contain the title."""
    if not layout.all_hints & _COMMENT_BIT:
        return set()
    parents, title_at = blocks.walk.box_parents, layout.title_block
    around_title = set()
    box = blocks.boxes[title_at] if title_at >= 0 else 0
    while box not in around_title:
        around_title.add(box)
        box = parents[box]
    found: set[int] = set()
    for box in layout.text_boxes:
        if box not in around_title and (layout.own_hints[box] & _COMMENT_BIT or parents[box] in found):
            found.add(box)
    return found


def _drop_profiles(scores: list[float], blocks: Blocks, features: Features) -> None:
    """Drop the few words beside each post of a thread that name its author, and say since when the author is a
    member."""
    for at, (box, chars) in enumerate(zip(blocks.boxes, blocks.chars, strict=True)):
        if chars < _MAX_PROFILE_CHARS and features.inherited_hints[box] & _BYLINE_BIT:
            scores[at] = 0.0


def _drop_boxes(boxes: Set[int], share: float, scores: list[float], blocks: Blocks) -> None:
    """Drop the content of some boxes, if the likely content outside of them is at least `share` of it.

    Some pages show their text only after scripts have run, and some pages name it a comment.
    """
    if not boxes:
        return
    inside = outside = 0
    for score, chars, box in zip(scores, blocks.chars, blocks.boxes, strict=True):
        if score > _LIKELY_SCORE:
            if box in boxes:
                inside += chars
            else:
                outside += chars
    if outside > share * inside:
        for at, box in enumerate(blocks.boxes):
            if box in boxes:
                scores[at] = 0.0


def _average_list_scores(scores: list[float], blocks: Blocks) -> None:
    """Give all items of a list, and all cells of a table, their mean score, so that it is kept as a whole or not at
    all.

    Blocks that were dropped for another reason stay dropped.
    """
    lists = ListIndex(blocks)
    scored = {lists.enclosing_list(box) for box, score in zip(blocks.boxes, scores, strict=True) if score}
    if scored <= {-1}:
        return
    for list_box, members in lists.group_by_list(range(len(blocks))).items():
        if list_box in scored and len(members) > 1 and lists.is_scored_together(list_box, members):
            mean = _mean_score(scores, blocks, members)
            for at in members:
                if scores[at]:
                    scores[at] = mean


def _mean_score(scores: list[float], blocks: Blocks, members: list[int]) -> float:
    """The mean score, weighted by the length of the blocks."""
    chars = [blocks.chars[at] for at in members]
    return sum(scores[at] * n for at, n in zip(members, chars, strict=True)) / sum(chars)


def _score_threshold(scores: list[float], blocks: Blocks) -> float:
    """The score from which on blocks are kept: the one with the best expected F1.

    With n words kept, r of them expected to be right, and t right words in total, F1 is 2 r / (n + t). Reducing t a
    little makes the threshold slightly stricter: articles lose nothing, and less unwanted text is kept.
    """
    rows = sorted([row for row in zip(scores, blocks.words, strict=True) if row[0] > 0], reverse=True)
    expected = sum(score * words for score, words in rows)
    kept = right = best = 0.0
    threshold = 1.0
    for score, words in rows:
        kept += words
        right += score * words
        value = right / (kept + _STRICTNESS * expected)
        if value >= best:
            best, threshold = value, score
    return threshold
