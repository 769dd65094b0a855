"""The constants that native code shares with Python: generated from it, equal to it, and not written again in C."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tenax.extract.html.tree import tag_number
from tenax.extract.native import make_constants
from tenax.extract.native.make_constants import CONSTANTS, ENUMS, Tag, constant_name, enumerator

NATIVE = Path(make_constants.__file__).parent
HEADER = (NATIVE / "constants.h").read_text().replace("\\\n", "")
DEFINES = dict(re.findall(r"^#define (\w+(?:\(ENTRY\))?) (.+)$", HEADER, re.MULTILINE))
FOUND_ENUMS = [re.findall(r"\w+", body) for body in re.findall(r"enum \{(.*?)\};", HEADER, re.DOTALL)]

GENERATED = {"constants.h", "unicode_data.h"}
C_ONLY = {
    "memory: how much is taken at first, kept, or taken at most": (
        *("ANSWER_BYTES", "LINES_BYTES", "MIN_BUFFER_BYTES", "CHUNK_BYTES", "KEPT_BYTES", "LARGE_BYTES", "MAX_BYTES"),
        *("SIZE_CLASSES", "CACHED_CHARACTERS"),
    ),
    "room in a table of fixed size; data that exceed it are refused when they are sent": (
        *("MAX_LEAVES", "MAX_KINDS", "MAX_EXITS", "MAX_NAMES", "MAX_RANGES", "MAX_WORD_LISTS", "MAX_LETTERS"),
        *("LETTERS_END", "MAX_METADATA_ATTRIBUTES", "MARKER_BYTES"),
    ),
    "how many are processed at once, or fetched ahead": (
        *("POSITIONS_AT_ONCE", "LANES", "TREES_AT_ONCE", "AT_ONCE", "SLICES", "AHEAD_BYTES", "AHEAD_LINES"),
        "LINE_BYTES",
    ),
    "more than this is handed back to Python": ("MOST_WEIGHED", "MOST_ATTRIBUTES"),
    "UTF-8 and ASCII": (
        *("MAX_CHARACTER_BYTES", "NO_CHARACTER", "EACH_HIGH_BIT", "EACH_LOW_BIT", "LETTER_BITS", "PAIRS", "WHITE"),
    ),
    "msgpack": ("TEXT_HEADER",),
    "the C library": ("_POSIX_C_SOURCE",),
    "derived from generated constants": ("PAGE_HINT_NUMBERS", "EXCESS_BLOCK", "FINGERPRINT_BYTES", "CHARS"),
    "derived from limits of Python": ("MAX_FRAGMENT_CHARS",),
    "marks of a table in the same file": ("FIRST", "NO_MARK"),
    "our own numbers of tags and attributes, and room for them": (
        *("TAG_unknown", "FIRST_TAG", "NAME_NONE", "LONGEST_NAME", "MAX_NODES", "SEEN_NAMES", "NAME_DISTANCE"),
        "SEEN_CLASSES",
    ),
    "no page kind": ("KIND_NONE",),
    "types of nodes in the DOM standard": ("LEXBOR_ELEMENT",),
    "limits of what is examined when the library is loaded": (
        *("LEXBOR_TAGS", "MAX_NODES_WALKED", "MAX_ATTRIBUTES_WALKED", "MAX_TEXTS", "MAX_STRING_BYTES", "MAX_OFFSET"),
        *("STRING_BYTES", "COPIED_BYTES"),
    ),
}
"""Numbers that only the C code has, by their reason; of an enum, its first name."""


def real_value(value: Any) -> Any:
    """With the parser's numbers instead of names."""
    match value:
        case Tag():
            return tag_number(str(value))
        case dict():
            return {real_value(key): item for key, item in value.items()}
        case frozenset():
            return frozenset(map(real_value, value))
    return value


def entries(text: str) -> list[list[str]]:
    return [one.split(", ") for one in re.findall(r"ENTRY\(([^)]+\)?)\)", text)]


def as_key(word: str) -> int:
    return int(word) if word.isdecimal() else tag_number(word)


