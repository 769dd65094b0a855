"""Reads JSON-LD as found on the web: broken, nested, repeated, escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import structs

from tenax.model import Value

MAX_SCRIPT_CHARS: Final = 1_000_000
"""A longer script is a list of data, not a description of the page."""
MAX_SCRIPTS: Final = 30
MAX_NODES: Final = 500
"""Maximum nodes examined per page."""
MAX_DEPTH: Final = 6
_MAX_REPAIRED_CHARS: Final = 300_000
_MAX_STRINGS: Final = 50

_JsonNode = Mapping[str, Any]

# Suffixes of article types.
_ARTICLE_SUFFIXES: Final = ("Article", "Posting", "Report", "Review", "Recipe", "HowTo", "NewsItem", "CreativeWork")
_PAGE_SUFFIXES: Final = ("WebPage", "ItemPage", "AboutPage", "CollectionPage", "ProfilePage", "FAQPage")
# Complete type names.
_CONTENT_TYPES: Final = frozenset(("QAPage", "Question", "VideoObject", "PodcastEpisode", "Book", "Course", "Event"))
_UNRELATED_TYPES: Final = frozenset(("JobPosting", "UserReview", "Review", "ClaimReview", "EmployerReview"))
_CHILD_KEYS = ("@graph", "mainEntity", "mainEntityOfPage", "itemListElement", "hasPart", "item", "about", "subjectOf")
"""Keys under which the node of the page may be nested. Nodes of other pages are recognized by their URL."""

_CONTROLS = re.compile(r"[\x00-\x1f]+")
_SCRIPT_PREFIX = re.compile(r"^\s*(?:<!--|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[)")
_SCRIPT_SUFFIX = re.compile(r"(?:-->|//\s*\]\]>|/\*\s*\]\]>\s*\*/|\]\]>|;)\s*$")
# If the end of an alternative is missing, it matches to the end of the text, so that no text is searched twice.
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|//[^\n]*|,(?=\s*[,}\]])', re.DOTALL)
_BAD_ESCAPE = re.compile(r"\\(?![\"\\/bfnrtu])|\\u(?![0-9a-fA-F]{4})")
_SCHEMA_ORG = re.compile(r"^https?://schema\.org/", re.IGNORECASE)


class JsonLdMetadata(Value, frozen=True):
    """Values of the page's node. Texts are as written."""

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


def read_jsonld(scripts: Iterable[str], url: str | None = None) -> JsonLdMetadata:
    """What the scripts say about the page. `url` distinguishes the node of the page from those of other pages."""
    nodes: list[_JsonNode] = []
    for number, script in enumerate(scripts):
        if number >= MAX_SCRIPTS or len(nodes) >= MAX_NODES:
            break
        nodes.extend(parse_nodes(script, MAX_NODES - len(nodes)))
    if not nodes:
        return JsonLdMetadata()
    by_id = {node["@id"]: node for node in nodes if isinstance(node.get("@id"), str) and len(node) > 2}
    points = [_node_score(node, url) for node in nodes]
    # Nodes with equal scores keep the order of the page.
    apt = sorted((number for number, point in enumerate(points) if point > 0), key=lambda number: -points[number])
    return _merge_nodes([nodes[number] for number in apt[:4]], nodes, by_id)


def to_texts(metadata: JsonLdMetadata) -> dict[str, Sequence[str]]:
    """The non-empty fields by name."""
    values = structs.asdict(metadata).items()
    return {name: (value,) if isinstance(value, str) else value for name, value in values if value}


def parse_nodes(script: str, limit: int = MAX_NODES) -> list[_JsonNode]:
    """The nodes in one script, outer nodes first; none if the script cannot be repaired."""
    found: list[_JsonNode] = []
    row: list[object] = [_parse_script(script)]
    for _ in range(MAX_DEPTH):
        inner: list[object] = []
        for one in row:
            if len(found) >= limit:
                return found
            if isinstance(one, list):
                inner.extend(one[:limit])
            elif isinstance(one, dict):
                found.append(one)
                inner += [one[key] for key in _CHILD_KEYS if key in one and isinstance(one[key], (dict, list))]
        row = inner
    return found


def _parse_script(script: str) -> object:
    if len(script) > MAX_SCRIPT_CHARS:
        return None
    for text in _repaired_scripts(script):
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            continue
    return None


def _repaired_scripts(script: str) -> Iterator[str]:
    """The script as it is, and then with more and more repairs."""
    yield script
    text = _SCRIPT_SUFFIX.sub("", _SCRIPT_PREFIX.sub("", script[:_MAX_REPAIRED_CHARS], count=1), count=1).strip()
    yield _CONTROLS.sub(" ", text)
    # A comment ends with its line, so comments are removed before line breaks.
    text = _TOKENS.sub(lambda found: _BAD_ESCAPE.sub("", found[0]) if found[0][0] == '"' else "", text)
    text = _CONTROLS.sub(" ", text)
    yield text
    yield unescape_html(text)
    # Several objects with nothing between them, or a comma.
    yield "[" + re.sub(r"\}\s*\{", "},{", text) + "]"


