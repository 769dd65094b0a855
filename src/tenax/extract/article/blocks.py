"""A page as blocks: runs of text between the borders of elements, and the lists and tables that are kept whole.

All features are computed from these columns. The values of a box (an element that contains blocks) come from prefix
sums over all blocks, so their cost does not depend on the size of the box.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import accumulate, chain, repeat
from operator import add, gt
from typing import Final

from tenax.extract.html.tree import BREAK, Walk, tag_number
from tenax.extract.html.visible import PARAGRAPH_MARK, RUN_MARK, text_with_marks

# Scripts without spaces between words. Each character means more, and two of them count as a word.
_DENSE_SCRIPTS: Final = r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
_PUNCTUATION = re.compile(r"[.,;:!?。，、！？；：…؟،۔।]+")
_RUN_BYTE: Final = RUN_MARK.encode()
_SPACED_RUN: Final = f"{RUN_MARK} "
_PUNCTUATION_TO_COMMA: Final = bytes.maketrans(b".?", b",,")
_UNCOUNTED: Final = bytes(byte for byte in range(256) if byte not in b" ,.?" + _RUN_BYTE)
_NON_LATIN_BYTES_PER_CHAR: Final = 1.25
_MIN_SENTENCE_WORDS: Final = 3
MAX_BLOCKS: Final = 10_000
"""Maximum number of blocks per page. Later blocks are visible text, but are not scored. Long pages have a thousand."""
LONG_BLOCK_CHARS: Final = 80
"""A block of at least this length is a paragraph, if it is not mostly links."""


@cache
def _dense_pattern() -> re.Pattern[str]:
    """Compiled on first use, because that takes 3 ms."""
    return re.compile(_DENSE_SCRIPTS)


class Blocks:
    """The blocks of a page, in columns."""

    __slots__ = (
        "boxes",
        "chars",
        "chars_before",
        "first_of_run",
        "is_truncated",
        "link_chars",
        "link_counts",
        "links_before",
        "long_blocks_before",
        "mark_count",
        "marked",
        "punctuation_before",
        "punctuation_counts",
        "runs",
        "texts",
        "walk",
        "words",
    )

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.texts: list[str] = []
        """The text of each block: one line, or several if the page breaks lines; never empty."""
        self.runs: list[int] = []
        """The run of each block. A run with two line breaks in a row has several blocks."""
        self.boxes: list[int] = []
        self.first_of_run: list[int] = []
        """The first block of each run, followed by the number of blocks."""
        self.is_truncated = False
        """Whether the page has more than MAX_BLOCKS, or more boxes than the limit of a walk."""
        self.marked, runs = text_with_marks(walk)
        """The source of the blocks: the visible text of the page, with marks."""
        self.mark_count = 0
        """The number of marks."""
        self._split_runs(runs)
        self.link_chars, self.link_counts = self._count_links(walk)
        self.chars: list[int] = []
        """The length of each block in characters. Characters of dense scripts count twice."""
        self.words: list[int] = []
        self.punctuation_counts: list[int] = []
        """Punctuation that separates or ends sentences."""
        self._count_text()
        long = [n >= LONG_BLOCK_CHARS and 2 * linked < n for n, linked in zip(self.chars, self.link_chars, strict=True)]
        self.chars_before = [*accumulate(self.chars, initial=0)]
        self.links_before = [*accumulate(self.link_chars, initial=0)]
        self.punctuation_before = [*accumulate(self.punctuation_counts, initial=0)]
        self.long_blocks_before = [*accumulate(long, initial=0)]

    def __len__(self) -> int:
        return len(self.texts)

    def span(self, box: int) -> tuple[int, int]:
        """The blocks in a box: the first one, and the one after the last."""
        firsts, walk = self.first_of_run, self.walk
        return firsts[walk.box_starts[box]], firsts[walk.box_ends[box]]

    def _split_runs(self, runs: list[str]) -> None:
        """Split the runs at their paragraphs. Most pages have one block per run."""
        boxes, limit = self.walk.run_boxes, self.walk.scored_runs
        self.mark_count = len(runs)
        if len(runs) <= MAX_BLOCKS and PARAGRAPH_MARK not in self.marked and limit is None:
            self.texts = list(map(str.rstrip, runs))
            self.runs, self.boxes, self.first_of_run = [*range(len(runs))], boxes, [*range(len(runs) + 1)]
            return
        self.mark_count += self.marked.count(PARAGRAPH_MARK)
        # A paragraph mark does not end its run, so there are as many blocks as marks.
        if self.mark_count <= MAX_BLOCKS and limit is None:
            self._add_parts([text.split(PARAGRAPH_MARK) for text in runs], boxes)
            return
        for run, (text, box) in enumerate(zip(runs, boxes, strict=True)):
            self.first_of_run.append(len(self.texts))
            if len(self.texts) >= MAX_BLOCKS or run == limit:
                self.is_truncated = True
                break
            parts = list(map(str.rstrip, text.split(PARAGRAPH_MARK)[:MAX_BLOCKS]))
            self.texts += parts
            self.runs += [run] * len(parts)
            self.boxes += [box] * len(parts)
        # Runs beyond the limit have no blocks.
        missing = len(runs) + 1 - len(self.first_of_run)
        self.first_of_run += [len(self.texts)] * missing

    def _add_parts(self, parts: list[list[str]], boxes: list[int]) -> None:
        """Add the parts of all runs as blocks."""
        counts = list(map(len, parts))
        self.texts = list(map(str.rstrip, chain.from_iterable(parts)))
        self.runs = list(chain.from_iterable(map(repeat, range(len(parts)), counts)))
        self.boxes = list(chain.from_iterable(map(repeat, boxes, counts)))
        self.first_of_run = [*accumulate(counts, initial=0)]

    def _count_links(self, walk: Walk) -> tuple[list[int], list[int]]:
        """The number of characters in links, and the number of links, of each block."""
        fragments, starts, firsts = walk.fragments, walk.run_starts, self.first_of_run
        chars, counts = [0] * len(self.texts), [0] * len(self.texts)
        run, last, covered, block = 0, len(starts) - 1, 0, 0
        run_ends = [*starts[1:], len(fragments)]
        if not starts:
            return chars, counts
        is_one_each = len(self.texts) == len(starts) and not self.is_truncated
        for start, end in zip(walk.link_starts, walk.link_ends, strict=True):
            # A link in a link, which is possible with a table between them, counts with the outer link, so that no text
            # is read twice.
            if not covered <= start < end:
                continue
            covered = end
            while run_ends[run] <= start:
                run += 1
            # Most links are one text.
            if end - start == 1 and (is_one_each or firsts[run + 1] - firsts[run] == 1):
                if length := len(fragments[start].strip()):
                    block = firsts[run]
                    chars[block] += length
                    counts[block] += 1
                continue
            at = run
            while at <= last and starts[at] < end:
                stop = end if run_ends[at] >= end else run_ends[at]
                if firsts[at] < firsts[at + 1]:
                    raw = "".join(fragments[max(start, starts[at]) : stop]).replace(BREAK, " ")
                    if length := len(" ".join(raw.split())):
                        block = firsts[at] if is_one_each else self._find_block_with_room(at, length, chars, block)
                        chars[block] += length
                        counts[block] += 1
                at += 1
        lengths = list(map(len, self.texts))
        # A text is sometimes shorter than its links, because white space between them is counted differently.
        return list(map(min, chars, lengths)) if any(map(gt, chars, lengths)) else chars, counts

    def _find_block_with_room(self, run: int, length: int, chars: list[int], last: int) -> int:
        """The first block of a split run, from the block of the last link on, that has room for the link. This is an
        approximation."""
        first, end = self.first_of_run[run], self.first_of_run[run + 1]
        for block in range(max(first, last), end - 1):
            if chars[block] + length <= len(self.texts[block]):
                return block
        return end - 1

    def _count_text(self) -> None:
        texts = self.texts
        self.chars = list(map(len, texts))
        if self._is_non_latin():
            dense = [len(text) - len(_dense_pattern().sub("", text)) for text in texts]
            self.chars = list(map(add, self.chars, dense))
            self.words = [text.count(" ") + 1 + some // 2 for text, some in zip(texts, dense, strict=True)]
            self.punctuation_counts = [len(text) - len(_PUNCTUATION.sub("", text)) for text in texts]
        else:
            # For all blocks at once: everything but spaces and punctuation is removed, and the rest is counted. There
            # is a space before each text, so there are as many spaces as words.
            left = f" {_SPACED_RUN.join(texts)}".encode("utf-8", "ignore").translate(_PUNCTUATION_TO_COMMA, _UNCOUNTED)
            spaces = left.translate(None, b",").split(_RUN_BYTE)[: len(texts)]
            self.words = list(map(len, spaces))
            self.punctuation_counts = [
                some - words if words > _MIN_SENTENCE_WORDS else 0
                for some, words in zip(map(len, left.split(_RUN_BYTE)), self.words, strict=False)
            ]

    def _is_non_latin(self) -> bool:
        """Whether the page is mostly in a non-Latin script, whose letters take two or three bytes."""
        chars = len(self.marked)
        return (
            not self.marked.isascii()
            and len(self.marked.encode("utf-8", "replace")) > _NON_LATIN_BYTES_PER_CHAR * chars
        )


TABLE: Final = tag_number("table")
_LIST_TAGS: Final = frozenset((TABLE, *map(tag_number, ("ul", "ol", "dl"))))
_CELL_CHARS: Final = 60


class ListIndex:
    """The lists and tables of a page. Each box is looked up once."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._list_by_box = {0: -1}

    def enclosing_list(self, box: int) -> int:
        """The nearest list or table that contains the box, or the box itself if it is one; -1: none."""
        homes = self._list_by_box
        tags, parents = self._blocks.walk.box_tags, self._blocks.walk.box_parents
        entered = []
        while (list_box := homes.get(box)) is None:
            entered.append(box)
            if tags[box] in _LIST_TAGS:
                list_box = box
                break
            box = parents[box]
        for inner in entered:
            homes[inner] = list_box
        return list_box

    def group_by_list(self, blocks: Iterable[int]) -> dict[int, list[int]]:
        """Those of the blocks that are in a list or a table, by the nearest list or table."""
        found: dict[int, list[int]] = {}
        boxes, homes = self._blocks.boxes, self._list_by_box
        for at in blocks:
            box = boxes[at]
            list_box = homes[box] if box in homes else self.enclosing_list(box)
            if list_box >= 0:
                if list_box in found:
                    found[list_box].append(at)
                else:
                    found[list_box] = [at]
        return found

    def is_scored_together(self, list_box: int, members: list[int]) -> bool:
        """Whether the members of a list or table are scored together. Large cells are columns of a layout, and are
        scored separately."""
        chars = self._blocks.chars
        return self._blocks.walk.box_tags[list_box] != TABLE or sum([chars[at] for at in members]) < _CELL_CHARS * len(
            members
        )
