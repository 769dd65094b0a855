"""The fingerprints of a page: equal text, equal hash; like text, like fingerprint.

Near-duplicates are found by one-permutation MinHash. A text is its letters and digits without spaces and marks, and a
window is sixteen of them in a row, some three or four words. Windows begin behind certain letters, the anchors: chosen
by what stands there, so an edit elsewhere changes no choice. The windows are hashed; the hashes fall into 64 bins, and
of each bin the smallest is kept. How many bins of two texts agree estimates which share of their windows they have in
common. A band is four bins in a row: texts that agree in a whole band are worth comparing, and an index of bands finds
them without looking at the others.

Everything that is done once for each letter or window is a loop of the interpreter's own, in C. What only making a
fingerprint needs is made with the first of them: the database compares them, and where there is a kernel it makes them.
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

MIN_NEAR_SIMILARITY: Final = 0.5
"""Texts as like as this are near-duplicates; docs/extraction.md has the measurements it was chosen by."""
BANDS: Final = 16
MAX_CHARS: Final = 100_000
"""As much of a text counts: the cost of a longer one is bounded, and its beginning tells as well."""

_BINS: Final = 64
_BIN_STARTS: Final = tuple(number << 26 for number in range(_BINS))
_FINGERPRINT_STRUCT: Final = Struct(f"<{_BINS}H")
_BANDS_STRUCT: Final = Struct(f"<{BANDS}q")

_WINDOW: Final = 16
_CJK_WINDOW: Final = 6
"""Of bytes: three Chinese characters, which say as much as the sixteen letters."""
_MAX_NON_LATIN_SHARE: Final = 0.26
"""Up to so many bytes beyond ASCII a text is Latin, and only its ASCII counts: Icelandic has 0.2, Vietnamese 0.4."""

# From rare letters to common ones: the shorter a text, the more of these groups are its anchors, so that it has
# windows enough. One group more adds about a third: a text and its twin on the two sides of a limit are still alike.
# The bytes are the second ones of Cyrillic, Greek, Arabic and Hebrew letters, about as frequent as the Latin letter.
_ANCHORS: Final = (
    *(b"bv\xbc\x97\xad", b"kj\x93\x8f", b"p\x83\xb3", b"m\xb4\x96", b"g\x8b\xb9", b"u\x98\xbf"),
    *(b"d\xbb\xaf\x9e", b"l\x80\xb1\xa8", b"r\xba\xaa\x85", b"s\x82\xb7\xa7", b"n\xbd\x84\xa0"),
    b"37",  # for tables
)
_FEWEST_ANCHORS_FROM: Final = 7_000
_ANCHOR_LIMITS: Final = tuple(sorted(_FEWEST_ANCHORS_FROM / 1.4**number for number in range(len(_ANCHORS) - 1)))
"""How many letters a text must have to do without another group."""

# The letters of a group are one to us: then one literal byte finds the anchors of a long text, several times as quick
# as a set of them. The first bytes of UTF-8's sequences go too: that leaves a byte a letter for most alphabets.
_ANCHOR_GROUPS: Final = bytes(
    next((number for number, group in enumerate(_ANCHORS, 1) if byte in group), byte)
    for byte in bytes(range(256)).lower()
)
_NON_ASCII_LETTERS: Final = bytes(byte for byte in range(256) if byte >= 0x80 or not chr(byte).isalnum())
_NON_LETTERS: Final = bytes(byte for byte in _NON_ASCII_LETTERS if not 0x80 <= byte < 0xC0)
_NON_CJK_BYTES: Final = bytes(byte for byte in range(256) if not 0xE3 <= byte <= 0xED)
"""All but the first bytes of Chinese, Japanese and Korean characters."""
# In UTF-8: U+A0 to U+BF, of Arabic and Hindi, U+2000 to U+207F, the punctuation of the East, full-width forms.
_PUNCTUATION: Final = (
    rb"\xc2[\xa0-\xbf]|\xd8[\x8c\x9b\x9f]|\xdb\x94|\xe0\xa5\xa4|\xe2[\x80\x81].|\xe3\x80.|\xe3\x83\xbb|\xef[\xbc\xbd]."
)


def content_hash(text: str) -> str:
    """SHA-256 of the text as UTF-8, in hex. A lone surrogate, which our own texts never hold, counts as `?`."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def near_fingerprint(text: str) -> bytes:
    """128 bytes to be stored and compared; none for a text without words. The same on every machine, for ever."""
    # CRC-32 is no hash for enemies, but nobody gains by a fingerprint, and it measures as evenly as costlier ones.
    hashes = sorted(map(crc32, _find_windows(text[:MAX_CHARS])))
    if not hashes:
        return b""
    places = [*map(bisect_left, repeat(hashes), _BIN_STARTS)]
    # An empty bin borrows from the next one that is not, wherever that is: the short texts' way to fill all bins.
    hashes.append(hashes[0])
    return _FINGERPRINT_STRUCT.pack(*map((0xFFFF).__and__, itemgetter(*places)(hashes)))


