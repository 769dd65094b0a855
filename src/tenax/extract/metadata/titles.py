"""Chooses the title of a page: the headline without the site name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

from tenax.extract.html.dom import collapse_spaces

_WORDS = re.compile(r"\w+")
_FOLD_TABLE: Final = bytes(ord(chr(byte).lower()) if _WORDS.match(chr(byte)) else ord(" ") for byte in range(128)) * 2
_TITLE_SEPARATOR = re.compile(r"(?<!\s)\s++(?:[|\-–—·•»«:/~>‹›]++\s++|[|·•»«]\s*+)|[|·•»«]\s*+|(?<=\S):\s++$")
MAX_CHARS: Final = 1_000
_MIN_HEADING_CHARS: Final = 3
_SHORT_TITLE_CHARS: Final = 8
_LONG_TITLE_CHARS: Final = 15
_MIN_HEADLINE_WORDS: Final = 5
_MIN_WORD_OVERLAP: Final = 0.6
"""Titles that have at least this ratio of words in common are the same."""


def choose_title(
    headings: Sequence[str],
    metadata_titles: Sequence[str],
    document_title: str,
    site_names: Sequence[str],
    lower_headings: Iterable[str] = (),
) -> str:
    """The title of the page.

    `headings` are its <h1>, `metadata_titles` those of the metadata with the most trusted first, and `document_title`
    its <title>. A heading that agrees with any of these is the title that a reader sees. If there is none, the most
    trusted title is used, without the site name. `lower_headings` are the <h2> and <h3>. They are used only if the <h1>
    is a part of the title.
    """
    headings = [text for heading in headings if (text := _one_line_title(heading))]
    metadata_titles = [text for title in metadata_titles if (text := _one_line_title(title))]
    document_title = _one_line_title(document_title)
    others = [*metadata_titles, document_title] if document_title else metadata_titles
    names = {folded for name in site_names if (folded := _fold_name(name))}
    for heading in headings:
        folded = _fold_text(heading)
        if len(heading) < _MIN_HEADING_CHARS or _is_folded_site_name(folded, names):
            continue
        # Usually they are identical.
        if (folded and heading in metadata_titles) or any(_are_same_title(folded, other) for other in metadata_titles):
            return heading
        if document_title and _are_same_title(folded, document_title):
            return _find_subheading(heading, metadata_titles, document_title, lower_headings) or heading
    for other in others:
        if (bare := strip_site_name(other, names)) and not _is_site_name(bare, names):
            return bare
    return next(iter((*headings, *others)), "")


def _find_subheading(
    heading: str, metadata_titles: Sequence[str], document_title: str, lower_headings: Iterable[str]
) -> str:
    """The heading that equals the rest of the document title, if the first heading is only a part of that title."""
    whole, part = _fold_text(document_title), _fold_text(heading)
    if len(part) * 2 > len(whole):
        return ""
    for text in chain(metadata_titles, map(_one_line_title, lower_headings)):
        folded = _fold_text(text)
        if len(folded) >= _LONG_TITLE_CHARS and part not in folded and folded in whole:
            return text
    return ""


def strip_site_name(title: str, names: set[str]) -> str:
    """The title without parts at its beginning and end that name the site. `names` are folded."""
    pieces = _TITLE_SEPARATOR.split(title)
    kept = title
    for piece in (pieces[-1], pieces[0]) if len(pieces) > 1 else ():
        if len(kept) > len(piece) and (_is_site_name(piece, names) or _is_site_suffix(piece, kept)):
            kept = kept.removesuffix(piece) if kept.endswith(piece) else kept.removeprefix(piece)
            kept = _strip_separators(kept)
    return kept


def _is_site_suffix(piece: str, title: str) -> bool:
    """Whether the last part is short compared with the rest, which is a whole headline. Such a part is usually the name
    of a site or section."""
    rest = title.removesuffix(piece)
    return rest != title and len(rest.split()) >= _MIN_HEADLINE_WORDS and len(piece) * 2 < len(rest)


def _is_site_name(text: str, names: set[str]) -> bool:
    """Whether a text is a name of the site, or equals the host of the site when written without spaces."""
    return _is_folded_site_name(_fold_text(text), names)


def _is_folded_site_name(folded: str, names: set[str]) -> bool:
    return folded in names or (len(folded) > _MIN_HEADING_CHARS and folded.replace(" ", "") in names)


def _strip_separators(text: str) -> str:
    return text.strip(" |-–—·•»«:/~>‹›")


def _are_same_title(one: str, other: str) -> bool:
    """Whether a folded heading and another title are the same."""
    two = _fold_text(other)
    if not one or not two:
        return False
    if one == two:
        return True
    pieces = [_fold_text(piece) for piece in _TITLE_SEPARATOR.split(other)]
    # A short heading at the end of a title is more often the name of the site than the title of the page.
    if one == pieces[0] or (len(one) > _SHORT_TITLE_CHARS and one in pieces):
        return True
    short, long = sorted((one, two), key=len)
    return (len(short) >= _LONG_TITLE_CHARS and short in long) or _word_overlap(one, two) >= _MIN_WORD_OVERLAP


def _word_overlap(one: str, two: str) -> float:
    """The ratio of common words."""
    first, second = set(one.split()), set(two.split())
    return len(first & second) / max(1, min(len(first), len(second))) if min(len(first), len(second)) > 2 else 0.0


def _fold_text(text: str) -> str:
    text = text[:MAX_CHARS]
    if text.isascii():
        return " ".join(text.encode().translate(_FOLD_TABLE).decode().split())  # the same result in a third of the time
    return " ".join(_WORDS.findall(text.casefold()))


_fold_name = lru_cache(maxsize=256)(_fold_text)
"""Cached, because all pages of a site use the same names, which are short."""


def _one_line_title(text: str) -> str:
    return collapse_spaces(text[: 4 * MAX_CHARS])
