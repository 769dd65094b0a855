"""An index of the rules of a long robots.txt, so that a URL is compared with few of them.

The results are those of a linear scan. A file may have tens of thousands of rules with wildcards. Comparing every URL
with 500 KiB of rules would take tens of milliseconds, in the main process.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from typing import Final, NamedTuple

MAX_COMPARISONS: Final = 2_000
"""Maximum failed comparisons of a URL with parts of rules; beyond it, the URL is disallowed. No honest file comes near.
"""

_GRAM_CHARS: Final = 4
_MAX_GRAMS: Final = 32
_STARS = re.compile(r"\*+")


class _WildcardRule(NamedTuple):
    """A rule with `*`. Its literal parts must follow each other in a path; the first one must be at the start."""

    parts: tuple[str, ...]
    chars: int
    is_anchored: bool
    """Whether the last part must be at the end of the path."""

    def match(self, path: str) -> tuple[bool, int]:
        """Whether the path matches, and how many comparisons were made."""
        if self.chars > len(path) or not path.startswith(self.parts[0]):
            return False, 1
        at = len(self.parts[0])
        for number in range(1, len(self.parts) - 1):
            part = self.parts[number]
            at = path.find(part, at)
            if at < 0:
                return False, number + 1
            at += len(part)
        last = self.parts[-1]
        if self.is_anchored:
            return len(path) - len(last) >= at and path.endswith(last), len(self.parts)
        return path.find(last, at) >= 0, len(self.parts)


class RuleIndex:
    """Patterns of a robots.txt, indexed by prefix, and by a few letters that a path must contain."""

    def __init__(self, rules: Iterable[tuple[str, bool]]) -> None:
        """`rules` are patterns with whether they allow, longest first. If two match, the earlier one applies."""
        self._allows: list[bool] = []
        self._prefixes = _PrefixRules()
        self._exact: dict[str, int] = {}
        self._wildcards: dict[int, _WildcardRule] = {}
        self._by_gram: dict[str, list[int]] = {}
        """Rules with wildcards in order, each under one piece of text that every matching path contains."""
        self.comparisons = 0
        """Comparisons with wildcard rules for the last URL."""
        seen: set[str] = set()
        for pattern, allows in rules:
            if pattern not in seen:
                seen.add(pattern)
                self._add(len(self._allows), pattern)
                self._allows.append(allows)
        self._prefixes.build()
        self._gram_sizes = {len(gram) for gram in self._by_gram}

    def _add(self, rank: int, pattern: str) -> None:
        if "*" in pattern:
            self._add_wildcards(rank, pattern)
        elif pattern.endswith("$"):
            self._exact[pattern[:-1]] = rank
        else:
            self._prefixes.ranks[pattern] = rank

    def _add_wildcards(self, rank: int, pattern: str) -> None:
        is_anchored = pattern.endswith("$")
        parts = tuple(_STARS.sub("*", pattern[:-1] if is_anchored else pattern).split("*"))
        self._wildcards[rank] = _WildcardRule(parts, sum(map(len, parts)), is_anchored)
        # Under the least used piece, because few paths contain it. Every path contains a slash.
        grams = _grams(parts, min(max(map(len, parts)), _GRAM_CHARS))
        gram = min((gram for gram in grams if gram != "/"), key=self._gram_count, default="")
        self._by_gram.setdefault(gram, []).append(rank)

    def _gram_count(self, gram: str) -> int:
        return len(self._by_gram.get(gram, ()))

    def is_allowed(self, path: str) -> bool:
        """Whether this path, with its query, may be requested."""
        no_rule = len(self._allows)
        best = min(self._prefixes.longest_match(path, no_rule), self._exact.get(path, no_rule))
        self.comparisons = 0
        for rank in self._wildcard_ranks(path):
            if rank > best:
                break
            is_match, comparisons = self._wildcards[rank].match(path)
            if is_match:
                best = rank
                break
            self.comparisons += comparisons
            if self.comparisons > MAX_COMPARISONS:
                return False
        return best == no_rule or self._allows[best]

    def _wildcard_ranks(self, path: str) -> Iterator[int]:
        """Wildcard rules that may match, in order."""
        pieces = {path[at : at + size] for size in self._gram_sizes for at in range(len(path))} | {""}
        return merge(*(self._by_gram[piece] for piece in self._by_gram.keys() & pieces))


class _PrefixRules:
    """Patterns without wildcards, each with its rank. Finds the longest prefix of a path in a few steps."""

    def __init__(self) -> None:
        self.ranks: dict[str, int] = {}
        self._sorted: list[str] = []
        self._parents: list[int] = []
        """For each pattern, the index of its longest proper prefix; -1: none."""

    def build(self) -> None:
        """Call after all patterns are added."""
        self._sorted = sorted(self.ranks)
        open_ones: list[int] = []
        for number, pattern in enumerate(self._sorted):
            while open_ones and not pattern.startswith(self._sorted[open_ones[-1]]):
                open_ones.pop()
            self._parents.append(open_ones[-1] if open_ones else -1)
            open_ones.append(number)

    def longest_match(self, path: str, default: int) -> int:
        """The rank of the longest prefix. All patterns that sort between this prefix and the path begin with the
        prefix."""
        number = bisect_right(self._sorted, path) - 1
        while number >= 0 and not path.startswith(self._sorted[number]):
            number = self._parents[number]
        return self.ranks[self._sorted[number]] if number >= 0 else default


def _grams(parts: Sequence[str], size: int) -> Iterator[str]:
    """Some substrings of this length of the literal parts."""
    left = _MAX_GRAMS if size else 0
    for part in reversed(parts):  # rules of one site have the same beginnings
        for at in range(min(len(part) - size + 1, left)):
            yield part[at : at + size]
            left -= 1
