"""Fingerprints of a page: equal text has an equal hash, similar text a similar fingerprint.

Near-duplicates are found by one-permutation MinHash. A text is reduced to its letters and digits, and a window is
sixteen of them in a row, about three or four words. Windows begin after certain letters, the anchors: chosen by
content, so an edit elsewhere changes no window. The windows are hashed; the hashes are divided into 64 bins, and the
smallest of each bin is kept. The number of equal bins of two texts estimates the ratio of windows they share. A band is
four consecutive bins: texts that agree in a whole band are worth comparing, and an index of bands finds them without
looking at the others.

All work per letter or window runs in C loops of the interpreter. What only the computation of a fingerprint needs is
created on first use: the database only compares fingerprints, and the native code computes them where it is available.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cache
from hashlib import sha256
from itertools import repeat
from operator import eq, itemgetter
from struct import Struct
from typing import Final
from zlib import crc32

ASCII_WHEN_LOWER: Final = "\u0130\u212a"
"""The characters beyond ASCII with ASCII lower case: dotted capital I and the Kelvin sign."""
MIN_NEAR_SIMILARITY: Final = 0.5
"""Texts that are at least this similar are near-duplicates. docs/extraction.md has the measurements for this value."""
BANDS: Final = 16
MAX_CHARS: Final = 100_000
"""Only the beginning of a text counts. This bounds the cost, and the beginning is as significant as the whole."""

_BINS: Final = 64
_BIN_SHIFT: Final = 26
_BIN_STARTS: Final = tuple(number << _BIN_SHIFT for number in range(_BINS))
_FINGERPRINT_STRUCT: Final = Struct(f"<{_BINS}H")
_BANDS_STRUCT: Final = Struct(f"<{BANDS}q")

_WINDOW: Final = 16
_CJK_WINDOW: Final = 6
"""In bytes: three Chinese characters, which mean as much as sixteen letters."""
_MAX_NON_LATIN_SHARE: Final = 0.26
"""A text is Latin if at most this ratio of its bytes is beyond ASCII. Then only its ASCII counts. Icelandic has 0.2,
Vietnamese 0.4."""

# From rare to common letters. The shorter a text, the more of these groups are anchors, so that it has enough windows.
# One more group adds about a third of the windows, so near-duplicates on two sides of a limit are still similar. The
# bytes are the second bytes of Cyrillic, Greek, Arabic and Hebrew letters, which are about as frequent as the Latin
# letter.
_ANCHORS: Final = (
    *(b"bv\xbc\x97\xad", b"kj\x93\x8f", b"p\x83\xb3", b"m\xb4\x96", b"g\x8b\xb9", b"u\x98\xbf"),
    *(b"d\xbb\xaf\x9e", b"l\x80\xb1\xa8", b"r\xba\xaa\x85", b"s\x82\xb7\xa7", b"n\xbd\x84\xa0"),
    b"37",  # for tables
)
_FEWEST_ANCHORS_FROM: Final = 7_000
_ANCHOR_LIMITS: Final = tuple(sorted(_FEWEST_ANCHORS_FROM / 1.4**number for number in range(len(_ANCHORS) - 1)))
"""The numbers of letters from which on a text needs one group less."""

# The letters of a group become one. So a single literal byte finds the anchors of a long text, several times faster
# than a set. The first bytes of UTF-8 sequences are dropped, which leaves one byte per letter for most alphabets.
_ANCHOR_GROUPS: Final = bytes(
    next((number for number, group in enumerate(_ANCHORS, 1) if byte in group), byte)
    for byte in bytes(range(256)).lower()
)
_NON_ASCII_LETTERS: Final = bytes(byte for byte in range(256) if byte >= 0x80 or not chr(byte).isalnum())
_NON_LETTERS: Final = bytes(byte for byte in _NON_ASCII_LETTERS if not 0x80 <= byte < 0xC0)
_NON_CJK_BYTES: Final = bytes(byte for byte in range(256) if not 0xE3 <= byte <= 0xED)
"""All but the first bytes of Chinese, Japanese and Korean characters."""
# In UTF-8: U+A0 to U+BF, Arabic and Hindi, U+2000 to U+207F, East Asian punctuation, full-width forms.
_PUNCTUATION: Final = (
    rb"\xc2[\xa0-\xbf]|\xd8[\x8c\x9b\x9f]|\xdb\x94|\xe0\xa5\xa4|\xe2[\x80\x81].|\xe3\x80.|\xe3\x83\xbb|\xef[\xbc\xbd]."
)


def content_hash(text: str) -> str:
    """SHA-256 of the text as UTF-8, in hex. A lone surrogate counts as `?`; extracted texts never contain one."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def near_fingerprint(text: str) -> bytes:
    """128 bytes to store and compare; empty for a text without words. The result is the same on every machine, and in
    every version."""
    # CRC-32 does not protect against attackers, but a forged fingerprint gains nothing, and its values are as evenly
    # distributed as those of slower hashes.
    hashes = sorted(map(crc32, _find_windows(text[:MAX_CHARS])))
    if not hashes:
        return b""
    bins = [*map(bisect_left, repeat(hashes), _BIN_STARTS)]
    # An empty bin copies the next bin that is not empty, cyclically. This fills all bins of short texts.
    hashes.append(hashes[0])
    return _FINGERPRINT_STRUCT.pack(*map((0xFFFF).__and__, itemgetter(*bins)(hashes)))


