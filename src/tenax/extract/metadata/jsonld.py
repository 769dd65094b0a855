"""What a page tells machines about itself in JSON-LD, read as it is found: broken, nested, repeated, escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import structs

from tenax.model import Value

MAX_SCRIPT_CHARS: Final = 1_000_000
"""A script longer than this is a catalogue, not a description of the page."""
MAX_SCRIPTS: Final = 30
MAX_NODES: Final = 500
"""Nodes looked at on one page."""
MAX_DEPTH: Final = 6
_MAX_REPAIRED_CHARS: Final = 300_000
_MAX_STRINGS: Final = 50

_NodeMap = Mapping[str, Any]

# Types end with these.
_ARTICLE: Final = ("Article", "Posting", "Report", "Review", "Recipe", "HowTo", "NewsItem", "CreativeWork")
_PAGE: Final = ("WebPage", "ItemPage", "AboutPage", "CollectionPage", "ProfilePage", "FAQPage")
# Types are these.
_THREAD: Final = frozenset(("QAPage", "Question", "VideoObject", "PodcastEpisode", "Book", "Course", "Event"))
_NOT_OURS: Final = frozenset(("JobPosting", "UserReview", "Review", "ClaimReview", "EmployerReview"))
_INSIDE = ("@graph", "mainEntity", "mainEntityOfPage", "itemListElement", "hasPart", "item", "about", "subjectOf")
"""Where the node of the page may be within another; lists of other pages are told apart by their address."""

_CONTROLS = re.compile(r"[\x00-\x1f]+")
_LEADING = re.compile(r"^\s*(?:<!--|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[)")
_TRAILING = re.compile(r"(?:-->|//\s*\]\]>|/\*\s*\]\]>\s*\*/|\]\]>|;)\s*$")
# Each alternative runs to the end when its own is missing, so that no text is read twice.
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|//[^\n]*|,(?=\s*[,}\]])', re.DOTALL)
_BAD_ESCAPE = re.compile(r"\\(?![\"\\/bfnrtu])|\\u(?![0-9a-fA-F]{4})")
_SCHEMA = re.compile(r"^https?://schema\.org/", re.IGNORECASE)


class Described(Value, frozen=True):
    """What the node of this page says; texts as written."""

    types: tuple[str, ...] = ()
    headline: str = ""
    description: str = ""
    authors: tuple[str, ...] = ()
    published: str = ""
    modified: str = ""
    image: str = ""
    site_name: str = ""
    section: str = ""
    keywords: tuple[str, ...] = ()
    language: str = ""


def read_jsonld(scripts: Iterable[str], url: str | None = None) -> Described:
    """What the scripts of a page say about it. `url` tells its node from those of other pages on it."""
    nodes: list[_NodeMap] = []
    for number, script in enumerate(scripts):
        if number >= MAX_SCRIPTS or len(nodes) >= MAX_NODES:
            break
        nodes.extend(nodes_of(script, MAX_NODES - len(nodes)))
    if not nodes:
        return Described()
    by_id = {node["@id"]: node for node in nodes if isinstance(node.get("@id"), str) and len(node) > 2}
    points = [_aptness(node, url) for node in nodes]
    # Of equals the first: the order of the page stays.
    apt = sorted((number for number, point in enumerate(points) if point > 0), key=lambda number: -points[number])
    return _described([nodes[number] for number in apt[:4]], nodes, by_id)


def texts_of(described: Described) -> dict[str, Sequence[str]]:
    """What a description says, by the names of its fields, without those it says nothing for."""
    values = structs.asdict(described).items()
    return {name: (value,) if isinstance(value, str) else value for name, value in values if value}


def nodes_of(script: str, limit: int = MAX_NODES) -> list[_NodeMap]:
    """The nodes in one script, outermost first; none when it is beyond repair."""
    found: list[_NodeMap] = []
    row: list[object] = [_parsed(script)]
    for _ in range(MAX_DEPTH):
        inner: list[object] = []
        for one in row:
            if len(found) >= limit:
                return found
            if isinstance(one, list):
                inner.extend(one[:limit])
            elif isinstance(one, dict):
                found.append(one)
                inner += [one[key] for key in _INSIDE if key in one and isinstance(one[key], (dict, list))]
        row = inner
    return found


def _parsed(script: str) -> object:
    if len(script) > MAX_SCRIPT_CHARS:
        return None
    for text in _repairs(script):
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            continue
    return None


def _repairs(script: str) -> Iterator[str]:
    """The script as it is, then mended further and further."""
    yield script
    text = _TRAILING.sub("", _LEADING.sub("", script[:_MAX_REPAIRED_CHARS], count=1), count=1).strip()
    yield _CONTROLS.sub(" ", text)
    # Comments end with their line, so they go before the line breaks do.
    text = _TOKENS.sub(lambda found: _BAD_ESCAPE.sub("", found[0]) if found[0][0] == '"' else "", text)
    text = _CONTROLS.sub(" ", text)
    yield text
    yield unescaped(text)
    # Several objects with nothing or a comma between them.
    yield "[" + re.sub(r"\}\s*\{", "},{", text) + "]"


def unescaped(text: str) -> str:
    """The text with its character references resolved; as it is when one of them is beyond any number."""
    try:
        return html.unescape(text) if "&" in text else text
    except ValueError:
        return text


def types_of(node: _NodeMap) -> tuple[str, ...]:
    kinds = strings(node.get("@type"))
    return tuple([(_SCHEMA.sub("", text) if ":" in text else text).strip() for text in kinds])


def strings(value: object) -> list[str]:
    """The texts of a value that may be one, several or a node with a name or a value."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    if value is None:
        return []
    found: list[str] = []
    row: list[object] = [value]
    for _ in range(4):
        inner: list[object] = []
        for one in row[:_MAX_STRINGS]:
            if isinstance(one, str):
                found.append(one)
            elif isinstance(one, bool):
                continue
            elif isinstance(one, (int, float)):
                found.append(str(one))
            elif isinstance(one, list):
                inner.extend(one[:_MAX_STRINGS])
            elif isinstance(one, dict):
                inner.append(one.get("name") or one.get("@value") or one.get("title"))
        row = inner
    return [text for text in found[:_MAX_STRINGS] if text.strip()]


