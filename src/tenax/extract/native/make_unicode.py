"""Writes the tables of `letters.c`, as this Python knows its characters: `python make_unicode.py > unicode_data.h`."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterator
from itertools import pairwise

_CODE_POINTS = range(0x80, sys.maxunicode + 1)
"""ASCII is the code's own."""
_DOTTED_I = 0x130
"""The one character that is two in lower case; the code knows it."""
_SIGMA = "\u03a3"
_FINAL_SIGMA = "\u03c2"


def main() -> None:
    lower = list(_lower_ranges())
    _check_assumptions()
    version = f"{unicodedata.unidata_version}, of Python {sys.version_info.major}.{sys.version_info.minor}"
    print(f"/* Made by make_unicode.py: Unicode {version}. Characters beyond ASCII only. */")
    print("#ifndef TENAX_UNICODE_DATA_H\n#define TENAX_UNICODE_DATA_H\n\n#include <stdint.h>\n")
    print(f'#define UNICODE_VERSION "{unicodedata.unidata_version}"\n')
    print("typedef struct {\n    uint32_t first, last;\n} Range;\n")
    _write_table("Range", "ALNUM", "str.isalnum", _find_ranges(lambda character: character.isalnum()))
    _write_table("Range", "DECIMAL", "str.isdecimal", _find_ranges(lambda character: character.isdecimal()))
    _write_table(
        "Range",
        "CASED",
        "what a sigma must follow, and must not be followed by, to end a word",
        _find_ranges(_is_cased),
    )
    _write_table("Range", "IGNORED", "what is passed over on the way there", _find_ranges(_is_ignored))
    print("/* Every `step`-th character from `first` to `last` is in lower case `shift` further on. */")
    print("typedef struct {\n    uint32_t first, last;\n    int32_t shift;\n    uint32_t step;\n} Lower;\n")
    _write_table("Lower", "LOWER", "str.lower", lower)
    before, after = next(pair for pair in pairwise(lower) if pair[0][1] < ord("漢") < pair[1][0])
    print("/* Of the characters of the East, and many around them, none has another form. */")
    print(f"#define FIRST_WITHOUT_CASE {hex(before[1] + 1)}u\n#define LAST_WITHOUT_CASE {hex(after[0] - 1)}u\n")
    print("#endif")


def _is_cased(character: str) -> bool:
    """Cased and not ignored: `str.lower` shows it by what it does to a sigma."""
    return (character + _SIGMA).lower()[-1] == _FINAL_SIGMA


def _is_ignored(character: str) -> bool:
    return (f"a{character}{_SIGMA}").lower()[-1] == _FINAL_SIGMA and not _is_cased(character)


def _find_ranges(matches: Callable[[str], bool]) -> Iterator[tuple[int, ...]]:
    """The first and the last of the characters in a row that are so."""
    first = None
    for point in _CODE_POINTS:
        if matches(chr(point)):
            first = point if first is None else first
        elif first is not None:
            yield first, point - 1
            first = None
    if first is not None:
        yield first, _CODE_POINTS[-1]


def _lower_ranges() -> Iterator[tuple[int, ...]]:
    """First, last, shift and step. Capitals stand in a row, or each before its small letter."""
    shifts = [
        (point, ord(chr(point).lower()) - point)
        for point in _CODE_POINTS
        if point != _DOTTED_I and chr(point).lower() != chr(point)
    ]
    first, step = shifts[0][0], 0
    for (point, shift), (following, next_shift) in pairwise([*shifts, (0, 0)]):
        gap = following - point
        if shift == next_shift and gap in (1, 2) and step in (0, gap):
            step = gap
            continue
        yield first, point, shift, step or 1
        first, step = following, 0


def _check_assumptions() -> None:
    """What the code takes for granted."""
    longer = [point for point in _CODE_POINTS if len(chr(point).lower()) > 1]
    if longer != [_DOTTED_I] or chr(_DOTTED_I).lower() != "i\u0307":
        raise SystemExit("another character than U+0130 is more than one in lower case")
    if any(
        2 * len(_lower_bytes(point)) > 3 * len(chr(point).encode())
        for point in _CODE_POINTS
        if not _is_surrogate(point)
    ):
        raise SystemExit("in lower case a character is more than half as long again")
    # Of Unicode's own properties only these are given; of ASCII the code knows them.
    ignored = "".join(character for character in map(chr, range(0x80)) if _is_ignored(character))
    if ignored != "'.:^`":
        raise SystemExit(f"in ASCII, a sigma looks past {ignored}")


def _lower_bytes(point: int) -> bytes:
    return chr(point).lower().encode()


def _is_surrogate(point: int) -> bool:
    """Half of a character in UTF-16, which UTF-8 has no form for."""
    return 0xD800 <= point < 0xE000


def _write_table(kind: str, name: str, meaning: str, rows: Iterator[tuple[int, ...]] | list[tuple[int, ...]]) -> None:
    print(f"/* {meaning} */\nstatic const {kind} {name}[] = {{")
    line = "   "
    for first, last, *rest in rows:
        item = f" {{{', '.join([hex(first), hex(last), *map(str, rest)])}}},"
        if len(line) + len(item) > 120:
            print(line)
            line = "   "
        line += item
    print(f"{line}\n}};\n")


if __name__ == "__main__":
    main()
