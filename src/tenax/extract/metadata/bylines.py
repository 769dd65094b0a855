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

MAX_CANDIDATES: Final = 40
"""Elements looked at of each sort: a thread of a thousand posts has one byline that counts, the first."""
_MAX_CHARS: Final = 300
_MAX_DESCENDANTS: Final = 300
"""With more elements than this in it, one is a part of the page that is only called so."""

AUTHOR_SELECTORS: Final = (
    *("[itemprop~=author]", "[rel~=author]", "[class*=byline i]", "[class*=author i]", "[class*=username i]"),
    "a[href*='/author']",
)
DATE_SELECTORS: Final = (
    *("time", "[itemprop~=datePublished]", "[itemprop~=dateCreated]", "[class*=date i]", "[class*=publi i]"),
    "[class*=posted i]",
)
# Searched for in lower case, and each alternative begins with a plain letter: so the search leaps to where one may be.
_ASIDE_NAMES = re.compile(
    r"comment|related|sidebar|footer(?<!post-footer)(?<!entry-footer)|nav\b(?<!\wnav)|menu\b(?<!\wmenu)"
    r"|repl(?<!\wrepl)(?:y|ies)|popular|recent|trending"
)
_BIOGRAPHY_NAMES = re.compile(r"bio\b|box|avatar|image|img|photo|pic|desc|title|role|job|social|link-icon|count")
_OTHER_DATE_NAMES = re.compile(r"modif|updat|upcoming|event")
_MAX_ANCESTORS: Final = 8
_PAGE_TAGS: Final = frozenset(map(tag_number, ("html", "body", "main", "article")))
_ASIDE_TAGS: Final = frozenset(map(tag_number, ("footer", "nav")))
_LINES_AFTER_TITLE: Final = 15
"""Lines after the title in which a date may stand."""
_LINES_BEFORE_TITLE: Final = 4
_MAX_LINE_CHARS: Final = 120
_CUT_LINE_CHARS: Final = 30
_MAX_DATE_LINE_CHARS: Final = 50
_MAX_LONE_DATES: Final = 3
_NEARBY_CHARS: Final = 2_000
_TITLE_PREFIX_CHARS: Final = 25
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_MAX_TEXT_CHARS: Final = 100_000
_MAX_TITLE_MATCHES: Final = 3
_TIME: Final = tag_number("time")

Attributes = Mapping[str, str | None]


def find_author_texts(dom: Dom) -> Iterator[str]:
    """What may name the author, the surest first."""
    beside: dict[int, bool | None] = {}
    for node, attributes in _sort_by_rank(_select_clauses(dom, AUTHOR_SELECTORS), _author_rank):
        if _BIOGRAPHY_NAMES.search(_class_and_id(attributes)) or _is_in_aside(node, beside) or _is_too_large(node):
            continue
        if text := _author_name(node, attributes):
            yield text


def find_date_texts(dom: Dom) -> Iterator[str]:
    """What may tell the date, the surest first."""
    beside: dict[int, bool | None] = {}
    for node, attributes in _sort_by_rank(_select_clauses(dom, DATE_SELECTORS, len(AUTHOR_SELECTORS)), _date_rank):
        if _OTHER_DATE_NAMES.search(_class_and_id(attributes)) or _is_in_aside(node, beside) or _is_too_large(node):
            continue
        text = attributes.get("datetime") or attributes.get("content") or visible_text(node, _MAX_CHARS)
        if text and len(text) < _MAX_CHARS and any(map(str.isdecimal, text)):
            yield text


def _select_clauses(dom: Dom, clauses: Sequence[str], first_bit: int = 0) -> Sequence[Node]:
    """The first elements that match any of the clauses.

    In one search, for that costs more than a clause. Each clause is tried at every element, though: where it is known
    which of them can match, the others are left out.
    """
    if dom.scan is not None:
        marks = dom.scan.byline_clauses >> first_bit
        if not marks:
            return ()
        clauses = [clause for bit, clause in enumerate(clauses) if marks >> bit & 1]
    return dom.select(", ".join(clauses))[:MAX_CANDIDATES] if clauses else ()


def _sort_by_rank(nodes: Iterable[Node], rank: Callable[[int, Attributes], int]) -> list[tuple[Node, Attributes]]:
    found = [(node, node.attributes) for node in nodes]
    found.sort(key=lambda one: rank(one[0].tag_id, one[1]))
    return found


def _author_rank(_: int, attributes: Attributes) -> int:
    if "author" in (attributes.get("itemprop") or ""):
        return 0
    if "author" in (attributes.get("rel") or "").lower():
        return 1
    marks = _class_and_id(attributes)
    return 4 if "username" in marks else 2 if "byline" in marks else 3


