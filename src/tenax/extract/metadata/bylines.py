"""Author and date marked in the body of a page: microdata, `rel=author`, `<time>` and class names."""

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
"""Elements examined per selector: in a thread of a thousand posts only the first byline counts."""
_MAX_CHARS: Final = 300
_MAX_DESCENDANTS: Final = 300
"""An element with more descendants is a section of the page that only has such a name."""

AUTHOR_SELECTORS: Final = (
    *("[itemprop~=author]", "[rel~=author]", "[class*=byline i]", "[class*=author i]", "[class*=username i]"),
    "a[href*='/author']",
)
DATE_SELECTORS: Final = (
    *("time", "[itemprop~=datePublished]", "[itemprop~=dateCreated]", "[class*=date i]", "[class*=publi i]"),
    "[class*=posted i]",
)
# Matched against lower-case text. Each alternative begins with a plain letter, so the search skips ahead.
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
"""Lines after the title that may contain a date."""
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
    """Candidate author texts, most certain first."""
    known_asides: dict[int, bool | None] = {}
    for node, attributes in _sort_by_rank(_select_clauses(dom, AUTHOR_SELECTORS), _author_rank):
        if (
            _BIOGRAPHY_NAMES.search(_class_and_id(attributes))
            or _is_in_aside(node, known_asides)
            or _is_too_large(node)
        ):
            continue
        if text := _author_name(node, attributes):
            yield text


def find_date_texts(dom: Dom) -> Iterator[str]:
    """Candidate date texts, most certain first."""
    known_asides: dict[int, bool | None] = {}
    for node, attributes in _sort_by_rank(_select_clauses(dom, DATE_SELECTORS, len(AUTHOR_SELECTORS)), _date_rank):
        if (
            _OTHER_DATE_NAMES.search(_class_and_id(attributes))
            or _is_in_aside(node, known_asides)
            or _is_too_large(node)
        ):
            continue
        text = attributes.get("datetime") or attributes.get("content") or visible_text(node, _MAX_CHARS)
        if text and len(text) < _MAX_CHARS and any(map(str.isdecimal, text)):
            yield text


def _select_clauses(dom: Dom, clauses: Sequence[str], first_bit: int = 0) -> Sequence[Node]:
    """The first elements that match any of the clauses.

    Uses one search, because a search costs more than a clause. Each clause is tried at every element, so clauses known
    not to match are left out.
    """
    if dom.scan is not None:
        bits = dom.scan.byline_clauses >> first_bit
        if not bits:
            return ()
        clauses = [clause for bit, clause in enumerate(clauses) if bits >> bit & 1]
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
    names = _class_and_id(attributes)
    return 4 if "username" in names else 2 if "byline" in names else 3


def _date_rank(tag: int, attributes: Attributes) -> int:
    if attributes.get("itemprop") or "pubdate" in attributes:
        return 0
    names = _class_and_id(attributes)
    if tag == _TIME:
        return 1 if "publi" in names or "entry-date" in names else 2
    return 3 if "publi" in names or "posted" in names else 4


def find_lines_near_title(title: str, text: str) -> Iterator[str]:
    """The beginnings of the lines near the title, those after it first: where readers see the date and the byline."""
    text = text[:_MAX_TEXT_CHARS]
    for position in _find_title_positions(title_prefix(title), text):
        after = text[position : position + _NEARBY_CHARS].split("\n")[1 : 1 + _LINES_AFTER_TITLE]
        before = text[max(0, position - _NEARBY_CHARS) : position].split("\n")[-1 - _LINES_BEFORE_TITLE : -1]
        for line in (*after, *reversed(before)):
            yield line if len(line) <= _MAX_LINE_CHARS else line[:_CUT_LINE_CHARS]


def title_prefix(title: str) -> str:
    """The part of a title to search for, in lower case: the rest may be on another line, or cut off."""
    return title.lower()[:_TITLE_PREFIX_CHARS]


def _find_title_positions(start: str, text: str) -> Iterator[int]:
    """The first few positions of a lower-case text, ignoring case."""
    if text.isascii() or not start.isascii() or any(character in text for character in ASCII_WHEN_LOWER):
        lowered, position = text.lower(), -1
        for _ in range(_MAX_TITLE_MATCHES if start else 0):
            if (position := lowered.find(start, position + 1)) < 0:
                return
            yield position
        return
    # On bytes, which are much faster to lower; the result is the same for ASCII.
    encoded, at = text.encode("utf-8", "replace").lower(), -1
    for _ in range(_MAX_TITLE_MATCHES if start else 0):
        if (at := encoded.find(start.encode(), at + 1)) < 0:
            return
        yield len(encoded[:at].decode())


def find_lines_with_years(text: str) -> list[str]:
    """The short lines that may contain a year."""
    lines = text[:_MAX_TEXT_CHARS].split("\n")
    return [line for line in lines if len(line) <= _MAX_DATE_LINE_CHARS and ("20" in line or "19" in line)]


def filter_lone_dates(lines: Iterable[str]) -> list[str]:
    """The lines that contain a year; none if there are many, because they date other pages."""
    found: list[str] = []
    for line in lines:
        found += [line] * len(_YEAR.findall(line))
        if len(found) > _MAX_LONE_DATES:
            return []
    return found


def _is_in_aside(node: Node, known: dict[int, bool | None]) -> bool:
    """Whether an element is in a part of the page about other things: comments, teasers, the footer.

    `known` caches the answers for ancestors: many bylines share them.
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
    """Whether an element is such a part; None when its ancestors decide."""
    # Names on these elements describe the layout of the whole page, not one part.
    if node.tag_id in _PAGE_TAGS:
        return False
    return True if node.tag_id in _ASIDE_TAGS or _ASIDE_NAMES.search(_class_and_id(node.attributes)) else None


def _is_too_large(node: Node) -> bool:
    """Whether an element is too large for a name: such elements can be nested, and each would be read again."""
    return next(islice(node.traverse(), _MAX_DESCENDANTS, None), None) is not None


def _author_name(node: Node, attributes: Attributes) -> str:
    if content := attributes.get("content"):
        return content
    # The name itself, where it is marked or linked; the element around it may also hold a portrait and a job title.
    for selector in ("[itemprop~=name], .fn, .name", "a"):
        inner = node.css(selector)
        if inner and inner[0] is not node and (text := _lines_of_element(inner[0])):
            return text
    return _lines_of_element(node)


def _lines_of_element(node: Node) -> str:
    """The text of an element, one line per part: adjacent parts are not words of one name."""
    if content := node.attributes.get("content"):
        return content
    text = "\n".join(filter(None, map(str.strip, "".join(Walk(node).fragments).split(BREAK))))
    return text if len(text) < _MAX_CHARS else ""


def _class_and_id(attributes: Attributes) -> str:
    """Class and id of an element, in lower case."""
    return f"{attributes.get('class') or ''} {attributes.get('id') or ''}"[:200].lower()