def as_in_c(value: Any) -> Any:
    """With numbers instead of characters, and with the names that attributes have in C."""
    match value:
        case dict():
            return {key: as_in_c(item) for key, item in value.items()}
        case tuple():
            return tuple(enumerator("NAME", item) if isinstance(item, str) else item for item in value)
        case str():
            return ord(value)
    return value


def parse_item(text: str) -> object:
    if text.strip().startswith("NAME_"):
        return text.strip()
    value = ast.literal_eval(text.strip())
    return value.encode("latin-1") if isinstance(value, str) else value


def value_in_c(name: str) -> object:
    """The value of a constant in the header, see `as_in_c`."""
    if table := DEFINES.get(f"EACH_{name}(ENTRY)"):
        rows = entries(table)
        if len(rows[0]) == 1:
            return frozenset(as_key(key) for (key,) in rows)
        found = {as_key(key): tuple(map(parse_item, items)) for key, *items in rows}
        return {key: items if isinstance(items[0], str) else items[0] for key, items in found.items()}
    written = DEFINES[name]
    if written.startswith("{"):
        items = tuple(map(parse_item, written[1:-1].split(",")))
        assert int(DEFINES[f"{name}_COUNT"]) == len(items)
        return items
    return parse_item(written)


ALL = [(module, name) for module, names in CONSTANTS.items() for name in names]


@pytest.mark.parametrize(("module", "name"), ALL, ids=[constant_name(*one) for one in ALL])
def test_constant_equals_that_of_python(module: str, name: str) -> None:
    expected = getattr(import_module(module), name)
    assert real_value(make_constants.evaluate(module, name)) == expected
    assert value_in_c(constant_name(module, name)) == as_in_c(expected)


@pytest.mark.parametrize(("module", "name"), ENUMS, ids=ENUMS.values())
def test_order_is_that_of_python(module: str, name: str) -> None:
    names = getattr(import_module(module), name)
    expected = [enumerator(ENUMS[module, name], one) for one in (*names, "COUNT")]
    assert expected in FOUND_ENUMS and len(set(expected)) == len(expected)


def test_header_is_current_and_defines_nothing_else() -> None:
    generator = [sys.executable, "-I", make_constants.__file__]
    made = subprocess.check_output(generator, text=True, cwd="/")
    assert (NATIVE / "constants.h").read_text() == made, "build the library again"
    names = {constant_name(*one) for one in ALL}
    lengths = {f"{name}_COUNT" for name in names}
    assert {name.removeprefix("EACH_").removesuffix("(ENTRY)") for name in DEFINES} <= names | lengths
    assert len(names) == len(ALL) and len(FOUND_ENUMS) == len(ENUMS)


def test_a_change_of_a_constant_is_noticed_by_the_scripts() -> None:
    setup = NATIVE.parents[3] / "scripts" / "_setup.sh"
    listed = subprocess.check_output(["bash", "-c", f"source '{setup}' && _native_sources"], text=True)
    for module in {*CONSTANTS, *(module for module, _ in ENUMS)}:
        assert f"/src/{module.replace('.', '/')}.py " in listed
    assert "constants.h" not in listed


def c_numbers() -> dict[str, str]:
    """The file of each number in C that is not generated; of an enum, by its first name."""
    found: dict[str, str] = {}
    for file in sorted(NATIVE.glob("*.[ch]")):
        if file.name not in GENERATED:
            text = re.sub(r"/\*.*?\*/", "", file.read_text(), flags=re.DOTALL).replace("\\\n", "")
            defined = re.findall(r"^#define (\w+) (?=.*(?<![\w\"])\d)", text, re.MULTILINE)
            listed = re.findall(r"enum \{\s*(?:EACH_TAG\(TAG_NUMBER\)\s*)?(\w+)", text)
            found |= dict.fromkeys(chain(defined, listed), file.name)
    return found


def test_no_number_in_c_repeats_one_of_python() -> None:
    known, found = set(chain.from_iterable(C_ONLY.values())), c_numbers()
    unknown = {f"{file}: {name}" for name, file in found.items() if name not in known}
    assert not unknown, "name them in Python and in make_constants.py, or give a reason in C_ONLY"
    assert known <= found.keys(), "gone from the C code"