def fingerprint_bands(fingerprint: bytes) -> tuple[int, ...]:
    """Numbers to be indexed, each of 64 bits with a sign: whoever shares one of them may be a near-duplicate."""
    return _BANDS_STRUCT.unpack(fingerprint) if fingerprint else ()


def fingerprint_similarity(one: bytes, other: bytes) -> float:
    """The estimated share of windows that two texts have in common: 0 to 1, give or take 0.06."""
    if not one or not other:
        return 0.0
    alike: int = sum(map(eq, _FINGERPRINT_STRUCT.unpack(one), _FINGERPRINT_STRUCT.unpack(other)))
    return alike / _BINS


def _find_windows(text: str) -> list[bytes]:
    """The windows of a text; of one too short to have any, all of it."""
    letters, window = _extract_letters(text)
    if not letters:
        return []
    found: list[bytes] = []
    for pattern in _window_patterns(window)[len(_ANCHOR_LIMITS) - bisect_right(_ANCHOR_LIMITS, len(letters)) :]:
        found = pattern.findall(letters)
        if len(found) >= _BINS:
            break  # else the letters of this text are strange, or few
    return found or [letters]


def _extract_letters(text: str) -> tuple[bytes, int]:
    """What is left of a text, and how long a window of it is."""
    from tenax.extract.text.visible import (
        ASCII_WHEN_LOWER,
    )  # whoever only compares fingerprints does without the parser

    encoded = text.encode("utf-8", "replace")
    # ASCII is made lower case on the way, by the table that groups its letters.
    latin = encoded.translate(_ANCHOR_GROUPS, _NON_ASCII_LETTERS)
    # All bytes that are no character's first. In lower case they are at most twice as many, and if the text is Latin
    # even then, the rest of it need not be made lower case, which takes longer than all of this.
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
    # Two bytes are left of an Eastern character: do they make half of the text?
    is_eastern = 4 * len(encoded.translate(None, _NON_CJK_BYTES)) > len(letters)
    return letters, _CJK_WINDOW if is_eastern else _WINDOW


def _is_latin(latin: bytes, letters: bytes) -> bool:
    """Marks only ever speak against it: who is Latin with them is so without."""
    return len(letters) - len(latin) <= _MAX_NON_LATIN_SHARE * len(letters)


@cache
def _punctuation_pattern() -> re.Pattern[bytes]:
    return re.compile(_PUNCTUATION, re.DOTALL)


@cache
def _window_patterns(window: int) -> tuple[re.Pattern[bytes], ...]:
    """The ways to find windows, by how many groups are anchors: one, two and so on."""
    # Windows overlap: if the search went on behind each, where one is would decide which are found after it.
    anchors = (b"[\x01-\\x%02x]" % number if number > 1 else b"\x01" for number in range(1, len(_ANCHORS) + 1))
    return tuple(re.compile(b"%b(?=(.{%d}))" % (anchor, window), re.DOTALL) for anchor in anchors)
