"""The numbers by which a block is judged: its own, those of the boxes around it, and those of the page.

Pure arithmetic on columns. The names in `OF_BLOCK`, `OF_BOX` and `OF_PAGE` are the order of the numbers; the learned
tables refer to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tenax.model import Value
from tenax.parse.blocks import LONG_CHARS, Blocks
from tenax.parse.marks import BIT, MARKS, beginning_of
from tenax.parse.outline import FRACTIONS_OF_PAGE, HEADINGS, OF_PAGE, Outline, P, ways_from
from tenax.parse.trees import Numbers

_ENDS: Final = frozenset('.!?。！？…"”’»)؟۔।')
_SHORT_CHARS: Final = 200
_LINE_CHARS: Final = 60
_STRANGERS: Final = frozenset((3, 4))
"""Beginnings (see `marks`) that turn the page to something else even where they are no headings."""
_NO_HEADING_TAG: Final = 9
_MOST_STRANGERS: Final = 9
_MOST_LEVELS: Final = 20_000
_NO_BLOCK: Final = (-1, -1.0, -1)
_NOWHERE: Final = -999
"""How far a block is from a title that is not shown."""

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

    of_block: list[Numbers]
    """Empty for blocks that were passed over."""
    clear: frozenset[int]
    """Those of them that plainly belong to the article; the others plainly do not."""
    of_box: dict[int, Numbers]
    """By box, for boxes that hold blocks of their own which were not passed over."""
    of_page: Numbers
    title_at: int
    """The block that shows the title; -1 for none."""


def features_of(blocks: Blocks, outline: Outline, *, is_article: bool = False) -> Features:
    """`is_article`: what is plain on an article gets no numbers: lists of links, long paragraphs of its main part."""
    shares = [linked / n if linked else 0.0 for linked, n in zip(blocks.link_chars, blocks.chars, strict=True)]
    asked: Sequence[int] = range(len(blocks))
    clear = frozenset[int]()
    if is_article:
        passed, clear = _listed(blocks, outline, shares), _clear(blocks, outline, shares)
        asked = [at for at, is_passed in enumerate(passed) if not is_passed and at not in clear]
    return Features(
        _of_blocks(blocks, outline, shares, asked),
        clear,
        _of_boxes(blocks, outline, {blocks.boxes[at] for at in asked}),
        outline.numbers,
        outline.title_at,
    )


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
                and (n >= _SHORT_CHARS or not beginning_of(blocks.texts[at].lower()))
            ):
                found.append(at)
        elif n < _SHORT_CHARS and (tag in HEADINGS or n < _LINE_CHARS):
            beginning = beginning_of(blocks.texts[at].lower())
            if beginning in _STRANGERS or (beginning and tag in HEADINGS):
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
    if _is_list(outline.facts(second)) or _is_list(outline.facts(parents[second])):
        return 0.0
    return _LINKED if outline.facts(box)[1] > _LINKED_AROUND else _NEVER


def _is_list(facts: Numbers) -> bool:
    """Whether a box is a list of links: not so the box around the whole page, which may have little but its menu."""
    _, linked, long, _, share, _ = facts
    return not long and linked > _LINKED_FURTHER and share < _WHOLE


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
            *facts(box), *facts(parent), *facts(second), *facts(parents[second]),
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
        if n < _SHORT_CHARS:
            lowered = text.lower()
            beginning = beginning_of(lowered)
            if title_words:
                in_title = len(title_words.intersection(lowered.split())) / len(title_words)
            if tag in headings:
                heading, heading_at, heading_level = beginning, at, tag
                strangers += beginning > 0
            elif beginning in _STRANGERS and n < _LINE_CHARS:
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
