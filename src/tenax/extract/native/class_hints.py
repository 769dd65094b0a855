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
    BEGINNING_CHARS,
    BEGINNING_PATTERNS,
    BIT,
    LED_BY,
    MAX_NAME_CHARS,
    ROLES,
    SIGNS,
    TAGS,
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


def marks_data() -> bytes:
    """What `kernel_set_marks` is given."""
    chars = pack("<HH", MAX_NAME_CHARS, BEGINNING_CHARS)
    return b"".join((chars, _signs(), _tags(), _roles(), _led_by(), _beginnings()))


def _signs() -> bytes:
    """In the order of their first letters, by which they are looked up."""
    signs = [sign for letters in sorted(SIGNS) for sign in SIGNS[letters]]
    if not all(sign.letters.isascii() and sign.letters.isalpha() and sign.letters.islower() for sign in signs):
        raise ValueError("a sign is small letters only")
    return pack("<H", len(signs)) + b"".join(
        pack("<I??", sign.bit, sign.is_at_start, sign.is_at_end) + _counted(sign.letters) for sign in signs
    )


def _tags() -> bytes:
    return pack("<H", len(TAGS)) + b"".join(pack("<HI", tag_number(name), BIT[mark]) for name, mark in TAGS.items())


def _roles() -> bytes:
    return pack("<H", len(ROLES)) + b"".join(pack("<I", BIT[mark]) + _counted(name) for name, mark in ROLES.items())


def _led_by() -> bytes:
    return pack("<H", len(LED_BY)) + b"".join(pack("<I", ord(character)) for character in LED_BY)


def _counted(word: str) -> bytes:
    return pack("<B", len(word)) + word.encode("ascii")


class _Step:
    """Where a text is that began as some of the beginnings do."""

    def __init__(self) -> None:
        self.number = 0
        self.said = 0
        """The first of the beginnings that end here."""
        self.said_at_edge = 0
        """The same of those that end here where a word ends."""
        self.after: dict[int | str, _Step] = {}
        """By the next byte, DIGITS or ANY."""

    def next(self, key: int | str) -> _Step:
        return self.after.setdefault(key, _Step())


def _beginnings() -> bytes:
    root = _Step()
    for number, pattern in enumerate(BEGINNING_PATTERNS, 1):
        for sequence in expanded(regex.parse(pattern)):
            _plant(root, sequence, number)
    steps = [*_numbered(root)]
    edges: list[bytes] = []
    packed = []
    for step in steps:
        digits, anything = (step.after[key].number if key in step.after else 0 for key in (DIGITS, ANY))
        own = [pack("<BH", key, after.number) for key, after in step.after.items() if isinstance(key, int)]
        packed.append(pack("<BBHHHH", step.said, step.said_at_edge, digits, anything, len(edges), len(own)))
        edges += own
    return b"".join((pack("<H", len(packed)), *packed, pack("<H", len(edges)), *edges))


def _plant(root: _Step, sequence: Items, number: int) -> None:
    """Add a beginning; what came first stays, as the first alternative that matches counts."""
    step = root
    for place, item in enumerate(sequence):
        if item == EDGE:
            if place + 1 < len(sequence) or not (sequence[place - 1].isalnum() and len(sequence[place - 1]) == 1):
                raise ValueError("an edge is the end of a word only, and the last of its pattern")
            step.said_at_edge = step.said_at_edge or number
            return
        if item == DIGITS and not _is_literal(sequence[place + 1 : place + 2]):
            raise ValueError("digits end where another character follows")
        for key in (item,) if item in (DIGITS, ANY) else item.encode():
            step = step.next(key)
    step.said = step.said or number


def _is_literal(follows: Sequence[str]) -> bool:
    return bool(follows) and len(follows[0]) == 1 and not follows[0].isdecimal()


def _numbered(root: _Step) -> Iterator[_Step]:
    waiting = [root]
    for number, step in enumerate(waiting):
        step.number = number
        waiting += step.after.values()
        yield step


def expanded(pattern: Pattern) -> list[Items]:
    """All that a pattern matches, one sequence each."""
    return [tuple(item for part in parts for item in part) for parts in product(*(_choices(*one) for one in pattern))]


def _choices(kind: Any, value: Any) -> list[Items]:
    """What one part of a pattern matches; patterns of other kinds than ours have are refused."""
    if kind is regex.LITERAL:
        return [(chr(value),)]
    if kind is regex.ANY:
        return [(ANY,)]
    if kind is regex.AT and value is regex.AT_BOUNDARY:
        return [(EDGE,)]
    if kind is regex.BRANCH:
        return [sequence for branch in value[1] for sequence in expanded(branch)]
    if kind is regex.SUBPATTERN:
        return expanded(value[-1])
    if kind is regex.IN and all(one is regex.LITERAL for one, _ in value):
        return [(chr(character),) for _, character in value]
    if kind is regex.MAX_REPEAT:
        least, most, repeated = value
        if (least, most) == (0, 1):
            return [*expanded(repeated), ()]
        if (least, most) == (1, regex.MAXREPEAT) and [*repeated] == [*regex.parse(r"\d")]:
            return [(DIGITS,)]
    raise ValueError(f"not expected in a pattern: {kind}")
