"""Which blocks of a page are asked about: the others are plain, or stand in a long list of the like.

Judging is the dearest part of reading. On an article most blocks are links among links, or long paragraphs of its main
part, and need no judging. Of a long list some items are judged, and stand for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tenax.extract.article.blocks import LONG_CHARS, Blocks
from tenax.extract.article.class_hints import BIT, beginning_of
from tenax.extract.article.decision_trees import Numbers
from tenax.extract.article.layout import HEADINGS, UNREAD_TAG, Outline, P
from tenax.extract.article.lists_and_tables import Wholes
from tenax.model import Value

SHORT_CHARS: Final = 200
LINE_CHARS: Final = 60
STRANGERS: Final = frozenset((3, 4))
"""Beginnings (see `marks`) that turn the page to something else even where they are no headings."""

_FEW_LINKS: Final = 0.15
_ALIEN: Final = BIT["consent"] | BIT["footer"] | BIT["comment"] | BIT["unshown"]
_DOUBTFUL: Final = (
    BIT["related"] | BIT["ad"] | BIT["side"] | BIT["nav"] | BIT["share"] | BIT["login"] | BIT["byline"] | BIT["hidden"]
)
_LINKED: Final = 0.8
_LINKED_AROUND: Final = 0.7
_LINKED_FURTHER: Final = 0.6
_LISTED_CHARS: Final = 120
_NEVER: Final = 2.0
"""No share is as large."""
_WHOLE: Final = 0.9
_LISTED_APART: Final = HEADINGS | {UNREAD_TAG}
"""Headings change what is thought of all after them, and buttons are never read: neither stands for others."""
SAMPLE: Final = 12
"""So many items of a list stand for all. Half as many lose 0.002 of F1 on pages that are no articles."""


class Like(Value, frozen=True):
    """The items of one list: those that are asked about, and those that are taken to be like them."""

    asked: list[int]
    others: list[int]


class Doubts(Value, frozen=True):
    shares: list[float]
    """Of each block, how much of it is links."""
    asked: Sequence[int]
    """The blocks that are judged, in their order."""
    clear: frozenset[int] = frozenset()
    """Those that plainly belong to an article; what is in no other place here plainly does not."""
    alike: tuple[Like, ...] = ()


def doubts_of(blocks: Blocks, outline: Outline, *, is_article: bool) -> Doubts:
    every = every_block(blocks)
    asked, clear = every.asked, frozenset[int]()
    if is_article:
        passed, clear = _listed(blocks, outline, every.shares), _clear(blocks, outline, every.shares)
        asked = [at for at, is_passed in enumerate(passed) if not is_passed and at not in clear]
    alike = _alike(blocks, outline, asked)
    spared = {at for like in alike for at in like.others}
    return Doubts(every.shares, [at for at in asked if at not in spared] if spared else asked, clear, alike)


def every_block(blocks: Blocks) -> Doubts:
    """Where all numbers are wanted: to learn from them, or to explain what was decided."""
    shares = [linked / n if linked else 0.0 for linked, n in zip(blocks.link_chars, blocks.chars, strict=True)]
    return Doubts(shares, range(len(blocks)))


def _alike(blocks: Blocks, outline: Outline, asked: Sequence[int]) -> tuple[Like, ...]:
    if len(asked) <= SAMPLE:
        return ()
    wholes, tags, found = Wholes(blocks), outline.tags, []
    for home, members in wholes.members(at for at in asked if tags[at] not in _LISTED_APART).items():
        count = len(members)
        if count > SAMPLE and wholes.is_whole(home, members):
            sample = [members[place * count // SAMPLE] for place in range(SAMPLE)]
            found.append(Like(sample, sorted({*members}.difference(sample))))
    return tuple(found)


def _clear(blocks: Blocks, outline: Outline, shares: list[float]) -> frozenset[int]:
    """Prose in the box with most of it, in parts that are not called anything that speaks against them.

    Of a thousand such blocks the table keeps all but two, so it is not asked. After a heading that turns to something
    else, none is clear any more.
    """
    parents, around, own, points = blocks.walk.box_parents, outline.all, outline.own, outline.points2
    first, end = blocks.span(outline.top)
    enough, found = points[outline.top2] / 2, []
    for at in range(first, end):
        n, tag = blocks.chars[at], outline.tags[at]
        if tag == P and n >= LONG_CHARS and shares[at] < _FEW_LINKS:
            box = blocks.boxes[at]
            parent = parents[box]
            second = parents[parent]
            if (
                not around[box] & _ALIEN
                and not (own[box] | own[parent] | own[second]) & _DOUBTFUL
                and (points[parent] >= enough or points[second] >= enough or points[box] >= enough)
                and (n >= SHORT_CHARS or not beginning_of(blocks.texts[at].lower()))
            ):
                found.append(at)
        elif n < SHORT_CHARS and (tag in HEADINGS or n < LINE_CHARS):
            beginning = beginning_of(blocks.texts[at].lower())
            if beginning in STRANGERS or (beginning and tag in HEADINGS):
                break
    return frozenset(found)


def _listed(blocks: Blocks, outline: Outline, shares: list[float]) -> list[bool]:
    """Whether a block is a link among links, or a word in a list of them."""
    parents = blocks.walk.box_parents
    around = [parents[box] for box in blocks.boxes]
    enough = {box: _linked_enough(box, parents, outline) for box in set(around)}
    return [
        n < _LISTED_CHARS and share >= enough[box] for n, share, box in zip(blocks.chars, shares, around, strict=True)
    ]


def _linked_enough(box: int, parents: list[int], outline: Outline) -> float:
    """The share of links from which on a short block in this box counts as listed."""
    second = parents[box]
    if _is_list(outline.facts[second]) or _is_list(outline.facts[parents[second]]):
        return 0.0
    return _LINKED if outline.facts[box][1] > _LINKED_AROUND else _NEVER


def _is_list(facts: Numbers) -> bool:
    """Whether a box is a list of links: not so the box around the whole page, which may have little but its menu."""
    _, linked, long, _, share, _ = facts
    return not long and linked > _LINKED_FURTHER and share < _WHOLE