def fingerprint_bands(fingerprint: bytes) -> tuple[int, ...]:
    """Signed 64-bit numbers for an index: texts that share one may be near-duplicates."""
    return _BANDS_STRUCT.unpack(fingerprint) if fingerprint else ()


def fingerprint_similarity(one: bytes, other: bytes) -> float:
    """The estimated ratio of windows that two texts have in common, from 0 to 1, ± 0.06."""
    if not one or not other:
        return 0.0
    equal_bins: int = sum(map(eq, _FINGERPRINT_STRUCT.unpack(one), _FINGERPRINT_STRUCT.unpack(other)))
    return equal_bins / _BINS


def _find_windows(text: str) -> list[bytes]:
    """The windows of a text; the whole text if it is too short to have a window."""
    letters, window = _extract_letters(text)
    if not letters:
        return []
    found: list[bytes] = []
    for pattern in _window_patterns(window)[len(_ANCHOR_LIMITS) - bisect_right(_ANCHOR_LIMITS, len(letters)) :]:
        found = pattern.findall(letters)
        if len(found) >= _BINS:
            break  # otherwise the letters of this text are unusual, or few
    return found or [letters]


def _extract_letters(text: str) -> tuple[bytes, int]:
    """The letters of a text, and the window length."""
    encoded = text.encode("utf-8", "replace")
    # The table that groups letters also converts ASCII to lower case.
    latin = encoded.translate(_ANCHOR_GROUPS, _NON_ASCII_LETTERS)
    # All bytes that do not begin a character. In lower case there are at most twice as many. If the text is Latin even
    # then, the other bytes need not be converted to lower case, which takes longer than all of this.
    foreign = 2 * (len(encoded) - len(text))
    if not foreign or (
        foreign <= _MAX_NON_LATIN_SHARE * (len(latin) + foreign) and not any(map(text.__contains__, ASCII_WHEN_LOWER))
    ):
        return latin, _WINDOW
    encoded = text.lower().encode("utf-8", "replace")
    latin = encoded.translate(_ANCHOR_GROUPS, _NON_ASCII_LETTERS)
    if _is_latin(latin, encoded.translate(None, _NON_LETTERS)):
        return latin, _WINDOW
    encoded = _punctuation_pattern().sub(b"", encoded)
    letters = encoded.translate(_ANCHOR_GROUPS, _NON_LETTERS)
    if _is_latin(latin, letters):
        return latin, _WINDOW
    # Two bytes of each CJK character are left. The text is CJK if they are half of it.
    is_eastern = 4 * len(encoded.translate(None, _NON_CJK_BYTES)) > len(letters)
    return letters, _CJK_WINDOW if is_eastern else _WINDOW


def _is_latin(latin: bytes, letters: bytes) -> bool:
    """Whether the letters are Latin. Punctuation counts only against Latin, so a text that is Latin with its
    punctuation is Latin without it."""
    return len(letters) - len(latin) <= _MAX_NON_LATIN_SHARE * len(letters)


@cache
def _punctuation_pattern() -> re.Pattern[bytes]:
    return re.compile(_PUNCTUATION, re.DOTALL)


@cache
def _window_patterns(window: int) -> tuple[re.Pattern[bytes], ...]:
    """Patterns that find windows, by the number of anchor groups: one, two and so on."""
    # Windows overlap. If the search continued after each window, the position of the window would decide which ones are
    # found next.
    anchors = (b"[\x01-\\x%02x]" % number if number > 1 else b"\x01" for number in range(1, len(_ANCHORS) + 1))
    return tuple(re.compile(b"%b(?=(.{%d}))" % (anchor, window), re.DOTALL) for anchor in anchors)
