"""The head of a page, read in one pass: metas, title, canonical URL, JSON-LD; and what the head says about the body."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final
from urllib.parse import urlsplit

from tenax.extract.html.dom import Dom, MetadataElement, collapse_spaces
from tenax.extract.html.links import LINK, is_followable, strip_href
from tenax.extract.html.tree import Node, tag_number
from tenax.model import Value

OUR_ROBOT_NAMES: Final = frozenset(("robots", "tenax"))
_VALUED_RULES = frozenset(("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"))
_BASE, _META, _SCRIPT, _TITLE = (tag_number(name) for name in ("base", "meta", "script", "title"))
_META_NAME_ATTRIBUTES: Final = ("name", "property", "itemprop", "http-equiv")
_MAX_SCRIPTS: Final = 30
_MAX_VALUES_PER_NAME: Final = 20
_MAX_KNOWN_NAME_CHARS: Final = 80
"""Values kept per name: several authors have one meta each."""


_MAX_FEEDS: Final = 20
_FEED_TYPES: Final = frozenset(
    ("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json", "text/rss+xml")
)
_MAX_SCRIPT_CHARS: Final = 1_000_000
_SCRIPT_DATE_WORDS: Final = ("ublish", "reated")
_MAX_DATE_NAME_LETTERS: Final = 8
_SCRIPT_DATE = re.compile(rf"[a-zA-Z_]{{0,{_MAX_DATE_NAME_LETTERS}}}[\"']?\s?:\s?[\"'](\d[^\"']{{7,30}})")
"""Follows one of these words if the word names a date."""


Attributes = Mapping[str, str | None]


class Head(Value, frozen=True):
    """The elements that describe a page, as written."""

    meta_values: dict[str, list[str]]
    """Contents of metas by `name`, `property`, `itemprop` or `http-equiv` in lower case. A list is never empty."""
    robots: tuple[tuple[str, str], ...] = ()
    """Every robots rule, with its name and content."""
    title: str = ""
    canonical: str | None = None
    image_href: str = ""
    scripts: tuple[str, ...] = ()
    """The JSON-LD scripts."""
    feeds: tuple[str, ...] = ()
    """Declared feeds, as written."""
    next_href: str = ""
    """The declared next page."""
    base_href: str | None = None
    """The first `<base href>`, if any."""

    def meta(self, name: str) -> str:
        return self.meta_values[name][0] if name in self.meta_values else ""


def read_head(dom: Dom) -> Head:
    named: dict[str, list[str]] = {}
    robots: list[tuple[str, str]] = []
    title: MetadataElement | None = None
    links: dict[str, str] = {}
    scripts: list[str] = []
    feeds: list[str] = []
    base: str | None = None
    for element in dom.metadata_elements:
        tag = element.tag
        if tag == _META:
            _add_meta(element.attributes, named, robots)
        elif tag == LINK:
            _add_link(element.attributes, links, feeds)
        elif tag == _SCRIPT:
            if element.text and len(scripts) < _MAX_SCRIPTS:
                scripts.append(element.text)
        elif tag == _TITLE:
            title = title or element
        elif tag == _BASE and base is None and "href" in element.attributes:
            base = strip_href(element.attributes["href"])
    canonical = links.get("canonical", "")
    return Head(
        named,
        tuple(robots),
        _read_title(dom, title) if title is not None else "",
        canonical=canonical if canonical and is_followable(canonical) else None,
        image_href=links.get("image_src", ""),
        scripts=tuple(scripts),
        feeds=tuple(dict.fromkeys(feeds))[:_MAX_FEEDS],
        next_href=links.get("next", ""),
        base_href=base or None,
    )


def parse_robots_hints(
    metas: Iterable[tuple[str, str]], header: str | None, names: Sequence[str] = ()
) -> tuple[bool, bool]:
    """Whether the page asks not to be indexed and its links not to be followed: (noindex, nofollow).

    `metas` are pairs of name and content; `header` is X-Robots-Tag, several values joined by commas or newlines. The
    strictest rule wins, whether it addresses all robots or one of our names; `names` are additional ones.
    """
    ours = OUR_ROBOT_NAMES.union(names)
    rules: set[str] = set()
    for name, content in metas:
        if name.strip().lower() in ours:
            rules.update(content.lower().replace(",", " ").split())
    for line in header.lower().split("\n") if header else ():
        rules.update(_applicable_rules(line, ours))
    forbids_all = "none" in rules
    return forbids_all or "noindex" in rules, forbids_all or "nofollow" in rules


def _applicable_rules(header: str, robot_names: frozenset[str]) -> Iterable[str]:
    """The rules of one X-Robots-Tag line; a robot name before a colon applies to what follows it."""
    is_ours = True
    for part in header.split(","):
        before, colon, after = part.partition(":")
        rule = before.strip()
        if colon and rule not in _VALUED_RULES:
            is_ours = rule in robot_names
            rule = after.strip()
        if is_ours:
            yield rule


def find_script_dates(dom: Dom) -> Iterator[str]:
    """Dates in scripts, under names for the publication date. This is slow, so it is tried last."""
    if dom.searcher is not None and not dom.searcher.may_have_script_dates():
        return
    scripts = "\n".join(map(_first_text, dom.select("script")))[:_MAX_SCRIPT_CHARS]
    for word in _SCRIPT_DATE_WORDS:
        # Scripts are long and the words are rare, so `find` is faster than a regular expression.
        position = scripts.find(word)
        while position >= 0:
            position += len(word)
            if found := _SCRIPT_DATE.match(scripts, position):
                yield found[1]
                position = found.end()
            position = scripts.find(word, position)


def _add_meta(attributes: Attributes, meta_values: dict[str, list[str]], robots: list[tuple[str, str]]) -> None:
    content = attributes.get("content")
    if not content:
        return
    # Some metas have a name and a property, and either may be the known one.
    for key in _META_NAME_ATTRIBUTES:
        value = attributes.get(key)
        if not value:
            continue
        names = _known_meta_names(value) if len(value) <= _MAX_KNOWN_NAME_CHARS else _split_meta_names(value)
        for name in names:
            if name in OUR_ROBOT_NAMES:
                robots.append((name, content))
            elif name not in meta_values:
                meta_values[name] = [content]
            elif len(meta_values[name]) < _MAX_VALUES_PER_NAME:
                meta_values[name].append(content)


def _split_meta_names(value: str) -> tuple[str, ...]:
    """The names in lower case. A property may have several, such as `dc:title og:title`."""
    return tuple(
        name.replace(":", ".", 1) if name.startswith(("dc:", "dcterms:")) else name for name in value.lower().split()
    )


_known_meta_names = lru_cache(1024)(_split_meta_names)
"""The pages of a site have the same names."""


def _add_link(attributes: Attributes, links: dict[str, str], feeds: list[str]) -> None:
    rel = attributes.get("rel")
    if not rel or "href" not in attributes:
        return
    for relation in rel.lower().split():
        if relation in ("canonical", "image_src", "next"):
            links.setdefault(relation, strip_href(attributes["href"]))
        elif relation in ("alternate", "feed") and _is_feed(attributes.get("type")):
            feeds.append(strip_href(attributes["href"]))


def _is_feed(media_type: str | None) -> bool:
    declared = (media_type or "").partition(";")[0].strip().lower()
    return declared in _FEED_TYPES


def _read_title(dom: Dom, first: MetadataElement) -> str:
    if first.is_in_head:
        return first.text or ""
    # The <title> of an SVG is the tooltip of a drawing.
    return next(
        (_first_text(node) for node, is_in_svg in dom.select_with_ancestor("title", "svg") if not is_in_svg), ""
    )


def _first_text(node: Node) -> str:
    child = node.first_child
    return child.text_content or "" if child is not None else ""


_MAX_JSON_LD_CHARS: Final = 200_000
_MAX_TITLE_CHARS: Final = 2_000
"""A longer text is not a title, and each block is compared with the title."""
_YEAR_IN_PATH = re.compile(r"/(?:19|20)\d\d/")
_JSON_LD_TYPES = re.compile(r'"@type"\s*:\s*"(\w{1,60})"')


# Words in the host or path of a URL, by kind of page.
ADDRESS_WORDS: Final = {
    "docs": (
        r"\bdocs?\b|documentation|reference|manual|\bguides?\b|\bapi\b|readthedocs|\bhelp\b|\bkb\b|developer|tutorial"
    ),
    "forum": r"forum|thread|\btopics?\b|community|discuss|viewtopic|questions?\b|answers?\b|\bboards?\b|/t/|/r/",
    "product": r"products?\b|/p/|\bitems?\b|\bshop\b|\bstore\b|/dp/|\bbuy\b",
    "hub": r"categor|\btags?\b|collections?\b|\bsearch\b|archive|\bindex\b|\blist|\bbrowse\b|/page/\d|blog/?$|news/?$",
    "article": r"\bblog\b|\bnews\b|article|story|\bposts?\b|/\d\d(?<=\d{4}/\d\d)",
    "service": r"services?\b|solutions?\b|pricing|\babout\b|platform|features?\b|contact",
}
_NO_ADDRESS_WORDS: Final = (0,) * len(ADDRESS_WORDS)
# The prefix of an alternative without its borders: letters, slashes and digits, up to an optional part or a lookaround.
_ALTERNATIVE_PREFIX = re.compile(r"(?:^|\|)([a-z/])((?:[a-z/](?!\?)|\\d)*)")


def _any_word_pattern(words: Iterable[str]) -> re.Pattern[str]:
    """A pattern that matches wherever one of these does, and maybe elsewhere: most URLs contain none of the words.

    Prefixes with the same first letter are grouped, so few are tried at each position.
    """
    beginnings: dict[str, list[str]] = {}
    for first, rest in _ALTERNATIVE_PREFIX.findall("|".join(words).replace(r"\b", "")):
        beginnings.setdefault(first, []).append(rest)
    return re.compile("|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in beginnings.items()))


_ANY_WORD: Final = _any_word_pattern(ADDRESS_WORDS.values())


class PageHints(Value, frozen=True):
    title: str = ""
    og_type: str = ""
    ld_types: str = ""
    """The types of JSON-LD nodes, joined by spaces."""
    host: str = ""
    path: str = "/"
    query: str = ""


def read_page_hints(head: Head, url: str | None) -> PageHints:
    host, path, query = _split_url(url or "")
    return PageHints(
        title=collapse_spaces((head.meta("og:title") or head.title)[:_MAX_TITLE_CHARS]),
        og_type=head.meta("og:type").lower(),
        ld_types=" ".join(_JSON_LD_TYPES.findall(" ".join(head.scripts)[:_MAX_JSON_LD_CHARS])) if head.scripts else "",
        host=host,
        path=path or "/",
        query=query,
    )


def _split_url(url: str) -> tuple[str, str, str]:
    """Host, path and query, as `urlsplit` returns them. For ordinary URLs this takes a fifth of the time."""
    is_plain = url.isascii() and url.isprintable() and url.startswith(("http://", "https://"))
    if not is_plain or "[" in url or "]" in url:
        address = urlsplit(url)
        return address.netloc, address.path, address.query
    before, _, query = url.partition("#")[0].partition("?")
    host, slash, path = before.partition("://")[2].partition("/")
    return host, slash + path, query


def page_hint_values(hints: PageHints) -> tuple[float, ...]:
    """The hints as numbers: "og article" to "has query" of `layout.PAGE_FEATURES`."""
    og_type, types, path = hints.og_type, hints.ld_types, hints.path
    slug = path.rstrip("/").rpartition("/")[2]
    return (
        int("article" in og_type), int("product" in og_type), int("Article" in types or "BlogPosting" in types),
        int("Product" in types), int("ItemList" in types or "CollectionPage" in types),
        int("DiscussionForum" in types or "QAPage" in types), int("FAQ" in types), path.count("/"), len(slug),
        slug.count("-"), int(_YEAR_IN_PATH.search(path) is not None), int(path in ("", "/")), int(bool(hints.query)),
    )  # fmt: skip


def address_word_values(hints: PageHints) -> tuple[int, ...]:
    """For each kind of word, whether the page's URL contains one: 1, else 0."""
    address = (hints.host + hints.path).lower()
    if not _ANY_WORD.search(address):
        return _NO_ADDRESS_WORDS
    return tuple([1 if pattern.search(address) else 0 for pattern in address_patterns()])


@cache
def address_patterns() -> tuple[re.Pattern[str], ...]:
    """The patterns of `ADDRESS_WORDS`."""
    # Where each alternative begins with a plain letter, a search skips to candidates: five times faster.
    return tuple(re.compile(re.sub(r"\\b([a-z])", r"\1(?<!\\w\1)", words)) for words in ADDRESS_WORDS.values())
