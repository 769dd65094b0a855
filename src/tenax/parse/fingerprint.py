"""The fingerprints of a page: equal text, equal hash; like text, like fingerprint.

Near-duplicates are found by one-permutation MinHash. Every run of four words is hashed once; the hashes fall into 64
bins, and of each bin the smallest is kept. How many bins of two texts agree estimates which share of their runs they
have in common. A band is four bins in a row: texts that agree in a whole band are worth comparing, and an index of
bands finds them without looking at the others.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from hashlib import sha256
from itertools import accumulate
from operator import eq
from struct import Struct
from typing import Final
from zlib import crc32

NEAR_LIKENESS: Final = 0.5
"""Texts as like as this are near-duplicates; docs/reading.md has the measurements it was chosen by."""
BANDS: Final = 16
MAX_CHARS: Final = 100_000
"""As much of a text counts: the cost of a longer one is bounded, and its beginning tells as well."""

_BINS: Final = 64
_BIN_BITS: Final = 26
"""The bits of a hash that are left when its first ones have chosen the bin."""
_RUN_WORDS: Final = 4
_MANY_WORDS: Final = 600
_PACKED: Final = Struct(f"<{_BINS}H")
_BANDED: Final = Struct(f"<{BANDS}q")

# Chinese, Japanese and Thai put no spaces between words, and Korean glues to them what others write apart.
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_ANY_UNSPACED = re.compile(rf"[{_UNSPACED}\u3000-\u303f\uff00-\uffef]")  # their punctuation too
_WORD_OR_CHARACTER = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
# Words as bytes: ASCII letters and digits, and whatever is not ASCII and none of these marks. Several times as quick
# as a pattern, and vowel signs, which are no letters to Python, do not cut the words of India apart.
_MARKS: Final = (
    "\u00a0\u00a1\u00ab\u00b7\u00bb\u00bf\u060c\u061b\u061f\u06d4\u0964"
    "\u2009\u2013\u2014\u2018\u2019\u201a\u201c\u201d\u201e\u2022\u2026\u202f"
)
_BYTES: Final = bytes(byte if byte > 127 or chr(byte).isalnum() else 32 for byte in range(256))


def content_hash(text: str) -> str:
    """SHA-256 of the text as UTF-8, in hex. A lone surrogate, which our own texts never hold, counts as `?`."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def near_fingerprint(text: str) -> bytes:
    """128 bytes to be stored and compared; none for a text without words. The same on every machine, for ever."""
    hashes = _run_hashes(text[:MAX_CHARS].lower())
    if not hashes:
        return b""
    # An empty bin borrows from the next one that is not, wherever that is: the short texts' way to fill all bins.
    smallest = (bisect_left(hashes, number << _BIN_BITS) % len(hashes) for number in range(_BINS))
    return _PACKED.pack(*(hashes[place] & 0xFFFF for place in smallest))


def bands(fingerprint: bytes) -> tuple[int, ...]:
    """Numbers to be indexed, each of 64 bits with a sign: whoever shares one of them may be a near-duplicate."""
    return _BANDED.unpack(fingerprint) if fingerprint else ()


def likeness(one: bytes, other: bytes) -> float:
    """The estimated share of runs of words that two texts have in common: 0 to 1, give or take 0.06."""
    if not one or not other:
        return 0.0
    alike: int = sum(map(eq, _PACKED.unpack(one), _PACKED.unpack(other)))
    return alike / _BINS


def _run_hashes(text: str) -> list[int]:
    """A hash of every run of words, in order of size and each once; of a text shorter than a run, that of all of it."""
    words = _words(text)
    if not words:
        return []
    # CRC-32 is no hash for enemies, but nobody gains by a fingerprint, and it measures as evenly as costlier ones.
    # Without spaces in between: it is quicker, and that `a bc` is as good as `ab c` hardly ever shows.
    joined = b"".join(words)
    starts = [*accumulate(map(len, words), initial=0)]
    runs = zip(words, starts, starts[_RUN_WORDS:] or starts[-1:], strict=False)
    if len(words) < _MANY_WORDS:
        return sorted({crc32(joined[start:end]) for _, start, end in runs})
    # Of a long text a third of the runs is enough, chosen by how they begin: an edit elsewhere changes no choice.
    return sorted({crc32(joined[start:end]) for word, start, end in runs if not word[-1] & 3})


def _words(text: str) -> list[bytes]:
    if not text.isascii():
        if _ANY_UNSPACED.search(text):
            return " ".join(_WORD_OR_CHARACTER.findall(text)).encode("utf-8", "replace").split()
        for mark in _MARKS:
            text = text.replace(mark, " ")
    return text.encode("utf-8", "replace").translate(_BYTES).split()
