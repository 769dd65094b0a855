"""A page as blocks: runs of text between the borders of elements, and how much of each is links.

Everything that tells the clean part from the rest is computed from these columns. What is said of a box (an element
that holds blocks) comes from sums over all blocks before a place, so that it costs the same however large the box is.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Final

from tenax.parse.html import BREAK, Walk

# Scripts without spaces between words: their characters say more each, and two of them count as a word.
_DENSE = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_PAUSE = re.compile(r"[.,;:!?。，、！？；：…؟،۔।]")
_PARAGRAPHS = re.compile(rf"{BREAK}\s*(?:{BREAK}\s*)+")
_INK = re.compile(r"\w")
MAX_BLOCKS: Final = 10_000
"""Blocks of one page at most; what comes after them is seen, but not judged. Long pages have a thousand."""
LONG_CHARS: Final = 80
"""A block from this length on is a paragraph, if it is not mostly links."""


class Blocks:
    """The blocks of a page, in columns."""

    __slots__ = (
        "boxes",
        "chars",
        "chars_before",
        "first_of_run",
        "is_cut",
        "link_chars",
        "link_counts",
        "links_before",
        "long_before",
        "pauses",
        "pauses_before",
        "runs",
        "texts",
        "walk",
        "words",
    )

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.texts: list[str] = []
        """One line each, or several where the page breaks lines; never empty."""
        self.runs: list[int] = []
        """The run each is of: one that breaks lines twice in a row holds several blocks."""
        self.boxes: list[int] = []
        self.first_of_run: list[int] = []
        """The first block of each run, and at the end the number of blocks."""
        self.is_cut = False
        """Whether the page has more than MAX_BLOCKS."""
        self._cut(walk)
        self.link_chars, self.link_counts = self._links(walk)
        self.chars: list[int] = []
        """How much each says: characters, those of dense scripts counted twice."""
        self.words: list[int] = []
        self.pauses: list[int] = []
        """Marks of punctuation that part or end sentences."""
        self._count()
        long = [n >= LONG_CHARS and 2 * linked < n for n, linked in zip(self.chars, self.link_chars, strict=True)]
        self.chars_before = [*accumulate(self.chars, initial=0)]
        self.links_before = [*accumulate(self.link_chars, initial=0)]
        self.pauses_before = [*accumulate(self.pauses, initial=0)]
        self.long_before = [*accumulate(long, initial=0)]

    def __len__(self) -> int:
        return len(self.texts)

    def span(self, box: int) -> tuple[int, int]:
        """The blocks within a box: the first, and the one after the last."""
        firsts, walk = self.first_of_run, self.walk
        return firsts[walk.box_firsts[box]], firsts[walk.box_ends[box]]

    def _cut(self, walk: Walk) -> None:
        fragments, starts = walk.fragments, walk.run_starts
        add_text, add_run, add_box = self.texts.append, self.runs.append, self.boxes.append
        for run, (start, end, box) in enumerate(
            zip(starts, [*starts, len(fragments)][1:], walk.run_boxes, strict=True)
        ):
            self.first_of_run.append(len(self.texts))
            if len(self.texts) >= MAX_BLOCKS:
                break
            raw = fragments[start] if end - start == 1 else "".join(fragments[start:end])
            raw = raw.strip("\0 \n\t\r")
            if BREAK not in raw:
                add_text(" ".join(raw.split()))
                add_run(run)
                add_box(box)
                continue
            for part in _PARAGRAPHS.split(raw)[:MAX_BLOCKS]:
                lines = [" ".join(line.split()) for line in part.split(BREAK)]
                if text := "\n".join(filter(None, lines)):
                    add_text(text)
                    add_run(run)
                    add_box(box)
        # Runs that were left out hold no blocks.
        missing = len(starts) + 1 - len(self.first_of_run)
        self.first_of_run += [len(self.texts)] * missing
        self.is_cut = missing > 1

    def _links(self, walk: Walk) -> tuple[list[int], list[int]]:
        """How many characters of each block are links, and how many links it has."""
        fragments, starts, firsts = walk.fragments, walk.run_starts, self.first_of_run
        chars, counts = [0] * len(self.texts), [0] * len(self.texts)
        run, last, covered, block = 0, len(starts) - 1, 0, 0
        for start, end in zip(walk.link_starts, walk.link_ends, strict=True):
            # A link within a link, as a table between them allows, counts with the outer one: no text is read twice.
            if start == end or start < covered:
                continue
            covered = end
            while run < last and starts[run + 1] <= start:
                run += 1
            at = run
            while at <= last and starts[at] < end:
                stop = end if at == last or starts[at + 1] >= end else starts[at + 1]
                said = len(" ".join("".join(fragments[max(start, starts[at]) : stop]).replace(BREAK, " ").split()))
                if said and firsts[at] < firsts[at + 1]:
                    block = self._block_of(at, said, chars, block)
                    chars[block] = min(chars[block] + said, len(self.texts[block]))
                    counts[block] += 1
                at += 1
        return chars, counts

    def _block_of(self, run: int, said: int, chars: list[int], last: int) -> int:
        """Of a run that was cut into several blocks, the first from the last link's on that has room: near enough."""
        first, end = self.first_of_run[run], self.first_of_run[run + 1]
        for block in range(max(first, last), end - 1):
            if chars[block] + said <= len(self.texts[block]):
                return block
        return end - 1

    def _count(self) -> None:
        add_chars, add_words, add_pauses = self.chars.append, self.words.append, self.pauses.append
        for text in self.texts:
            words = text.count(" ") + 1
            if text.isascii():
                add_chars(len(text))
                add_words(words)
                add_pauses(
                    text.count(".") + text.count(",") + text.count("?") + text.count("!") + text.count(":")
                    if words > 1
                    else 0
                )
            else:
                dense = len(_DENSE.findall(text))
                add_chars(len(text) + dense)
                add_words(words + dense // 2)
                add_pauses(len(_PAUSE.findall(text)))
