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
from tenax.extract.article.class_hints import BIT
from tenax.extract.article.decision_trees import RowSums, compiled_rows, load
from tenax.extract.article.features import FRACTIONS, OF_BLOCK, OF_BOX, Features, features_of
from tenax.extract.article.layout import HEADINGS, OF_PAGE, UNREAD_TAG, Outline
from tenax.extract.article.lists_and_tables import Wholes
from tenax.extract.article.prefilter import doubts_of
from tenax.model import PageKind, Value

TABLES: Final = "kept.json"
MIN_ABSTRACT_CHARS: Final = 40
MAX_ABSTRACT_CHARS: Final = 10_000
_STRICTNESS: Final = 0.8
_UNSHOWN: Final = BIT["unshown"]
_BYLINE: Final = BIT["byline"]
_PROFILE_CHARS: Final = 40
_COMMENT: Final = BIT["comment"]
_SEEN_SHARE: Final = 0.5
_WRITTEN_SHARE: Final = 0.25
"""Comments can be several times as long as what they are about."""
_LIKELY: Final = 0.4
_TINY_BLOCKS: Final = 3
_CLEAR: Final = 0.97
"""What the table says on average of a block that it is not asked about."""


class Judgement(Value, frozen=True):
    """What was decided about the blocks of a page."""

    kept: list[bool]
    scores: list[float]
    """How likely each is to belong to the clean part, from 0 to 1."""


def read_article(blocks: Blocks, outline: Outline, kind: PageKind) -> Judgement:
    """Which blocks of a page are kept. What is plain costs nothing."""
    is_article = kind is PageKind.ARTICLE
    comments = _comments(blocks, outline) if is_article else set()
    doubts = doubts_of(blocks, outline, is_article=is_article)
    judgement = judge(blocks, features_of(blocks, outline, doubts), kind, comments)
    if is_article and not any(judgement.kept):
        judgement = judge(blocks, features_of(blocks, outline), kind, comments)
    return judgement


def judge(blocks: Blocks, features: Features, kind: PageKind, comments: Set[int] = frozenset()) -> Judgement:
    """`comments` are boxes to be dropped unless the text is there."""
    scores = _scores(_table("article" if kind is PageKind.ARTICLE else "other"), blocks, features)
    if kind is PageKind.FORUM:
        _drop_profiles(scores, blocks, features)
    return judged(scores, blocks, features, comments)


def judged(scores: list[float], blocks: Blocks, features: Features, comments: Set[int] = frozenset()) -> Judgement:
    """The same with scores from elsewhere: so are tables tried that are not shipped. Changes `scores`."""
    _drop({box for box in blocks.boxes if features.around[box] & _UNSHOWN}, _SEEN_SHARE, scores, blocks)
    _drop(comments, _WRITTEN_SHARE, scores, blocks)
    _make_whole(scores, blocks)
    least = _least(scores, blocks)
    kept = [score >= least for score in scores]
    if len(scores) <= _TINY_BLOCKS and not any(kept):
        kept = [score > 0 for score in scores]
    return Judgement(kept, scores)


def article_text(blocks: Blocks, kept: list[bool]) -> str:
    """A paragraph to a line."""
    return "\n".join(text for text, is_kept in zip(blocks.texts, kept, strict=True) if is_kept)


def abstract_of(blocks: Blocks, tags: Sequence[int], kept: list[bool]) -> str:
    """The first kept paragraph that says something."""
    for text, is_kept, tag in zip(blocks.texts, kept, tags, strict=True):
        if is_kept and len(text) > MIN_ABSTRACT_CHARS and tag not in HEADINGS:
            return " ".join(text.split())[:MAX_ABSTRACT_CHARS]
    return ""


def kept_runs(blocks: Blocks, kept: list[bool]) -> list[bool]:
    """Of each run of the walk, whether any of its blocks is kept."""
    runs = [False] * (len(blocks.first_of_run) - 1)
    for run, is_kept in zip(blocks.runs, kept, strict=True):
        if is_kept:
            runs[run] = True
    return runs


