"""Author names and dates marked in the body of a page, and names cleaned of the text around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from tenax.extract.html.dom import Dom, visible_text
from tenax.extract.html.tree import BREAK, Node, Walk, tag_number
from tenax.text.fingerprint import ASCII_WHEN_LOWER

NAME_PREFIXES: Final = tuple("""
by|written by|posted by|published by|author|authors|authored by|words by|story by|text by|text|texte|reviewed by
contributed by|submitted by|article by|report by|from|gespeichert von|eingestellt von|contributors|post by|von
verfasst von|geschrieben von|autor|autorin|autoren|ein artikel von|artikel von|par|publié par|écrit par|auteur
propos recueillis par|por|publicado por|escrito por|autores|di|a cura di|scritto da|autore|door|geschreven door
av|af|skrevet af|skriven av|przez|autorka|od|napsal|napsala|szerző|yazan|yazar|автор|автори|авторы|текст
συντάκτης|από|kirjoittaja|tekst|skribent|penulis|oleh|tác giả
作者|文|記者|记者|執筆者|著者|기자|글|بقلم|كتب|الكاتب|מאת
""".strip().replace("\n", "|").split("|"))  # fmt: skip
"""Words that may precede a name."""

NAME_PARTICLES: Final = frozenset(("von", "di", "par", "por", "av", "af", "od", "door"))
"""Those of the prefixes that may also be part of a name."""

ROLES: Final = frozenset("""
author editor editors writer contributor reporter correspondent journalist columnist staff admin founder ceo cto
cofounder redakteur redakteurin redaktion journalistin korrespondent korrespondentin volontär volontärin
chefredakteur autor autorin journaliste rédacteur rédactrice correspondant redactor redactora periodista
corresponsal redattore redazione giornalista redacteur dziennikarz redaktor редактор корреспондент журналист
senior chief managing associate manager director director specialist strategist marketing president professor
phd md dr rd ms analyst consultant photographer
""".strip().replace("\n", " ").split(" "))  # fmt: skip
"""A part between commas, or a line, that begins or ends with one of these words is a role."""

NON_NAMES: Final = frozenset("""
share|admin|administrator|author|authors|by|guest|guest author|user|unknown|anonymous|none|null|no author
undefined|writer
about|about the author|about author|view all posts|more posts|website|home|login|follow|subscribe|read more|contact
default|root|webmaster|wordpress|super user|superuser|posted|published|updated|comments|comment|facebook|twitter|email
print|reply|written by|all posts|see all posts|n/a|na|username|log in|sign in|register|edited|editor|contributor|other
""".strip().replace("\n", "|").split("|"))  # fmt: skip
"""Placeholders that are not names."""

EDITORIAL_NAMES: Final = frozenset("""
staff|team|editors|redaktion|die redaktion|redaction|la rédaction|rédaction|redacción|redazione|redactie|редакция
editorial staff|editorial team|staff writer|news desk|newsroom|contributors
""".strip().replace("\n", "|").split("|"))  # fmt: skip
"""Generic authors. They are used only if no person is named."""


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
"""The first characters of a byline. A look-up in a set excludes most lines quickly. Variant forms of `т` are
included."""
_NAME_SEPARATOR = re.compile(
    r"(?<!\s)\s++(?:;\s*+|(?:and|und|et|y|e|och|og|en|i|и|&)\s++)|;\s*+|,\s++(?:and|und|et|y)\s++", re.I
)
_URL_OR_EMAIL = re.compile(r"https?:|www\.|\S@\S|\.(?:com|org|net|de|html)\b", re.I)
_DATE_START = re.compile(r"\s\d{1,4}(?:[.\s/,:-]|$)|\s(?:published|updated|posted|last|shares)\b", re.I)
_NON_NAME_WORDS = re.compile(
    r"^\d|\b(?:updated|published|posted|veröffentlicht|read|about|says|views?|minutes?)\b", re.I
)


def parse_authors(raw: Iterable[str]) -> tuple[str, ...]:
    """The names in the author values of one source, each once, in order."""
    found: dict[str, str] = {}
    for text in raw:
        for name in parse_names(text):
            found.setdefault(name.casefold(), name)
        if len(found) >= MAX_AUTHORS:
            break
    return tuple(found.values())[:MAX_AUTHORS]


def choose_authors(sources: Iterable[Iterable[str]], site_names: Iterable[str]) -> tuple[str, ...]:
    """All names of the first source that names a person; otherwise the first name given, such as the site or its
    desk."""
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
    """The first line that names somebody in the way bylines do, such as "By Ann Lee"."""
    for line in [line for line in lines if line[:1] in _BYLINE_FIRST_CHARS]:
        found = _BYLINE.match(line)
        if found and not found[1][0].islower() and any(parse_names(found[1])):
            return found[1]
    return ""


def parse_names(text: str) -> Iterator[str]:
    """The names in one text. The text may contain several, with roles, dates and links around them."""
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
    """Whether a text may be the name of a person, or of a desk."""
    if not 2 <= len(text) <= MAX_NAME_CHARS or len(text.split()) > _MAX_NAME_WORDS or text.casefold() in NON_NAMES:
        return False
    return any(map(str.isalpha, text)) and not _URL_OR_EMAIL.search(text) and not _NON_NAME_WORDS.search(text)


def _strip_name_prefix(text: str) -> str:
    """The text without the words that precede a name, such as "By"."""
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
    """The names in a text with commas: several names, one name with a role, or one name with the family name first."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) == 2 and len(parts[0].split()) == 1 and not _is_role(parts[1]) and parts[1][:1].isupper():
        return [f"{parts[1]} {parts[0]}"]
    return parts[:1] + [part for part in parts[1:] if len(part.split()) > 1 and not _is_role(part)]


