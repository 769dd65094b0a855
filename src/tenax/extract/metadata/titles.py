"""Which of the titles a page has is its own: the headline, without the name of the site."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

from tenax.extract.text.visible import one_line

_WORDS = re.compile(r"\w+")
_FOLDED: Final = bytes(ord(chr(byte).lower()) if _WORDS.match(chr(byte)) else ord(" ") for byte in range(128)) * 2
_PARTS = re.compile(r"(?<!\s)\s++(?:[|\-–—·•»«:/~>‹›]++\s++|[|·•»«]\s*+)|[|·•»«]\s*+|(?<=\S):\s++$")
MAX_CHARS: Final = 1_000
_FEW_CHARS: Final = 3
_SHORT_CHARS: Final = 8
_LONG_CHARS: Final = 15
_HEADLINE_WORDS: Final = 5
_MUCH: Final = 0.6
"""The share of common words from which two titles are one."""


def choose_title(
    headings: Sequence[str],
    told: Sequence[str],
    document_title: str,
    site_names: Sequence[str],
    lower_headings: Iterable[str] = (),
) -> str:
    """The title of the page.

    `headings` are its <h1>, `told` what metadata say in the order of trust, `document_title` its <title>. A heading
    that agrees with any of them is what a reader sees as the title; without one, the most trusted is freed of the
    site's name. `lower_headings` are its <h2> and <h3>, looked at only where the <h1> is a part of the title.
    """
    headings = [text for heading in headings if (text := _line(heading))]
    told = [text for title in told if (text := _line(title))]
    document_title = _line(document_title)
    others = [*told, document_title] if document_title else told
    names = {folded for name in site_names if (folded := _folded_name(name))}
    for heading in headings:
        folded = _folded(heading)
        if len(heading) < _FEW_CHARS or _is_folded_site(folded, names):
            continue
        # Mostly they are the same to the letter.
        if (folded and heading in told) or any(_agree(folded, other) for other in told):
            return heading
        if document_title and _agree(folded, document_title):
            return _below(heading, told, document_title, lower_headings) or heading
    for other in others:
        if (bare := without_site(other, names)) and not _is_site(bare, names):
            return bare
    return next(iter((*headings, *others)), "")


def _below(heading: str, told: Sequence[str], document_title: str, lower_headings: Iterable[str]) -> str:
    """What the rest of the document's title is called elsewhere, when the heading is only a part of that title."""
    whole, part = _folded(document_title), _folded(heading)
    if len(part) * 2 > len(whole):
        return ""
    for text in chain(told, map(_line, lower_headings)):
        folded = _folded(text)
        if len(folded) >= _LONG_CHARS and part not in folded and folded in whole:
            return text
    return ""


def without_site(title: str, names: set[str]) -> str:
    """The title without the parts at its ends that name the site; `names` are folded."""
    pieces = _PARTS.split(title)
    kept = title
    for piece in (pieces[-1], pieces[0]) if len(pieces) > 1 else ():
        if len(kept) > len(piece) and (_is_site(piece, names) or _is_suffix(piece, kept)):
            kept = kept.removesuffix(piece) if kept.endswith(piece) else kept.removeprefix(piece)
            kept = _trimmed(kept)
    return kept


def _is_suffix(piece: str, title: str) -> bool:
    """Whether the last part is short beside a whole headline: the name of a site or of a section, most often."""
    rest = title.removesuffix(piece)
    return rest != title and len(rest.split()) >= _HEADLINE_WORDS and len(piece) * 2 < len(rest)


def _is_site(text: str, names: set[str]) -> bool:
    """Whether a text is a name of the site, or written together is its host."""
    return _is_folded_site(_folded(text), names)


def _is_folded_site(folded: str, names: set[str]) -> bool:
    return folded in names or (len(folded) > _FEW_CHARS and folded.replace(" ", "") in names)


def _trimmed(text: str) -> str:
    return text.strip(" |-–—·•»«:/~>‹›")


def _agree(one: str, other: str) -> bool:
    """Whether a heading, which is folded, and another title are the same."""
    two = _folded(other)
    if not one or not two:
        return False
    if one == two:
        return True
    pieces = [_folded(piece) for piece in _PARTS.split(other)]
    # A short heading at the end of a title is the name of the site more often than that of the page.
    if one == pieces[0] or (len(one) > _SHORT_CHARS and one in pieces):
        return True
    short, long = sorted((one, two), key=len)
    return (len(short) >= _LONG_CHARS and short in long) or _overlap(one, two) >= _MUCH


def _overlap(one: str, two: str) -> float:
    """The share of words in common."""
    first, second = set(one.split()), set(two.split())
    return len(first & second) / max(1, min(len(first), len(second))) if min(len(first), len(second)) > 2 else 0.0


def _folded(text: str) -> str:
    text = text[:MAX_CHARS]
    if text.isascii():
        return " ".join(text.encode().translate(_FOLDED).decode().split())  # the same, in a third of the time
    return " ".join(_WORDS.findall(text.casefold()))


_folded_name = lru_cache(maxsize=256)(_folded)
"""Remembered, for all pages of a site say the same; names are short."""


def _line(text: str) -> str:
    return one_line(text[: 4 * MAX_CHARS])