def _date_rank(tag: int, attributes: Attributes) -> int:
    if attributes.get("itemprop") or "pubdate" in attributes:
        return 0
    marks = _class_and_id(attributes)
    if tag == _TIME:
        return 1 if "publi" in marks or "entry-date" in marks else 2
    return 3 if "publi" in marks or "posted" in marks else 4


def find_lines_near_title(title: str, text: str) -> Iterator[str]:
    """The beginnings of the lines near the title, first those after it: where a reader sees the date and the byline."""
    text = text[:_MAX_TEXT_CHARS]
    for place in _find_title_positions(title_prefix(title), text):
        after = text[place : place + _NEARBY_CHARS].split("\n")[1 : 1 + _LINES_AFTER_TITLE]
        before = text[max(0, place - _NEARBY_CHARS) : place].split("\n")[-1 - _LINES_BEFORE_TITLE : -1]
        for line in (*after, *reversed(before)):
            yield line if len(line) <= _MAX_LINE_CHARS else line[:_CUT_LINE_CHARS]


def title_prefix(title: str) -> str:
    """What of a title is looked for, in lower case: the rest of it may be on another line, or cut off."""
    return title.lower()[:_TITLE_PREFIX_CHARS]


def _find_title_positions(start: str, text: str) -> Iterator[int]:
    """Where a text says what is given in lower case: the first few places."""
    if text.isascii() or not start.isascii() or any(character in text for character in ASCII_WHEN_LOWER):
        lowered, place = text.lower(), -1
        for _ in range(_MAX_TITLE_MATCHES if start else 0):
            if (place := lowered.find(start, place + 1)) < 0:
                return
            yield place
        return
    # By bytes, which are lowered in a fraction of the time; for ASCII, that is the same.
    encoded, at = text.encode("utf-8", "replace").lower(), -1
    for _ in range(_MAX_TITLE_MATCHES if start else 0):
        if (at := encoded.find(start.encode(), at + 1)) < 0:
            return
        yield len(encoded[:at].decode())


def find_lines_with_years(text: str) -> list[str]:
    """The short lines that may hold a year."""
    lines = text[:_MAX_TEXT_CHARS].split("\n")
    return [line for line in lines if len(line) <= _MAX_DATE_LINE_CHARS and ("20" in line or "19" in line)]


def filter_lone_dates(lines: Iterable[str]) -> list[str]:
    """Those that do hold one, of a text with few of them: with many, they date other pages."""
    found: list[str] = []
    for line in lines:
        found += [line] * len(_YEAR.findall(line))
        if len(found) > _MAX_LONE_DATES:
            return []
    return found


def _is_in_aside(node: Node, known: dict[int, bool | None]) -> bool:
    """Whether an element stands in a part of the page that is about other things: comments, teasers, the footer.

    `known` remembers what was said of the elements around it: many bylines stand in the same ones.
    """
    above: Node | None = node
    for _ in range(_MAX_ANCESTORS):
        if above is None:
            return False
        number = above.mem_id
        if number not in known:
            known[number] = _is_aside(above)
        answer = known[number]
        if answer is not None:
            return answer
        above = above.parent
    return False


def _is_aside(node: Node) -> bool | None:
    """Whether an element is such a part; None when it does not say, and those around it may."""
    # The marks of the whole page say how it is laid out, not what a part of it is.
    if node.tag_id in _PAGE_TAGS:
        return False
    return True if node.tag_id in _ASIDE_TAGS or _ASIDE_NAMES.search(_class_and_id(node.attributes)) else None


def _is_too_large(node: Node) -> bool:
    """Whether an element holds too much to be read for a name: such can be nested, and each would be read again."""
    return next(islice(node.traverse(), _MAX_DESCENDANTS, None), None) is not None


def _author_name(node: Node, attributes: Attributes) -> str:
    if said := attributes.get("content"):
        return said
    # The name itself, where it is marked or linked; the element around it may hold a portrait and a job.
    for selector in ("[itemprop~=name], .fn, .name", "a"):
        inner = node.css(selector)
        if inner and inner[0] is not node and (text := _lines_of_element(inner[0])):
            return text
    return _lines_of_element(node)


def _lines_of_element(node: Node) -> str:
    """The text of an element, its parts a line each: next to each other they are no words of one name."""
    if said := node.attributes.get("content"):
        return said
    text = "\n".join(filter(None, map(str.strip, "".join(Walk(node).fragments).split(BREAK))))
    return text if len(text) < _MAX_CHARS else ""


def _class_and_id(attributes: Attributes) -> str:
    """What an element is called, in lower case."""
    return f"{attributes.get('class') or ''} {attributes.get('id') or ''}"[:200].lower()
