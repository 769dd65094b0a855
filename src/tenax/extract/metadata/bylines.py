"""What the body of a page marks as its author and its date: microdata, `rel=author`, `<time>`, and names of classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from tenax.extract.html.dom import Dom
from tenax.extract.html.node import Node, tag_number
from tenax.extract.html.walk import BREAK, Walk
from tenax.extract.text.visible import ASCII_WHEN_LOWER, visible_text

MOST_LOOKED_AT: Final = 40
"""Elements looked at of each sort: a thread of a thousand posts has one byline that counts, the first."""
_MAX_CHARS: Final = 300
_MOST_ELEMENTS: Final = 300
"""With more elements than this in it, one is a part of the page that is only called so."""

AUTHORS: Final = (
    *("[itemprop~=author]", "[rel~=author]", "[class*=byline i]", "[class*=author i]", "[class*=username i]"),
    "a[href*='/author']",
)
DATES: Final = (
    *("time", "[itemprop~=datePublished]", "[itemprop~=dateCreated]", "[class*=date i]", "[class*=publi i]"),
    "[class*=posted i]",
)
# Searched for in lower case, and each alternative begins with a plain letter: so the search leaps to where one may be.
_BESIDES = re.compile(
    r"comment|related|sidebar|footer(?<!post-footer)(?<!entry-footer)|nav\b(?<!\wnav)|menu\b(?<!\wmenu)"
    r"|repl(?<!\wrepl)(?:y|ies)|popular|recent|trending"
)
_BIOGRAPHY = re.compile(r"bio\b|box|avatar|image|img|photo|pic|desc|title|role|job|social|link-icon|count")
_LATER = re.compile(r"modif|updat|upcoming|event")
_ANCESTORS: Final = 8
_WHOLE: Final = frozenset(map(tag_number, ("html", "body", "main", "article")))
_APART: Final = frozenset(map(tag_number, ("footer", "nav")))
_AFTER: Final = 15
"""Lines after the title in which a date may stand."""
_BEFORE: Final = 4
_LINE_CHARS: Final = 120
_BEGINNING_CHARS: Final = 30
_SHORT_CHARS: Final = 50
_FEW_DATES: Final = 3
_NEAR_CHARS: Final = 2_000
_TITLE_CHARS: Final = 25
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_TEXT_CHARS: Final = 100_000
_MOST_TITLES: Final = 3
_TIME: Final = tag_number("time")

Attributes = Mapping[str, str | None]


def author_texts(dom: Dom) -> Iterator[str]:
    """What may name the author, the surest first."""
    beside: dict[int, bool | None] = {}
    for node, attributes in _ranked(_marked(dom, AUTHORS), _author_rank):
        if _BIOGRAPHY.search(_marks(attributes)) or _is_beside(node, beside) or _is_large(node):
            continue
        if text := _name_of(node, attributes):
            yield text


def date_texts(dom: Dom) -> Iterator[str]:
    """What may tell the date, the surest first."""
    beside: dict[int, bool | None] = {}
    for node, attributes in _ranked(_marked(dom, DATES, len(AUTHORS)), _date_rank):
        if _LATER.search(_marks(attributes)) or _is_beside(node, beside) or _is_large(node):
            continue
        text = attributes.get("datetime") or attributes.get("content") or visible_text(node, _MAX_CHARS)
        if text and len(text) < _MAX_CHARS and any(map(str.isdecimal, text)):
            yield text


def _marked(dom: Dom, clauses: Sequence[str], first_bit: int = 0) -> Sequence[Node]:
    """The first elements that match any of the clauses.

    In one search, for that costs more than a clause. Each clause is tried at every element, though: where it is known
    which of them can match, the others are left out.
    """
    if dom.seen is not None:
        marks = dom.seen.byline_marks >> first_bit
        if not marks:
            return ()
        clauses = [clause for bit, clause in enumerate(clauses) if marks >> bit & 1]
    return dom.select(", ".join(clauses))[:MOST_LOOKED_AT] if clauses else ()


def _ranked(nodes: Iterable[Node], rank: Callable[[int, Attributes], int]) -> list[tuple[Node, Attributes]]:
    found = [(node, node.attributes) for node in nodes]
    found.sort(key=lambda one: rank(one[0].tag_id, one[1]))
    return found


def _author_rank(_: int, attributes: Attributes) -> int:
    if "author" in (attributes.get("itemprop") or ""):
        return 0
    if "author" in (attributes.get("rel") or "").lower():
        return 1
    marks = _marks(attributes)
    return 4 if "username" in marks else 2 if "byline" in marks else 3


def _date_rank(tag: int, attributes: Attributes) -> int:
    if attributes.get("itemprop") or "pubdate" in attributes:
        return 0
    marks = _marks(attributes)
    if tag == _TIME:
        return 1 if "publi" in marks or "entry-date" in marks else 2
    return 3 if "publi" in marks or "posted" in marks else 4


def lines_around(title: str, text: str) -> Iterator[str]:
    """The beginnings of the lines near the title, first those after it: where a reader sees the date and the byline."""
    text = text[:_TEXT_CHARS]
    for place in _places_of(beginning_of(title), text):
        after = text[place : place + _NEAR_CHARS].split("\n")[1 : 1 + _AFTER]
        before = text[max(0, place - _NEAR_CHARS) : place].split("\n")[-1 - _BEFORE : -1]
        for line in (*after, *reversed(before)):
            yield line if len(line) <= _LINE_CHARS else line[:_BEGINNING_CHARS]


def beginning_of(title: str) -> str:
    """What of a title is looked for, in lower case: the rest of it may be on another line, or cut off."""
    return title.lower()[:_TITLE_CHARS]


def _places_of(start: str, text: str) -> Iterator[int]:
    """Where a text says what is given in lower case: the first few places."""
    if text.isascii() or not start.isascii() or any(character in text for character in ASCII_WHEN_LOWER):
        lowered, place = text.lower(), -1
        for _ in range(_MOST_TITLES if start else 0):
            if (place := lowered.find(start, place + 1)) < 0:
                return
            yield place
        return
    # By bytes, which are lowered in a fraction of the time; for ASCII, that is the same.
    encoded, at = text.encode("utf-8", "replace").lower(), -1
    for _ in range(_MOST_TITLES if start else 0):
        if (at := encoded.find(start.encode(), at + 1)) < 0:
            return
        yield len(encoded[:at].decode())


def lines_with_years(text: str) -> list[str]:
    """The short lines that may hold a year."""
    lines = text[:_TEXT_CHARS].split("\n")
    return [line for line in lines if len(line) <= _SHORT_CHARS and ("20" in line or "19" in line)]


def lone_dates(lines: Iterable[str]) -> list[str]:
    """Those that do hold one, of a text with few of them: with many, they date other pages."""
    found: list[str] = []
    for line in lines:
        found += [line] * len(_YEAR.findall(line))
        if len(found) > _FEW_DATES:
            return []
    return found


def _is_beside(node: Node, known: dict[int, bool | None]) -> bool:
    """Whether an element stands in a part of the page that is about other things: comments, teasers, the footer.

    `known` remembers what was said of the elements around it: many bylines stand in the same ones.
    """
    above: Node | None = node
    for _ in range(_ANCESTORS):
        if above is None:
            return False
        number = above.mem_id
        if number not in known:
            known[number] = _is_part_beside(above)
        answer = known[number]
        if answer is not None:
            return answer
        above = above.parent
    return False


def _is_part_beside(node: Node) -> bool | None:
    """Whether an element is such a part; None when it does not say, and those around it may."""
    # The marks of the whole page say how it is laid out, not what a part of it is.
    if node.tag_id in _WHOLE:
        return False
    return True if node.tag_id in _APART or _BESIDES.search(_marks(node.attributes)) else None


def _is_large(node: Node) -> bool:
    """Whether an element holds too much to be read for a name: such can be nested, and each would be read again."""
    return next(islice(node.traverse(), _MOST_ELEMENTS, None), None) is not None


def _name_of(node: Node, attributes: Attributes) -> str:
    if said := attributes.get("content"):
        return said
    # The name itself, where it is marked or linked; the element around it may hold a portrait and a job.
    for selector in ("[itemprop~=name], .fn, .name", "a"):
        inner = node.css(selector)
        if inner and inner[0] is not node and (text := _spaced(inner[0])):
            return text
    return _spaced(node)


def _spaced(node: Node) -> str:
    """The text of an element, its parts a line each: next to each other they are no words of one name."""
    if said := node.attributes.get("content"):
        return said
    text = "\n".join(filter(None, map(str.strip, "".join(Walk(node).fragments).split(BREAK))))
    return text if len(text) < _MAX_CHARS else ""


def _marks(attributes: Attributes) -> str:
    """What an element is called, in lower case."""
    return f"{attributes.get('class') or ''} {attributes.get('id') or ''}"[:200].lower()