def _is_role(text: str) -> bool:
    words = text.casefold().replace(".", "").split()
    return bool(words) and (words[0] in ROLES or words[-1] in ROLES)


MAX_CANDIDATES: Final = 40
"""Maximum elements examined per selector: in a thread of a thousand posts only the first byline counts."""
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
# Matched against lower-case text. Each alternative begins with a plain letter, so that the search can skip ahead.
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
"""How many lines after the title may contain a date."""
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
    """Texts that may name authors, the most certain first."""
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
    """Texts that may contain the date, the most certain first."""
    known_asides: dict[int, bool | None] = {}
    for node, attributes in _sort_by_rank(_select_clauses(dom, DATE_SELECTORS, len(AUTHOR_SELECTORS)), _date_rank):
        if (
            _OTHER_DATE_NAMES.search(_class_and_id(attributes))
            or _is_in_aside(node, known_asides)
            or _is_too_large(node)
        ):
            continue
        text = attributes.get("datetime") or attributes.get("content") or visible_text(Walk(node), _MAX_CHARS)
        if text and len(text) < _MAX_CHARS and any(map(str.isdecimal, text)):
            yield text


def _select_clauses(dom: Dom, clauses: Sequence[str], first_bit: int = 0) -> Sequence[Node]:
    """The first elements that match any of the clauses.

    There is one search for all clauses, because a search costs more than a clause. Each clause is tried at every
    element, so clauses that cannot match are left out.
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
    """The beginnings of the lines near the title, where readers see the date and the byline. The lines after the title
    come first."""
    text = text[:_MAX_TEXT_CHARS]
    for position in _find_title_positions(title_prefix(title), text):
        after = text[position : position + _NEARBY_CHARS].split("\n")[1 : 1 + _LINES_AFTER_TITLE]
        before = text[max(0, position - _NEARBY_CHARS) : position].split("\n")[-1 - _LINES_BEFORE_TITLE : -1]
        for line in (*after, *reversed(before)):
            yield line if len(line) <= _MAX_LINE_CHARS else line[:_CUT_LINE_CHARS]


def title_prefix(title: str) -> str:
    """The part of a title to search for, in lower case. The rest may be on another line, or cut off."""
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
    # On bytes, because converting them to lower case is much faster. The result is the same for ASCII.
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
    """The lines that contain a year; none if there are many, because these are dates of other pages."""
    found: list[str] = []
    for line in lines:
        found += [line] * len(_YEAR.findall(line))
        if len(found) > _MAX_LONE_DATES:
            return []
    return found


def _is_in_aside(node: Node, known: dict[int, bool | None]) -> bool:
    """Whether an element is in a part of the page that is not about its topic: comments, teasers, the footer.

    `known` caches the results for ancestors, because many bylines share them.
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
    """Whether an element is such a part; None if its ancestors decide."""
    # Names on these elements describe the layout of the whole page, not one part.
    if node.tag_id in _PAGE_TAGS:
        return False
    return True if node.tag_id in _ASIDE_TAGS or _ASIDE_NAMES.search(_class_and_id(node.attributes)) else None


def _is_too_large(node: Node) -> bool:
    """Whether an element is too large for a name. Such elements can be nested, and each would be read again."""
    return next(islice(node.traverse(), _MAX_DESCENDANTS, None), None) is not None


def _author_name(node: Node, attributes: Attributes) -> str:
    if content := attributes.get("content"):
        return content
    # The name itself, if it is marked or linked. The element around it may also hold a portrait and a job title.
    for selector in ("[itemprop~=name], .fn, .name", "a"):
        inner = node.css(selector)
        if inner and inner[0] is not node and (text := _lines_of_element(inner[0])):
            return text
    return _lines_of_element(node)


def _lines_of_element(node: Node) -> str:
    """The text of an element, one line per part, because adjacent parts are not words of one name."""
    if content := node.attributes.get("content"):
        return content
    text = "\n".join(filter(None, map(str.strip, "".join(Walk(node).fragments).split(BREAK))))
    return text if len(text) < _MAX_CHARS else ""


def _class_and_id(attributes: Attributes) -> str:
    """Class and id of an element, in lower case."""
    return f"{attributes.get('class') or ''} {attributes.get('id') or ''}"[:200].lower()
