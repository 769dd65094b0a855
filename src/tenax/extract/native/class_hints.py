"""The words and patterns of `extract.article.class_hints` as data for class_hints.c.

All numbers are little-endian. The beginnings are a trie with a step for each common byte: a text is compared with all
of them at once.
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
"""A regular expression as parsed by `re`."""
Items: TypeAlias = tuple[str, ...]
"""Single characters, and these three:"""
DIGITS: Final = "digits"
ANY: Final = "any"
EDGE: Final = "edge of a word"
# Python's own parser of patterns, so that ours mean the same as in `re`. It is no public API: without it, native code
# is not used.
regex: Final[Any] = import_module("re._parser")


def pack_class_hints() -> bytes:
    """The data for `native_set_class_hints`."""
    chars = pack("<HH", MAX_NAME_CHARS, MAX_BEGINNING_CHARS)
    return b"".join(
        (chars, _pack_hint_patterns(), _pack_tags(), _pack_roles(), _pack_leading_chars(), _pack_beginnings())
    )


def _pack_hint_patterns() -> bytes:
    """In the order of their first letters, by which they are looked up."""
    signs = [sign for letters in sorted(HINT_PATTERNS) for sign in HINT_PATTERNS[letters]]
    if not all(sign.letters.isascii() and sign.letters.isalpha() and sign.letters.islower() for sign in signs):
        raise ValueError("a pattern must be lower-case letters only")
    return pack("<H", len(signs)) + b"".join(
        pack("<I??", sign.bit, sign.is_at_start, sign.is_at_end) + _pack_word(sign.letters) for sign in signs
    )


def _pack_tags() -> bytes:
    return pack("<H", len(TAG_HINTS)) + b"".join(
        pack("<HI", tag_number(name), HINT_BIT[hint]) for name, hint in TAG_HINTS.items()
    )


def _pack_roles() -> bytes:
    return pack("<H", len(ROLE_HINTS)) + b"".join(
        pack("<I", HINT_BIT[hint]) + _pack_word(name) for name, hint in ROLE_HINTS.items()
    )


def _pack_leading_chars() -> bytes:
    return pack("<H", len(SKIPPED_LEADING_CHARS)) + b"".join(
        pack("<I", ord(character)) for character in SKIPPED_LEADING_CHARS
    )


def _pack_word(word: str) -> bytes:
    return pack("<B", len(word)) + word.encode("ascii")


class _TrieNode:
    """A state after the common prefix of some beginnings."""

    def __init__(self) -> None:
        self.number = 0
        self.category = 0
        """The first of the beginnings that end here."""
        self.category_at_edge = 0
        """The same for those that must end at a word end."""
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
    """Add a beginning; an earlier one stays, because the first matching alternative wins."""
    step = root
    for index, item in enumerate(sequence):
        if item == EDGE:
            if index + 1 < len(sequence) or not (sequence[index - 1].isalnum() and len(sequence[index - 1]) == 1):
                raise ValueError("a word edge must follow a letter or digit and end its pattern")
            step.category_at_edge = step.category_at_edge or number
            return
        if item == DIGITS and not _is_literal(sequence[index + 1 : index + 2]):
            raise ValueError("digits must be followed by another character")
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
    """All texts that a pattern matches, one sequence each."""
    return [
        tuple(item for part in parts for item in part) for parts in product(*(_expand_item(*one) for one in pattern))
    ]


def _expand_item(kind: Any, value: Any) -> list[Items]:
    """What one part of a pattern matches; raises for kinds of parts that our patterns do not use."""
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
    raise ValueError(f"unsupported in a pattern: {kind}")