def _aptness(node: _NodeMap, url: str | None) -> int:
    """How well a node may be the one of this page; 0 when it is not."""
    kinds = types_of(node)
    kind_points = max(map(_kind_points, kinds), default=0)
    # Crumbs, logos and lists are most of them.
    if not kind_points:
        return 0
    if not _NOT_OURS.isdisjoint(kinds) and not any(kind.endswith("Article") for kind in kinds):
        return 0
    return kind_points + _closeness(node, url)


def _kind_points(kind: str) -> int:
    return 30 if kind.endswith(_ARTICLE) else 20 if kind in _THREAD else 10 if kind.endswith(_PAGE) else 0


def _closeness(node: _NodeMap, url: str | None) -> int:
    if not url:
        return 0
    addresses = [text for key in ("url", "@id", "mainEntityOfPage") for text in _addresses(node.get(key))]
    if not addresses:
        return 0
    ours = _path(url)
    return 8 if any(_path(one) == ours for one in addresses) else -5


def _addresses(value: object) -> list[str]:
    if isinstance(value, dict):
        value = value.get("@id") or value.get("url")
    return [value] if isinstance(value, str) and value.startswith(("http", "/")) else []


def _path(url: str) -> str:
    """What tells one page of a site from another: no scheme, host, query, fragment or closing slash."""
    rest = url.partition("://")[2] or url
    return rest.partition("/")[2].partition("#")[0].partition("?")[0].rstrip("/").casefold()


def _described(apt: list[_NodeMap], nodes: list[_NodeMap], by_id: Mapping[str, _NodeMap]) -> Described:
    def first(*keys: str) -> str:
        for key in keys:
            for node in apt:
                if texts := strings(node.get(key)):
                    return unescaped(texts[0])
        return ""

    return Described(
        types=types_of(apt[0]) if apt else (),
        headline=first("headline") or (first("name") if apt else ""),
        description=first("description"),
        authors=next((names for node in apt if (names := _people(node, by_id))), ()),
        published=first("datePublished", "dateCreated", "uploadDate"),
        modified=first("dateModified"),
        image=next((image for node in apt for key in _IMAGES if (image := _image(node.get(key), by_id))), ""),
        site_name=_site_name(apt, nodes, by_id),
        section=first("articleSection"),
        keywords=tuple(text for node in apt[:1] for text in strings(node.get("keywords"))),
        language=first("inLanguage"),
    )


_IMAGES = ("image", "primaryImageOfPage", "thumbnailUrl", "thumbnail")


def _people(node: _NodeMap, by_id: Mapping[str, _NodeMap]) -> tuple[str, ...]:
    for key in ("author", "creator"):
        value = node.get(key)
        listed = value if isinstance(value, list) else [value]
        names = [unescaped(name) for one in listed[:_MAX_STRINGS] for name in strings(_resolved(one, by_id))]
        if names:
            return tuple(dict.fromkeys(names))
    return ()


def _resolved(value: object, by_id: Mapping[str, _NodeMap]) -> object:
    """The node that a reference stands for."""
    if isinstance(value, dict) and "name" not in value and isinstance(reference := value.get("@id"), str):
        return by_id.get(reference)
    return value


def _image(value: object, by_id: Mapping[str, _NodeMap]) -> str:
    for _ in range(3):
        value = _resolved(value[0] if isinstance(value, list) and value else value, by_id)
        if isinstance(value, dict):
            value = value.get("url") or value.get("contentUrl") or value.get("@id")
    return value if isinstance(value, str) else ""


def _site_name(apt: list[_NodeMap], nodes: list[_NodeMap], by_id: Mapping[str, _NodeMap]) -> str:
    for node in nodes:
        if "WebSite" in types_of(node) and (names := strings(node.get("name"))):
            return unescaped(names[0])
    for node in apt:
        if names := strings(_resolved(node.get("publisher"), by_id)):
            return unescaped(names[0])
    return ""
