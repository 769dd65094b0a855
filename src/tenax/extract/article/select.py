"""Which blocks of a page are its clean part.

Each block is given the probability that a careful reader would keep it, by learned trees over the numbers of
`features`. Then as many of the likeliest are kept as promise the best whole: on a page whose blocks are told apart
surely that is all above a half, on a page of which little is sure it is a few more.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cache
from math import exp
from typing import Final

from tenax.extract.article.blocks import Blocks
from tenax.extract.article.class_hints import HINT_BIT
from tenax.extract.article.decision_trees import RowSums, compile_row_sums, load_tables
from tenax.extract.article.features import BLOCK_FEATURES, BOX_FEATURES, FRACTION_FEATURES, Features, compute_features
from tenax.extract.article.layout import CONTROL_TAG, HEADING_TAGS, PAGE_FEATURES, PageLayout
from tenax.extract.article.lists_and_tables import ListIndex
from tenax.extract.article.prefilter import plan_scoring
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
"""Comments can be several times as long as what they are about."""
_LIKELY_SCORE: Final = 0.4
_TINY_PAGE_BLOCKS: Final = 3
_CERTAIN_SCORE: Final = 0.97
"""What the table says on average of a block that it is not asked about."""


class Selection(Value, frozen=True):
    """What was decided about the blocks of a page."""

    kept: list[bool]
    scores: list[float]
    """How likely each is to belong to the clean part, from 0 to 1."""


def select_article(blocks: Blocks, layout: PageLayout, kind: PageKind) -> Selection:
    """Which blocks of a page are kept. What is plain costs nothing."""
    is_article = kind is PageKind.ARTICLE
    comments = _find_comment_boxes(blocks, layout) if is_article else set()
    doubts = plan_scoring(blocks, layout, is_article=is_article)
    judgement = select_blocks(blocks, compute_features(blocks, layout, doubts), kind, comments)
    if is_article and not any(judgement.kept):
        judgement = select_blocks(blocks, compute_features(blocks, layout), kind, comments)
    return judgement


def select_blocks(blocks: Blocks, features: Features, kind: PageKind, comments: Set[int] = frozenset()) -> Selection:
    """`comments` are boxes to be dropped unless the text is there."""
    scores = _score_blocks(_load_row_sums("article" if kind is PageKind.ARTICLE else "other"), blocks, features)
    if kind is PageKind.FORUM:
        _drop_profiles(scores, blocks, features)
    return select_by_scores(scores, blocks, features, comments)


def select_by_scores(
    scores: list[float], blocks: Blocks, features: Features, comments: Set[int] = frozenset()
) -> Selection:
    """The same with scores from elsewhere: so are tables tried that are not shipped. Changes `scores`."""
    _drop_boxes(
        {box for box in blocks.boxes if features.inherited_hints[box] & _UNSHOWN_BIT}, _MIN_SHOWN_SHARE, scores, blocks
    )
    _drop_boxes(comments, _MIN_UNCOMMENTED_SHARE, scores, blocks)
    _average_list_scores(scores, blocks)
    least = _score_threshold(scores, blocks)
    kept = [score >= least for score in scores]
    if len(scores) <= _TINY_PAGE_BLOCKS and not any(kept):
        kept = [score > 0 for score in scores]
    return Selection(kept, scores)


def article_text(blocks: Blocks, kept: list[bool]) -> str:
    """A paragraph to a line."""
    return "\n".join(text for text, is_kept in zip(blocks.texts, kept, strict=True) if is_kept)


def first_paragraph(blocks: Blocks, tags: Sequence[int], kept: list[bool]) -> str:
    """The first kept paragraph that says something."""
    for text, is_kept, tag in zip(blocks.texts, kept, tags, strict=True):
        if is_kept and len(text) > MIN_ABSTRACT_CHARS and tag not in HEADING_TAGS:
            return " ".join(text.split())[:MAX_ABSTRACT_CHARS]
    return ""


def kept_runs(blocks: Blocks, kept: list[bool]) -> list[bool]:
    """Of each run of the walk, whether any of its blocks is kept."""
    runs = [False] * (len(blocks.first_of_run) - 1)
    for run, is_kept in zip(blocks.runs, kept, strict=True):
        if is_kept:
            runs[run] = True
    return runs


def count_words(blocks: Blocks, kept: list[bool]) -> int:
    return sum(words for words, is_kept in zip(blocks.words, kept, strict=True) if is_kept)


@cache
def _load_row_sums(name: str) -> RowSums:
    """Articles are alike, and a small table knows them as well as a large one; the other kinds share the large one."""
    return compile_row_sums(
        load_tables(TABLES_FILE)[name], BLOCK_FEATURES, BOX_FEATURES, PAGE_FEATURES, FRACTION_FEATURES
    )


def _score_blocks(table: RowSums, blocks: Blocks, features: Features) -> list[float]:
    rows, scores = features.block_values, [0.0] * len(blocks)
    asked = [at for at, numbers in enumerate(rows) if numbers and numbers[0] != CONTROL_TAG]
    places = [blocks.boxes[at] for at in asked]
    sums = table([rows[at] for at in asked], places, features.box_values, features.page_values)
    for at, total in zip(asked, sums, strict=True):
        scores[at] = 1 / (1 + exp(-total))
    for at in features.plan.certain:
        scores[at] = _CERTAIN_SCORE
    for like in features.plan.sampled_lists:
        mean = _mean_score(scores, blocks, like.sampled)
        for at in like.unsampled:
            scores[at] = mean
    return scores


def _find_comment_boxes(blocks: Blocks, layout: PageLayout) -> set[int]:
    """The boxes of what readers wrote below an article: those called so, but for what is around its title too."""
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
    """Drop the few words beside each post of a thread that tell who wrote it, and since when they do."""
    for at, (box, chars) in enumerate(zip(blocks.boxes, blocks.chars, strict=True)):
        if chars < _MAX_PROFILE_CHARS and features.inherited_hints[box] & _BYLINE_BIT:
            scores[at] = 0.0


def _drop_boxes(boxes: Set[int], share: float, scores: list[float], blocks: Blocks) -> None:
    """Drop what stands in some boxes, if what is likely elsewhere is at least such a share of it.

    Some pages show their text only when scripts have run, and some call it a comment.
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
    """Give all items of a list, and all cells of a table, the mean of their scores: it is kept whole or not at all.

    What was dropped for another reason stays so.
    """
    wholes = ListIndex(blocks)
    scored = {wholes.enclosing_list(box) for box, score in zip(blocks.boxes, scores, strict=True) if score}
    if scored <= {-1}:
        return
    for home, members in wholes.group_by_list(range(len(blocks))).items():
        if home in scored and len(members) > 1 and wholes.is_scored_together(home, members):
            mean = _mean_score(scores, blocks, members)
            for at in members:
                if scores[at]:
                    scores[at] = mean


def _mean_score(scores: list[float], blocks: Blocks, members: list[int]) -> float:
    """Of some blocks, by their length."""
    chars = [blocks.chars[at] for at in members]
    return sum(scores[at] * n for at, n in zip(members, chars, strict=True)) / sum(chars)


def _score_threshold(scores: list[float], blocks: Blocks) -> float:
    """The score from which on blocks are kept: that with the best mean of precision and recall to be expected.

    With n words kept, of which we expect r to be right, out of all t that are, it is 2 r / (n + t). A little less of t
    makes it a little stricter: nothing is lost by it on articles, and less is kept that nobody wants.
    """
    rows = sorted([row for row in zip(scores, blocks.words, strict=True) if row[0] > 0], reverse=True)
    expected = sum(score * words for score, words in rows)
    kept = right = best = 0.0
    least = 1.0
    for score, words in rows:
        kept += words
        right += score * words
        value = right / (kept + _STRICTNESS * expected)
        if value >= best:
            best, least = value, score
    return least
