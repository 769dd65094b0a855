"""The numbers by which a block is judged: its own, those of the boxes around it, and those of the page.

Pure arithmetic on columns. The names in `OF_BLOCK`, `OF_BOX` and `OF_PAGE` are the order of the numbers; the learned
tables refer to it.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from tenax.model import Value
from tenax.parse.blocks import Blocks
from tenax.parse.marks import MARKS, beginning_of
from tenax.parse.outline import HEADINGS, OF_PAGE, Outline, ways_from
from tenax.parse.trees import Numbers

_ENDS: Final = '.!?。！？…"”’»)؟۔।'
_DATE = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}[:.]\d\d\b|\bago\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b")
_HAS_DIGIT = re.compile(r"\d|\bago\b")
_FAR: Final = 20
_SHORT_CHARS: Final = 200
_LINE_CHARS: Final = 60
_STRANGERS: Final = frozenset((3, 4))
"""Beginnings (see `marks`) that turn the page to something else even where they are no headings."""
_NO_HEADING_TAG: Final = 9
_MOST_STRANGERS: Final = 9
_BODY_CHARS: Final = 60
_MOST_LEVELS: Final = 20_000

_LINKED: Final = 0.8
_LINKED_AROUND: Final = 0.7
_LINKED_FURTHER: Final = 0.6
_LISTED_CHARS: Final = 120
_WHOLE: Final = 0.9

_LEVELS: Final = ("box", "parent", "grandparent", "third")
OF_BLOCK: Final = (
    "tag", "chars", "words", "link share", "links", "pauses", "ends", "word length", "beginning", "date", "ellipsis",
    "colon", "sign", "in title", "same text", "alike", "alike chars", "alike link share", "place", "chars before",
    "from title", "from h1", "in range", "from first", "to last", "heading", "from heading", "heading level",
    "strangers", "in body", "in description", "before chars", "before link share", "before tag", "before2 chars",
    "before2 link share", "before2 tag", "after chars", "after link share", "after tag", "after2 chars",
    "after2 link share", "after2 tag",
)  # fmt: skip
OF_BOX: Final = (
    *MARKS,
    *(f"{level} {what}" for level in _LEVELS for what in ("chars", "link share", "long", "blocks", "share", "pauses")),
    "depth", "from top", "to top", "from top2", "to top2", "points share",
)  # fmt: skip


class Features(Value, frozen=True):
    """The numbers of one page."""

    of_block: list[Numbers]
    """Empty for blocks that were passed over."""
    of_box: dict[int, Numbers]
    """By box, for boxes that hold blocks of their own which were not passed over."""
    of_page: Numbers
    title_at: int
    """The block that shows the title; -1 for none."""


def features_of(blocks: Blocks, outline: Outline, *, passes_over_lists: bool = False) -> Features:
    """`passes_over_lists`: blocks of nothing but links among their like get no numbers; they are never an article's."""
    shares = [linked / n if n else 0.0 for linked, n in zip(blocks.link_chars, blocks.chars, strict=True)]
    passed = _listed(blocks, outline, shares) if passes_over_lists else [False] * len(blocks)
    wanted = [box for box, is_passed in zip(blocks.boxes, passed, strict=True) if not is_passed]
    return Features(
        _of_blocks(blocks, outline, shares, passed),
        _of_boxes(blocks, outline, wanted),
        outline.numbers,
        outline.title_at,
    )


def _listed(blocks: Blocks, outline: Outline, shares: list[float]) -> list[bool]:
    """Whether a block is a link among links, or a word in a list of them."""
    parents, facts = blocks.walk.box_parents, outline.facts
    known: dict[int, tuple[bool, bool]] = {}
    found = []
    for box, n, share in zip(blocks.boxes, blocks.chars, shares, strict=True):
        if box not in known:
            second = parents[parents[box]]
            known[box] = (
                facts[parents[box]][1] > _LINKED_AROUND,
                _is_list(facts[second]) or _is_list(facts[parents[second]]),
            )
        among_links, in_list = known[box]
        found.append(n < _LISTED_CHARS and (in_list or (among_links and share >= _LINKED)))
    return found


def _is_list(facts: Numbers) -> bool:
    """Whether a box is a list of links: not so the box around the whole page, which may have little but its menu."""
    _, linked, long, _, share, _ = facts
    return not long and linked > _LINKED_FURTHER and share < _WHOLE


