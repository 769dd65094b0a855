"""Author names: cleaned of the text around them; empty where a byline holds only a button."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from tenax.extract.metadata.author_words import EDITORIAL_NAMES, NAME_PARTICLES, NAME_PREFIXES, NON_NAMES, ROLES

MAX_AUTHORS: Final = 20
MAX_NAME_CHARS: Final = 100
_MAX_RAW_CHARS: Final = 500
_MAX_NAME_WORDS: Final = 6

_NAME_PREFIX = re.compile(
    r"(?:" + "|".join(map(re.escape, sorted(NAME_PREFIXES, key=len, reverse=True))) + r")\b\s*+[:：]?\s*+", re.I
)
_NAME_END = re.compile(
    r"(?<!\s)\s++[|•·–—-]\s|[|•·»\n\t]|\s\((?=http|\S+@|\d)|\s@|\bon\s(?=\w+ \d)|\s/\s(?=\d)|\b(?:Reviewed|Edited) by\b"
)
_INNER_BYLINE = re.compile(r"\b(?:by|von|par|por)\s+(?=[^\W\d_a-z])")
_BYLINE = re.compile(
    r"(?:(?:written|posted|text) by|text von|by|von|autor(?:in)?:|author:|par|por|di|door|av|текст:|автор:)[:\s]+"
    r"(.{2,80})",
    re.I,
)
_BYLINE_FIRST_CHARS: Final = frozenset("wWpPtTbBvVaAdDтТаА\u1c84\u1c85")
"""First characters of a byline: a set lookup rejects most lines quickly. Includes the variant forms of `т`."""
_NAME_SEPARATOR = re.compile(
    r"(?<!\s)\s++(?:;\s*+|(?:and|und|et|y|e|och|og|en|i|и|&)\s++)|;\s*+|,\s++(?:and|und|et|y)\s++", re.I
)
_URL_OR_EMAIL = re.compile(r"https?:|www\.|\S@\S|\.(?:com|org|net|de|html)\b", re.I)
_DATE_START = re.compile(r"\s\d{1,4}(?:[.\s/,:-]|$)|\s(?:published|updated|posted|last|shares)\b", re.I)
_NON_NAME_WORDS = re.compile(
    r"^\d|\b(?:updated|published|posted|veröffentlicht|read|about|says|views?|minutes?)\b", re.I
)


def parse_authors(raw: Iterable[str]) -> tuple[str, ...]:
    """The names in one source's author values, each once, in order."""
    found: dict[str, str] = {}
    for text in raw:
        for name in parse_names(text):
            found.setdefault(name.casefold(), name)
        if len(found) >= MAX_AUTHORS:
            break
    return tuple(found.values())[:MAX_AUTHORS]


def choose_authors(sources: Iterable[Iterable[str]], site_names: Iterable[str]) -> tuple[str, ...]:
    """All names of the first source that names a person; else the first name given, such as the site or its desk."""
    sites = {name.casefold() for name in site_names}
    second: tuple[str, ...] = ()
    for raw in sources:
        named = parse_authors(raw)
        persons = tuple(
            name for name in named if name.casefold() not in sites and name.casefold() not in EDITORIAL_NAMES
        )
        if persons:
            return persons
        second = second or named
    return second


def is_byline_label(text: str) -> bool:
    """Whether a label such as "Written by" announces a name."""
    return _NAME_PREFIX.fullmatch(text.strip()[:40]) is not None


def find_byline(lines: Iterable[str]) -> str:
    """The first line that names someone as bylines do, such as "By Ann Lee"."""
    for line in [line for line in lines if line[:1] in _BYLINE_FIRST_CHARS]:
        found = _BYLINE.match(line)
        if found and not found[1][0].islower() and any(parse_names(found[1])):
            return found[1]
    return ""


def parse_names(text: str) -> Iterator[str]:
    """The names in one text, which may contain several, with roles, dates and links around them."""
    text = _strip_name_prefix(text[:_MAX_RAW_CHARS].strip())
    # "Posted on Monday by Ann" has the name at its end.
    if any(map(str.isdecimal, text)) and (inside := _INNER_BYLINE.search(text)):
        text = text[inside.end() :]
    text = _NAME_END.split(text, maxsplit=1)[0]
    for part in _NAME_SEPARATOR.split(text):
        for name in _split_by_commas(part):
            name = _strip_name_prefix(" ".join(name.split()))
            name = _DATE_START.split(name, maxsplit=1)[0].strip(" .,:;-–—|/\"'*")
            if is_name(name):
                yield name


def is_name(text: str) -> bool:
    """Whether a text may be the name of a person or a desk."""
    if not 2 <= len(text) <= MAX_NAME_CHARS or len(text.split()) > _MAX_NAME_WORDS or text.casefold() in NON_NAMES:
        return False
    return any(map(str.isalpha, text)) and not _URL_OR_EMAIL.search(text) and not _NON_NAME_WORDS.search(text)


def _strip_name_prefix(text: str) -> str:
    """The text without the words that announce a name, such as "By"."""
    for _ in range(3):
        found = _NAME_PREFIX.match(text)
        if found is None or found.end() >= len(text):
            return text
        rest = text[found.end() :]
        # "Von der Leyen" and "Di Maio" are complete names.
        if found[0].strip().casefold() in NAME_PARTICLES and (" " not in rest.strip() or not rest[0].isupper()):
            return text
        text = text[found.end() :]
    return text


def _split_by_commas(text: str) -> list[str]:
    """Several names separated by commas, one name with a role, or one name with the family name first."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) == 2 and len(parts[0].split()) == 1 and not _is_role(parts[1]) and parts[1][:1].isupper():
        return [f"{parts[1]} {parts[0]}"]
    return parts[:1] + [part for part in parts[1:] if len(part.split()) > 1 and not _is_role(part)]


def _is_role(text: str) -> bool:
    words = text.casefold().replace(".", "").split()
    return bool(words) and (words[0] in ROLES or words[-1] in ROLES)