def words_of(blocks: Blocks, kept: list[bool]) -> int:
    return sum(words for words, is_kept in zip(blocks.words, kept, strict=True) if is_kept)


@cache
def _table(name: str) -> RowSums:
    """Articles are alike, and a small table knows them as well as a large one; the other kinds share the large one."""
    return compiled_rows(load(TABLES)[name], OF_BLOCK, OF_BOX, OF_PAGE, FRACTIONS)


def _scores(table: RowSums, blocks: Blocks, features: Features) -> list[float]:
    rows, scores = features.of_block, [0.0] * len(blocks)
    asked = [at for at, numbers in enumerate(rows) if numbers and numbers[0] != UNREAD_TAG]
    places = [blocks.boxes[at] for at in asked]
    sums = table([rows[at] for at in asked], places, features.of_box, features.of_page)
    for at, total in zip(asked, sums, strict=True):
        scores[at] = 1 / (1 + exp(-total))
    for at in features.doubts.clear:
        scores[at] = _CLEAR
    for like in features.doubts.alike:
        mean = _mean(scores, blocks, like.asked)
        for at in like.others:
            scores[at] = mean
    return scores


def _comments(blocks: Blocks, outline: Outline) -> set[int]:
    """The boxes of what readers wrote below an article: those called so, but for what is around its title too."""
    if not outline.marks & _COMMENT:
        return set()
    parents, title_at = blocks.walk.box_parents, outline.title_at
    around_title = set()
    box = blocks.boxes[title_at] if title_at >= 0 else 0
    while box not in around_title:
        around_title.add(box)
        box = parents[box]
    found: set[int] = set()
    for box in outline.full:
        if box not in around_title and (outline.own[box] & _COMMENT or parents[box] in found):
            found.add(box)
    return found


def _drop_profiles(scores: list[float], blocks: Blocks, features: Features) -> None:
    """Drop the few words beside each post of a thread that tell who wrote it, and since when they do."""
    for at, (box, chars) in enumerate(zip(blocks.boxes, blocks.chars, strict=True)):
        if chars < _PROFILE_CHARS and features.around[box] & _BYLINE:
            scores[at] = 0.0


def _drop(boxes: Set[int], share: float, scores: list[float], blocks: Blocks) -> None:
    """Drop what stands in some boxes, if what is likely elsewhere is at least such a share of it.

    Some pages show their text only when scripts have run, and some call it a comment.
    """
    if not boxes:
        return
    inside = outside = 0
    for score, chars, box in zip(scores, blocks.chars, blocks.boxes, strict=True):
        if score > _LIKELY:
            if box in boxes:
                inside += chars
            else:
                outside += chars
    if outside > share * inside:
        for at, box in enumerate(blocks.boxes):
            if box in boxes:
                scores[at] = 0.0


def _make_whole(scores: list[float], blocks: Blocks) -> None:
    """Give all items of a list, and all cells of a table, the mean of their scores: it is kept whole or not at all.

    What was dropped for another reason stays so.
    """
    wholes = Wholes(blocks)
    scored = {wholes.home(box) for box, score in zip(blocks.boxes, scores, strict=True) if score}
    if scored <= {-1}:
        return
    for home, members in wholes.members(range(len(blocks))).items():
        if home in scored and len(members) > 1 and wholes.is_whole(home, members):
            mean = _mean(scores, blocks, members)
            for at in members:
                if scores[at]:
                    scores[at] = mean


def _mean(scores: list[float], blocks: Blocks, members: list[int]) -> float:
    """Of some blocks, by their length."""
    chars = [blocks.chars[at] for at in members]
    return sum(scores[at] * n for at, n in zip(members, chars, strict=True)) / sum(chars)


def _least(scores: list[float], blocks: Blocks) -> float:
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