def _of_boxes(blocks: Blocks, outline: Outline, wanted: list[int]) -> dict[int, Numbers]:
    parents, facts, points = blocks.walk.box_parents, outline.facts, outline.points2
    from_top = ways_from(outline.top, parents, outline.full)
    from_top2 = ways_from(outline.top2, parents, outline.full)
    peak = max(1.0, points[outline.top2])
    found: dict[int, Numbers] = {}
    for box in wanted:
        if box in found:
            continue
        parent = parents[box]
        second = parents[parent]
        found[box] = (
            *_levels(outline.own[box], outline.near[box], outline.all[box]),
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


def _of_blocks(blocks: Blocks, outline: Outline, shares: list[float], passed: list[bool]) -> list[Numbers]:
    """One long loop, because it runs for every block of every page."""
    count, whole = len(blocks), max(1, blocks.chars_before[-1])
    texts, all_chars, tags, chars_before = blocks.texts, blocks.chars, outline.tags, blocks.chars_before
    link_counts, pauses, title_at, h1_at = blocks.link_counts, blocks.pauses, outline.title_at, outline.h1_at
    same, alike = Counter(texts), _alike(blocks, shares)
    first, end_of_top = blocks.span(outline.top)
    last = end_of_top - 1
    title_words = set(outline.hints.title.lower().split())
    body = outline.hints.body
    described = " ".join(outline.hints.description.lower().split())[:_BODY_CHARS]
    beside = [(-1, -1.0, -1)] * 2 + list(zip(all_chars, shares, tags, strict=True)) + [(-1, -1.0, -1)] * 2
    heading, heading_at, heading_level, strangers = 0, -1, 0, 0
    rows: list[Numbers] = []
    for at, (text, n, tag, is_passed) in enumerate(zip(texts, all_chars, tags, passed, strict=True)):
        if is_passed:
            rows.append(())
            continue
        beginning = date = 0
        in_title = 0.0
        lowered = ""
        if n < _SHORT_CHARS:
            lowered = text.lower()
            beginning = beginning_of(lowered)
            date = 1 if _HAS_DIGIT.search(lowered) and _DATE.search(lowered) else 0
            if title_words:
                in_title = len(title_words.intersection(lowered.split())) / len(title_words)
            if tag in HEADINGS:
                heading, heading_at, heading_level = beginning, at, tag
                strangers += beginning > 0
            elif beginning in _STRANGERS and n < _LINE_CHARS:
                heading, heading_at, heading_level = beginning, at, _NO_HEADING_TAG
                strangers += 1
        end = text[-1]
        words = blocks.words[at]
        from_title, from_h1 = at - title_at, at - h1_at
        rows.append((
            tag, n, words, shares[at], link_counts[at], pauses[at], 1 if end in _ENDS else 0, n / words,
            beginning, date, 1 if end == "…" or text.endswith("...") else 0, 1 if end == ":" else 0,
            1 if "©" in text or "http" in text or "@" in text else 0, in_title, same[text], *alike[at],
            at / count, chars_before[at] / whole,
            (-_FAR if from_title < -_FAR else _FAR if from_title > _FAR else from_title) if title_at >= 0 else -99,
            (-_FAR if from_h1 < -_FAR else _FAR if from_h1 > _FAR else from_h1) if h1_at >= 0 else -99,
            1 if first <= at <= last else 0, max(-_FAR, min(_FAR, at - first)), max(-_FAR, min(_FAR, last - at)),
            heading, min(_FAR, at - heading_at) if heading_at >= 0 else -1, heading_level,
            min(strangers, _MOST_STRANGERS),
            (1 if (lowered or text[:_BODY_CHARS].lower())[:_BODY_CHARS] in body else 0) if body else -1,
            1 if described and described in (lowered or text[:300].lower()) else 0,
            *beside[at + 1], *beside[at], *beside[at + 3], *beside[at + 4],
        ))  # fmt: skip
    return rows


def _alike(blocks: Blocks, shares: list[float]) -> list[tuple[int, float, float]]:
    """How many blocks stand in boxes of the same name within boxes of the same name, and what they are like."""
    walk = blocks.walk
    names: dict[int, tuple[object, ...]] = {}
    keys = []
    for box in blocks.boxes:
        name = names.get(box)
        if name is None:
            parent = walk.box_parents[box]
            name = (
                walk.box_tags[box], walk.box_nodes[box].attributes.get("class"), walk.box_tags[parent],
                walk.box_nodes[parent].attributes.get("class"),
            )  # fmt: skip
            names[box] = name
        keys.append(name)
    sums: dict[tuple[object, ...], list[float]] = {}
    for key, n, share in zip(keys, blocks.chars, shares, strict=True):
        known = sums.get(key)
        if known is None:
            sums[key] = [1, n, share]
        else:
            known[0] += 1
            known[1] += n
            known[2] += share
    means = {key: (int(times), chars / times, linked / times) for key, (times, chars, linked) in sums.items()}
    return [means[key] for key in keys]


__all__ = ["OF_BLOCK", "OF_BOX", "OF_PAGE", "Features", "features_of"]
