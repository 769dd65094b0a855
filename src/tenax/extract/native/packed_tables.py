"""Words, patterns and learned tables of extraction as flat data for the native code, sent once per process.

In the data of class hints all numbers are little-endian. The beginnings are a trie with a step for each common byte: a
text is compared with all of them at once.

In the data of decision trees numbers are in the machine's byte order. First three 32-bit numbers: the indexes of
articles and of threads among the page kinds, and the number of kinds. Then the tables: one per kind, the one for blocks
of articles, the one for blocks of other pages. A table is four 32-bit numbers (how many trees, signs, values and exits
it has), then its signs, its values as doubles, and three doubles for each exit. A *sign* is a 16-bit code: the index of
a feature, or `_VALUE_SIGN` for the next of the values. A tree is in preorder: a node, the tree up to its threshold, the
tree above it. A node with a threshold has two signs, its feature and `_VALUE_SIGN` for the threshold; a leaf has one,
`_VALUE_SIGN` for its result.

In the data of languages all numbers are little-endian. First come the names of languages and scripts, sorted; the rest
refers to them by index.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import product
from struct import pack
from typing import Any, Final, TypeAlias

import msgspec

from tenax.extract.article import page_type, select
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
from tenax.extract.article.decision_trees import read_table_file
from tenax.extract.article.features import BLOCK_FEATURES, BOX_FEATURES, PAGE_FEATURES
from tenax.extract.html.tree import tag_number
from tenax.extract.language.detect import SCRIPT_RANGES, Evidence, evidence_by_script, letter_evidence
from tenax.model import PageKind, Value

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
        pack("<I??", sign.bit, sign.is_at_start, sign.is_at_end) + _pack_ascii_word(sign.letters) for sign in signs
    )


def _pack_tags() -> bytes:
    return pack("<H", len(TAG_HINTS)) + b"".join(
        pack("<HI", tag_number(name), HINT_BIT[hint]) for name, hint in TAG_HINTS.items()
    )


def _pack_roles() -> bytes:
    return pack("<H", len(ROLE_HINTS)) + b"".join(
        pack("<I", HINT_BIT[hint]) + _pack_ascii_word(name) for name, hint in ROLE_HINTS.items()
    )


def _pack_leading_chars() -> bytes:
    return pack("<H", len(SKIPPED_LEADING_CHARS)) + b"".join(
        pack("<I", ord(character)) for character in SKIPPED_LEADING_CHARS
    )


def _pack_ascii_word(word: str) -> bytes:
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


_VALUE_SIGN: Final = 0xFFFF
_BRACKETS: Final = b"[]"


class _RawTable(Value, frozen=True):
    """A table of `article.decision_trees` with its trees as JSON text: without brackets, that is their preorder."""

    trees: msgspec.Raw
    exits: tuple[tuple[float, float, float], ...] = ()


def pack_decision_trees() -> bytes:
    """All tables. Converts the text directly; building trees first would take half as long again."""
    of_kinds, kept = _read_tables(page_type.TABLES_FILE), _read_tables(select.TABLES_FILE)
    names = list(of_kinds)
    of_page = {name: index for index, name in enumerate(page_type.KIND_FEATURES)}
    of_block = {name: index for index, name in enumerate((*BLOCK_FEATURES, *BOX_FEATURES, *PAGE_FEATURES))}
    return b"".join((
        array("I", (names.index(PageKind.ARTICLE), names.index(PageKind.FORUM), len(names))).tobytes(),
        *(_pack_table(table, of_page) for table in of_kinds.values()),
        _pack_table(kept["article"], of_block),
        _pack_table(kept["other"], of_block),
    ))  # fmt: skip


def _read_tables(name: str) -> dict[str, _RawTable]:
    return msgspec.json.decode(read_table_file(name), type=dict[str, _RawTable])


def _pack_table(table: _RawTable, feature_indexes: Mapping[str, int]) -> bytes:
    text = bytes(table.trees)
    items = msgspec.json.decode(b"[%b]" % text.translate(None, _BRACKETS), type=list[float | str])
    signs = array("H", [feature_indexes[item] if isinstance(item, str) else _VALUE_SIGN for item in items])
    values = array("d", [item for item in items if isinstance(item, float)])
    exits = array("d", [number for one in table.exits for number in one])
    thresholds = len(signs) - len(values)
    answers = len(values) - thresholds
    # Each tree has one result more than it has thresholds.
    counts = array("I", (answers - thresholds, len(signs), len(values), len(table.exits)))
    return b"".join((counts.tobytes(), signs.tobytes(), values.tobytes(), exits.tobytes()))


NameNumbers = Mapping[str, int]


def pack_language_data() -> bytes:
    """The data for `native_set_languages`."""
    by_script = evidence_by_script()
    numbers = {name: number for number, name in enumerate(sorted(_collect_names()))}
    asked_by_name = (numbers[name] for name in ("latin", "devanagari", "ja", "zh"))
    return b"".join((
        pack("<H", len(numbers)),
        *map(_pack_word, numbers),
        pack("<4H", *asked_by_name),
        _pack_ranges(numbers),
        pack("<H", len(by_script)),
        *(pack("<H", numbers[script]) + _pack_words(evidence, numbers) for script, evidence in by_script.items()),
        _pack_letters(letter_evidence(), numbers),
    ))  # fmt: skip


def _collect_names() -> set[str]:
    by_script = evidence_by_script()
    names = {*by_script, *(script for _, _, script in SCRIPT_RANGES)}
    for evidence in (*by_script.values(), letter_evidence()):
        names.update(language for speakers in evidence.values() for language, _ in speakers)
    return names


def _pack_ranges(numbers: NameNumbers) -> bytes:
    packed = (pack("<IIH", first, last, numbers[script]) for first, last, script in SCRIPT_RANGES)
    return pack("<H", len(SCRIPT_RANGES)) + b"".join(packed)


def _pack_words(evidence: Evidence, numbers: NameNumbers) -> bytes:
    packed = (_pack_word(word) + _pack_languages(evidence[word], numbers) for word in sorted(evidence))
    return pack("<H", len(evidence)) + b"".join(packed)


def _pack_letters(evidence: Evidence, numbers: NameNumbers) -> bytes:
    packed = (pack("<I", ord(letter)) + _pack_languages(evidence[letter], numbers) for letter in sorted(evidence))
    return pack("<H", len(evidence)) + b"".join(packed)


def _pack_languages(languages: Iterable[tuple[str, float]], numbers: NameNumbers) -> bytes:
    """Without weights: they follow from the number of languages."""
    spoken = [numbers[language] for language, _ in languages]
    return pack(f"<B{len(spoken)}H", len(spoken), *spoken)


def _pack_word(word: str) -> bytes:
    encoded = word.encode()
    return pack("<B", len(encoded)) + encoded
