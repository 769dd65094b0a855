"""The words and patterns of `extract.article.class_hints` as the data that class_hints.c works with.

All numbers are little-endian. The beginnings are a tree of steps, a step for each byte they have in common: so a text
is compared with all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import product
from struct import pack
from typing import Any, Final, TypeAlias

from tenax.extract.article.class_hints import (
    BEGINNING_PATTERNS,
    HINT_BIT,
    HINT_PATTERNS,
    MAX_BEGINNING_CHARS,
    MAX_NAME_CHARS,
    ROLE_HINTS,
    SKIPPED_LEADING_CHARS,
    TAG_HINTS,
)
from tenax.extract.html.node import tag_number

Pattern: TypeAlias = Iterable[tuple[Any, Any]]
"""A regular expression as `re` parses it."""
Items: TypeAlias = tuple[str, ...]
"""Characters, each alone, and these three:"""
DIGITS: Final = "digits"
ANY: Final = "any"
EDGE: Final = "edge of a word"
# Python's own reader of patterns, so that none of ours is read in another way than `re` would. It is not promised to
# stay: a Python without it does without the kernel.
regex: Final[Any] = import_module("re._parser")


def pack_class_hints() -> bytes:
    """What `native_set_class_hints` is given."""
    chars = pack("<HH", MAX_NAME_CHARS, MAX_BEGINNING_CHARS)
    return b"".join(
        (chars, _pack_hint_patterns(), _pack_tags(), _pack_roles(), _pack_leading_chars(), _pack_beginnings())
    )


def _pack_hint_patterns() -> bytes:
    """In the order of their first letters, by which they are looked up."""
    signs = [sign for letters in sorted(HINT_PATTERNS) for sign in HINT_PATTERNS[letters]]
    if not all(sign.letters.isascii() and sign.letters.isalpha() and sign.letters.islower() for sign in signs):
        raise ValueError("a sign is small letters only")
    return pack("<H", len(signs)) + b"".join(
        pack("<I??", sign.bit, sign.is_at_start, sign.is_at_end) + _pack_word(sign.letters) for sign in signs
    )


def _pack_tags() -> bytes:
    return pack("<H", len(TAG_HINTS)) + b"".join(
        pack("<HI", tag_number(name), HINT_BIT[mark]) for name, mark in TAG_HINTS.items()
    )


def _pack_roles() -> bytes:
    return pack("<H", len(ROLE_HINTS)) + b"".join(
        pack("<I", HINT_BIT[mark]) + _pack_word(name) for name, mark in ROLE_HINTS.items()
    )


def _pack_leading_chars() -> bytes:
    return pack("<H", len(SKIPPED_LEADING_CHARS)) + b"".join(
        pack("<I", ord(character)) for character in SKIPPED_LEADING_CHARS
    )


def _pack_word(word: str) -> bytes:
    return pack("<B", len(word)) + word.encode("ascii")


class _TrieNode:
    """Where a text is that began as some of the beginnings do."""

    def __init__(self) -> None:
        self.number = 0
        self.category = 0
        """The first of the beginnings that end here."""
        self.category_at_edge = 0
        """The same of those that end here where a word ends."""
        self.children: dict[int | str, _TrieNode] = {}
        """By the next byte, DIGITS or ANY."""

    def child(self, key: int | str) -> _TrieNode:
        return self.children.setdefault(key, _TrieNode())


def _pack_beginnings() -> bytes:
    root = _TrieNode()
    for number, pattern in enumerate(BEGINNING_PATTERNS, 1):
        for sequence in expand_pattern(regex.parse(pattern)):
            _add_beginning(root, sequence, number)
    steps = [*_number_nodes(root)]
    edges: list[bytes] = []
    packed = []
    for step in steps:
        digits, anything = (step.children[key].number if key in step.children else 0 for key in (DIGITS, ANY))
        own = [pack("<BH", key, after.number) for key, after in step.children.items() if isinstance(key, int)]
        packed.append(pack("<BBHHHH", step.category, step.category_at_edge, digits, anything, len(edges), len(own)))
        edges += own
    return b"".join((pack("<H", len(packed)), *packed, pack("<H", len(edges)), *edges))


def _add_beginning(root: _TrieNode, sequence: Items, number: int) -> None:
    """Add a beginning; what came first stays, as the first alternative that matches counts."""
    step = root
    for place, item in enumerate(sequence):
        if item == EDGE:
            if place + 1 < len(sequence) or not (sequence[place - 1].isalnum() and len(sequence[place - 1]) == 1):
                raise ValueError("an edge is the end of a word only, and the last of its pattern")
            step.category_at_edge = step.category_at_edge or number
            return
        if item == DIGITS and not _is_literal(sequence[place + 1 : place + 2]):
            raise ValueError("digits end where another character follows")
        for key in (item,) if item in (DIGITS, ANY) else item.encode():
            step = step.child(key)
    step.category = step.category or number


def _is_literal(follows: Sequence[str]) -> bool:
    return bool(follows) and len(follows[0]) == 1 and not follows[0].isdecimal()


def _number_nodes(root: _TrieNode) -> Iterator[_TrieNode]:
    waiting = [root]
    for number, step in enumerate(waiting):
        step.number = number
        waiting += step.children.values()
        yield step


def expand_pattern(pattern: Pattern) -> list[Items]:
    """All that a pattern matches, one sequence each."""
    return [
        tuple(item for part in parts for item in part) for parts in product(*(_expand_item(*one) for one in pattern))
    ]


def _expand_item(kind: Any, value: Any) -> list[Items]:
    """What one part of a pattern matches; patterns of other kinds than ours have are refused."""
    if kind is regex.LITERAL:
        return [(chr(value),)]
    if kind is regex.ANY:
        return [(ANY,)]
    if kind is regex.AT and value is regex.AT_BOUNDARY:
        return [(EDGE,)]
    if kind is regex.BRANCH:
        return [sequence for branch in value[1] for sequence in expand_pattern(branch)]
    if kind is regex.SUBPATTERN:
        return expand_pattern(value[-1])
    if kind is regex.IN and all(one is regex.LITERAL for one, _ in value):
        return [(chr(character),) for _, character in value]
    if kind is regex.MAX_REPEAT:
        least, most, repeated = value
        if (least, most) == (0, 1):
            return [*expand_pattern(repeated), ()]
        if (least, most) == (1, regex.MAXREPEAT) and [*repeated] == [*regex.parse(r"\d")]:
            return [(DIGITS,)]
    raise ValueError(f"not expected in a pattern: {kind}")