def unescape_html(text: str) -> str:
    """The text with character references resolved; unchanged if one of them is out of range."""
    try:
        return html.unescape(text) if "&" in text else text
    except ValueError:
        return text


def node_types(node: _JsonNode) -> tuple[str, ...]:
    kinds = read_strings(node.get("@type"))
    return tuple([(_SCHEMA_ORG.sub("", text) if ":" in text else text).strip() for text in kinds])


def read_strings(value: object) -> list[str]:
    """The texts of a value: a string, a list, or a node with a name or a value."""
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


def _node_score(node: _JsonNode, url: str | None) -> int:
    """How well a node fits this page; 0 if it does not."""
    kinds = node_types(node)
    kind_points = max(map(_kind_points, kinds), default=0)
    # Breadcrumbs, logos and lists are the most frequent.
    if not kind_points:
        return 0
    if not _UNRELATED_TYPES.isdisjoint(kinds) and not any(kind.endswith("Article") for kind in kinds):
        return 0
    return kind_points + _url_score(node, url)


def _kind_points(kind: str) -> int:
    return (
        30
        if kind.endswith(_ARTICLE_SUFFIXES)
        else 20
        if kind in _CONTENT_TYPES
        else 10
        if kind.endswith(_PAGE_SUFFIXES)
        else 0
    )


def _url_score(node: _JsonNode, url: str | None) -> int:
    if not url:
        return 0
    addresses = [text for key in ("url", "@id", "mainEntityOfPage") for text in _node_urls(node.get(key))]
    if not addresses:
        return 0
    ours = _url_path(url)
    return 8 if any(_url_path(one) == ours for one in addresses) else -5


def _node_urls(value: object) -> list[str]:
    if isinstance(value, dict):
        value = value.get("@id") or value.get("url")
    return [value] if isinstance(value, str) and value.startswith(("http", "/")) else []


def _url_path(url: str) -> str:
    """The part of a URL that identifies a page on a site: without scheme, host, query, fragment and trailing slash."""
    rest = url.partition("://")[2] or url
    return rest.partition("/")[2].partition("#")[0].partition("?")[0].rstrip("/").casefold()


def _merge_nodes(best_nodes: list[_JsonNode], nodes: list[_JsonNode], by_id: Mapping[str, _JsonNode]) -> JsonLdMetadata:
    def first(*keys: str) -> str:
        for key in keys:
            for node in best_nodes:
                if texts := read_strings(node.get(key)):
                    return unescape_html(texts[0])
        return ""

    return JsonLdMetadata(
        types=node_types(best_nodes[0]) if best_nodes else (),
        headline=first("headline") or (first("name") if best_nodes else ""),
        description=first("description"),
        authors=next((names for node in best_nodes if (names := _read_authors(node, by_id))), ()),
        published=first("datePublished", "dateCreated", "uploadDate"),
        modified=first("dateModified"),
        image=next(
            (image for node in best_nodes for key in _IMAGE_KEYS if (image := _read_image(node.get(key), by_id))), ""
        ),
        site_name=_read_site_name(best_nodes, nodes, by_id),
        section=first("articleSection"),
        keywords=tuple(text for node in best_nodes[:1] for text in read_strings(node.get("keywords"))),
        language=first("inLanguage"),
    )


_IMAGE_KEYS = ("image", "primaryImageOfPage", "thumbnailUrl", "thumbnail")


def _read_authors(node: _JsonNode, by_id: Mapping[str, _JsonNode]) -> tuple[str, ...]:
    for key in ("author", "creator"):
        value = node.get(key)
        listed = value if isinstance(value, list) else [value]
        names = [
            unescape_html(name)
            for one in listed[:_MAX_STRINGS]
            for name in read_strings(_resolve_reference(one, by_id))
        ]
        if names:
            return tuple(dict.fromkeys(names))
    return ()


def _resolve_reference(value: object, by_id: Mapping[str, _JsonNode]) -> object:
    """The node that a reference points to."""
    if isinstance(value, dict) and "name" not in value and isinstance(reference := value.get("@id"), str):
        return by_id.get(reference)
    return value


def _read_image(value: object, by_id: Mapping[str, _JsonNode]) -> str:
    for _ in range(3):
        value = _resolve_reference(value[0] if isinstance(value, list) and value else value, by_id)
        if isinstance(value, dict):
            value = value.get("url") or value.get("contentUrl") or value.get("@id")
    return value if isinstance(value, str) else ""


def _read_site_name(best_nodes: list[_JsonNode], nodes: list[_JsonNode], by_id: Mapping[str, _JsonNode]) -> str:
    for node in nodes:
        if "WebSite" in node_types(node) and (names := read_strings(node.get("name"))):
            return unescape_html(names[0])
    for node in best_nodes:
        if names := read_strings(_resolve_reference(node.get("publisher"), by_id)):
            return unescape_html(names[0])
    return ""
