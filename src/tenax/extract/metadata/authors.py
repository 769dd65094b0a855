"""Who wrote a page: names made clean of what stands around them, and nobody where there is only a button."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from tenax.extract.metadata.author_words import DESKS, LEADING, NOBODY, PARTICLES, ROLES

MAX_PEOPLE: Final = 20
MAX_NAME_CHARS: Final = 100
_MAX_RAW_CHARS: Final = 500
_MOST_WORDS: Final = 6

_LEADING = re.compile(
    r"(?:" + "|".join(map(re.escape, sorted(LEADING, key=len, reverse=True))) + r")\b\s*+[:：]?\s*+", re.I
)
_ENDS = re.compile(
    r"(?<!\s)\s++[|•·–—-]\s|[|•·»\n\t]|\s\((?=http|\S+@|\d)|\s@|\bon\s(?=\w+ \d)|\s/\s(?=\d)|\b(?:Reviewed|Edited) by\b"
)
_INSIDE = re.compile(r"\b(?:by|von|par|por)\s+(?=[^\W\d_a-z])")
_BYLINE = re.compile(
    r"(?:(?:written|posted|text) by|text von|by|von|autor(?:in)?:|author:|par|por|di|door|av|текст:|автор:)[:\s]+"
    r"(.{2,80})",
    re.I,
)
_BYLINE_LETTERS: Final = frozenset("wWpPtTbBvVaAdDтТаА\u1c84\u1c85")
"""What one begins with: few lines do, and a set is asked in a fraction of the time. With the other shapes of `т`."""
_BETWEEN = re.compile(
    r"(?<!\s)\s++(?:;\s*+|(?:and|und|et|y|e|och|og|en|i|и|&)\s++)|;\s*+|,\s++(?:and|und|et|y)\s++", re.I
)
_ADDRESS = re.compile(r"https?:|www\.|\S@\S|\.(?:com|org|net|de|html)\b", re.I)
_DATE_BEGINS = re.compile(r"\s\d{1,4}(?:[.\s/,:-]|$)|\s(?:published|updated|posted|last|shares)\b", re.I)
_NOT_IN_NAMES = re.compile(r"^\d|\b(?:updated|published|posted|veröffentlicht|read|about|says|views?|minutes?)\b", re.I)


def people(raw: Iterable[str]) -> tuple[str, ...]:
    """The names in what one source says of the authors, each once, in order."""
    found: dict[str, str] = {}
    for text in raw:
        for name in names_in(text):
            found.setdefault(name.casefold(), name)
        if len(found) >= MAX_PEOPLE:
            break
    return tuple(found.values())[:MAX_PEOPLE]


def choose_people(told: Iterable[Iterable[str]], site_names: Iterable[str]) -> tuple[str, ...]:
    """Of the first source that names a person, all it names; else whoever was named first, the site or its desk."""
    sites = {name.casefold() for name in site_names}
    second: tuple[str, ...] = ()
    for raw in told:
        named = people(raw)
        persons = tuple(name for name in named if name.casefold() not in sites and name.casefold() not in DESKS)
        if persons:
            return persons
        second = second or named
    return second


def is_byline_label(text: str) -> bool:
    """Whether a label such as "Written by" says that a name follows."""
    return _LEADING.fullmatch(text.strip()[:40]) is not None


def byline_in(lines: Iterable[str]) -> str:
    """The first line that names someone the way bylines do, such as "By Ann Lee"."""
    for line in [line for line in lines if line[:1] in _BYLINE_LETTERS]:
        found = _BYLINE.match(line)
        if found and not found[1][0].islower() and any(names_in(found[1])):
            return found[1]
    return ""


def names_in(text: str) -> Iterator[str]:
    """The names in one text, which may hold several, and roles, dates and links around them."""
    text = _led(text[:_MAX_RAW_CHARS].strip())
    # "Posted on Monday by Ann" has the name at its end.
    if any(map(str.isdecimal, text)) and (inside := _INSIDE.search(text)):
        text = text[inside.end() :]
    text = _ENDS.split(text, maxsplit=1)[0]
    for part in _BETWEEN.split(text):
        for name in _by_commas(part):
            name = _led(" ".join(name.split()))
            name = _DATE_BEGINS.split(name, maxsplit=1)[0].strip(" .,:;-–—|/\"'*")
            if is_name(name):
                yield name


def is_name(text: str) -> bool:
    """Whether a text may be what somebody, or some desk, is called."""
    if not 2 <= len(text) <= MAX_NAME_CHARS or len(text.split()) > _MOST_WORDS or text.casefold() in NOBODY:
        return False
    return any(map(str.isalpha, text)) and not _ADDRESS.search(text) and not _NOT_IN_NAMES.search(text)


def _led(text: str) -> str:
    """Without the words that lead to a name, such as "By"."""
    for _ in range(3):
        found = _LEADING.match(text)
        if found is None or found.end() >= len(text):
            return text
        rest = text[found.end() :]
        # "Von der Leyen" and "Di Maio" are names as they are.
        if found[0].strip().casefold() in PARTICLES and (" " not in rest.strip() or not rest[0].isupper()):
            return text
        text = text[found.end() :]
    return text


def _by_commas(text: str) -> list[str]:
    """Several names divided by commas, one with what somebody is, or one with the family's name first."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) == 2 and len(parts[0].split()) == 1 and not _is_role(parts[1]) and parts[1][:1].isupper():
        return [f"{parts[1]} {parts[0]}"]
    return parts[:1] + [part for part in parts[1:] if len(part.split()) > 1 and not _is_role(part)]


def _is_role(text: str) -> bool:
    words = text.casefold().replace(".", "").split()
    return bool(words) and (words[0] in ROLES or words[-1] in ROLES)
